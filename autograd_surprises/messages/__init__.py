"""What torch's messages mean, what helps, and how to reproduce them."""

from autograd_surprises.messages.catalogue import MESSAGES, known_message, remedy_for
from autograd_surprises.messages.message import PRELUDE, Cause, Message
from autograd_surprises.messages.pasted import errors_in, messages_in
