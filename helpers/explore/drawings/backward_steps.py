"""One backward through a small graph, step by step, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from autograd_surprises.backward.local_derivatives import flat, local_derivatives
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.facts.graph import Node, edge_of, leaf_of, name_of, nodes
from autograd_surprises.recording.forward_values import ForwardValues, numbers_in
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.symptoms.detached import detached

MOST_STOPS, MOST_NUMBERS = 14, 9  # more cannot be read in one picture

WHY = {"escape": "left torch", "copy": "copied", "integer": "became an integer",
       "branch": "only decides", "data": ".data", "no-grad": "recording was off",
       "unknown-cut": "cut off, or never used", "boolean": "only true or false"}  # fmt: skip


@dataclass(eq=False)
class Stop:
    """A place on the way of the gradient: an operation, a leaf, or where the way is cut.

    kind      "operation", "leaf", "data" (a leaf that requires no gradient) or "cut"
    made_by   the name of its node, such as MulBackward0; of a cut, the call, such as detach()
    why       of a cut: why its result has no history
    name      the variable that holds its result, or ""
    keeps     does backward fill the .grad of its result?
    before    what .grad held before
    parts     the gradients that arrive, one along each way
    upstream  what backward gets here: their sum, as the hooks leave it; None if it gets nothing
    turn      when backward gets here, from 0; None: never
    """

    kind: str
    made_by: str
    why: str = ""
    name: str = ""
    keeps: bool = False
    before: torch.Tensor | None = None
    parts: list[torch.Tensor] = field(default_factory=list)
    upstream: torch.Tensor | None = None
    turn: int | None = None


@dataclass(eq=False)
class Way:
    """From the stop at position `upper` to the one at `lower`, whose result it used.

    value     that result; None if it is not known
    jacobian  the local derivative as measured: a row for each number that arrives at `upper`, a
              column for each of `lower`; None if it was not found
    why_none  why it was not found: "not finite", "changes" if the node sends something else when
              it runs again, "not linear"; or "" if nothing is sent
    gradient  what backward sends along; None for nothing
    """

    upper: int
    lower: int
    value: torch.Tensor | None
    jacobian: torch.Tensor | None = None
    why_none: str = ""
    gradient: torch.Tensor | None = None


class BackwardSteps:
    """What each step of `fn(**values).backward(v)` computes, where fn returns the loss.

    A graph keeps only the numbers that its backward needs, and nothing of what was cut off. So
    fn runs here, and is watched. `tensors` names those whose .grad is of interest; their .grad
    stays as it is. v has a weight for each number of the loss, 1 if it is not given. To measure
    local derivatives, the backward of each operation runs several times.

    loss   what fn returned, and v its weights
    stops  the loss first
    ways   from stop to stop
    order  the stops that backward gets to, in that order

    Raises TypeError or ValueError if fn does not return a tensor with a history, or if the graph
    is too large to read or has complex numbers.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> steps = BackwardSteps(lambda: 3 * w.square(), {"w": w})
    >>> [(stop.made_by, stop.upstream.item()) for stop in steps.order]
    [('MulBackward0', 1.0), ('PowBackward0', 3.0), ('leaf', 12.0)]
    """

    def __init__(
        self,
        fn: Callable,
        tensors: Mapping[str, torch.Tensor],
        v: torch.Tensor | None = None,
        **values: object,
    ):
        self._values, recorder = ForwardValues(fn), Recorder()
        with self._values.watching(), recorder:
            self.loss = fn(**values)
        _refuse(self.loss)
        held = [*self._values.tensors, *tensors.values(), self.loss]
        self._values.keep(held)
        self._named, self._history = tensors, History(recorder)
        self._names = self._values.names | {id(tensor): name for name, tensor in tensors.items()}
        self._made = {edge_of(tensor): tensor for tensor in held}
        self._in_state = {s: tensor for tensor in held for s in recorder.states(tensor)}
        self.stops: list[Stop] = []
        self.ways: list[Way] = []
        self._position: dict = {}  # in stops: by node, or by the state of a tensor without one
        self._edges: dict[Node, list[Way | None]] = {}
        self._add_graph(self.loss)
        self.stops[0].name = self.stops[0].name or _name_of(fn)
        self._add_constants()
        self._add_unreached()
        self._refuse_large()
        self.v = torch.ones_like(self.loss) if v is None else v.reshape(self.loss.shape)
        self._run(held)
        self.order = sorted((s for s in self.stops if s.turn is not None), key=lambda s: s.turn)

    @property
    def shape(self) -> tuple:
        """Two runs with the same shape have the same graph, in which the same stops have a turn."""
        stops = ((stop.kind, stop.made_by, stop.name, stop.turn) for stop in self.stops)
        return *stops, *((way.upper, way.lower) for way in self.ways)

    def _refuse_large(self):
        if len(self.stops) > MOST_STOPS:
            raise ValueError(
                f"this graph has {len(self.stops)} boxes, and more than {MOST_STOPS} cannot be "
                "read in one picture: take a smaller part of the loss"
            )
        values = [self.loss, *(way.value for way in self.ways if way.value is not None)]
        if any(value.is_complex() for value in values):
            raise ValueError(
                "a tensor in this graph is complex, and the steps are shown for real numbers only: "
                "take a part of the loss without it"
            )
        numbers = max(value.numel() for value in values)
        if numbers > MOST_NUMBERS:
            raise ValueError(
                f"a tensor in this graph has {numbers} numbers, and more than {MOST_NUMBERS} "
                "cannot be read on an arrow: use smaller tensors"
            )

    # The graph, and what belongs to the forward pass without being a part of the graph.

    def _add_graph(self, tensor):
        """Add the nodes behind this tensor that are not there yet."""
        new = [node for node in nodes(edge_of(tensor)[0]) if node not in self._position]
        for node in new:
            leaf = leaf_of(node)
            kind, made_by = ("operation", name_of(node)) if leaf is None else ("leaf", "leaf")
            several = (node, 1) in self._made  # results, which have several names
            result = None if several else self._made.get((node, 0), leaf)
            self._add(node, Stop(kind, made_by), result)
        for node in new:
            self._edges[node] = [
                below and self._link(node, below, self._values.at((below, nr)))
                for below, nr in node.next_functions
            ]

    def _add(self, key, stop, result):
        """Add a stop with this result, which may be unknown."""
        self._position[key] = len(self.stops)
        self.stops.append(stop)
        if result is not None:
            stop.name = self._names.get(id(result), "")
            stop.keeps = stop.kind == "leaf" or result.retains_grad
            if stop.keeps and result.grad is not None:
                stop.before = numbers_in(result.grad)

    def _link(self, upper, lower, value):
        self.ways.append(Way(self._position[upper], self._position[lower], value))
        return self.ways[-1]

    def _add_constants(self):
        """Add named data and what was cut off, below the node that uses it."""
        for call in reversed(self._history.calls):  # what was cut off may use more of them
            inside = [node for node in self._edges if leaf_of(node) is None]
            made = [node for node in inside if call.first <= node._sequence_nr() < call.last]
            for state in call.inputs if made else ():
                for origin in self._origins(state):
                    self._add_constant(origin)
                    user = max(made, key=lambda node: node._sequence_nr())
                    self._link(user, origin, numbers_in(self._in_state[state]))

    def _origins(self, state):
        """Named data and cuts that a tensor without history comes from, as states."""
        tensor, call = self._in_state.get(state), self._history.makers.get(state)
        if tensor is None or tensor.requires_grad:
            return []
        if (call and state in call.lost) or any(tensor is each for each in self._named.values()):
            return [state]
        earlier = [each for each in call.inputs if each not in call.outputs] if call else ()
        return [origin for each in earlier for origin in self._origins(each)]

    def _add_constant(self, state):
        call = self._history.makers.get(state)
        if state in self._position:
            return
        if call is None or state not in call.lost:
            self._add(state, Stop("data", "data"), self._in_state[state])
            return
        result = self._in_state.get(state)  # None for a number that left torch
        boolean = result is not None and result.dtype == torch.bool
        why = WHY.get("boolean" if boolean else detached(call, state).rule.cause, "no history")
        self._add(state, Stop("cut", f"{call.operation}()", why), result)
        for source in self._sources(call):
            self._add_graph(source)
            self._link(state, edge_of(source)[0], numbers_in(source))

    def _sources(self, call):
        """The inputs of a call that have a gradient."""
        found = {id(t): t for t in map(self._in_state.get, call.inputs) if t is not None}
        return [tensor for tensor in found.values() if tensor.requires_grad]

    def _add_unreached(self):
        """Add the named tensors that are not there yet, and what cut them off."""
        for name, tensor in self._named.items():
            node, _ = edge_of(tensor)
            if node is None and self._position.keys().isdisjoint(
                self._history.recorder.states(tensor)
            ):
                self._add(name, Stop("data", "data"), tensor)
            if node is None or node in self._position:
                continue
            for call in self._history.calls:
                behind = (nodes(edge_of(source)[0]) for source in self._sources(call))
                if call.lost and any(node in some for some in behind):
                    self._add_constant(next(iter(call.lost)))
                    break
            else:
                self._add_graph(tensor)

    # The backward.

    def _run(self, held):
        """Watch one backward, and measure the local derivatives of its steps."""
        backward = Backward(self.loss.grad_fn, keep=True)
        backward.retained = [tensor for tensor in held if tensor.retains_grad]
        with backward.unnoticed():
            backward.run(self.loss, self.v)
            ran = sorted(backward.ran(), key=lambda step: step.order)
            for step in ran:
                self._add_gradients(step)
        for leaf in backward.leaves:
            self._stop(edge_of(leaf)[0]).upstream = backward.kept.get(id(leaf))
        self._set_turns([step.node for step in ran])

    def _stop(self, node):
        return self.stops[self._position[node]]

    def _add_gradients(self, step):
        stop = self._stop(step.node)
        stop.upstream = _one(step.gradients_in)
        if len(step.gradients_in) > 1:  # one for each of several results: no sum
            stop.parts = []
        found = zip(
            self._edges[step.node], step.gradients_out, local_derivatives(step), strict=True
        )
        for way, gradient, local in found:
            if way is not None and gradient is not None:
                way.gradient, (way.jacobian, way.why_none) = gradient, local
                self.stops[way.lower].parts.append(gradient)

    def _set_turns(self, ran):
        """A leaf has its turn as soon as all parts of its gradient are there."""
        last = {}
        for node in ran:
            for way in filter(None, self._edges[node]):
                if way.gradient is not None and self.stops[way.lower].kind == "leaf":
                    last[way.lower] = node
        turn = 0
        for node in ran:
            filled = [self.stops[i] for i, final in last.items() if final is node]
            for stop in [self._stop(node), *filled]:
                stop.turn, turn = turn, turn + 1


def _one(gradients):
    """The gradient that arrived; those of several results as one vector."""
    there = [gradient for gradient in gradients if gradient is not None]
    return there[0] if len(there) == 1 else flat(there) if there else None


def _name_of(fn):
    name = getattr(fn, "__name__", "")
    return name if name.isidentifier() else ""  # not of a lambda


def _refuse(loss):
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"the function has to return a tensor, got {type(loss).__name__}")
    if loss.grad_fn is None:
        raise ValueError(
            "the function returned a tensor without a history, so backward has nowhere to go: "
            "at least one tensor in it has to require a gradient and to reach the result"
        )
