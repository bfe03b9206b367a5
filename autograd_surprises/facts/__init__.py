"""What is known before anything runs: torch's operations, the graph, processes, sections."""
