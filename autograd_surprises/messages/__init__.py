"""What torch's messages mean, what helps, and how to reproduce them.

message           one message, and what may cause it
tensors           making a tensor, changing it in place, reading its gradient
gradients         backward() and torch.autograd.grad
custom_functions  torch.autograd.Function and gradcheck
modules           modules, optimizers and distributed training
training_steps    mixed precision, clipping, schedules and checkpoints
under_transforms  torch.func, forward mode and torch.compile
catalogue         all messages, and the search for one
pasted            find messages in a traceback
"""

from autograd_surprises.messages.catalogue import MESSAGES, known_message, remedy_for
from autograd_surprises.messages.message import PRELUDE, Cause, Message
from autograd_surprises.messages.pasted import errors_in, messages_in

__all__ = [
    "MESSAGES",
    "PRELUDE",
    "Cause",
    "Message",
    "errors_in",
    "known_message",
    "messages_in",
    "remedy_for",
]
