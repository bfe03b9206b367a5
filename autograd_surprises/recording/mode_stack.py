"""Where a mode of ours stands among those of the user, and when it has to go."""

import functools
from collections.abc import Callable

from torch._C import _len_torch_function_stack
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode
from torch.utils._device import DeviceContext

from autograd_surprises.recording.guest import is_ours
from autograd_surprises.recording.patches import Patches


def put_below(mine: TorchFunctionMode) -> None:
    """Put this mode under the user's, which take themselves off from the top.

    Except for a device, which has to stay at the bottom.
    """
    above = []
    while _len_torch_function_stack():
        mode = _pop_mode()
        if isinstance(mode, DeviceContext) or is_ours(mode):
            _push_mode(mode)
            break
        above.append(mode)
    for mode in [mine, *reversed(above)]:
        _push_mode(mode)


def take_off(mine: TorchFunctionMode) -> None:
    """Take this mode off, also if others were put on after it and are still there.

    >>> mine = DeviceContext(torch.device("cpu")); put_below(mine); take_off(mine)
    >>> _len_torch_function_stack()
    0
    """
    above = []
    while _len_torch_function_stack():
        mode = _pop_mode()
        if mode is mine:
            break
        above.append(mode)
    for mode in reversed(above):
        _push_mode(mode)


def before_compiled_code(act: Callable[[], None]) -> Patches:
    """Call `act` when code that torch.compile has compiled, or is to compile, begins to run.

    Dynamo would trace a mode of ours, too. An optimizer imports dynamo in any case.
    """
    from torch._dynamo import eval_frame

    def acting(original, active):
        @functools.wraps(original)
        def begins(callback):
            if active and callback not in (None, False):  # which stand for "runs as it is"
                act()
            return original(callback)

        return begins

    return Patches((eval_frame, "_callback_from_stance", acting))
