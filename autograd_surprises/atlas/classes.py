"""What was measured of an operation, and the classes that this puts it in."""

from dataclasses import dataclass
from math import isinf

from autograd_surprises.atlas.point import FAR
from autograd_surprises.atlas.probe import Probe

# The first two classes and "plain" are those of a whole operation, the others of a point.
CLASSES = {
    "zero everywhere": "the gradient is 0 at every point measured",
    "no derivative": "torch has none; the table gives its error message",
    "plain": "the gradient is the slope, everywhere",
    "kink": "two slopes meet, and autograd picks one number",
    "jump": "the value jumps, and the gradient is the slope beside the jump",
    "infinite": "the gradient is infinite",
    "NaN gradient": "the gradient is NaN, although the value is not",
    "NaN value": "the gradient is finite, although the value is NaN",
    "not the slope": "the gradient differs from the slope",
}


@dataclass(frozen=True)
class Measured:
    """What was measured of one operation.

    expression  its line of code; for a tie, with its inputs
    backward    the name of its node in the graph; "" if it has no derivative
    error       why it has no derivative; "" if it has one
    probes      {Point, or name of the input of a tie: Probe}, of one float64 number
    elsewhere   {key of ELSEWHERE: {Point: (value, gradient)}} where these differ from the Probe
    """

    expression: str
    backward: str
    error: str
    probes: dict[str, Probe]
    elsewhere: dict[str, dict[str, tuple[float, float]]]

    @property
    def events(self) -> dict[str, str]:
        """{point: kind} where the gradient is not just the slope.

        >>> kink, line = Probe(0, 0, 0, 1, 0, 0), Probe(1, 1, 1, 1, 1, 1)
        >>> Measured("torch.relu(x)", "ReluBackward0", "", {"0": kink, "1": line}, {}).events
        {'0': 'kink'}
        """
        kinds = {point: probe.kind for point, probe in self.probes.items()}
        if len({probe.gradient for probe in self.probes.values()}) == 1:
            kinds.pop("nan", None)  # a straight line has its slope there, too
        for point in FAR:
            if kinds.get(point) == "infinite" and isinf(self.probes[point].value):
                del kinds[point]  # as steep as the value is high
        return {point: kind for point, kind in kinds.items() if kind != "plain"}

    @property
    def classes(self) -> dict[str, list[str]]:
        """{class: points}: the kinds of its events, and what holds for the whole operation.

        >>> flat = Probe(2, 0, 0, 0, 2, 2)
        >>> Measured("torch.round(x)", "RoundBackward0", "", {"1.7": flat}, {}).classes
        {'zero everywhere': []}
        """
        if not self.backward:
            return {"no derivative": []}
        found = {}
        if all(probe.gradient == 0 for probe in self.probes.values()):
            found["zero everywhere"] = []
        for point, kind in self.events.items():
            found.setdefault(kind, []).append(point)
        return found or {"plain": []}
