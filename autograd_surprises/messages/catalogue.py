"""All messages, and the search for the one that torch printed."""

from __future__ import annotations

from autograd_surprises.messages.custom_functions import CUSTOM_FUNCTIONS
from autograd_surprises.messages.gradients import GRADIENTS
from autograd_surprises.messages.message import Message
from autograd_surprises.messages.modules import MODULES
from autograd_surprises.messages.tensors import TENSORS
from autograd_surprises.messages.training_steps import TRAINING_STEPS
from autograd_surprises.messages.under_transforms import UNDER_TRANSFORMS

MESSAGES = (*TENSORS, *GRADIENTS, *CUSTOM_FUNCTIONS, *MODULES, *TRAINING_STEPS, *UNDER_TRANSFORMS)


def known_message(said: str) -> Message | None:
    """The first message whose text is a part of what torch said, or None.

    >>> known_message("No module named 'pytorch'").fix
    'import torch'
    """
    return next((message for message in MESSAGES if message.matches(said)), None)


def remedy_for(said: str) -> str:
    """What to change in a torch.autograd.Function that gets this message, or "".

    >>> remedy_for("no signature found for builtin")
    'write forward as a Python function: torch cannot read the signature of this builtin'
    """
    message = known_message(said)
    return (message.in_function or message.fix) if message else ""
