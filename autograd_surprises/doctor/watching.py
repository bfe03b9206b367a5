"""watch(): examines the first training step, and each step in which something turns bad."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from contextlib import contextmanager
from dataclasses import replace
from weakref import WeakKeyDictionary

import torch

from autograd_surprises.backward.gradient_norms import GradientNorms, norms
from autograd_surprises.backward.same_graph import SameGraph
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor.changed_models import LaterParameters, Modes
from autograd_surprises.doctor.cleared_batches import ClearedBatches
from autograd_surprises.doctor.diagnosis import (
    description,
    examine,
    expect_model_and_optimizer,
    why_not_again,
)
from autograd_surprises.doctor.errors import finding_of_error
from autograd_surprises.doctor.first_steps import EARLY, fingerprints
from autograd_surprises.doctor.interception import Interception
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.step_reports import StepReport, StepReports
from autograd_surprises.doctor.trained import parameters_of, scale_of, trained_by
from autograd_surprises.doctor.unused_terms import UnusedTerms
from autograd_surprises.doctor.updates import Updates
from autograd_surprises.facts.processes import Replicas, alone, rank_and_size
from autograd_surprises.recording.forward_calls import is_finite
from autograd_surprises.recording.history import History
from autograd_surprises.recording.living import living
from autograd_surprises.recording.modules import parameters_in
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.setup_lines import built_at
from autograd_surprises.show.findings import listed
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import diverged
from autograd_surprises.symptoms.terms import detached_terms
from autograd_surprises.symptoms.untrained import ALL_FROZEN, NO_STEP
from autograd_surprises.symptoms.wrong import (
    CLIPPED_NOTHING,
    CLIPPED_WHILE_SCALED,
    NO_GRADIENTS_YET,
    USED_UP,
    used_twice,
)

WAIT = 10  # steps, at most, for the first loss of a second optimizer, before its first step
BORROWED = (
    "; not recorded, so the lines are those of an earlier step with the same graph: "
    "--steps {0} or watch(steps=[{0}]) records this one"
)
UNRECORDED = "; not recorded, so no lines are known: --steps {0} or watch(steps=[{0}]) records it"
EXAMINE = "--steps {0} or watch(steps=[{0}]) examines this step with its lines"
SIZES = "; the sizes of its gradients and updates are watched: of the part in this process"
ELSEWHERE = ". Another process may have made them: see what the doctor says there"
RECORD = "--steps {0} or watch(steps=[{0}]) records what it takes to name its lines"
SECOND_BACKWARD = "second-backward"  # its other line is in the step before
ORDER = ": it is watch(model, optimizer)"
NO_STEP_SEEN = "no training step was seen: nothing called backward() of a tensor"
NO_STEP_HERE = (
    "no training step was seen: another thread called backward(), and watch() sees only the thread "
    "that it was called in. Write `with watch():` inside the function that trains"
)
ANOTHER = "the first with another optimizer"
FEW = 3  # optimizers for which one loss is examined
MANY = 10  # optimizers that begin later and are examined: each is kept, and takes its time


class watch(Interception):  # noqa: N801  a context manager, written like no_grad
    """Watch a training loop: examine its first step, and each step in which something turns bad.

    A step is bad if the loss or a gradient is not finite, if a gradient that was there in every
    step is None or zero for the second step in a row (the tenth, if its parameter was not used), or
    if the gradients are 1,000 times their usual size. It is
    also bad if the first two steps of an optimizer did nothing: no loss reached what it holds, or
    not one element of a parameter changed; or if 16 steps changed few elements of a weight in 16
    bits, because the updates are rounded away; or if two steps in a row, among the first ten, used
    gradients that were not cleared; see also symptoms/loops.py. Each step ends with an optimizer's
    step(), in this thread. While somebody else records, traces or counts, steps pass unseen.
    Steps are recorded until a loss of each optimizer has been examined, and if they are asked for;
    of the others, the loss and the norm of each gradient are read.

    model      the default: the modules whose parameters the loss reaches
    optimizer  the default: every optimizer
    steps      numbers of steps that are examined in any case

    Raises TypeError for another model or optimizer.

    reports    what was found, a StepReport for each step that was examined
    step, loss the number of the latest step, and its loss

    >>> layer = torch.nn.Linear(2, 1)
    >>> sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    >>> with watch(layer, sgd) as w:
    ...     layer(torch.ones(1, 2)).sum().backward(); sgd.step()
    >>> print(w)
    1 step, examined in full; no alarm
    """

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        steps: Collection[int] = (1,),
    ) -> None:
        expect_model_and_optimizer(model, optimizer, ORDER)
        self.model, self.optimizer, self.steps = model, optimizer, frozenset(steps)
        self.step = 0
        self.loss: torch.Tensor | None = None
        self._troubles: list[str] = []  # steps that could not be examined
        self._recorder = Recorder(eager=False)
        self._recording = self._busy = False
        self._why = ""  # if there is a reason, reports of this step are published even if healthy
        # Else, only if it finds these bad: {id of a parameter: steps since its gradient has died}
        self._suspects: dict[int, int] = {}
        self._stepped = True  # since the latest backward
        self._backwards = 0  # in this step
        self._reached: set[int] = set()  # ids of leaves whose gradients were examined
        self._reached_now: set[int] = set()  # in this step
        self._waiting: list[set[int]] = []  # ids of what optimizers hold, before their first step
        self._later_ones = 0  # optimizers that were built, or made a step, later
        self._full: set[int] = set()  # steps that were examined in full
        self._by_sizes = 0  # others, of which the sizes of gradients and updates are known
        self._passing = False  # is this a step that must not be looked at?
        self._passed: dict[str, int] = {}  # why so many steps were not looked at
        self._elsewhere = False  # does another thread call backward()?
        self._patience = WAIT  # until this step
        self._by_hand = False  # is there no optimizer?
        self._reaches = True  # does the latest loss reach what an optimizer holds?
        self._optimized = False  # did one make a step, perhaps within a backward?
        self._scaled = False  # is there a GradScaler?
        self._clipped = False  # was clipping seen, of gradients other than 0?
        self._used_twice = False  # was it told that gradients were?
        self._told_of_later = False  # and that a layer was replaced?
        self._inputs = False  # may somebody want the gradient of an input, and no step?
        self._failed = False  # did a backward raise an error?
        self._cleared: tuple[Where, set[int]] | None = None  # since backward: where, ids of what
        self._unused: list[Where] = []  # where gradients were cleared before any step
        self._before: dict[torch.Tensor, int | None] = {}  # fingerprints of what had these
        self._in_vain: tuple[Finding, set[int]] | None = None  # of others, and ids of whose
        self._unexamined = ""  # why the latest backward could not be examined
        self._finite, self._bad = True, False  # was the latest loss; was it, or a gradient, not?
        self._norms: WeakKeyDictionary = WeakKeyDictionary()  # by optimizer
        self._graphs: list[SameGraph] = []  # of the latest losses that were recorded
        self._borrowed = False  # did it name lines of a step that was not recorded?
        self._modes, self._later, self._batches = Modes(), LaterParameters(), ClearedBatches()
        self._terms = UnusedTerms()
        self._updates = Updates(model)
        self._reports = StepReports(self.steps, self._updates)
        self._unseen = "no step that was asked for was seen"  # why none is examined
        self._names: dict[int, str] = {}  # of parameters, by id
        self.processes = (0, 1)  # the rank of this one, and how many train together
        self._replicas = Replicas(fingerprints)

    @property
    def reports(self) -> list[StepReport]:
        return self._reports.published

    @property
    def healthy(self) -> bool:
        """Was a step examined, and nothing bad found? The notes in the summary are no alarm."""
        good = all(each.healthy for each in self.reports) and not self._troubles
        return good and bool(self.reports)

    @property
    def summary(self) -> str:
        """How many steps there were, which were examined, and what was found."""
        if not self.step:
            return NO_STEP_HERE if self._elsewhere else NO_STEP_SEEN
        rank, size = self.processes
        rows = [f"rank {rank} of {size}: {self._looked_at}" if size > 1 else self._looked_at]
        bad = [each for each in self.reports if not each.healthy]
        if bad:
            rows.append(f"first bad step: {bad[0].step} ({bad[0].why})")
        elif self.healthy:
            rows[0] += "; no alarm"
        elif not self._full and not self._troubles:
            rows[0] += f": {self._unseen}"
        for each in bad:
            rows += [f"  step {each.step}: {line}" for line in each.headlines()]
        return "\n".join([*rows, *self._reports.notes, *self._troubles])

    def __str__(self):
        return self.summary

    __repr__ = __str__

    @property
    def _looked_at(self):
        """How many steps there were, and how closely they were looked at."""
        if self.step == 1 and self._full:
            return "1 step, examined in full"
        which = listed([str(step) for step in sorted(self._full)], most=8)
        steps = f"{self.step} {'step' if self.step == 1 else 'steps'}"
        parts = [f"{len(self._full) or 'none'} of {steps} examined in full"]
        parts[0] += f" ({which})" if which else ""
        parts += [f"{self._by_sizes} by sizes"] if self._by_sizes else []
        parts += [f"{n} not looked at, because of {why}" for why, n in self._passed.items()]
        return ", ".join(parts)

    def reported(self, report: StepReport) -> None:
        """Called with each new report; for a subclass."""

    def stepped(self) -> None:
        """Called after each step; for a subclass."""

    def __enter__(self) -> watch:
        super().__enter__()
        self._prepare(1)
        return self

    def __exit__(self, *error: object) -> None:
        self._record(False)
        super().__exit__(*error)
        self._publish()
        self._report(self._reports.publish_late(at_the_end=True))
        with self._careful():
            self._look_for_later_parameters()
        for idle in self._updates.at_the_end():
            self._report(self._reports.publish_idle(self.step, self.loss, idle))
        if self.reports and not (self._optimized or self._by_hand or self._failed):
            why = " (a GradScaler skips those with inf or NaN)" if self._scaled else ""
            self._reports.notes.append(f"no step() of an optimizer was seen{why}")
            if len(self._unused) > 1 and not (self._scaled or self._inputs):
                with self._careful():
                    self._tell_that_nothing_moved()

    def abandon(self):
        self._reports.pending = []
        self._record(False)
        super().abandon()

    # Recording has to begin before the forward pass of the step that is to be examined.

    def _prepare(self, step):
        self._why = ("the first one" if step == 1 else "asked for") if step in self.steps else ""
        self._record(bool(self._why or self._suspects or self._waiting or self._updates.waiting))

    def _record(self, on):
        if self._recorder.trouble:
            self._trouble(f"the recording met an error: {self._recorder.trouble}")
        if on and not self._recording:
            self._recorder.forget()
            self._recorder.__enter__()
        elif self._recording and not on:
            self._recorder.__exit__(None, None, None)
        self._recording = on

    # A step is one backward or several, then an optimizer's step().

    def passed_by(self, why):
        new = self._stepped
        self._count()
        if new:
            self._passed[why] = self._passed.get(why, 0) + 1
            self._passing = True

    def step_passed_by(self):
        self._stepped = True

    def elsewhere(self):
        self._elsewhere = True

    def troubled(self, error):
        self._trouble(f"{type(error).__name__}: {error}")

    def _count(self):
        """A backward is about to begin, perhaps the first of a step."""
        if self._stepped:
            self.step, self._stepped, self._backwards = self.step + 1, False, 0
            self._reached_now, self._passing = set(), False
        self._backwards += 1

    def optimizer_built(self, optimizer):
        new = ids_of(parameters_of(optimizer))
        if self.step and self._reached and self._reached.isdisjoint(new) and self._is_mine(new):
            self._wait_for(new, WAIT)
            self._record(bool(self._recording or self._waiting))  # its first step may be the next

    def _is_mine(self, ids):
        return self.model is None or not ids_of(parameters_in(self.model)).isdisjoint(ids)

    def _wait_for(self, ids, steps):
        self._later_ones += 1
        if self._later_ones <= MANY:
            self._waiting.append(ids)
            self._patience = max(self._patience, self.step + steps)

    def before_backward(self, roots, weights, inputs, frame):
        self._count()
        self.processes = rank_and_size()
        self._unexamined, self._cleared = "", None
        self.loss = roots[0].detach()
        if self._terms.followed:
            self._terms.before_backward(where_from(frame))
        finite = self._finite = all(map(is_finite, roots))
        turned, self._bad = not finite and not self._bad, self._bad or not finite
        if len(roots) > 1:
            self._unseen = "a backward() of several tensors at once is not examined"
        if self._recording and self._updates.waiting and len(roots) == 1:
            with self._careful():
                self._look_for_what_is_missed(roots[0], weights, frame)
        if (turned or self._recording) and len(roots) == 1:
            with self._careful():
                self._examine(roots[0], weights, inputs, frame, finite)
        bad = f"the loss is {'nan' if turned and self.loss.isnan().any() else 'inf'}"
        if turned and self._unexamined:
            text = f"{bad}; the cause is not known, because {self._unexamined}"
            self._alarm(bad, "loss", bad.split()[-1], text, "watch the same step in one process")
        if turned and self._reports.pending:
            self._why = bad
            if not self._recording:
                self._why += (BORROWED if self._borrowed else UNRECORDED).format(self.step)
            self._publish()
        if self._early:
            with self._careful():  # after the doctor's own backward
                self._recorder.reused.before_backward(frame)
                self._batches.before_backward(where_from(frame))

    def backward_failed(self, error):
        self._failed = True
        history = History(self._recorder if self._recording else None)
        found = finding_of_error(error, history)
        if not self._recording:
            needed = f"{self.step - 1},{self.step}" if found.cause == SECOND_BACKWARD else self.step
            found = replace(found, also=(*found.also, RECORD.format(needed)))
        if found.cause != "unknown-error":
            self._why = "backward raised an error"
            if found.cause == "not-connected":
                found = _about_frozen(found)
            report = Report(description(self.loss), (found,), None, history, {})
            self._reports.pending = [(report, {})]
            self._publish()

    def after_backward(self):
        if self._early:
            with self._careful():
                self._recorder.reused.after_backward()
                self._batches.after_backward()
        if self._by_hand:
            self._end_of_step({})

    def before_clipping(self, parameters, frame):
        if self._early:
            self._batches.before_clipping(parameters)
        if self._clipped:
            return
        places = (("clipped at", where_from(frame)),)
        self._clipped = any(norms(parameters))
        if not self._clipped:
            found = CLIPPED_NOTHING.finding(why=NO_GRADIENTS_YET if parameters else USED_UP)
            self._in_vain = found.about("gradients", "wrong", places), ids_of(parameters)
            return
        self._in_vain = None
        scale = scale_of(parameters) if self._scaled else 1
        if scale > 1:
            found = CLIPPED_WHILE_SCALED.finding(scale=scale).about("gradients", "wrong", places)
            self._tell("the gradients were clipped while they were scaled", found)

    def before_clearing(self, owner, frame):
        late = self._stepped or self.step > WAIT
        if late and not self._terms.followed:
            return
        is_module = isinstance(owner, torch.nn.Module)
        parameters = parameters_in(owner) if is_module else parameters_of(owner)
        self._terms.before_clearing(ids_of(parameters))
        if late:
            return
        sizes = zip(parameters, norms(parameters), strict=True)
        had = [parameter for parameter, size in sizes if size]
        if had:
            self._batches.before_clearing(had, where_from(frame))
            self._cleared = where_from(frame), ids_of(had)
            self._unused.append(self._cleared[0])
        if had and not (self._before or self._optimized):
            self._before = dict(zip(had, fingerprints(had), strict=True))

    def _note_clearing(self, optimizer, parameters):
        """Was what backward() gave to these cleared before the step that has just been made?"""
        cleared = self._cleared
        if cleared is None or cleared[1].isdisjoint(ids_of(parameters)) or any(norms(parameters)):
            self._updates.cleared.pop(optimizer, None)
        else:
            self._updates.cleared[optimizer] = cleared

    def _tell_that_nothing_moved(self):
        """Their gradients were cleared again and again, and no step was made, not even by hand."""
        held, before = list(self._before), list(self._before.values())
        if None not in before and fingerprints(held) == before:
            names = self._named(range(len(held)), held)
            found = NO_STEP.finding(times=len(self._unused))
            places = (("cleared at", self._unused[-1]),)
            self._tell("no step was made", found.about(names, "not trained", places))

    def _tell_of_clipping_in_vain(self, parameters):
        """The gradients that an optimizer is about to use came after the clipping, or beside it."""
        found, ids = self._in_vain
        if any(norms([p for p in parameters if id(p) in ids or not ids])):
            self._clipped, self._in_vain = True, None
            self._tell("no gradient was clipped", found)

    def before_optimizer(self, optimizer):
        self._optimized = True
        if not self._busy and (self.optimizer is None or optimizer is self.optimizer):
            if self._in_vain is not None:
                self._tell_of_clipping_in_vain(parameters_of(optimizer))
            self._updates.before(optimizer)
            if self._early:
                self._recorder.reused.before_step(optimizer)
                cleared = self._batches.before_step(parameters_of(optimizer))
                if cleared is not None:
                    self._tell("gradients were cleared before they were used", cleared)
            if self.processes[1] > 1:
                self._replicas.before(optimizer)

    def after_optimizer(self, optimizer):
        self._optimized = True
        if not self.step or (self.optimizer is not None and optimizer is not self.optimizer):
            return
        parameters = parameters_of(optimizer)
        if self._by_hand:  # so far; steps are counted from its first one now
            self._by_hand, self.step, self._full = False, 1, self._full & {1}
        ids = ids_of(parameters)
        if optimizer not in self._norms:
            mine = self._is_mine(ids)
            self._norms[optimizer] = GradientNorms() if mine else None
            if mine and self._reached and self._reached.isdisjoint(ids):
                self._wait_for(ids, max(WAIT, self.step + 1))
        if self._reached_now and any(ids & held for held in self._waiting):
            self._waiting = [held for held in self._waiting if not ids & held]
            self._why = self._why or ANOTHER
        suspects = {}
        if self._norms[optimizer] is not None:
            with self._careful():
                suspects = self._look_at_gradients(self._norms[optimizer], optimizer, parameters)
                self._look_for_reuse(parameters)
        idle = None
        with self._careful():
            if self._cleared is not None or optimizer in self._updates.cleared:
                self._note_clearing(optimizer, parameters)
            idle = self._updates.after(optimizer)
            if apart := self._replicas.after(optimizer):
                self._tell("the processes have different weights", diverged(*apart, self._names))
            unused = self._terms.after_step(ids, self._names)
            if unused is not None:
                self._tell("a term of the loss is not used", unused)
            self._later.after_step(optimizer, ids)
            self._look_at_the_model(ids)
            if self._early:
                self._batches.after_step(parameters)
        if self._norms[optimizer] is not None:
            self._end_of_step(suspects)
        if idle is not None:
            self._report(self._reports.publish_idle(self.step, self.loss, idle))

    def _look_at_the_model(self, ids):
        """Its mode after each step; its parameters after steps 2, 4, 8, and so on, to be cheap."""
        changed = self._modes.after_step(self.step, ids)
        if changed is not None:
            self._tell("the model trains in eval mode", changed)
        if self.step & (self.step - 1) == 0:
            self._look_for_later_parameters()

    def _look_for_later_parameters(self):
        found = self._later.look() if self.step > 1 and not self._told_of_later else []
        self._told_of_later = self._told_of_later or bool(found)
        if found:
            self._tell("a layer was replaced", *found)

    def _end_of_step(self, suspects):
        if self._norms and not (self._stepped or self._passing or self.step in self._full):
            self._by_sizes += 1
        self._report(self._reports.publish_late())
        self._publish()
        self._suspects = suspects | self._suspects if self._stepped else suspects
        self._stepped = True
        if self.step >= self._patience:
            self._waiting = []
        self._prepare(self.step + 1)
        self.stepped()

    def _look_at_gradients(self, seen, optimizer, parameters):
        """Alarms, and the parameters that the next step has to be examined for."""
        with torch.no_grad():
            now = norms(parameters)
        # A fused optimizer gets scaled gradients, and skips a step with inf or NaN by itself.
        skipped = getattr(optimizer, "found_inf", None) is not None
        bad = [i for i, norm in enumerate(now) if norm is not None and not math.isfinite(norm)]
        spoiled = [] if skipped else bad
        if spoiled and not self._bad and not self._reports.pending:
            of_all = f"{len(spoiled)} of {len(now)} gradients are not finite, though the loss is"
            finite = [i for i, norm in enumerate(now) if norm is not None and i not in spoiled]
            if finite:
                of_all += f"; finite are {self._named(finite, parameters)}"
            if self.processes[1] > 1:
                of_all += ELSEWHERE
            names = self._named(spoiled, parameters)
            self._alarm("gradients are not finite", names, "nan", of_all)
        self._bad = bool(spoiled) or not self._finite
        times = 0.0 if spoiled else seen.exploded(now)
        if times:
            largest = sorted(range(len(now)), key=lambda i: -(now[i] or 0.0))[:3]
            text = f"the gradients are {times:,.0f} times their usual size; these are the largest"
            names = self._named(largest, parameters)
            self._alarm("the gradients exploded", names, "exploding", text)
        died = seen.died(now, later=EARLY)
        return {} if self._bad else {id(parameters[i]): steps for i, steps in died.items()}

    @property
    def _early(self):
        """Is it looked at whether gradients are used twice?"""
        return self.step <= EARLY

    def _look_for_reuse(self, parameters):
        """In the first steps, recorded or not: gradients that nothing clears, told once.

        A single sum may be meant; two in a row are not.
        """
        if self._used_twice or not self._early:
            return
        reused = self._recorder.reused
        again = [(i, reused.used_again(p, times=2)) for i, p in enumerate(parameters)]
        found = [used_twice(self._named([i], parameters), where) for i, where in again if where]
        self._used_twice = bool(found)
        if found:
            self._tell("gradients were used twice", *found)

    # Reports.

    def _examine(self, loss, weights, inputs, frame, finite):
        backward = Backward(loss.grad_fn) if loss.grad_fn is not None else None
        leaves = backward.leaves if backward is not None else []
        harm = why_not_again(backward, self._recorder)
        if harm:
            return self._only_sizes(harm)
        # Another leaf may be new in each forward: embeddings that require a gradient.
        ids = ids_of(x for x in leaves if isinstance(x, torch.nn.Parameter)) or ids_of(leaves)
        if self.model is not None and ids and ids.isdisjoint(map(id, parameters_in(self.model))):
            self._unseen = "the loss reaches no parameter of the model"
            return
        anew = self._why or self._suspects or self._waiting
        if finite and ids and ids <= (self._reached_now if anew else self._reached):
            return
        self._reached |= ids
        self._reached_now |= ids
        trained = trained_by(leaves, frame, self.model, self.optimizer)
        self._reaches = isinstance(trained.wrt, torch.optim.Optimizer)
        self._by_hand = not self._reaches and not trained.others
        known = ids_of(parameters_of(trained.wrt))
        self._inputs = any(
            not isinstance(leaf, torch.nn.Parameter) and id(leaf) not in known for leaf in leaves
        )
        self._scaled = trained.scaled
        self._modes.know(trained.model)
        self._later.know(trained.model)
        if self.step in self.steps and self.step < self._patience:
            self._waiting = [ids_of(p for p in held if p.requires_grad) for held in trained.held]
        if not self._recording:
            found = (graph.history_of(loss.grad_fn) for graph in self._graphs)
            source = next((history for history in found if history is not None), None)
        elif self._recorder.ended:  # what it has not seen may be there all the same
            source = History(self._recorder)
        else:
            source = self._recorder
        self._borrowed = not self._recording and source is not None
        wrt = trained.wrt if inputs is None else inputs
        with alone() as refused:
            report = examine(loss, wrt, trained.model, trained.optimizer, weights, source, frame)
        if refused:
            return self._only_sizes(refused[0])
        if self._recording and loss.grad_fn is not None:
            self._graphs = [SameGraph(loss.grad_fn, report.history), *self._graphs[:WAIT]]
            terms = detached_terms(report.backward, report.history, leaves)
            self._terms.know(where_from(frame), terms if self.optimizer is None else ())
        held = parameters_of(trained.optimizer) if trained.optimizer is not None else []
        self._reports.held |= ids_of(held)
        tensors = [*(parameters_in(trained.model) if trained.model is not None else ()), *held]
        tensors += leaves
        named = {report.names[id(each)]: each for each in tensors if id(each) in report.names}
        self._names.update((id(tensor), name) for name, tensor in named.items())
        unseen = {"optimizer", *(name for name, t in named.items() if id(t) not in ids)}
        findings = [
            found
            for found in report.findings
            if not (trained.scaled and finite and found.status in ("nan", "inf"))
            and not (source is None and found.cause == "forward-nonfinite")  # it saw no forward
            # A stand-in for several optimizers may hold what belongs to other models.
            and not (found.status == "not trained" and found.name in unseen)
        ]
        self._reports.pending.append((replace(report, findings=tuple(findings)), named))
        self._full.add(self.step)

    def _look_for_what_is_missed(self, loss, weights, frame):
        """What this loss should reach, since the first step of its optimizer came to nothing."""
        backward = Backward(loss.grad_fn) if loss.grad_fn is not None else None
        if why_not_again(backward, self._recorder):  # as _examine will say
            return
        leaves = backward.leaves if backward is not None else []
        source = History(self._recorder) if self._recorder.ended else self._recorder
        for optimizer in self._updates.waiting[:FEW]:
            both = [*leaves, *parameters_of(optimizer)]
            trained = trained_by(both, frame, self.model, optimizer)
            with alone():
                self._updates.missed[optimizer] = examine(
                    loss, trained.wrt, trained.model, trained.optimizer, weights, source, frame
                )

    def _publish(self):
        if not (self._reaches or self._by_hand or self._updates.reached_any):
            self._unseen = "the loss reaches nothing that an optimizer holds"
            self._reports.drop_healthy()
        new = self._reports.publish(self.step, self._why, self._suspects, self._backwards)
        self._report(new)

    def _report(self, new):
        for each in new:
            self.reported(each)

    def _alarm(self, why, names, status, sentence, fix=""):
        """A report without an examination."""
        fix = fix or EXAMINE.format(self.step)
        self._tell(why, Finding(names, status, why.replace(" ", "-"), sentence, fix=fix))

    def _tell(self, why, *found):
        report = Report(description(self.loss), found, None, History(), {})
        self._report(self._reports.add(StepReport(self.step, why, report)))

    def _named(self, positions, parameters):
        names = [self._names.get(id(parameters[i]), f"parameter {i}") for i in positions]
        return listed(names, most=6)

    @contextmanager
    def _careful(self):
        """What goes wrong in here must not end the training."""
        try:
            yield
        except Exception as error:
            self._trouble(f"{type(error).__name__}: {error}")

    def _only_sizes(self, why):
        self._unexamined = why
        self._trouble(f"{why}{SIZES}")

    def _trouble(self, why):
        if not any(text.endswith(f": {why}") for text in self._troubles):
            text = f"step {self.step} could not be examined: {why}"
            self._troubles = [*self._troubles[:4], text]


def _about_frozen(found):
    """What is known instead, if all that an optimizer holds is frozen."""
    (optimizers,) = living(torch.optim.Optimizer)
    for optimizer in optimizers:
        held = parameters_of(optimizer)
        if held and not any(parameter.requires_grad for parameter in held):
            places = (("the optimizer was built at", built_at(optimizer)), *found.places)
            frozen = ALL_FROZEN.finding(optimizer=type(optimizer).__name__, count=len(held))
            return frozen.about(found.name, found.status, places, also=found.also)
    return found


def ids_of(tensors: Iterable[torch.Tensor]) -> set[int]:
    """The ids of these tensors."""
    return {id(tensor) for tensor in tensors}
