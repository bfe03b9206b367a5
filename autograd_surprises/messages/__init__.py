"""PyTorch's messages and plain questions about gradients: TOML, a loader, and a search."""

from autograd_surprises.messages.catalogue import known_message, remedy_for
