"""The notebooks as a website that needs no kernel and no network: `make site`.

links          which files become pages, and where links lead there
recording      run the sections of a notebook that show pictures, and freeze what they show
cells          the cells of a notebook as HTML, from their stored outputs
pages          pages from notebooks, from Markdown, and the front page
entry_pages    a page for each message, question and rule
search_index   the one search, as a script
building       everything in one folder, and its size
"""
