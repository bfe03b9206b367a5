"""What torch's messages mean, what helps, and how to reproduce them.

message           one message
tensors           making a tensor, changing it in place, reading its gradient
gradients         backward() and torch.autograd.grad
custom_functions  torch.autograd.Function and gradcheck
modules           modules, optimizers and distributed training
under_transforms  torch.func, forward mode and torch.compile
catalogue         all messages, and the search for one
pasted            find messages in a traceback, or by words
"""

from autograd_surprises.messages.catalogue import MESSAGES, known_message, remedy_for
from autograd_surprises.messages.message import PRELUDE, Message
from autograd_surprises.messages.pasted import errors_in, find_messages, in_order_of_notebooks

__all__ = [
    "MESSAGES",
    "PRELUDE",
    "Message",
    "errors_in",
    "find_messages",
    "in_order_of_notebooks",
    "known_message",
    "remedy_for",
]
