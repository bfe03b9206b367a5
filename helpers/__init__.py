"""The tools of the notebooks, in three folders: `functions`, `curves` and `explore`.

To diagnose your own code, use the package `autograd_surprises`.
"""
