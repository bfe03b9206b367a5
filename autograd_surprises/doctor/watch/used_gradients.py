"""What a loop does with gradients: it clips them, clears them, uses them twice, or not at all."""

from dataclasses import dataclass
from weakref import ref

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.trained import parameters_of, scale_of
from autograd_surprises.doctor.watch.witness import Step, Told, Witness, ids_of
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.reused_gradients import ReusedGradients
from autograd_surprises.show.findings import listed
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import CLEARED_BATCHES
from autograd_surprises.symptoms.terms import UNUSED_TERM
from autograd_surprises.symptoms.wrong import (
    CLIPPED_NOTHING,
    CLIPPED_WHILE_SCALED,
    NO_GRADIENTS_YET,
    USED_UP,
    used_twice,
)

STEPS = 3  # in a row
USES = 5  # steps in which the rest of the loss was used, and a term was not


class UsedTwice(Witness):
    """Sees gradients that nothing clears, in the first ten steps.

    What proves it: backward() added to a gradient that step() had used, and step() used the sum, in
    two steps in a row; a single sum may be meant. Gradients that are spread over processes are not
    looked at.
    """

    def __init__(self, reused: ReusedGradients):
        self._reused, self._told = reused, False

    def after_forward(self, step: Step, frame):
        if step.early:
            self._reused.before_backward(frame)

    def after_backward(self, step: Step):
        if step.early:
            self._reused.after_backward()

    def before_step(self, step: Step):
        if step.early:
            self._reused.before_step(step.optimizer)

    def after_step(self, step: Step):
        if self._told or not step.early or not step.mine:
            return
        again = [(i, self._reused.used_again(p, times=2)) for i, p in enumerate(step.parameters)]
        found = [used_twice(step.named([i], step.parameters), where) for i, where in again if where]
        if found:
            self._told = True
            yield Told("gradients were used twice", found)


class ClearedBatches(Witness):
    """Sees zero_grad() before each of several backward() of one step, in the first ten steps.

    What proves it: in three steps in a row, what one line had given was cleared, with no weight
    changed since the step before, and step() used what the same line gave next. What a user has
    read of the cleared gradients cannot be seen.
    """

    def __init__(self):
        self._line: Where | None = None  # of the latest backward()
        self._versions: dict[int, int] = {}  # of weights by id, since the latest step
        # In this step: the line of a backward(), and that of clearing.
        self._cleared: dict[Where | None, Where | None] = {}
        self._again: set[Where] = set()  # lines that ran again after that
        self._seen: list[ref] = []  # whose gradients were cleared
        self._gave: dict[int, tuple[int, int]] = {}  # by id of a weight: its gradient, as given
        self._clipped_as_given: bool | None = None  # None: not clipped since
        self._steps = 0

    def after_forward(self, step: Step, frame):
        if step.early:
            self._line = where_from(frame)
            if self._line in self._cleared:
                self._again.add(self._line)

    def after_backward(self, step: Step):
        if step.early:
            alive = [p for p in (known() for known in self._seen) if p is not None]
            self._gave = {id(p): _state(p.grad) for p in alive}
            self._clipped_as_given = None

    def before_clipping(self, step: Step, parameters, frame):
        if step.early and self._clipped_as_given is None:
            self._clipped_as_given = self._are_as_given(parameters)

    def before_clearing(self, step: Step, owner, frame):
        had = step.cleared(owner) if self._line is not None else []
        if had and all(p._version == self._versions.get(id(p)) for p in had):
            self._cleared[self._line] = where_from(frame)
            self._again.discard(self._line)
            self._seen = [ref(p) for p in had]

    def before_step(self, step: Step):
        if not step.early:
            return
        line, cleared = self._line, self._cleared.get(self._line)
        as_given = self._clipped_as_given
        if as_given is None:
            as_given = self._are_as_given(step.parameters)
        self._steps = self._steps + 1 if line in self._again and as_given else 0
        if self._steps == STEPS:
            places = (("backward at", line), ("cleared at", cleared))
            found = CLEARED_BATCHES.finding(steps=STEPS).about("gradients", "wrong", places)
            yield Told("gradients were cleared before they were used", [found])

    def after_step(self, step: Step):
        if step.early:
            self._versions = {id(p): p._version for p in step.parameters}
            self._cleared, self._again = {}, set()

    def _are_as_given(self, parameters):
        """Does each hold what backward() gave to it, and nobody has written there?"""
        held = [p for p in parameters if p.grad is not None]
        return all(_state(p.grad) == self._gave.get(id(p)) for p in held)


def _state(gradient):
    return None if gradient is None else (id(gradient), gradient._version)


class Clipping(Witness):
    """Sees clipping before backward(), of a used generator, and of gradients that are scaled.

    What proves it: all gradients were None or 0, and the optimizer then used others; or the state
    of a GradScaler. Only torch's own functions are seen, until they have clipped something.

    >>> import sys
    >>> step, clipping = Step(), Clipping()
    >>> w = torch.ones(2, requires_grad=True)
    >>> list(clipping.before_clipping(step, [w], sys._getframe())); w.sum().backward()
    []
    >>> with step.made_by(torch.optim.SGD([w])):
    ...     [told.why for told in clipping.before_step(step)]
    ['no gradient was clipped']
    """

    def __init__(self):
        self._over = False
        self._in_vain: tuple[Finding, set[int]] | None = None  # and ids of what was clipped

    def before_clipping(self, step: Step, parameters, frame):
        if self._over:
            return
        places = (("clipped at", where_from(frame)),)
        self._over, self._in_vain = any(norms(parameters)), None
        if not self._over:
            found = CLIPPED_NOTHING.finding(why=NO_GRADIENTS_YET if parameters else USED_UP)
            self._in_vain = found.about("gradients", "wrong", places), ids_of(parameters)
            return
        scale = scale_of(parameters) if step.scaled else 1
        if scale > 1:
            found = CLIPPED_WHILE_SCALED.finding(scale=scale).about("gradients", "wrong", places)
            yield Told("the gradients were clipped while they were scaled", [found])

    def before_step(self, step: Step):
        if self._in_vain is None:
            return
        found, ids = self._in_vain
        if any(norms([p for p in step.parameters if id(p) in ids or not ids])):
            self._over, self._in_vain = True, None
            yield Told("no gradient was clipped", [found])


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

    def examined(self, step: Step, frame, terms):
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
                if each.steps == USES + 1:  # the latest may still be used
                    self._followed.remove(each)
                    reached = sorted(step.names.get(i, "what it holds") for i in each.reached)
                    found = UNUSED_TERM.finding(
                        reached=listed(reached, most=3), steps=USES, cut=each.cut
                    )
                    found = found.about("loss", "wrong", each.places)
                    yield Told("a term of the loss is not used", [found])
                    return
