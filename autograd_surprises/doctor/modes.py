"""Does a model that began in training mode train in eval mode?"""

from weakref import ref

from torch import nn

from autograd_surprises.recording.modules import parameters_in, parts_of
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import STAYS_IN_EVAL_MODE

STEPS = 3  # in a row, after which a change of mode is no accident of one step


class Modes:
    """Sees models whose mode changes what they compute, and that are not switched back.

    What proves it: the flags of the modules, before and in three steps of what holds their
    parameters. Whether it is meant cannot be seen.

    >>> model = nn.Dropout()
    >>> modes = Modes(); modes.know(model)
    >>> modes.after_step(1, set()) is None
    True
    """

    def __init__(self):
        self._models: dict[str, ref] = {}
        self._since: dict[str, int] = {}  # the first step in eval mode

    def know(self, model: nn.Module | None) -> None:
        """This is about to be trained."""
        for name, part in parts_of(model):
            if part.training and any(map(_has_two_modes, part.modules())):
                self._models.setdefault(name, ref(part))

    def after_step(self, step: int, held: set[int]) -> Finding | None:
        """A step was made, of an optimizer that holds these ids."""
        for name, known in list(self._models.items()):
            part = known()
            if part is None:
                del self._models[name]
            elif held.isdisjoint(map(id, parameters_in(part))):
                continue
            elif part.training or any(m.training for m in part.modules() if _has_two_modes(m)):
                self._since.pop(name, None)
            elif step >= self._since.setdefault(name, step) + STEPS - 1:
                del self._models[name]
                found = STAYS_IN_EVAL_MODE.finding(name=name or "model", step=self._since[name])
                return found.about(name or "model", "wrong")
        return None


def _has_two_modes(module):
    kinds = nn.modules.dropout._DropoutNd, nn.RNNBase
    if isinstance(module, kinds):
        return bool(getattr(module, "p", 0) or getattr(module, "dropout", 0))
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats
