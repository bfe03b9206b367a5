"""What the forward pass did."""
