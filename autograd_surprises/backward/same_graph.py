"""The lines of a recorded step, for a later step that was not recorded but made the same graph."""

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.facts.graph import Node
from autograd_surprises.recording.history import History


class SameGraph:
    """Which call made each node of a recorded graph.

    >>> x = torch.ones(2, requires_grad=True)
    >>> lines = SameGraph((x * 2).sum().grad_fn, History())
    >>> lines.history_of(x.exp().grad_fn) is None
    True
    """

    def __init__(self, root: Node, history: History):
        steps = Backward(root).steps
        self._shape = _shape(steps)
        self._calls = [history.call_of(node) for node in steps]

    def history_of(self, root: Node | None) -> History | None:
        """A history that knows these calls for the same steps in the graph of `root`, if it can."""
        steps = Backward(root).steps if root is not None else {}
        if _shape(steps) != self._shape:
            return None
        history = History()
        history.call_of = dict(zip(steps, self._calls, strict=True)).get
        return history


def _shape(steps):
    """Names and links: equal for two graphs that the same code has made."""
    position = {node: i for i, node in enumerate(steps)}
    return [
        (step.name, *((position.get(node), nr) for node, nr in step.edges))
        for step in steps.values()
    ]
