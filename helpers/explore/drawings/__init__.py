"""The pictures that `explore` and `explore_backward` draw, and what a new one starts from."""
