"""One backward, watched: what arrived at each node of the graph, and what left it."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from weakref import ref

import torch
from torch.autograd import grad as gradients  # as it was before a user wrapped it

from autograd_surprises.backward.by_backward import gradients_by_backward, living_leaves
from autograd_surprises.backward.steps import (
    Arrived,
    BackwardStep,
    GradientSize,
    GradientSum,
    arrived_at,
    parts_of,
    size_of,
)
from autograd_surprises.facts.graph import Edge, Node, reachable
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.recording.forward_values import numbers_in

# symptom: (is a size bad?, is a gradient of several parts bad if all of them are, or if any is?)
SYMPTOMS = {
    "lost": (lambda size: size is None or size.nonzero == 0, all),
    "not finite": (lambda size: size is not None and not size.finite, any),
}


FEW_DIGITS = 16  # rounding errors that a sum of a few contributions may have, in its last digit


def _like(tensor):
    return tensor.shape, tensor.dtype, tensor.device


@contextmanager
def _last_hook(leaf, hook):
    """A hook on a tensor that sees what the user's hooks on it have made of the gradient."""
    none = leaf._backward_hooks is None  # which register_hook() makes an empty dict
    handle = leaf.register_hook(hook)
    try:
        yield
    finally:
        handle.remove()
        if none:
            leaf._backward_hooks = None


def _stopped(arrived, gradient):
    """How many elements arrived and left as 0."""
    if arrived.stride() != gradient.stride():
        arrived, gradient = arrived.contiguous(), gradient.contiguous()
    pairs = zip(parts_of(arrived), parts_of(gradient), strict=True)
    return sum(int(torch.count_nonzero(there.bool() & ~here.bool())) for there, here in pairs)


class Backward:
    """The graph behind `root`, and one walk through it.

    Each gradient is measured when it arrives, and released, unless this is to `keep` them all.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> [step.name for step in Backward(x.round().sum().grad_fn).steps.values()]
    ['SumBackward0', 'RoundBackward0', 'AccumulateGrad']
    """

    def __init__(self, root: Node, keep: bool = False):
        self.keep = keep
        # By node, in the order in which they were found from the loss.
        self.steps = {node: BackwardStep(node) for node in reachable([root])}
        self.into: dict[Edge, list[tuple[BackwardStep, int]]] = {}
        for step in self.steps.values():
            for k, edge in enumerate(step.edges):
                if edge[0] is not None:
                    self.into.setdefault(edge, []).append((step, k))
        self.root = self.steps[root]
        leaves = [step for step in self.steps.values() if step.leaf is not None]
        self.leaves = [step.leaf for step in leaves]
        # After run():
        self.grads: dict[int, Arrived] = {}  # what arrived at each tensor asked for, by id
        self.kept: dict[int, torch.Tensor] = {}  # the gradient of each leaf, by id, if asked for
        self.weights: torch.Tensor | None = None  # of the elements of the loss
        self.hidden: set[int] = set()  # ids of leaves inside reentrant checkpoints
        self.failed: BackwardStep | None = None  # whose backward raised, if it can be told
        # Edge -> shape, dtype and device of the gradient that arrived there.
        self.like = {(step.node, 0): _like(step.leaf) for step in leaves}
        self.retained: list[torch.Tensor] = []  # whose .grad each backward writes
        self.hooked = False  # is a hook of the user in the graph?
        self._count, self._measured = 0, {}  # steps that ran; sizes by id of the gradient
        self._task: int | None = None  # the engine's number of this backward
        self._origins: dict[str, dict[BackwardStep, list]] = {}

    def run(self, loss: torch.Tensor, grad_outputs, others: Iterable[torch.Tensor] = ()) -> None:
        """Walk with a hook on every node. `others` are results whose gradient is wanted, too."""
        self.weights = grad_outputs
        wanted = {id(t): t for t in [*self.leaves, *others] if t.requires_grad}
        handles, found = [], {}
        try:
            handles.append(self.root.node.register_prehook(self._begin_task))
            for step in self.steps.values():
                if step.leaf is not None:
                    continue
                if step.own is not None:  # may write into the gradient it gets, so measure first
                    handles.append(step.node.register_prehook(self._before(step)))
                handles.append(step.node.register_hook(self._after(step)))
            if any(step.is_reentrant_checkpoint for step in self.steps.values()):
                grads = gradients_by_backward(loss, grad_outputs, others)
                self.hidden = set(grads) - set(wanted)
            else:
                with ExitStack() as stack:
                    for leaf in self.leaves:
                        if leaf.requires_grad:
                            stack.enter_context(_last_hook(leaf, self._measuring(leaf, found)))
                    left = gradients(
                        loss, [*wanted.values()], grad_outputs, retain_graph=True, allow_unused=True
                    )
                grads = dict(zip(wanted, left, strict=True))
            for key, gradient in grads.items():
                if gradient is not None and key not in found:
                    found[key] = self._arrived(wanted.get(key), gradient)
            self.grads = found
        except Exception:
            self.failed = self._unfinished()
            raise
        finally:
            for handle in handles:
                handle.remove()
            self._measured = {}

    @cached_property
    def may_run_again(self) -> bool:
        """Can a part of it run with other numbers, seen by nobody?"""
        return not self.hooked and not any(
            step.is_users
            or step.is_reentrant_checkpoint
            or step.kind in ("BackwardHookFunction", "CompiledFunction")
            for step in self.steps.values()
        )

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Run the graph: random numbers, what is added to .grad, and what a Function of the user's
        keeps in its ctx, are put back. Nobody is warned.
        """
        own = [(s.node, dict(vars(s.node))) for s in self.steps.values() if s.is_users]
        leaves = living_leaves() if own else []  # it may call backward() by itself
        kept = [(tensor, tensor.grad) for tensor in [*self.retained, *leaves]]
        for leaf in leaves:
            leaf.grad = None if leaf.grad is None else leaf.grad.clone()
        # catch_warnings() would forget what has been shown once.
        filters, silence = warnings.filters, ("ignore", None, Warning, None, 0)
        on_gpu = any(device.type == "cuda" for _, _, device in self.like.values())
        devices = range(torch.cuda.device_count()) if on_gpu else []
        filters.insert(0, silence)
        try:
            with torch.random.fork_rng(devices), torch.autograd.set_detect_anomaly(False):
                yield
        finally:
            if silence in filters:  # else a hook of the user has called resetwarnings()
                filters.remove(silence)
            for tensor, grad in kept:
                tensor.grad = grad
            for ctx, state in own:
                vars(ctx).clear()
                vars(ctx).update(state)

    def forget(self) -> None:
        """Release every tensor; numbers and the nodes of the graph stay."""
        self.grads, self.kept, self.weights = {}, {}, None
        self.leaves = []
        for step in self.steps.values():
            step.forget()

    def _begin_task(self, arrived):
        self._task = torch._C._current_graph_task_id()

    def _measuring(self, leaf, found):
        def look(gradient):
            # The backward of a Function may ask for gradients itself, as an adjoint method does.
            if gradient is None or self._task != torch._C._current_graph_task_id():
                return None
            found[id(leaf)] = self._arrived(leaf, gradient)
            # The engine keeps what a hook returns: one number instead of the gradient.
            small = gradient.layout is torch.strided
            return gradient.new_zeros(()).expand_as(gradient) if small else None

        return look

    def _arrived(self, tensor, gradient):
        if self.keep and tensor is not None:
            self.kept[id(tensor)] = numbers_in(gradient)
        old = tensor.grad if tensor is not None and tensor.is_leaf else None
        return arrived_at(gradient, self._size(gradient), old)

    def _size(self, gradient):
        """What leaves one node arrives at the next as the same tensor: measure it once."""
        if gradient is None:
            return None
        seen, version, size = self._measured.get(id(gradient), (None, 0, None))
        if seen is None or seen() is not gradient or version != gradient._version:
            size = size_of(gradient)
            self._measured[id(gradient)] = ref(gradient), gradient._version, size
        return size

    def _copies(self, gradients):
        return [None if g is None else numbers_in(g) for g in gradients] if self.keep else []

    def _before(self, step):
        def look(arrived):
            step.arriving = [None if g is None else size_of(g) for g in arrived]
            step.versions = [g is not None and g._version for g in arrived]
            step.gradients_in = self._copies(arrived)

        return look

    def _after(self, step):
        def look(left, arrived):
            step.order, self._count = self._count, self._count + 1
            for i, gradient in enumerate(arrived):
                if gradient is not None:
                    self.like[step.node, i] = _like(gradient)
            if step.own is not None:
                versions = [g is not None and g._version for g in arrived]
                step.changed = versions != step.versions
            else:
                step.arriving = [self._size(g) for g in arrived]
                step.gradients_in = self._copies(arrived)
            step.gradients_out = self._copies(left)
            step.leaving = [self._size(g) for g in left]
            one = next((g for g in arrived if g is not None), None)
            if one is not None:
                self._compare(step, one, [g for g in left if g is not None])

        return look

    def _compare(self, step, arrived, left):
        before = [size for size in step.arriving if size]
        nonzero, l1 = max(a.nonzero for a in before), sum(a.l1 for a in before)
        finite = all(size.finite for size in before)
        for gradient, after in zip(left, filter(None, step.leaving), strict=True):
            dense = arrived.layout is torch.strided and gradient.layout is torch.strided
            alike = dense and arrived.shape == gradient.shape
            if after.nonzero < nonzero and alike and not traits_of(step.kind).mixes:
                step.stopped = max(step.stopped, _stopped(arrived, gradient))
            if finite and not after.finite and step.spoiled is None and dense:
                bad = ~torch.isfinite(gradient.detach())
                position = tuple(bad.nonzero()[0].tolist())
                step.spoiled = position, arrived[position].item() if alike else None
                step.masked = alike and not bool(arrived[bad].any())
            if nonzero and (after.l1 < 1e-5 * l1 or not after.finite):
                step.sample = arrived.detach()

    def _unfinished(self):
        """Of the nodes whose gradient is complete, the engine runs the newest first."""
        undone = [step for step in self.steps.values() if step.order is None]
        waits = {node for step in undone for node, _ in step.edges}
        ready = [s for s in undone if s.node not in waits and s.leaf is None]
        return max(ready, key=lambda step: step.node._sequence_nr(), default=None)

    def origins(self, node: Node, nr: int, symptom: str) -> list[BackwardStep | GradientSum]:
        """Where the symptom of the gradient of (node, nr) began: "lost" or "not finite".

        That is a step that received a healthy gradient and passed on a bad one, or a GradientSum of
        healthy contributions with a bad sum. Empty if the gradient that entered the graph was
        already bad.
        """
        if symptom not in self._origins:
            table = self._origins[symptom] = {}
            for step in sorted(self.ran(), key=lambda step: step.order):
                is_bad, whole = SYMPTOMS[symptom]
                if whole(map(is_bad, step.arriving)):
                    every = [
                        self._begin((step.node, i), symptom) for i in range(len(step.arriving))
                    ]
                    table[step] = list(dict.fromkeys(o for some in every for o in some))[:3]
        return self._begin((node, nr), symptom)

    def _begin(self, edge, symptom):
        is_bad, whole = SYMPTOMS[symptom]
        above = [(s, s.leaving[k]) for s, k in self.into.get(edge, ()) if k < len(s.leaving)]
        if not above:
            return []
        if not whole(is_bad(size) for _, size in above):
            return [tuple(step for step, _ in above)]
        found = {}
        for step, size in above:
            if is_bad(size):
                inherited = self._origins[symptom].get(step)
                found.update(dict.fromkeys([step] if inherited is None else inherited))
        return sorted(found, key=lambda origin: getattr(origin, "order", 0))[:3]

    @cached_property
    def cancelled(self) -> dict[Edge, GradientSum]:
        """The gradients that are sums of several contributions, and are 0 but for rounding errors.

        Which of them is exactly 0 depends on the processor. Of narrow dtypes it cannot be told.
        """
        found = {}
        for (node, nr), above in self.into.items():
            left = [(s, s.leaving[k]) for s, k in above if k < len(s.leaving) and s.leaving[k]]
            step = self.steps[node]
            sums = [self.grads[id(step.leaf)].size] if id(step.leaf) in self.grads else []
            size = (sums or step.arriving)[nr : nr + 1]
            if len(left) < 2 or not size or not size[0] or not size[0].nonzero:
                continue
            digit = torch.finfo(self.like[node, nr][1]).eps if (node, nr) in self.like else 1.0
            parts = sum(part.l1 for _, part in left)
            if digit < 1e-6 and size[0].l1 <= FEW_DIGITS * digit * parts:
                found[node, nr] = tuple(step for step, _ in left)
        return found

    def ran(self) -> list[BackwardStep]:
        return [step for step in self.steps.values() if step.order is not None]

    def main_way(self, node: Node, nr: int) -> Iterator[tuple[BackwardStep, GradientSize, Edge]]:
        """From a tensor up to the loss, always along the largest contribution.

        Of each step: what it passed on, and along which edge.
        """
        least = float("inf")
        while True:
            above = [
                (step.leaving[k], step)
                for step, k in self.into.get((node, nr), ())
                if k < len(step.leaving) and step.leaving[k] is not None
            ]
            if not above:
                return
            size, step = max(above, key=lambda pair: pair[0].l1)
            least = min(least, size.l1)
            yield step, size, (node, nr)
            sizes = {i: a.l1 for i, a in enumerate(step.arriving) if a and a.l1}
            node = step.node  # of several gradients that arrived, go on with the most similar one
            nr = min(sizes, key=lambda i: abs(sizes[i] - least), default=0)
