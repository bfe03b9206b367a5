"""Examines the losses of some steps: with the lines of their forward pass, if it is recorded."""

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch.optim import Optimizer

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor.diagnosis import description, examine, why_not_again
from autograd_surprises.doctor.errors import finding_of_error
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.trained import parameters_of, trained_by
from autograd_surprises.doctor.watch.step_reports import StepReports
from autograd_surprises.doctor.watch.witness import Step, Told, Witness, ids_of
from autograd_surprises.facts.graph import Node
from autograd_surprises.facts.processes import alone
from autograd_surprises.recording.guest import Quietly
from autograd_surprises.recording.history import History
from autograd_surprises.recording.modules import living
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.setup_lines import built_at
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.terms import detached_terms
from autograd_surprises.symptoms.untrained import ALL_FROZEN

WAIT = 10  # steps, at most, for the first loss of a second optimizer, before its first step
BORROWED = (
    "; not recorded, so the lines are those of an earlier step with the same graph: "
    "--steps {0} or watch(steps=[{0}]) records this one"
)
UNRECORDED = "; not recorded, so no lines are known: --steps {0} or watch(steps=[{0}]) records it"
SIZES = "; the sizes of its gradients and updates are watched: of the part in this process"
RECORD = "--steps {0} or watch(steps=[{0}]) records what it takes to name its lines"
SECOND_BACKWARD = "second-backward"  # its other line is in the step before
ANOTHER = "the first with another optimizer"
FEW = 3  # optimizers for which one loss is examined
MANY = 10  # optimizers that begin later and are examined: each is kept, and takes its time


class FullSteps:
    """Examines the losses of a step in full: if asked for, or bad, or the first of an optimizer.

    Steps are recorded until a loss of each optimizer has been examined, if they are asked for, and
    if a gradient has died in the one before. The lines of another step are those of a recorded one
    with the same graph, or not known.

    numbers  of the steps that were examined
    unseen   why none was

    >>> import sys
    >>> w, step = torch.ones(2, requires_grad=True), Step()
    >>> full = FullSteps(step, StepReports({1}), None, []); full.prepare(1); loss = w.sum()
    >>> new = step.begin(); step.look_at_loss([loss])
    >>> full.after_forward([loss], None, None, sys._getframe()); full.record(False); full.numbers
    {1}
    """

    def __init__(
        self,
        step: Step,
        reports: StepReports,
        optimizer: Optimizer | None,
        witnesses: Sequence[Witness],
    ):
        self.numbers: set[int] = set()
        self.unseen = "no step that was asked for was seen"
        self.recorder = Recorder(eager=False)
        self._step, self._reports, self._optimizer = step, reports, optimizer
        self._idle, self._witnesses = reports.idle, witnesses
        self._recording = False
        self._why = ""  # if there is a reason, reports of this step are published even if healthy
        self._reached: set[int] = set()  # ids of leaves whose gradients were examined
        # Did it hold parameters of the model, when it made its first step?
        self._mine: WeakKeyDictionary[Optimizer, bool] = WeakKeyDictionary()
        self._waiting: list[set[int]] = []  # ids of what optimizers hold, before their first step
        self._later_ones = 0  # optimizers that were built, or made a step, later
        self._patience = WAIT  # until this step
        self._reaches = True  # does the latest loss reach what an optimizer holds?
        self._unexamined = ""  # why the latest backward could not be examined
        self._graphs: list[SameGraph] = []  # of the latest losses that were recorded
        self._borrowed = False  # did it name lines of a step that was not recorded?

    # Recording has to begin before the forward pass of the step that is to be examined.

    def prepare(self, number: int) -> None:
        """The step with this number may begin now."""
        if number > self._patience:
            self._waiting = []
        asked = number in self._reports.steps
        self._why = ("the first one" if number == 1 else "asked for") if asked else ""
        self.record(self._why or self._step.suspects or self._waiting or self._idle.waiting)

    def record(self, on: object) -> None:
        """Record what comes, or nothing any more."""
        if self.recorder.trouble:
            why = f"the recording met an error: {self.recorder.trouble}"
            self._reports.trouble(self._step, why)
        if on and not self._recording:
            self.recorder.forget()
            self.recorder.__enter__()
        elif self._recording and not on:
            self.recorder.__exit__(None, None, None)
        self._recording = bool(on)

    def built(self, optimizer: Optimizer) -> None:
        """The user has made another optimizer: its first step may be the next."""
        new = ids_of(parameters_of(optimizer))
        begun = self._step.number and self._reached
        if begun and self._reached.isdisjoint(new) and self._step.is_mine(new):
            self._wait_for(new, WAIT)
            self.record(self._recording or self._waiting)

    def _wait_for(self, ids, steps):
        self._later_ones += 1
        if self._later_ones <= MANY:
            self._waiting.append(ids)
            self._patience = max(self._patience, self._step.number + steps)

    def after_forward(self, roots, weights, inputs, frame) -> None:
        """The loss is known, and backward() is about to run."""
        step, self._unexamined = self._step, ""
        if len(roots) > 1:
            self.unseen = "a backward() of several tensors at once is not examined"
        elif self._recording or step.turned:
            with Quietly(self.troubled):
                self._look_at(roots[0], weights, inputs, frame)
        if not step.turned:
            return
        kind = "nan" if step.loss.isnan().any() else "inf"
        bad = f"the loss is {kind}"
        if self._unexamined:
            text = f"{bad}; the cause is not known, because {self._unexamined}"
            fix = "watch the same step in one process"
            found = Finding("loss", kind, bad.replace(" ", "-"), text, fix=fix)
            self._reports.tell(step, Told(bad, [found]))
        if step.pending:
            lines = BORROWED if self._borrowed else UNRECORDED
            self._why = bad if self._recording else bad + lines.format(step.number)
            self.publish()

    def failed(self, error: Exception) -> None:
        """backward() raised this."""
        history = History(self.recorder if self._recording else None)
        found, number = finding_of_error(error, history), self._step.number
        if found.cause == "unknown-error":
            return
        if not self._recording:
            needed = f"{number - 1},{number}" if found.cause == SECOND_BACKWARD else number
            found = replace(found, also=(*found.also, RECORD.format(needed)))
        if found.cause == "not-connected":
            found = _about_frozen(found)
        self._why = "backward raised an error"
        report = Report(description(self._step.loss), (found,), None, history, {})
        self._step.pending = [(report, {})]
        self.publish()

    def after_step(self) -> None:
        """Is it the first step of another optimizer, or the one that was waited for?"""
        step, ids = self._step, self._step.ids
        if step.by_hand:  # so far; steps are counted from its first one now
            step.by_hand, step.number = False, 1
            self.numbers &= {1}
        if step.optimizer not in self._mine:
            self._mine[step.optimizer] = mine = step.is_mine(ids)
            if mine and self._reached and self._reached.isdisjoint(ids):
                self._wait_for(ids, max(WAIT, step.number + 1))
        step.mine = self._mine[step.optimizer]
        if step.reached and any(ids & held for held in self._waiting):
            self._waiting = [held for held in self._waiting if not ids & held]
            self._why = self._why or ANOTHER

    def publish(self) -> None:
        """What is known of this step."""
        if not (self._reaches or self._step.by_hand or self._idle.reached_any):
            self.unseen = "the loss reaches nothing that an optimizer holds"
            pending = self._step.pending
            self._step.pending = [p for p in pending if any(f.alarming for f in p[0].findings)]
        self._reports.publish(self._step, self._why)

    def troubled(self, error: Exception) -> None:
        """This came in between."""
        self._reports.trouble(self._step, f"{type(error).__name__}: {error}")

    def _only_sizes(self, why):
        self._unexamined = why
        self._reports.trouble(self._step, f"{why}{SIZES}")

    def _look_at(self, loss, weights, inputs, frame):
        backward = Backward(loss.grad_fn) if loss.grad_fn is not None else None
        harm = why_not_again(backward, self.recorder)
        if harm:
            return self._only_sizes(harm)
        leaves = backward.leaves if backward is not None else []
        if self._recording:
            with Quietly(self.troubled):
                self._look_for_what_is_missed(loss, leaves, weights, frame)
        self._examine(loss, leaves, weights, inputs, frame)

    def _look_for_what_is_missed(self, loss, leaves, weights, frame):
        """What this loss should reach, since the first step of its optimizer came to nothing."""
        for optimizer in self._idle.waiting[:FEW]:
            both = [*leaves, *parameters_of(optimizer)]
            trained = trained_by(both, frame, self._step.model, optimizer)
            with alone():
                found = self._examined(loss, trained.wrt, trained, weights, frame)
                self._idle.missed[optimizer] = found

    def _examined(self, loss, wrt, trained, weights, frame, source=None):
        if self._recording:  # what the recorder has not seen may be there all the same
            source = History(self.recorder) if self.recorder.ended else self.recorder
        return examine(loss, wrt, trained.model, trained.optimizer, weights, source, frame)

    def _examine(self, loss, leaves, weights, inputs, frame):
        step = self._step
        # Another leaf may be new in each forward: embeddings that require a gradient.
        ids = ids_of(x for x in leaves if isinstance(x, torch.nn.Parameter)) or ids_of(leaves)
        if ids and not step.is_mine(ids):
            self.unseen = "the loss reaches no parameter of the model"
            return
        anew = self._why or step.suspects or self._waiting
        if step.finite and ids and ids <= (step.reached if anew else self._reached):
            return
        self._reached |= ids
        step.reached |= ids
        trained = trained_by(leaves, frame, step.model, self._optimizer)
        self._note_what_is_trained(trained, leaves)
        graphs = () if self._recording else self._graphs
        found = (graph.history_of(loss.grad_fn) for graph in graphs)
        borrowed = next((history for history in found if history is not None), None)
        self._borrowed = borrowed is not None
        wrt = trained.wrt if inputs is None else inputs
        for witness in self._witnesses:
            witness.trains(step, trained.model)
        with alone() as refused:
            report = self._examined(loss, wrt, trained, weights, frame, borrowed)
        if refused:
            return self._only_sizes(refused[0])
        if self._recording and loss.grad_fn is not None:
            self._graphs = [SameGraph(loss.grad_fn, report.history), *self._graphs[:WAIT]]
            terms = detached_terms(report.backward, report.history, leaves)
            for witness in self._witnesses:
                witness.examined(step, frame, terms if self._optimizer is None else ())
        named = self._named(report, trained, leaves)
        unseen = {"optimizer", *(name for name, t in named.items() if id(t) not in ids)}
        findings = [
            found
            for found in report.findings
            if not (trained.scaled and step.finite and found.status in ("nan", "inf"))
            # Without a recording, it saw no forward.
            and (self._recording or self._borrowed or found.cause != "forward-nonfinite")
            # A stand-in for several optimizers may hold what belongs to other models.
            and not (found.status == "not trained" and found.name in unseen)
        ]
        step.pending.append((replace(report, findings=tuple(findings)), named))
        self.numbers.add(step.number)

    def _note_what_is_trained(self, trained, leaves):
        step = self._step
        self._reaches = isinstance(trained.wrt, Optimizer)
        known = ids_of(parameters_of(trained.wrt))
        step.by_hand = not self._reaches and not trained.others
        step.scaled = trained.scaled
        step.inputs = any(
            not isinstance(leaf, torch.nn.Parameter) and id(leaf) not in known for leaf in leaves
        )
        if step.number in self._reports.steps and step.number < self._patience:
            self._waiting = [ids_of(p for p in held if p.requires_grad) for held in trained.held]

    def _named(self, report, trained, leaves):
        """The tensors that a report names."""
        held = parameters_of(trained.optimizer)
        self._reports.held |= ids_of(held)
        tensors = [*parameters_of(trained.model), *held, *leaves]
        named = {report.names[id(each)]: each for each in tensors if id(each) in report.names}
        self._step.names.update((id(tensor), name) for name, tensor in named.items())
        return named


def _about_frozen(found):
    """What is known instead, if all that an optimizer holds is frozen."""
    (optimizers,) = living(Optimizer)
    for optimizer in optimizers:
        held = parameters_of(optimizer)
        if held and not any(parameter.requires_grad for parameter in held):
            places = (("the optimizer was built at", built_at(optimizer)), *found.places)
            frozen = ALL_FROZEN.finding(optimizer=type(optimizer).__name__, count=len(held))
            return frozen.about(found.name, found.status, places, also=found.also)
    return found


class SameGraph:
    """Which call made each node of a recorded graph."""

    def __init__(self, root: Node, history: History):
        steps = Backward(root).steps
        self._shape = _shape(steps)
        self._calls = [history.call_of(node) for node in steps]

    def history_of(self, root: Node | None) -> History | None:
        """A history that knows these calls for the same steps in the graph of `root`, if it can."""
        steps = Backward(root).steps if root is not None else {}
        if _shape(steps) != self._shape:
            return None
        history = History()
        history.call_of = dict(zip(steps, self._calls, strict=True)).get
        return history


def _shape(steps):
    """Names and links: equal for two graphs that the same code has made."""
    position = {node: i for i, node in enumerate(steps)}
    return [
        (step.name, *((position.get(node), nr) for node, nr in step.edges))
        for step in steps.values()
    ]
