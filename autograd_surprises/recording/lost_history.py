"""What is noted of a result without history, though an input of the call had one."""

from dataclasses import dataclass
from types import CodeType

from autograd_surprises.recording.places import Where

DECIDES = {"__bool__", "equal", "allclose", "is_nonzero"}
LEAVES_TORCH = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__"}
COPIES = {"tensor", "as_tensor", "asarray", "scalar_tensor", "new_tensor"}


@dataclass(frozen=True)
class LostHistory:
    """A result without history, though an input had one, and the call of torch that returned it.

    call          the name of the function
    dtype         of the result
    real          can its elements carry a gradient? Integers and booleans cannot
    inference     was it made in torch.inference_mode()?
    recording     was recording on?
    switched_off  where it was switched off, if that was seen
    led_here      the line below that one that led to the call
    create_graph  torch.autograd.grad's argument
    caller        the code that called the function: of the user, a library or torch
    inside        the autograd.Function in whose forward it was made, by name
    applied_at    the line that applied this Function

    >>> LostHistory("item").leaves_torch, LostHistory("tensor").operation
    (True, 'torch.tensor')
    """

    call: str
    dtype: str = ""
    real: bool = True
    inference: bool = False
    recording: bool = True
    switched_off: Where | None = None
    led_here: Where | None = None
    create_graph: bool = False
    caller: CodeType | None = None
    inside: str = ""
    applied_at: Where | None = None

    @property
    def decides(self) -> bool:
        """Did it only decide which branch the program takes?"""
        return self.call in DECIDES

    @property
    def leaves_torch(self) -> bool:
        return self.call in LEAVES_TORCH

    @property
    def operation(self) -> str:
        name = self.call.strip("_")
        return f"torch.{name}" if self.call in COPIES - {"new_tensor"} else name
