"""What torch's messages mean, what helps, and how to make them happen.

message           one message
tensors           of making a tensor, changing it in place, asking it for its gradient
gradients         of backward() and torch.autograd.grad
custom_functions  of a torch.autograd.Function, and of gradcheck
modules           of modules, optimizers and distributed training
under_transforms  of torch.func, forward mode and torch.compile
catalogue         all of them, and the search for one
"""

from autograd_surprises.messages.catalogue import MESSAGES, known_message, remedy_for
from autograd_surprises.messages.message import PRELUDE, Message

__all__ = ["MESSAGES", "PRELUDE", "Message", "known_message", "remedy_for"]
