"""What a tracer writes down of a Function, and of an operator that computes the same."""

import torch
from torch.autograd import Function
from torch.fx.experimental.proxy_tensor import make_fx

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from lessons.drawings.panel import PanelDrawing

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


class TracedNodesDrawing(PanelDrawing):
    """The operations of forward and backward, as a compiler gets them.

    >>> TracedNodesDrawing().show(multiplications=2)
    'Function: mul, mul, then pow, mul, mul; operator: power, then pow, mul, mul'
    """

    name, joint = "What the compiler gets", " · "

    def __init__(self):
        (ax,) = self.panels(8, 3, "", grid="")
        places = range(MOST + 4)
        self._boxes = [
            [self.add(ax.barh(row, 0.8, 0.5, left=k, fc="white", lw=2)[0]) for k in places]
            for row in (0, 1)
        ]
        ax.set(xlim=(-0.1, MOST + 4), ylim=(1.75, -0.75), xticks=[], navigate=False)
        ax.set_yticks([0, 1], ["Function", "operator"], fontsize=11)
        ax.tick_params(axis="y", length=0)
        ax.spines[:].set_visible(False)
        self._names = [
            [self.words(ax, k + 0.4, row, fontsize=11) for k in places] for row in (0, 1)
        ]
        look = {"ha": "left", "fontsize": 10}
        self._counts = [self.words(ax, 0, row + 0.45, **look) for row in (0, 1)]

    def show(self, multiplications=3):
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
