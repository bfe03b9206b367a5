"""Steps with one fault each, as somebody reported it, one module per family of faults."""
