"""The sizes of gradients, in each step."""

import math
from weakref import WeakKeyDictionary

from autograd_surprises.backward.gradient_norms import GradientNorms
from autograd_surprises.doctor.watch.witness import EARLY, Step, Told, Witness
from autograd_surprises.symptoms.finding import Finding

EXAMINE = "--steps {0} or watch(steps=[{0}]) examines this step with its lines"
ELSEWHERE = ". Another process may have made them: see what the doctor says there"


class Sizes(Witness):
    """Sees gradients that are not finite, that explode, or that die.

    What proves it: the norm of each gradient in each step, and those of the steps before. For those
    that have died, the next step is examined. It cannot see where in the graph this began.

    >>> step, w = Step(), torch.ones(2, requires_grad=True); (w * torch.inf).sum().backward()
    >>> with step.made_by(torch.optim.SGD([w])):
    ...     [told.why for told in Sizes().after_step(step)]
    ['gradients are not finite']
    """

    def __init__(self):
        self._seen: WeakKeyDictionary = WeakKeyDictionary()

    def after_step(self, step: Step):
        if not step.mine:
            return
        sizes, seen = step.sizes, self._seen.setdefault(step.optimizer, GradientNorms())
        # A fused optimizer gets scaled gradients, and skips a step with inf or NaN by itself.
        skipped = getattr(step.optimizer, "found_inf", None) is not None
        bad = [i for i, size in enumerate(sizes) if size is not None and not math.isfinite(size)]
        spoiled = [] if skipped else bad
        if spoiled and not step.bad and not step.pending:
            of_all = f"{len(spoiled)} of {len(sizes)} gradients are not finite, though the loss is"
            finite = [i for i, size in enumerate(sizes) if size is not None and i not in spoiled]
            if finite:
                of_all += f"; finite are {step.named(finite, step.parameters)}"
            if step.processes[1] > 1:
                of_all += ELSEWHERE
            yield _alarm(step, "gradients are not finite", spoiled, "nan", of_all)
        step.bad = bool(spoiled) or not step.finite
        times = 0.0 if spoiled else seen.exploded(sizes)
        if times:
            largest = sorted(range(len(sizes)), key=lambda i: -(sizes[i] or 0.0))[:3]
            text = f"the gradients are {times:,.0f} times their usual size; these are the largest"
            yield _alarm(step, "the gradients exploded", largest, "exploding", text)
        died = seen.died(sizes, later=EARLY)
        if not step.bad:
            step.died = {id(step.parameters[i]): steps for i, steps in died.items()}


def _alarm(step, why, positions, status, sentence):
    """Without an examination."""
    fix = EXAMINE.format(step.number)
    names = step.named(positions, step.parameters)
    return Told(why, [Finding(names, status, why.replace(" ", "-"), sentence, fix=fix)])
