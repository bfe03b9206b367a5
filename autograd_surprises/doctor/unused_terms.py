"""Terms of a loss whose gradients no optimizer uses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograd_surprises.recording.places import Where
from autograd_surprises.show.findings import listed
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.terms import UNUSED_TERM

STEPS = 5  # in which the rest of the loss was used, and a term was not


@dataclass
class _Followed:
    """A term, what `detached_terms` says of it, and the line of its backward().

    Is its latest gradient there, was the rest of the loss used, and how often was it?
    """

    line: Where
    reached: frozenset[int]
    missed: frozenset[int]
    cut: str
    places: tuple[tuple[str, Where], ...]
    there: bool = True
    rest_used: bool = False
    steps: int = 0


class UnusedTerms:
    """Follows the gradients of terms that are cut off from what the rest of their loss trains.

    What proves it: the graph of a recorded step, and each zero_grad() and step() since. Once an
    optimizer has used the gradients of a term, it is followed no longer.

    >>> UnusedTerms().after_step(set(), {}) is None
    True
    """

    def __init__(self):
        self.followed: list[_Followed] = []
        self._lines: set[Where] = set()  # of backward() calls whose terms are known

    def know(self, where: Where, terms: Iterable[tuple]) -> None:
        """The backward() of this line is about to run."""
        if where not in self._lines:
            self._lines.add(where)
            self.followed += [_Followed(where, *term) for term in terms]

    def before_backward(self, where: Where) -> None:
        """It is called there."""
        for each in self.followed:
            if each.line == where:
                each.there, each.rest_used = True, False

    def before_clearing(self, ids: set[int]) -> None:
        """The gradients of the parameters with these ids are about to be cleared."""
        for each in self.followed:
            each.there = each.there and each.reached.isdisjoint(ids)

    def after_step(self, ids: set[int], names: Mapping[int, str]) -> Finding | None:
        """An optimizer that holds these ids has made a step."""
        self.followed = [
            each for each in self.followed if not each.there or each.reached.isdisjoint(ids)
        ]
        for each in self.followed:
            if not each.rest_used and not each.missed.isdisjoint(ids):
                each.rest_used, each.steps = True, each.steps + 1
                if each.steps == STEPS + 1:  # the latest may still be used
                    self.followed.remove(each)
                    reached = sorted(names.get(i, "what it holds") for i in each.reached)
                    found = UNUSED_TERM.finding(
                        reached=listed(reached, most=3), steps=STEPS, cut=each.cut
                    )
                    return found.about("loss", "wrong", each.places)
        return None
