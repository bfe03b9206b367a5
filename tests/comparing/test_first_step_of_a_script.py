"""The command compare: a script eager and compiled, and two recorded runs."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from autograd_surprises.__main__ import main
from autograd_surprises.comparing import first_backward
from autograd_surprises.comparing.compiled_model import CompiledRun
from autograd_surprises.comparing.recorded_run import RecordedRun
from autograd_surprises.comparing.run_files import compare_runs, read_run
from autograd_surprises.comparing.signs import norm_of_difference, signed_sums, signs

ROOT = Path(__file__).parent.parent.parent
TRAIN = """
import sys
import torch
import torch.nn.functional as F
from torch import nn


class TakesNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 1, y * 1

    @staticmethod
    def backward(ctx, gradient, other):
        return (2 * gradient if other is None else gradient), other


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4)

    def forward(self, x):
        hidden = self.norm(self.first(x))
        if "function" in sys.argv:
            hidden, _ = TakesNone.apply(hidden, self.first(x))
        if "leaky" in sys.argv:
            return {"scores": self.last(F.leaky_relu(hidden))}
        return {"scores": self.last(F.dropout(F.relu(hidden), 0.1))}


def loss_of(scores, target):
    loss = F.cross_entropy(scores, target)
    if "twice" in sys.argv:
        loss = loss * 2
    return loss


torch.manual_seed(len("seed" * ("seed" in sys.argv)))
model = Net()
head = nn.Linear(4, 4)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
torch.manual_seed(7 + ("batch" in sys.argv))
for step in range(3):
    x, target = torch.randn(32, 8), torch.randint(4, (32,))
    if "stop" in sys.argv:
        raise ValueError("the script's own")
    if "order" in sys.argv:
        x, target = x.flip(0), target.flip(0)
    loss = loss_of(head(model(x)["scores"]), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    torch.compiler.reset()
    vars(first_backward).pop("__import___main__", None)  # torch 2.6 keeps the last test's script
    with torch.random.fork_rng():
        yield tmp_path
    torch.compiler.reset()


def command(capsys, *words):
    capsys.readouterr()
    code = main(["compare", *words])
    out, err = capsys.readouterr()
    return code, out, err


def record(capsys, name, *words):
    code, out, err = command(capsys, "--record", name, "train.py", *words)
    assert code == 0 and "step" not in out, err  # it ends before its first step
    return name


# Two recorded runs.


def test_two_equal_runs(folder, capsys):
    a, b = record(capsys, "a.json"), record(capsys, "b.json")
    code, out, _ = command(capsys, a, b)
    assert code == 0 and out.startswith("SAME")
    assert (folder / a).stat().st_size < 20_000


def test_a_difference_and_its_operation(folder, capsys):
    a, b = record(capsys, "a.json"), record(capsys, "b.json", "twice")
    code, out, _ = command(capsys, a, b)
    assert code == 1 and "losses" in out and "bias is the first" in out
    assert "in b: MulBackward0: train.py" in out and "loss * 2" in out
    a_back = command(capsys, b, a)[1]
    assert "in a: MulBackward0: train.py" in a_back


def test_the_size_of_a_difference_is_estimated(folder, capsys):
    a, b = (read_run(record(capsys, *words)) for words in (("a.json",), ("b.json", "twice")))
    for mine, twice in zip(a["parameters"], b["parameters"], strict=True):
        gradient = mine["gradient"]
        found = norm_of_difference(gradient["sums"], twice["gradient"]["sums"])
        assert found == pytest.approx(gradient["norm"], rel=0.7, abs=1e-6)


def test_the_estimate_is_one_that_the_norms_allow(folder, capsys):
    a, b = (read_run(record(capsys, *words)) for words in (("a.json",), ("b.json", "twice")))
    norms = {each["name"]: each["gradient"]["norm"] for each in a["parameters"]}
    for each in compare_runs(a, b).parameters:
        assert norms[each.name] * 0.999 <= each.apart.norm <= norms[each.name] * 3.001, each.name


def test_a_script_is_recorded_first(folder, capsys):
    code, _, err = command(capsys, "train.py", "train.py")
    assert code == 2 and "compare --record train.json train.py" in err


def test_another_version_is_said(folder, capsys):
    a, b = record(capsys, "a.json"), record(capsys, "b.json")
    changed = json.loads((folder / b).read_text())
    changed["torch"] = "2.99.0"
    (folder / b).write_text(json.dumps(changed))
    code, out, _ = command(capsys, a, b)
    assert code == 0 and f"{torch.__version__} in a, 2.99.0 in b" in out


def test_a_small_difference_of_all_numbers_is_rounding(folder, capsys):
    a, b = read_run(record(capsys, "a.json")), read_run(record(capsys, "b.json"))
    for each in b["parameters"]:
        each["gradient"]["sums"] = [x * (1 + 2e-7) for x in each["gradient"]["sums"]]
    found = compare_runs(a, b)
    assert found.same and "rounding" in found.sentence
    for each in b["parameters"]:
        each["gradient"]["sums"] = [x * (1 + 1e-5) for x in each["gradient"]["sums"]]
    assert compare_runs(a, b).status == "differ"


def test_rounding_errors_are_relative_to_the_size_of_the_gradient():
    """In the file, and when two files are compared."""
    torch.manual_seed(0)
    model, x = torch.nn.Linear(8, 4), torch.randn(16, 8)
    shares = []
    for scale in (1.0, 2.0**-30, 2.0**30):
        with pytest.raises(SystemExit), RecordedRun() as run:
            (scale * model(x).square().mean()).backward()
        shares.append([each["rounding"] for each in run.data["parameters"]])
        for factor, status in ((1 + 2e-8, "same"), (1 + 1e-4, "differ")):
            other = copy.deepcopy(run.data)
            for each in other["parameters"]:
                each["gradient"]["sums"] = [number * factor for number in each["gradient"]["sums"]]
            assert compare_runs(run.data, other).status == status, scale
    assert shares[0] == shares[1] == shares[2] and 0 < shares[0][0] < 1e-6


@pytest.mark.parametrize("word", ["seed", "batch", "order"])
def test_runs_that_do_not_start_alike_are_not_judged(word, folder, capsys):
    a, b = record(capsys, "a.json"), record(capsys, "b.json", word)
    code, out, _ = command(capsys, a, b)
    assert code == 2 and ("parameters" if word == "seed" else "called with") in out


def test_without_a_floor_nothing_is_called_rounding(folder, capsys):
    a, b = read_run(record(capsys, "a.json")), read_run(record(capsys, "b.json", "twice"))
    b["unknown"] = "no float64"
    found = compare_runs(a, b)
    assert found.status == "undecided" and "no float64" in found.sentence


def test_files_that_cannot_be_compared(folder, capsys):
    a = record(capsys, "a.json")
    other = json.loads((folder / a).read_text())
    other["parameters"] = [each for each in other["parameters"] if "norm" not in each["name"]]
    (folder / "other.json").write_text(json.dumps(other))
    (folder / "text.json").write_text("{}")
    for file, part in (("other.json", "norm.weight"), ("text.json", "--record"),
                       ("train.py", "no JSON"), ("gone.json", "cannot read")):  # fmt: skip
        code, _, err = command(capsys, a, file)
        assert code == 2 and part in err


def test_recording_needs_a_step(folder, capsys):
    code, _, err = command(capsys, "--record", "a.json", "train.py", "stop")
    assert code == 2 and "the script's own" in err and not (folder / "a.json").exists()


@pytest.mark.parametrize(
    "words, part",
    [
        (["a.json"], "two recorded runs"),
        (["--compiled", "gone.py"], "no file gone.py"),
        (["--compiled", "--record", "a.json", "train.py"], "one after the other"),
        (["--record", "gone/a.json", "train.py"], "no folder"),
        (["--record", "a.json"], "which script"),
    ],
)
def test_words_that_make_no_sense(words, part, folder, capsys):
    with pytest.raises(SystemExit) as left:
        command(capsys, *words)
    assert left.value.code == 2 and part in capsys.readouterr().err


# Eager and compiled.


def test_a_healthy_script_compiled(folder, capsys):
    words = "--compiled", "--backend", "aot_eager", "train.py"
    code, out, err = command(capsys, *words)
    assert code == 0 and "SAME" in out and "aot_eager" in out, err
    assert "step 0" not in out


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_gradient_that_compile_changes(folder, capsys):
    words = "--compiled", "--backend", "aot_eager", "train.py", "function"
    code, out, err = command(capsys, *words)
    assert code == 1 and "norm." in out and "TakesNone" in out, err


@pytest.mark.slow
def test_inductor_draws_the_same_dropout(folder):
    words = sys.executable, "-m", "autograd_surprises", "compare", "--compiled", "train.py"
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert done.returncode == 0 and "SAME" in done.stdout, done.stderr


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


# The call of the model.


class WritesIntoItsInput(torch.nn.Module):
    """It writes into what it is called with."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv1d(1, 2, 3)

    def forward(self, x):
        return self.convolution(x.mul_(2))


class HoldsAnImage(torch.nn.Module):
    """Its convolution needs an image, which is no buffer, and weights of the same dtype."""

    def __init__(self):
        super().__init__()
        self.convolution, self.image = torch.nn.Conv2d(1, 2, 3), torch.ones(1, 1, 8, 8)

    def forward(self, x):
        return self.convolution(self.image) * x.mean()


def first_step(watching, model, **autocast):
    with pytest.raises(SystemExit), watching:
        with torch.autocast("cpu", torch.bfloat16, **autocast):
            result = model(torch.linspace(-1, 2, 32).view(4, 1, 8))
        result.float().square().mean().backward()
    assert watching.trouble == ""
    return watching


def test_the_call_is_repeated_with_what_the_script_passed():
    run = first_step(RecordedRun(), WritesIntoItsInput(), enabled=False)
    assert run.data["unknown"] == ""
    assert all(each["rounding"] < 1e-5 for each in run.data["parameters"])


def test_the_call_is_repeated_in_float64_also_where_dtypes_have_to_agree():
    run = first_step(RecordedRun(), HoldsAnImage(), enabled=False)
    assert run.data["unknown"] == ""


def test_the_call_is_repeated_under_autocast():
    run = first_step(RecordedRun(), WritesIntoItsInput(), enabled=True)
    assert max(each["rounding"] for each in run.data["parameters"]) > 1e-4


def test_code_that_torch_compile_leaves_alone_is_not_called_the_same():
    model = torch.nn.Linear(2, 1)
    model.forward = torch.compiler.disable(model.forward)
    compiled = CompiledRun("aot_eager")
    with pytest.raises(SystemExit), compiled:
        model(torch.ones(3, 2)).sum().backward()
    assert "left all of Linear to eager code" in compiled.trouble and compiled.found is None
    torch.compiler.reset()


# Sums with random signs.


def in_python(seed, place):
    """The signs at one place, by Python's own integers."""
    mask = 2**64 - 1
    number = (place ^ seed) & mask
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        number = ((number ^ number >> 33) * factor) & mask
    number ^= number >> 33
    return [1.0 if number >> bit & 1 else -1.0 for bit in range(16)]


@pytest.mark.parametrize("seed", [0, 1, -(2**63), 2**63 - 1])
def test_the_signs_are_those_of_exact_integers(seed):
    assert signs(seed, 4000, 200).T.tolist() == [in_python(seed, k) for k in range(4000, 4200)]


def test_the_signs_stay_what_they_are():
    """Files of other versions were written with these."""
    sums = signed_sums(torch.arange(10_000.0), "layer.weight")
    assert sums[:3] == [285066.0, -304434.0, -274338.0]


def test_signs_are_balanced_and_independent():
    some = signs(3, 0, 20_000)
    together = some @ some.T / 20_000
    assert (together - torch.eye(16)).abs().max() < 0.04 and some.mean(1).abs().max() < 0.04


def test_the_norm_of_a_difference_is_found_within_its_error():
    generator = torch.Generator().manual_seed(0)
    found = []
    for k in range(50):
        a = torch.randn(500, generator=generator)
        b = a + 1e-3 * torch.randn(500, generator=generator)
        sums = [signed_sums(tensor, f"w{k}") for tensor in (a, b)]
        found.append(norm_of_difference(*sums) / (a.double() - b.double()).norm().item())
    assert 0.9 < sum(found) / 50 < 1.1 and min(found) > 0.4 and max(found) < 1.9
