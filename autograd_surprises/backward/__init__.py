"""One backward, watched: what arrived at each step, how large it was, and what noise proves."""
