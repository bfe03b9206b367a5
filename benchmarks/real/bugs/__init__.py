"""Steps with one fault each, as somebody reported it, one module per family of faults."""

from real import libraries as libraries  # comes before a library that needs it
