"""watch(): counts the steps of a training loop, and calls one witness for each thing to see."""
