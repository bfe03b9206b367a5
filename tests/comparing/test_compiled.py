"""compare --compiled: faults of torch.compile, and what is no fault."""

import inspect
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograd_surprises.command.parser import main
from autograd_surprises.comparing.compiled_step import CompiledRun

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's compiler has some of its own
ROOT = Path(__file__).parent.parent.parent


class TakesNone(torch.autograd.Function):
    """Its backward asks whether a gradient is None; torch.compile passes zeros instead."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 1, y * 1

    @staticmethod
    def backward(ctx, gradient, other):
        return (2 * gradient if other is None else gradient), other


TRAIN = f"""
import sys
import torch
import torch.nn.functional as F
from torch import nn

{inspect.getsource(TakesNone)}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4)

    def forward(self, x):
        hidden = self.norm(self.first(x))
        if "function" in sys.argv:
            hidden, _ = TakesNone.apply(hidden, self.first(x))
        return dict(scores=self.last(F.dropout(F.relu(hidden), 0.1)))


model, head = Net(), nn.Linear(4, 4)
for step in range(3):
    x, target = torch.randn(32, 8), torch.randint(4, (32,))
    if "stop" in sys.argv:
        raise ValueError("the script's own")
    F.cross_entropy(head(model(x)["scores"]), target).backward()
    print("step", step)
"""


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch.compiler.reset()
    with torch.random.fork_rng():
        yield
    torch.compiler.reset()


class Part(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Net(nn.Module):
    """Its parameters are used in a part of their own; what comes after is the faulty part."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.part = nn.Linear(6, 6), Part(function)

    def forward(self, x):
        return self.part(self.first(x))


def first_step(model, x, backend="aot_eager", loss=torch.Tensor.square):
    """What is found in the first step of a script with this model."""
    run = CompiledRun(backend)
    with pytest.raises(SystemExit), run:
        loss(model(x)).sum().backward()
    assert run.found is not None, run.trouble
    return run.found


COUNT = itertools.count()
X = torch.arange(36.0).view(6, 6) % 5 - 2
WHERE = Path(__file__).name


def line_of(found, label):
    return next(text for name, text in found.rows if name == label)


# What is no fault, and what cannot be told.


def test_code_that_torch_compile_leaves_alone_is_not_called_the_same():
    model = nn.Linear(2, 1)
    model.forward = torch.compiler.disable(model.forward)
    run = CompiledRun("aot_eager")
    with pytest.raises(SystemExit), run:
        model(torch.ones(3, 2)).sum().backward()
    assert run.found is None and "left Linear to eager code" in run.trouble


def only_float32(x):
    if x.dtype is torch.float64:
        raise RuntimeError("not implemented for 'Double'")
    return x.tanh()


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, dtype, part",
    [(torch.tanh, torch.float64, "computes with"), (only_float32, torch.float32, "'Double'")],
)
def test_without_a_more_exact_gradient_a_small_difference_is_undecided(function, dtype, part):
    model, x = Net(function).to(dtype), X.to(dtype)
    slightly = 1 + 100 * torch.finfo(dtype).eps
    backend = planted("tanh", lambda result, *_: result * slightly)
    found = first_step(model, x, backend=backend)
    assert found.status == "undecided" and part in found.sentence


@pytest.mark.slow
def test_everything_is_put_back():
    class Careless(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.calls = nn.Linear(6, 6), 0
            self.norm, self.drop = nn.BatchNorm1d(6), nn.Dropout()

        def forward(self, x):
            self.calls += 1
            self.layer.weight.data.mul_(1.5)
            return self.norm(self.drop(self.layer(x)))

    model, run = Careless(), CompiledRun("aot_eager")
    with pytest.raises(SystemExit), run:
        loss = model(X).sin().sum()
        numbers = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        drawn = torch.get_rng_state()
        loss.backward()
    assert run.found and run.found.status == "same", run.trouble
    after = model.state_dict()
    assert all(torch.equal(after[name], numbers[name]) for name in numbers)
    assert model.calls == 1 and model.layer.weight.grad is None
    assert torch.equal(torch.get_rng_state(), drawn)


# Faults that torch 2.13 has: later versions repair them.


class Fivefold(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return 5 * gradient


LOST = {
    "https://github.com/pytorch/pytorch/issues/118396": (
        lambda x: TakesNone.apply(2 * x, 3 * x)[0], "TakesNone.apply"),
    "https://github.com/pytorch/pytorch/issues/193279": (
        lambda x: torch.func.grad(lambda x: Fivefold.apply(x).sum())(x) * x, "Fivefold.apply"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("thread", LOST)
def test_a_custom_backward_that_is_not_kept(thread):
    function, call = LOST[thread]
    model = Net(function)
    right, wrong = (torch.autograd.grad(f(X).square().sum(), model.first.bias)[0]
                    for f in (model, torch.compile(model, backend="aot_eager")))  # fmt: skip
    found, is_repaired = first_step(model, X), torch.allclose(right, wrong)
    assert found.cause == ("" if is_repaired else "custom-backward")
    assert found.status == "same" if is_repaired else call in line_of(found, "called")
    assert is_repaired or WHERE in line_of(found, "called")


@pytest.mark.slow
def test_a_graph_that_is_lost_altogether():
    name = f"no_graph_{next(COUNT)}"
    torch._dynamo.register_backend(lambda graph, _: torch.no_grad()(graph.forward), name=name)
    found = first_step(Net(torch.cos), X, backend=name)
    assert found.cause == "compiler" and "None in b" in found.rows[-1][1]


@pytest.fixture
def inductor():
    try:
        torch.compile(lambda x: x + 1)(torch.ones(2))
    except Exception as error:
        pytest.skip(f"inductor does not work here: {error}")


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_a_graph_that_inductor_loses():
    """https://github.com/pytorch/pytorch/pull/194479"""

    def views_and_base(x):
        y = torch.sin(x)
        return y[:3], y[3:], y.detach()

    def loss(results):
        return results[0] + 2 * results[1]

    model = Net(views_and_base)
    loss(torch.compile(model, backend="inductor")(X)).sum().backward()
    is_repaired = model.first.bias.grad is not None
    found = first_step(model, X, backend="inductor", loss=loss)
    assert found.cause == ("" if is_repaired else "compiler")
    assert is_repaired or "None in b" in found.rows[-1][1]


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_fewer_digits_are_no_fault():
    """inductor rounds elsewhere: https://github.com/pytorch/pytorch/issues/179804"""

    def inner(x):
        with torch.autocast("cpu", torch.bfloat16):
            return F.gelu(x @ x.T).float() @ x

    found = first_step(Net(inner), X / 4, backend="inductor")
    assert found.status == "same" or found.cause == "rounding"


# Faults of earlier versions, planted into the backward that AOTAutograd makes.


def planted(operation, change):
    """The name of a backend in which a result of an operation of backward is another one."""
    from functorch.compile import make_boxed_func  # takes seconds, where nothing is compiled, too
    from torch._dynamo.backends.common import aot_autograd

    def backward(graph, inputs):
        for node in list(graph.graph.nodes):
            if operation in str(node.target):
                with graph.graph.inserting_after(node):
                    new = graph.graph.call_function(change, (node, *node.args))
                node.replace_all_uses_with(
                    new, delete_user_cb=lambda user, new=new: user is not new
                )
        graph.recompile()
        return make_boxed_func(graph.forward)

    def backend(graph, inputs):
        both = aot_autograd(
            fw_compiler=lambda graph, _: make_boxed_func(graph.forward), bw_compiler=backward
        )
        return both(graph, inputs)

    name = f"planted_{operation}_{next(COUNT)}"
    torch._dynamo.register_backend(backend, name=name)
    return name


def written(x):
    y = 1 * x
    y.mul_(2)
    return y


PLANTED = {
    "https://github.com/pytorch/pytorch/issues/100793": (
        lambda x: F.pad(x, (2, 2), mode="reflect") * 3,
        "reflection_pad1d_backward", lambda result, *_: result.roll(1, -1)),
    "https://github.com/pytorch/pytorch/issues/128035": (
        written, "mul", lambda result, *_: result * 0),
}  # fmt: skip
FIRST, *OTHERS = PLANTED  # each compiles


@pytest.mark.parametrize(
    "thread", [FIRST, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)]
)
def test_a_planted_fault(thread):
    function, operation, change = PLANTED[thread]
    found = first_step(Net(function), X, backend=planted(operation, change))
    cause = line_of(found, "cause")
    assert (found.status, found.cause) == ("differ", "compiler")
    assert "planted_" in cause and "cannot be told" in cause


@pytest.mark.slow
def test_a_fault_of_float32_alone_is_not_called_rounding():
    def halved(result, *_):
        return result / 2 if result.dtype is torch.float32 else result

    found = first_step(Net(torch.cos), X, backend=planted("sin", halved))
    assert (found.status, found.cause) == ("differ", "compiler")


@pytest.mark.slow
def test_another_convention_at_a_kink():
    model = Net(torch.abs)
    with torch.no_grad():
        model.first.weight.copy_(torch.eye(6))
        model.first.bias.zero_()
    backend = planted("sgn", lambda result, x: torch.where(x == 0, 1.0, result))
    found = first_step(model, X, backend=backend, loss=lambda y: y * torch.ones(6, 6))
    assert (found.status, found.cause) == ("differ", "kink")


# The command.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("words, code, part", [(["function"], 1, "TakesNone"), ([], 0, "SAME")])
def test_a_script(words, code, part, folder, capsys):
    command = "compare --compiled --backend aot_eager train.py"
    assert main([*command.split(), *words]) == code
    out = capsys.readouterr().out
    assert part in out and "step 0" not in out  # it ends before its first step


REFUSED = {
    "train.py": "--compiled",
    "--compiled gone.py": "no file gone.py",
    "--compiled": "which script",
    "--compiled train.py stop": "the script's own",
}


@pytest.mark.parametrize("line, part", REFUSED.items())
def test_what_cannot_be_compared(line, part, folder, capsys):
    with pytest.raises(SystemExit) as left:
        main(["compare", *line.split()])
    assert left.value.code == 2 and part in capsys.readouterr().err


@pytest.mark.slow
def test_inductor_draws_the_same_dropout(folder):
    words = sys.executable, "-m", "autograd_surprises", "compare", "--compiled", "train.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "SAME" in done.stdout, done.stderr
