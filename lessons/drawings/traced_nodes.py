"""What a tracer writes down of a Function, and of an operator that computes the same."""

import torch
from torch.autograd import Function
from torch.fx.experimental.proxy_tensor import make_fx

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.explore.drawings.drawing import Drawing

MOST = 6  # multiplications
ALIASES = "detach", "alias"  # nodes that compute nothing


def _power(x, times):
    y = x
    for _ in range(times):
        y = y * x
    return y


def _slope(x, times):
    return (times + 1) * x**times


class Power(Function):
    """x to the power of times + 1."""

    @staticmethod
    def forward(ctx, x, times):
        ctx.save_for_backward(x)
        ctx.times = times
        return _power(x, times)

    @staticmethod
    def backward(ctx, gradient):
        return _slope(ctx.saved_tensors[0], ctx.times) * gradient, None


@torch.library.custom_op("lessons::power", mutates_args=())
def power(x: torch.Tensor, times: int) -> torch.Tensor:
    """The same as an operator."""
    return _power(x, times)


def _save(ctx, inputs, output):
    x, ctx.times = inputs
    ctx.save_for_backward(x)


power.register_fake(lambda x, times: torch.empty_like(x))
power.register_autograd(Power.backward, setup_context=_save)


class TracedNodesDrawing(Drawing):
    """The operations of forward and backward, as a compiler gets them.

    >>> TracedNodesDrawing().show(multiplications=2)
    'Function: mul, mul, then pow, mul, mul; operator: power, then pow, mul, mul'
    """

    name = "What the compiler gets"

    def __init__(self):
        self.figure = Picture(8, 3)
        ax = self.figure.subplots()
        ax.set(xlim=(-0.1, MOST + 4), ylim=(1.75, -0.75))
        ax.set_yticks([0, 1], ["Function", "operator"], fontsize=11)
        ax.tick_params(axis="y", length=0)
        ax.set_xticks([])
        ax.set_navigate(False)
        for side in ax.spines.values():
            side.set_visible(False)
        self._boxes = [
            [ax.barh(row, 0.8, 0.5, left=k, fc="white", lw=2)[0] for k in range(MOST + 4)]
            for row in (0, 1)
        ]
        centred = {"ha": "center", "va": "center", "fontsize": 11}
        self._names = [
            [ax.text(k + 0.4, row, "", **centred) for k in range(MOST + 4)] for row in (0, 1)
        ]
        self._counts = [ax.text(0, row + 0.45, "", va="center", fontsize=10) for row in (0, 1)]
        self.moving = [
            artist
            for row in (0, 1)
            for artist in (*self._boxes[row], *self._names[row], self._counts[row])
        ]

    def show(self, multiplications=1):
        said = []
        for row, (name, function) in enumerate(
            {"Function": Power.apply, "operator": power}.items()
        ):
            forward, backward = _traced(function, multiplications)
            self._draw(row, forward, backward)
            said.append(f"{name}: {', '.join(forward)}, then {', '.join(backward)}")
        return "; ".join(said)

    def _draw(self, row, forward, backward):
        nodes = [(VALUE_COLOUR, node) for node in forward]
        nodes += [(GRADIENT_COLOUR, node) for node in backward]
        for k, (box, text) in enumerate(zip(self._boxes[row], self._names[row], strict=True)):
            colour, name = nodes[k] if k < len(nodes) else (VALUE_COLOUR, "")
            box.set(visible=bool(name), edgecolor=colour)
            text.set_text(name)
        self._counts[row].set_text(f"forward {len(forward)}, backward {len(backward)}")


def _traced(function, times):
    """The names of what forward computes, and of what backward computes."""

    def step(x, gradient):
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(function(leaf, times), leaf, gradient)[0]

    x = torch.ones(2)
    both = _names(make_fx(step)(x, x))
    forward = _names(make_fx(lambda x: function(x, times))(x))
    return forward, both[len(forward) :]


def _names(traced):
    targets = [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]
    names = [target.split(".")[1] for target in targets]
    return [name for name in names if name not in ALIASES]
