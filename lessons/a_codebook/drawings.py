"""Where gradient descent moves the codes of a codebook, and which of them never move."""

from collections.abc import Callable
from functools import lru_cache

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, LINE_GREY, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import CONTOURS, draw_handle
from lessons.drawings.panel import PanelDrawing

STEP = 0.5  # the learning rate: along a mean squared distance, a step goes half of the way
MARGIN = 1.0  # around the codes


class CodebookDrawing(PanelDrawing):
    """A vector z, which can be dragged, between the codes, and one step of gradient descent.

    quantize(z, codes, beta) returns what the decoder gets and the loss of the layer. The decoder's
    loss is the mean squared distance of what it gets from `target`. Lines between the codes
    separate the places that get different ones. Each move ends in a mark: a triangle where the
    decoder's loss moves z, a diamond where the layer's loss does, a square where both together
    move a code.

    >>> nearest = lambda z, codes: codes[torch.cdist(z, codes).argmin(1)]
    >>> pull = lambda z, codes, beta: (z, (nearest(z, codes).detach() - z).square().mean())
    >>> drawing = CodebookDrawing(pull, torch.tensor([[0.0, 0.0], [4.0, 0.0]]), (1.0, 1.0))
    >>> drawing.show(z1=1.0, z2=0.0).split(": ")[1]
    'the decoder moves z by (0, 0.5), the loss of the layer by (-0.5, 0)'
    """

    name = "one step"
    handles = ({"axes": 0, "names": ["z1", "z2"]},)

    def __init__(self, quantize: Callable, codes: torch.Tensor, target: tuple[float, float]):
        self.quantize, self.codes, self.target = quantize, codes, torch.tensor([target])
        (plane,) = self.panels(8, 4.6, "", grid="")
        names = self._draw_plane(plane)
        end = {"markevery": [1], "ms": 9}
        decoder = self.line(plane, VALUE_COLOUR, marker="^", lw=2.5, **end)
        layer = self.line(plane, GRADIENT_COLOUR, marker="D", lw=2.5, **end)
        look = {"marker": "s", "mfc": "white", "ls": (0, (3, 2)), "lw": 2, **end, "ms": 8}
        self._by_loss = decoder, layer
        self._of_codes = [self.line(plane, SLOPE_COLOUR, **look) for _ in codes]
        self._dot = self.add(draw_handle(plane))
        moved = {"z, moved by the decoder's loss": decoder, "z, moved by the layer's loss": layer}
        moved["a code, moved"] = self._of_codes[0]
        self.legend({"z": self._dot, **names, **moved}, columns=3)

    def _draw_plane(self, plane):
        """Draw what does not move; returns it by name."""
        low, high = (self.codes.amin(0) - MARGIN).tolist(), (self.codes.amax(0) + MARGIN).tolist()
        # an even number of points, so that none is equally near to two codes side by side
        lines = [torch.linspace(*ends, 202) for ends in zip(low, high, strict=True)]
        distance = torch.cdist(torch.cartesian_prod(*lines), self.codes).square()
        for k in range(len(self.codes)):
            others = distance.clone()
            others[:, k] = torch.inf
            beyond = (distance[:, k] - others.amin(1)).reshape(202, 202).T
            plane.contour(*(line.numpy() for line in lines), beyond.numpy(), [0.0], **CONTOURS)
        looks = {"color": LINE_GREY, "mec": "white"}
        (marks,) = plane.plot(*self.codes.T.numpy(), "s", ms=13, **looks)
        middle = self.codes[:, 0].mean()
        for k, place in enumerate(self.codes.tolist()):
            shift, ha = (-12, "right") if place[0] < middle else (12, "left")
            plane.annotate(f"code {k}", place, (shift, -4), textcoords="offset points", ha=ha)
        (star,) = plane.plot(*self.target[0].numpy(), "*", ms=16, **looks)
        plane.set(xlabel="z1", ylabel="z2", aspect=1)
        plane.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        return {"codes": marks, "target of the decoder": star}

    def show(self, z1=1.5, z2=0.5, beta=0.25):
        z = torch.tensor([[z1, z2]], requires_grad=True)
        codes = self.codes.clone().requires_grad_()
        y, loss = self.quantize(z, codes, beta)
        steps = [_step(of, z, codes) for of in ((y - self.target).square().mean(), loss)]
        for line, (move, _) in zip(self._by_loss, steps, strict=True):
            _draw(line, z.detach()[0], move[0])
        moves = sum(of_codes for _, of_codes in steps)
        for line, code, move in zip(self._of_codes, self.codes, moves, strict=True):
            _draw(line, code, move)
        self._dot.set_data([z1], [z2])
        (decoder, _), (layer, _) = steps
        texts = [
            f"the decoder moves z by {_pair(decoder[0])}, the loss of the layer by "
            f"{_pair(layer[0])}"
        ]
        texts += [f"code {k} moves by {_pair(move)}" for k, move in enumerate(moves) if move.any()]
        index = torch.cdist(z.detach(), self.codes).argmin().item()
        return f"z = {_pair(z[0])} is nearest to code {index}: {'; '.join(texts)}"


def _step(loss, *leaves):
    """How far a step of gradient descent moves each leaf."""
    if not loss.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    gradients = torch.autograd.grad(loss, leaves, materialize_grads=True, retain_graph=True)
    return [-STEP * gradient for gradient in gradients]


def _draw(line, start, move):
    """A line with a mark at its end, if it goes anywhere."""
    ends = torch.stack([start, start + move]) if move.any() else torch.empty(0, 2)
    line.set_data(*ends.detach().T.numpy())


def _pair(vector):
    return f"({', '.join(short_number(number) for number in vector.tolist())})"


VECTORS, CODES, STEPS, RATE = 60, 12, 30, 0.2
REACH = 4.0  # of the plane


class DeadCodesDrawing(PanelDrawing):
    """Steps of gradient descent on the codebook loss, Σ |z − nearest code|², of random codes.

    `spread` is the standard deviation of the first codes; that of the vectors z is 0.5. A code that
    no z has chosen yet is a cross.

    >>> DeadCodesDrawing().show(spread=0.5, steps=30)
    'spread 0.5, after 30 steps: 0 of 12 codes have never been chosen'
    """

    name = "Which codes move"

    def __init__(self):
        (plane,) = self.panels(6.2, 4.6, "")
        plane.set(xlabel="z1", ylabel="z2", xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect=1)
        (points,) = plane.plot(*_vectors().T.numpy(), ".", color=LINE_GREY, ms=6)
        self._used = self.line(plane, VALUE_COLOUR, "s", ms=7)
        self._dead = self.line(plane, GRADIENT_COLOUR, "X", ms=7)
        self._says = self.words(plane, 0, REACH - 0.35)
        self.legend({"vectors z": points, "chosen": self._used, "never chosen": self._dead})

    def show(self, spread=1.5, steps=0):
        places, chosen = _descended(spread)
        codes, used = places[steps], chosen[steps]
        for marks, some in ((self._used, used), (self._dead, ~used)):
            marks.set_data(*codes[some].T.numpy())
        dead = int((~used).sum())
        self._says.set_text(f"{dead} codes were never chosen" if dead else "every code was chosen")
        start = f"spread {spread:g}, after {steps} steps"
        return f"{start}: {dead} of {CODES} codes have never been chosen"


def _vectors():
    generator = torch.Generator().manual_seed(3)
    return 0.5 * torch.randn(VECTORS, 2, generator=generator)


@lru_cache(maxsize=64)
def _descended(spread):
    """The codes before and after each step, and which of them some z has chosen by then."""
    z = _vectors()
    drawn = torch.randn(CODES, 2, generator=torch.Generator().manual_seed(0))
    codes = (spread * drawn).requires_grad_()
    optimizer = torch.optim.SGD([codes], lr=RATE)
    places, chosen, used = [], [], torch.zeros(CODES, dtype=torch.bool)
    for _ in range(STEPS + 1):
        index = torch.cdist(z, codes).argmin(1)
        used = used.clone()
        used[index] = True
        places.append(codes.detach().clone())
        chosen.append(used)
        counts = index.bincount(minlength=CODES)[index]
        optimizer.zero_grad()
        ((z - codes[index]).square().sum(1) / counts).sum().backward()
        optimizer.step()
    return places, chosen
