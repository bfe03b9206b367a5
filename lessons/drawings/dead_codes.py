"""Codes that are drawn to the vectors that choose them, and codes that none chooses."""

from functools import lru_cache

import torch

from autograd_surprises.show.colours import GRADIENT_COLOUR, LINE_GREY, VALUE_COLOUR
from lessons.drawings.panel import PanelDrawing

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
