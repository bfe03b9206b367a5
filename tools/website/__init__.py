"""The notebooks as a website that needs no kernel and no network: `make site`.

recording    run the sections of a notebook that show pictures, and freeze what they show
sources      notebooks and Markdown files as Sphinx reads them, and the front page
generated    pages of messages, questions, rules and changed operations, and the box's data
building     the pictures, the sources, Sphinx, and what it does not write
"""
