"""PyTorch's messages and plain questions about gradients: TOML, a loader, and a search.

entries    a message, a question, and the causes of either
catalogue  all of them, read from the TOML files, and the message that a text contains
pasted     the messages in a text that somebody pastes, such as a traceback
index      both in one index, which is searched by messages or by words
"""

from autograd_surprises.messages.catalogue import known_message, remedy_for

__all__ = ["known_message", "remedy_for"]
