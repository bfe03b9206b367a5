"""One backward, watched."""
