"""The tools of the notebooks, in three rooms: `functions`, `curves` and `explore`.

To diagnose your own code, use the package `autograd_surprises`.
"""
