"""How results are shown. Pictures need matplotlib and Pillow; the rest needs nothing."""
