"""Terms of a loss whose gradients no optimizer uses."""

from dataclasses import dataclass

from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.doctor.watch.witness import Step, Told, Witness, ids_of
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.show.findings import listed
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


class UnusedTerms(Witness):
    """Sees terms whose gradients no optimizer uses, cut off from what the rest of the loss trains.

    What proves it: the graph of a recorded step, and each zero_grad() and step() since. Once an
    optimizer has used the gradients of a term, it is followed no longer. With a given optimizer,
    others would not be seen, so nothing is followed.

    >>> list(UnusedTerms().after_step(Step()))
    []
    """

    def __init__(self):
        self._followed: list[_Followed] = []
        self._lines: set[Where] = set()  # of backward() calls whose terms are known

    def examined(self, step: Step, frame, model, terms):
        where = where_from(frame)
        if where not in self._lines:
            self._lines.add(where)
            self._followed += [_Followed(where, *term) for term in terms]

    def after_forward(self, step: Step, frame):
        where = where_from(frame) if self._followed else None
        for each in self._followed:
            if each.line == where:
                each.there, each.rest_used = True, False

    def before_clearing(self, step: Step, owner, frame):
        ids = ids_of(parameters_of(owner)) if self._followed else ()
        for each in self._followed:
            each.there = each.there and each.reached.isdisjoint(ids)

    def after_step(self, step: Step):
        ids = step.ids
        self._followed = [
            each for each in self._followed if not each.there or each.reached.isdisjoint(ids)
        ]
        for each in self._followed:
            if not each.rest_used and not each.missed.isdisjoint(ids):
                each.rest_used, each.steps = True, each.steps + 1
                if each.steps == STEPS + 1:  # the latest may still be used
                    self._followed.remove(each)
                    reached = sorted(step.names.get(i, "what it holds") for i in each.reached)
                    found = UNUSED_TERM.finding(
                        reached=listed(reached, most=3), steps=STEPS, cut=each.cut
                    )
                    found = found.about("loss", "wrong", each.places)
                    yield Told("a term of the loss is not used", [found])
                    return
