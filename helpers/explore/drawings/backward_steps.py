"""One backward through a small graph, step by step, as data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_surprises.doctor.graph_boxes import CUT_BY
from autograd_surprises.graph import Node, edge_of, nodes
from autograd_surprises.recording.places import tensors_in
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.symptoms.detached import detached

MOST_STOPS, MOST_NUMBERS = 14, 9  # more cannot be read in one picture

WHY = {**CUT_BY, "detach": "no history", "boolean": "only true or false"}
# A vector-Jacobian product in other words: its text, what the node saved, and the product. It is
# only shown if it gives what was measured.
_BY_LEFT = "Aᵀ @ v, A = {}", "self", lambda v, A: A.T @ v
_BY_RIGHT = "v @ Bᵀ, B = {}", "mat2", lambda v, B: v @ B.T
_OUTER = "v times each number of x = {}", "vec", lambda v, x: v[:, None] * x
FORMULAS = {  # for each input
    "MmBackward0": (_BY_RIGHT, _BY_LEFT),
    "MvBackward0": (_OUTER, _BY_LEFT),
}


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
    formula: tuple[str, torch.Tensor] | None = None
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
        watched, self._values, self._recorder = _Watched(fn), _Values(), Recorder()
        with watched, self._values, self._recorder:
            self.loss = fn(**values)
        _refuse(self.loss)
        held = [*watched.tensors, *tensors.values(), self.loss]
        self._values.keep(held)
        self._named = tensors
        self._names = {**watched.names, **{id(tensor): name for name, tensor in tensors.items()}}
        self._made = {edge_of(tensor): tensor for tensor in held}
        self._in_state = {s: tensor for tensor in held for s in self._recorder.states(tensor)}
        self._maker = {state: call for call in self._recorder.calls for state in call.outputs}
        self.stops: list[Stop] = []
        self.ways: list[Way] = []
        self._position: dict = {}  # in stops: by node, or by the state of a tensor without one
        self._edges: dict[Node, list[Way | None]] = {}
        self._arrived: dict[Node, list[torch.Tensor | None]] = {}
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
                "read in one picture: take a smaller part of the loss, or plot_graph"
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
            leaf = getattr(node, "variable", None)
            kind, made_by = ("operation", type(node).__name__) if leaf is None else ("leaf", "leaf")
            several = (node, 1) in self._made  # results, which have several names
            result = None if several else self._made.get((node, 0), leaf)
            self._add(node, Stop(kind, made_by), result)
        for node in new:
            self._edges[node] = [
                below and self._link(node, below, self._values.of(below, nr))
                for below, nr in node.next_functions
            ]

    def _add(self, key, stop, result):
        """Add a stop with this result, which may be unknown."""
        self._position[key] = len(self.stops)
        self.stops.append(stop)
        if result is not None:
            stop.name = self._names.get(id(result), "")
            stop.keeps = stop.kind == "leaf" or result.retains_grad
            stop.before = _copy(result.grad) if stop.keeps else None

    def _link(self, upper, lower, value):
        self.ways.append(Way(self._position[upper], self._position[lower], value))
        return self.ways[-1]

    def _add_constants(self):
        """Add named data and what was cut off, below the node that uses it."""
        for call in reversed(self._recorder.calls):  # what was cut off may use more of them
            inside = [node for node in self._edges if not hasattr(node, "variable")]
            made = [node for node in inside if call.first <= node._sequence_nr() < call.last]
            for state in call.inputs if made else ():
                for origin in self._origins(state):
                    self._add_constant(origin)
                    user = max(made, key=lambda node: node._sequence_nr())
                    self._link(user, origin, _copy(self._in_state[state]))

    def _origins(self, state):
        """Named data and cuts that a tensor without history comes from, as states."""
        tensor, call = self._in_state.get(state), self._maker.get(state)
        if tensor is None or tensor.requires_grad:
            return []
        if (call and state in call.lost) or any(tensor is each for each in self._named.values()):
            return [state]
        earlier = [each for each in call.inputs if each not in call.outputs] if call else ()
        return [origin for each in earlier for origin in self._origins(each)]

    def _add_constant(self, state):
        call = self._maker.get(state)
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
            self._link(state, edge_of(source)[0], _copy(source))

    def _sources(self, call):
        """The inputs of a call that have a gradient."""
        found = {id(t): t for t in map(self._in_state.get, call.inputs) if t is not None}
        return [tensor for tensor in found.values() if tensor.requires_grad]

    def _add_unreached(self):
        """Add the named tensors that are not there yet, and what cut them off."""
        for name, tensor in self._named.items():
            node, _ = edge_of(tensor)
            if node is None and self._position.keys().isdisjoint(self._recorder.states(tensor)):
                self._add(name, Stop("data", "data"), tensor)
            if node is None or node in self._position:
                continue
            for call in self._recorder.calls:
                behind = (nodes(edge_of(source)[0]) for source in self._sources(call))
                if call.lost and any(node in some for some in behind):
                    self._add_constant(next(iter(call.lost)))
                    break
            else:
                self._add_graph(tensor)

    # The backward.

    def _run(self, held):
        """Run torch's own backward with hooks on its nodes, then measure each local derivative."""
        ran, handles = [], []
        leaves = [node for node in self._edges if hasattr(node, "variable")]
        for node in self._edges.keys() - leaves:
            handles.append(node.register_prehook(partial(self._note_upstream, node)))
            handles.append(node.register_hook(partial(self._note_gradients, node, ran)))
        retained = [(tensor, tensor.grad) for tensor in held if tensor.retains_grad]
        wanted = [leaf.variable for leaf in leaves]
        try:
            found = torch.autograd.grad(
                self.loss, wanted, self.v, retain_graph=True, allow_unused=True
            )
        finally:
            for handle in handles:
                handle.remove()
            for tensor, grad in retained:
                tensor.grad = grad
        for leaf, gradient in zip(leaves, found, strict=True):
            self._stop(leaf).upstream = _copy(gradient)
        self._set_turns(ran)
        for node in ran:
            self._measure(node)

    def _stop(self, node):
        return self.stops[self._position[node]]

    def _note_upstream(self, node, gradients):
        self._arrived[node] = [_copy(gradient) for gradient in gradients]
        there = [gradient for gradient in self._arrived[node] if gradient is not None]
        stop = self._stop(node)
        if len(gradients) > 1:  # one for each of several results: no sum
            stop.parts = []
        if there:
            stop.upstream = there[0] if len(there) == 1 else _flat(there)

    def _note_gradients(self, node, ran, gradients, upstream):
        ran.append(node)
        for way, gradient in zip(self._edges[node], gradients, strict=True):
            if way is not None and gradient is not None:
                way.gradient = _copy(gradient)
                self.stops[way.lower].parts.append(way.gradient)

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

    def _measure(self, node):
        """Let the node differentiate each unit vector, and see if that explains what it sent."""
        arrived = self._arrived[node]
        upstream = _flat([gradient for gradient in arrived if gradient is not None])
        units = torch.eye(len(upstream), dtype=upstream.dtype)
        rows = [_differentiated(node, arrived, unit) for unit in units]
        doubled = _differentiated(node, arrived, 2 * upstream)
        again = _differentiated(node, arrived, upstream)
        for i, way in enumerate(self._edges[node]):
            if way is not None and way.gradient is not None and len(rows):
                sent = way.gradient
                jacobian = torch.stack([_like(row[i], sent).flatten() for row in rows])
                terms = upstream.to(jacobian.dtype)[:, None] * jacobian
                explained = _alike(times(upstream, jacobian), sent.flatten(), terms)
                if explained and _alike(_like(doubled[i], sent), 2 * sent, terms):
                    way.jacobian = jacobian
                    way.formula = self._formula(node, i, jacobian)
                elif not _alike(_like(again[i], sent), sent, terms):
                    way.why_none = "changes"
                else:
                    finite = sent.isfinite().all() and terms.isfinite().all()
                    way.why_none = "not linear" if finite else "not finite"

    def _formula(self, node, i, jacobian):
        rules = FORMULAS.get(type(node).__name__, ())
        for text, name, product in rules[i : i + 1]:
            factor = getattr(node, f"_saved_{name}", None)
            units = torch.eye(len(jacobian), dtype=jacobian.dtype)
            units = units.reshape(-1, *self._arrived[node][0].shape)
            if factor is not None and _alike(
                torch.stack([product(unit, factor).flatten() for unit in units]), jacobian, jacobian
            ):
                return text, _copy(factor)
        return None


def elementwise(jacobian: torch.Tensor) -> torch.Tensor | None:
    """The diagonal of a Jacobian, if there is nothing beside it; else None.

    Beside an infinite derivative torch computes NaN: 0 times infinity.

    >>> elementwise(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2., 3.])
    """
    if jacobian.shape[0] != jacobian.shape[1]:
        return None
    diagonal = jacobian.diagonal()
    beside = jacobian - torch.diag(diagonal)
    beside.fill_diagonal_(0.0)
    return diagonal if ((beside == 0) | (beside.isnan() & ~diagonal.isfinite())).all() else None


def times(upstream: torch.Tensor, jacobian: torch.Tensor) -> torch.Tensor:
    """The vector-Jacobian product, as torch computes it where a Jacobian is elementwise.

    >>> times(torch.tensor([1.0, 10.0]), torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([ 2., 30.])
    """
    upstream, diagonal = upstream.to(jacobian.dtype), elementwise(jacobian)
    return upstream @ jacobian if diagonal is None else upstream * diagonal


def _differentiated(node, like, vector):
    """What the node sends along each way if the numbers of this vector arrive."""
    sizes = [0 if gradient is None else gradient.numel() for gradient in like]
    parts, given = vector.clone().split(sizes), []  # backward may write into what it is given
    for part, gradient in zip(parts, like, strict=True):
        given.append(None if gradient is None else part.reshape(gradient.shape))
    with torch.no_grad():
        if not hasattr(node, "_forward_cls"):
            sent = node(*given)
            return sent if isinstance(sent, tuple) else (sent,)
        # A torch.autograd.Function. The engine gives it zeros for a result that was not used.
        about = zip(given, node._input_metadata, strict=True)
        sent = node.apply(
            *(torch.zeros(meta.shape, dtype=meta.dtype) if g is None else g for g, meta in about)
        )
    # It also returns None for numbers, and may return more of them than it has inputs.
    sent = sent if isinstance(sent, tuple) else (sent,)
    wanted = iter([g for g, need in zip(sent, node.needs_input_grad, strict=False) if need])
    return [below and next(wanted) for below, _ in node.next_functions]


def _alike(some, others, terms):
    """The same, but for the rounding of sums of numbers as large as these terms?"""
    sizes, eps = terms[terms.isfinite()].abs(), torch.finfo(terms.dtype).eps
    slack = 8 * eps * (sizes.max().item() if len(sizes) else 0.0)
    return torch.allclose(some, others, rtol=1e-3, atol=slack, equal_nan=True)


def _like(gradient, sent):
    """As the engine does: None is zero, what was broadcast is summed, and the dtype converted."""
    if gradient is None:
        return torch.zeros_like(sent)
    return gradient.to_dense().sum_to_size(sent.shape).to(sent.dtype)


def _flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def _copy(tensor):
    return None if tensor is None else tensor.detach().to_dense().clone()  # of an Embedding


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


class _Values(TorchDispatchMode):
    """The numbers of each tensor when an operation used it, by its edge of the graph.

    A mode of the dispatcher also sees what is computed inside a composite function of torch, and
    in a backward with create_graph=True.
    """

    def __init__(self):
        super().__init__()
        self._known: dict[tuple, torch.Tensor] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.keep(tensors_in(args))
        return func(*args, **(kwargs or {}))

    def keep(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            if tensor.grad_fn is not None:
                edge = tensor.grad_fn, tensor.output_nr
                self._known.setdefault(edge, _copy(tensor))

    def of(self, node, nr: int) -> torch.Tensor | None:
        leaf = getattr(node, "variable", None)
        return self._known.get((node, nr)) if leaf is None else _copy(leaf)


class _Watched(TorchFunctionMode):
    """The tensors that functions of torch take and return, and what `fn` calls them."""

    def __init__(self, fn: Callable):
        super().__init__()
        self._code = getattr(fn, "__code__", None)
        self._tensors: dict[int, torch.Tensor] = {}
        self.names: dict[int, str] = {}

    @property
    def tensors(self) -> list[torch.Tensor]:
        return list(self._tensors.values())

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self._tensors.update((id(t), t) for t in tensors_in((args, kwargs or {}, result)))
        self._note_names(sys._getframe(1))
        return result

    def _note_names(self, frame):
        while frame is not None and frame.f_code is not self._code:
            frame = frame.f_back
        for name, value in frame.f_locals.items() if frame is not None else ():
            if isinstance(value, torch.Tensor):
                self.names[id(value)] = name
                self._tensors[id(value)] = value  # or a later tensor could get its id, and its name
