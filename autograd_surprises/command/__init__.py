"""python -m autograd_surprises: one parser, four commands, one way to end."""
