"""What the forward pass did: each call of torch, its line, and what has to be forgotten."""
