"""Functions that run in another process, differentiable in this one.

A `Session` is one end of two pipes. The judge calls the functions of a sheet through it, and each
gradient comes from the process that has the graph: that of the sheet for what it returned, that of
the judge for the tensors that it handed over. What passes is in `plain.py`.
"""

import base64
import contextlib
import json
import marshal
import os
import types
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.overrides import _get_current_function_mode_stack

from autograd_surprises.graph import leaf_of, nodes
from lessons import saved_tensors as memory
from lessons.recorded_calls import RecordedCalls
from tools.classroom.plain import (
    DTYPES,
    pack,
    pack_error,
    pack_other,
    pack_tensor,
    unpack,
    unpack_error,
    unpack_other,
    unpack_tensor,
)

LONGEST_LINE = 50_000_000  # bytes; 07.1, the largest, sends some 100,000
MOST_JUNK = 1_000_000  # bytes that are no message


class Closed(BaseException):
    """The other process has ended, or what it sends is no message; says which.

    No Exception, because a check takes each of these for one of the answer.
    """


class Session:
    """One end of a conversation, in which either side may ask the other."""

    def __init__(self, incoming: int, outgoing: int):
        """`incoming` and `outgoing` are descriptors."""
        self._incoming, self._outgoing = os.fdopen(incoming, "rb"), outgoing
        self._process, self._junk = os.getpid(), 0
        self._held, self._dropped, self._number = {}, [], 0

    def close(self) -> None:
        self._incoming.close()
        os.close(self._outgoing)

    def send(self, kind: str, content: object = None) -> None:
        if os.getpid() != self._process:
            os._exit(0)  # a sheet has forked, and this is the child
        dropped, self._dropped[:] = self._dropped[:], []
        # On a line of its own, whatever else a sheet may have written there.
        line = f"\n{json.dumps([kind, content, dropped])}\n".encode()
        while line:
            line = line[os.write(self._outgoing, line) :]

    def receive(self) -> tuple[str, object]:
        """The next message; raises Closed if none will come."""
        while self._junk < MOST_JUNK:
            line = self._incoming.readline(LONGEST_LINE)
            if not line:
                raise Closed("ended Python")
            try:
                kind, content, dropped = json.loads(line)
                for number in dropped:
                    self._held.pop(number, None)
                return str(kind), content
            except (ValueError, TypeError, RecursionError):
                self._junk += len(line)
        raise Closed("wrote too much into its report")

    def request(self, kind: str, content: object) -> dict:
        """What the other side returns; raises the error that it reports."""
        self.send(kind, content)
        while True:
            kind, content = self.receive()
            if kind == "result":
                return content
            if kind == "error":
                raise_packed(content)
            self.serve(kind, content)

    def serve(self, kind: str, content: object) -> None:
        """Answer a request; anything that is none is ignored."""
        if kind == "gradient":
            try:
                self.send("result", self._gradient(content))
            except Exception as error:
                self.send("error", pack_error(error))

    def hold(self, inputs: list[Tensor | None], output: Tensor) -> int:
        """Keep a tensor, so that the other side can ask for the gradients of its inputs."""
        self._number += 1
        self._held[self._number] = inputs, output
        return self._number

    def drop(self, number: int) -> None:
        """Tell the other side, with the next message, that it need not hold this any longer."""
        self._dropped.append(number)

    def offer(self, inputs: list[Tensor | None], output: Tensor) -> dict:
        """A packed tensor, with what the other side needs in order to differentiate it."""
        packed = {**pack_tensor(output), "requires_grad": output.requires_grad}
        if output.requires_grad:
            packed["is_leaf"] = output.is_leaf
            packed["held"] = self.hold(inputs, output)
            packed["functions"] = own_functions(output)
        return packed

    def accept(self, packed: dict, inputs: list[Tensor], kept: int = 0) -> Tensor:
        """The tensor that was offered; differentiable here, as a function of the inputs."""
        value = unpack_tensor(packed)
        if not packed["requires_grad"]:
            return value
        if packed["is_leaf"]:
            return value.requires_grad_()
        names = [str(name)[:100] for name in packed["functions"]]
        if not any(tensor.requires_grad for tensor in inputs):
            inputs = [*inputs, torch.zeros((), requires_grad=True)]
        function = _named_after(names[0]) if names else Remote
        held = Held(self, int(packed["held"]))
        with torch.enable_grad():
            return function.apply(self, held, [value], kept, names, *inputs)

    def gradients(self, held, inputs, upstream):
        """The gradient of each input, computed by the other side."""
        create = torch.is_grad_enabled()
        packed = {**pack_tensor(upstream), "requires_grad": create and upstream.requires_grad}
        content = {
            "held": held.number,
            "upstream": packed,
            "create": create,
            "keep": torch._C._autograd._get_current_graph_task_keep_graph(),
            "anomaly": torch.is_anomaly_enabled(),
        }
        reply = self.request("gradient", content)
        found, every = reply["gradients"], [*inputs, upstream]
        if reply["upstream"] is not None:  # a backward has written into it
            upstream.detach().copy_(unpack_tensor(reply["upstream"]))
        return [None if each is None else self.accept(each, every) for each in found]

    def _gradient(self, content):
        inputs, output = self._held[content["held"]]
        given, upstream = (unpack_tensor(content["upstream"]) for _ in range(2))
        upstream.requires_grad_(content["upstream"]["requires_grad"])
        wanted = [i for i, each in enumerate(inputs) if each is not None and each.requires_grad]
        found = [None] * len(inputs)
        create = bool(content["create"])
        with warnings.catch_warnings(), contextlib.ExitStack() as stack:
            if content["anomaly"]:
                warnings.simplefilter("ignore")  # that it is slow, and where forward was
                stack.enter_context(torch.autograd.detect_anomaly(check_nan=True))
            if wanted:
                gradients = torch.autograd.grad(
                    output,
                    [inputs[i] for i in wanted],
                    upstream,
                    allow_unused=True,
                    create_graph=create,
                    retain_graph=create or bool(content["keep"]),
                )
                for i, gradient in zip(wanted, gradients, strict=True):
                    found[i] = gradient
        every = [*inputs, upstream]
        after = pack_tensor(upstream)
        return {
            "gradients": [None if each is None else self.offer(every, each) for each in found],
            "upstream": None if after == pack_tensor(given) else after,
        }


class Held:
    """As long as it lives, the other side holds a tensor."""

    def __init__(self, session, number):
        self.session, self.number = session, number

    def __del__(self):
        self.session.drop(self.number)


class Remote(torch.autograd.Function):
    """A tensor that the other side has computed from the inputs; its backward asks there.

    kept        bytes that the graph keeps there for backward
    stands_for  the learner's own Functions in the graph there
    """

    @staticmethod
    def forward(ctx, session, held, values, kept, stands_for, *inputs):
        ctx.session, ctx.held, ctx.inputs, ctx.stands_for = session, held, inputs, stands_for
        # So that torch notices a graph that was freed, and memory is measured as there.
        ctx.save_for_backward(torch.empty(kept, dtype=torch.uint8))
        return values[0]

    @staticmethod
    def backward(ctx, upstream):
        ctx.saved_tensors  # noqa: B018  raises if the graph was freed
        with torch._C.DisableTorchFunction():
            gradients = ctx.session.gradients(ctx.held, ctx.inputs, upstream)
        return (None,) * 5 + tuple(gradients) + (None,) * (len(ctx.inputs) - len(gradients))


@lru_cache(maxsize=100)
def _named_after(name):
    """A Remote with the name of the learner's Function, for messages."""
    return type(name.removesuffix("Backward"), (Remote,), {})


def own_functions(y: Tensor) -> list[str]:
    """The names of the Functions in the graph of y that are Python code of this side."""
    found = nodes(y.grad_fn) if y.grad_fn else []
    own = [node for node in found if isinstance(node, BackwardCFunction)]
    return [type(node).__name__ for node in own if not issubclass(node._forward_cls, Remote)]


def raise_packed(packed: dict) -> None:
    raise unpack_error(packed)


def _leads_to(tensor, leaves):
    """Is it in the graph of this tensor that one of the leaves is?"""
    if not leaves or tensor.grad_fn is None:
        return False
    ends = map(leaf_of, nodes(tensor.grad_fn))
    return any(end is leaf for end in ends for leaf in leaves)


class Judge(Session):
    """The judge's end: calls functions of the sheet."""

    def unpack(self, packed: dict, tensors: list[Tensor]) -> object:
        """What a sheet has sent. A function becomes one that calls the sheet's."""
        return unpack(packed, tensors, self._unpack_other)

    def _unpack_other(self, kind, content):
        if kind == "function":
            return self.answer(content)
        return unpack_other(kind, content)

    def answer(self, number: int) -> Callable:
        """A function of the sheet, by its number."""

        def answer(*args):
            modes = _get_current_function_mode_stack()
            recorders = [mode for mode in modes if isinstance(mode, RecordedCalls)]
            with torch._C.DisableTorchFunction():
                given, packed = self._pack_arguments(args)
                packed |= {"function": number, "recorded": bool(modes)}
                reply = self.request("call", packed)
                self._change(given, reply["after"])
                tensors = [self._result(each, given, reply) for each in reply["tensors"]]
                result = self.unpack(reply["value"], tensors)
            for recorder in recorders:
                recorder.called.update(map(str, reply["called"]))
                recorder.dtypes.update(map(DTYPES.get, reply["dtypes"]))
            if reply["differentiated"] is True:  # once more, for who watches autograd here
                leaf = torch.ones((), requires_grad=True)
                torch.autograd.grad(leaf * 1, leaf)
            return result

        return answer

    def _pack_arguments(self, args):
        given = []
        tree = pack(args, given, _pack_function)
        leaves = [each for each in given if each.is_leaf and each.requires_grad]
        packed = [self._pack_argument(each, leaves) for each in given]
        return given, {
            "args": tree,
            "tensors": packed,
            "grad": torch.is_grad_enabled(),
            "measured": bool(memory._open),
        }

    def _pack_argument(self, tensor, leaves):
        if _leads_to(tensor, leaves):
            return {**self.offer(leaves, tensor), "kind": "linked"}
        kind = "alone" if tensor.requires_grad else "plain"
        grad = None
        if tensor.is_leaf and tensor.requires_grad:
            kind = "parameter" if isinstance(tensor, nn.Parameter) else "leaf"
            grad = None if tensor.grad is None else pack_tensor(tensor.grad)
        watched = kind == "leaf" and bool(tensor._backward_hooks)
        return {**pack_tensor(tensor), "kind": kind, "grad": grad, "watched": watched}

    def _result(self, packed, given, reply):
        if packed["same"] is not None:
            return given[packed["same"]]
        if packed["shares"] is not None:
            return given[packed["shares"]].detach()
        kept = min(int(reply["kept"]), 1_000_000)
        return self.accept(packed, given, kept)

    def _change(self, given, after):
        """Do to the arguments what the answer has done to them."""
        for i, gradient in after["passes"]:
            torch.autograd.grad(given[i].clone(), given[i], unpack_tensor(gradient))
        for tensor, each in zip(given, after["arguments"], strict=True):
            if each["value"] is not None:
                tensor.detach().copy_(unpack_tensor(each["value"]))
            if tensor.is_leaf and tensor.requires_grad != each["requires_grad"]:
                tensor.requires_grad_(bool(each["requires_grad"]))
            if each["grad_changed"]:
                grad = each["grad"]
                tensor.grad = None if grad is None else unpack_tensor(grad)


class Answering(Session):
    """The sheet's end: its functions are called here."""

    def __init__(self, incoming, outgoing):
        super().__init__(incoming, outgoing)
        self._functions, self._busy = [], False

    def ask(self, number: str, answer: object) -> None:
        """Hand in an answer, and be there for the judge until it is done."""
        if self._busy:
            return  # from within an answer that is being judged
        self._busy = True
        try:
            tensors = []
            tree = pack(answer, tensors, self._pack_function)
            content = {"value": tree, "tensors": [pack_tensor(each) for each in tensors]}
            self.send("check", [number, content])
            while (message := self.receive())[0] != "done":
                self.serve(*message)
        finally:
            self._busy = False

    def _pack_function(self, value):
        if isinstance(value, type) or not callable(value):
            return pack_other(value)
        self._functions.append(value)
        return {"function": len(self._functions) - 1}

    def serve(self, kind, content):
        if kind != "call":
            return super().serve(kind, content)
        try:
            self.send("result", self._call(content))
        except BaseException as error:  # SystemExit, too
            self.send("error", pack_error(error))

    def _call(self, content):
        function = self._functions[content["function"]]
        inputs, given = self._arguments(content["tensors"])
        args = unpack(content["args"], given, _unpack_function)
        before, passes = [_state(each) for each in given], []
        watched = [
            each.register_hook(lambda gradient, i=i: passes.append([i, pack_tensor(gradient)]))
            for i, each in enumerate(given)
            if content["tensors"][i].get("watched")
        ]
        calls, saved = RecordedCalls(), memory.saved_tensors()
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(content["grad"]))
            if content["recorded"]:
                stack.enter_context(calls)
            if content["measured"]:
                stack.enter_context(saved)
            result = function(*args)
        for handle in watched:
            handle.remove()
        tensors = []
        tree = pack(result, tensors, pack_other)
        offered = [{**self.offer(inputs, each), **_alias(each, given)} for each in tensors]
        after = [_changes(*state, each) for state, each in zip(before, given, strict=True)]
        return {
            "value": tree,
            "tensors": offered,
            "kept": saved.bytes,
            "called": sorted(calls.called),
            "dtypes": [str(dtype).removeprefix("torch.") for dtype in calls.dtypes],
            "differentiated": calls.differentiated,
            "after": {"arguments": after, "passes": passes},
        }

    def _arguments(self, packed):
        """The tensors with respect to which gradients may be asked for, and those handed over."""
        inputs, given = [], []
        for each in packed:
            tensor = unpack_tensor(each) if each["kind"] != "linked" else None
            if each["kind"] == "parameter":
                tensor = nn.Parameter(tensor)
            elif each["kind"] in ("leaf", "alone"):
                tensor.requires_grad_()
            if each.get("grad"):
                tensor.grad = unpack_tensor(each["grad"])
            inputs.append(tensor)
            given.append(tensor.clone() if each["kind"] == "alone" else tensor)
        leaves = [each for each in inputs if each is not None and each.requires_grad]
        for i, each in enumerate(packed):
            if each["kind"] == "linked":
                given[i] = self.accept(each, leaves)
        return inputs, given


def _state(tensor):
    grad = tensor.grad if tensor.is_leaf else None
    return pack_tensor(tensor), None if grad is None else pack_tensor(grad), tensor.is_leaf


def _changes(value, grad, is_leaf, tensor):
    """What an answer has done to an argument."""
    if is_leaf and not tensor.is_leaf:
        raise RuntimeError("an argument that was a leaf has a grad_fn now")
    new_value, new_grad, _ = _state(tensor)
    return {
        "value": None if new_value == value else new_value,
        "requires_grad": tensor.requires_grad,
        "grad_changed": new_grad != grad,
        "grad": new_grad,
    }


def _alias(tensor, given):
    """Which argument a result is, or shares its numbers with."""
    same = [i for i, each in enumerate(given) if each is tensor]
    shares = [
        i
        for i, each in enumerate(given)
        if tensor.numel() and each.shape == tensor.shape and each.data_ptr() == tensor.data_ptr()
        if not tensor.requires_grad
    ]
    return {"same": same[0] if same else None, "shares": shares[0] if shares else None}


def _pack_function(value):
    """A function that the judge hands over travels as code, with the names that it uses."""
    if not isinstance(value, types.FunctionType):
        return {"torch": value.__name__}
    names = {n: value.__globals__[n] for n in value.__code__.co_names if n in value.__globals__}
    tensors = {name: it for name, it in names.items() if isinstance(it, Tensor)}
    return {
        "code": {
            "code": base64.b64encode(marshal.dumps(value.__code__)).decode(),
            "modules": [name for name in names if name not in tensors],
            "tensors": {name: pack_tensor(it) for name, it in tensors.items()},
            "leaves": [name for name, it in tensors.items() if it.requires_grad],
        }
    }


def _unpack_function(kind, content):
    if kind == "torch":
        return getattr(torch, content)
    tensors = {name: unpack_tensor(packed) for name, packed in content["tensors"].items()}
    for name in content["leaves"]:
        tensors[name].requires_grad_()
    names = {name: import_module(name) for name in content["modules"]}
    code = marshal.loads(base64.b64decode(content["code"]))
    return types.FunctionType(code, {**names, **tensors})
