"""Queries on a recording: which line made this node, and what was computed from that tensor?"""

import bisect
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from autograd_surprises.facts.operations import COMBINES, ELEMENTWISE, SHAPES_BY_HAND, is_total
from autograd_surprises.recording.forward_calls import BACKWARDS, ForwardCall
from autograd_surprises.recording.places import Where
from autograd_surprises.recording.recorder import Recorder


class History:
    """A recording with its indexes. Without a recording, every answer is None or empty.

    calls           in order
    makers, users   calls by state
    failed          the states that the backward which raised started from

    >>> with Recorder() as recorder:
    ...     x = torch.ones(2, requires_grad=True); y = x.exp()
    >>> History(recorder).call_of(y.grad_fn).name
    'exp'
    """

    def __init__(self, recorder: Recorder | None = None):
        self.recorder = recorder or Recorder()
        self.calls, self.failed = self.recorder.calls, self.recorder.failed
        self.makers = {state: call for call in self.calls for state in call.outputs}
        self.users: dict[int, list[ForwardCall]] = {}
        for call in self.calls:
            for state in dict.fromkeys(call.inputs):
                self.users.setdefault(state, []).append(call)
        self._backwards = [call.index for call in self.calls if call.name == "backward"]
        self._with_nodes = [call for call in self.calls if call.last > call.first]
        self._in_functions: dict[int, list[ForwardCall]] = {}  # by the number of the next node
        for call in self.calls:
            if call.function:
                self._in_functions.setdefault(call.first, []).append(call)
        self._firsts = [call.first for call in self._with_nodes]
        self._goal: tuple[torch.Tensor, set[int]] | None = None

    def call_of(self, node) -> ForwardCall | None:
        """The call that made this node of the graph."""
        number = node._sequence_nr()
        k = bisect.bisect_right(self._firsts, number) - 1
        if k >= 0 and number < self._with_nodes[k].last:
            return self._with_nodes[k]
        own = getattr(node, "_forward_cls", None)
        if own is None:
            return None
        # A Function is numbered just before its forward runs, and that makes no nodes.
        inner = self._in_functions.get(number + 1, ())
        return next((call for call in inner if issubclass(own, call.function[0])), None)

    def made_at(self, tensor: torch.Tensor) -> Where | None:
        states = self.recorder.states(tensor)
        call = self.makers.get(states[0]) if states else None
        return call.where if call else None

    def written_at(self, tensor: torch.Tensor, *names: str) -> Where | None:
        """The last change of this tensor in place, or the last call with one of these names."""
        states = self.recorder.states(tensor)
        made = [self.makers[state] for state in states if state in self.makers]
        met = [*made, *(call for state in states for call in self.users.get(state, ()))]
        met = [call for call in met if (call.name in names if names else call.in_place)]
        return max(met, key=lambda call: call.index).where if met else None

    def ended_at(self, path: str, module: nn.Module) -> Where | None:
        """The last recorded line of the forward of the module that was called by this path."""
        code = getattr(type(module).forward, "__code__", None)
        places = [call.where for call in self.calls if call.line[0] is code]
        inside = [p for p in places if not path or f"{p.module}.".startswith(f"{path}.")]
        return inside[-1] if inside else None

    def uses(self, tensor: torch.Tensor) -> list[ForwardCall]:
        """The calls that computed something else from this tensor, since its last training step."""
        states = {*self.recorder.states(tensor)}
        calls = [call for state in sorted(states) for call in self.users.get(state, ())]
        idle, start = BACKWARDS | {"requires_grad_"}, self.trained_until(states)
        return [
            call
            for call in calls
            if call.index > start
            and set(call.outputs) - states
            and call.name not in idle
            and not (call.is_unrecorded_write and states.intersection(call.outputs))
        ]

    def written_until(self, states: Iterable[int]) -> int:
        """The index of the last call that wrote into a tensor with these states, or -1."""
        makers = [self.makers[state] for state in states if state in self.makers]
        return max((call.index for call in makers if call.in_place), default=-1)

    def trained_until(self, states: Iterable[int]) -> int:
        """The index of the last backward before the last change of a tensor, or -1.

        What was computed from it before belongs to an earlier training step.
        """
        written = self.written_until(states)
        return max((i for i in self._backwards if i < written), default=-1)

    def used_in_function(self, tensor: torch.Tensor, behind: set[int]) -> ForwardCall | None:
        """The call in the forward of a Function by which its numbers get into these states."""
        known = {*self.recorder.states(tensor)}
        for call in self.calls:
            if known.intersection(call.inputs) and not call.updates_many:
                if call.function and behind.intersection(call.outputs):
                    return call
                known.update(call.outputs)
        return None

    def is_straight_through(self, call: ForwardCall) -> bool:
        """Is it the detach() of z + (q - z).detach()?"""
        made = self.makers.get(call.inputs[0]) if call.name == "detach" else None
        if made is None or made.operation not in ("sub", "subtract"):
            return False
        *_, subtracted = made.inputs
        users = self.users.get(call.outputs[0], ())
        adds = [user for user in users if user.operation in ("add", "iadd")]
        return any(subtracted in user.inputs for user in adds)

    def behind(self, loss: torch.Tensor, backward) -> set[int]:
        """The states that the value of the loss, and the leaves of its graph, come from."""
        if self._goal is None or self._goal[0] is not loss:
            leaves = backward.leaves if backward is not None else ()
            states = [state for t in (loss, *leaves) for state in self.recorder.states(t)]
            if not states and backward is None:  # a copy, as Variable(loss) is: of the last result
                states = [state for call in self.calls[-1:] for state in call.outputs]
            if backward is not None and not self.recorder.states(loss):  # made after the recording
                made = [self.call_of(node) for node in backward.steps]
                states += [state for call in made if call for state in call.outputs]
            self._goal = loss, self.values_behind(states)
        return self._goal[1]

    def values_behind(self, states: Iterable[int], updates: bool = True) -> set[int]:
        """These states, and all that their values were computed from.

        updates  also through what was written in place while recording was off?
        """
        found = set(states)
        for call in reversed(self.calls):
            if call.updates_many or (call.is_unrecorded_write and not updates):
                continue
            if found.intersection(call.outputs):
                found.update(call.inputs)
        return found

    def only_derivatives(self, loss: torch.Tensor, number: int) -> bool:
        """Does this call, which no graph leads to, make the loss? Then grad() is in between."""
        made = number >= 0 and bool({*self.recorder.states(loss)} & {*self.calls[number].outputs})
        return made and any(call.name == "grad" for call in self.calls)

    def graph_of(self, states: Iterable[int]) -> set[int]:
        """The states that backward passes on its way from these, without the leaves."""
        reached, passed = set(states), set()
        for call in reversed(self.calls):
            if call.makes_history and reached.intersection(call.outputs):
                reached.update(call.inputs)
                passed.update(call.outputs)
        return passed

    def is_loss(self, call: ForwardCall, names: Mapping[int, str]) -> bool:
        """Does a difference or product go, element by element, into a mean or sum of the loss?

        Not if its longer shape, (N, 1), was made by hand: then all pairs are meant.

        names  of the nodes of the graph, by number
        """
        if call.operation not in COMBINES or len(call.inputs) != 2:
            return False
        longer = call.inputs[len(call.shapes[1]) < len(call.shapes[2])]
        maker = self.makers.get(longer)
        if maker is not None and maker.operation in SHAPES_BY_HAND:
            return False
        waiting, totals = [call], 0
        for made in waiting:
            for use in (use for state in made.outputs for use in self.users.get(state, ())):
                if any(is_total(names.get(n, "")) for n in range(use.first, use.last)):
                    totals += 1
                elif use.operation in ELEMENTWISE and len(set(use.outputs)) == 1:
                    waiting += [use] if use not in waiting else []
                elif use.makes_history:
                    return False
        return totals > 0

    def spoiled_before(self, loss: torch.Tensor, backward) -> ForwardCall | None:
        """The first call behind the loss that turned finite numbers into inf or NaN."""
        behind = self.behind(loss, backward)
        return next((c for c in self.recorder.spoiled if behind.intersection(c.outputs)), None)
