"""python -m autograd_surprises upgrade: a script runs unharmed, and its step is compared."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from autograd_surprises import upgrading
from autograd_surprises.upgrading import CHANGES, SAME, UNKNOWN, StepsCompared, main

ROOT = Path(__file__).parent.parent
PAIR = ("2.13", "2.15")
# int4, as quantization-aware training does it: a 30th of the weights is rounded to a bound.
QUANTIZED = """
import sys
import torch
from torch import nn


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Quantized(nn.Linear):
    def forward(self, x):
        rounded = RoundSTE.apply(self.weight / 0.25)
        return nn.functional.linear(x, 0.25 * rounded.clamp(-8, 7), self.bias)  # here


torch.manual_seed(0)
model = nn.Sequential(Quantized(256, 256), nn.Hardtanh(), nn.Dropout(), nn.Linear(256, 8))
nn.init.normal_(model[0].weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
for step in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(32, 256)), torch.randint(8, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sys.argv[1:], model[0].weight.sum().item(), torch.rand(1).item())
raise SystemExit(7)
"""


def run(folder, *command):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_fake_quantizer_loses_the_gradient_on_its_bounds(tmp_path):
    (tmp_path / "train.py").write_text(QUANTIZED)
    upgrade = ["-m", "autograd_surprises", "upgrade", "--from", "2.13", "--to", "2.15"]
    plain = run(tmp_path, "train.py", "--epochs", "3")
    code, output, said = run(tmp_path, *upgrade, "train.py", "--epochs", "3")
    assert (code, output) == (CHANGES, plain[1]) and plain[0] == 7
    line = 1 + QUANTIZED[: QUANTIZED.index("# here")].count("\n")
    assert f"train.py:{line}" in said and "step 1" in said and "0.weight" in said
    share = float(re.search(r"of 65,536 elements\s+\((\S+)", said)[1])
    assert share == pytest.approx(3.4, abs=0.15)
    assert run(tmp_path, *upgrade[:-1], "2.14", "train.py")[0] == CHANGES
    code, output, said = run(tmp_path, *upgrade[:-3], "2.6", "--to", "2.13", "train.py")
    assert code == SAME and output.startswith("[]") and "no gradient changes" in said


def test_a_script_without_a_training_step(tmp_path):
    (tmp_path / "train.py").write_text("print('done')\nraise ValueError('the end')")
    code, output, said = run(
        tmp_path, "-m", "autograd_surprises", "upgrade", "--from=2.13", "--to=2.15", "train.py"
    )
    assert (code, output) == (UNKNOWN, "done\n")
    assert "ValueError: the end" in said and "no training step" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "2.99", "train.py"], "'2.99' was not measured"),
        (["--from", "2.14", "--to", "2.14", "train.py"], "both versions are torch 2.14"),
        (["--from", "2.13", "--to", "2.15", "nowhere.py"], "no file nowhere.py"),
        (["--from", "2.13", "--to", "2.15"], "which script"),
    ],
)
def test_what_cannot_be_compared_is_said_before_the_script_runs(words, says, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == UNKNOWN and says in capsys.readouterr().err


def test_an_installed_version_that_was_not_measured(monkeypatch, capsys):
    monkeypatch.setattr("autograd_surprises.atlas.upgrade.installed_version", lambda: "2.99")
    with pytest.raises(SystemExit) as stop:
        main(["train.py"])
    assert stop.value.code == UNKNOWN and "installed torch 2.99" in capsys.readouterr().err


def train(step, parts=1, steps=3, model=None):
    model = model or nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(1, steps + 1):
        for _ in range(parts):
            step(model, number).backward()
        optimizer.step()
        optimizer.zero_grad()


def bounded(model, number):
    return (model(torch.ones(1, 2)) * 0 + number - 2).clamp(0, 9).sum() + model.weight.sum()


def test_each_step_that_is_asked_for_is_compared_once():
    with StepsCompared(PAIR, steps=(2, 3)) as compared:
        train(bounded, parts=4)
    assert [report.lines[0].elements for report in compared.reports] == [2, 0]
    assert {report.lines[0].where.file for report in compared.reports} == {__file__}
    assert [report.changes for report in compared.reports] == [False, False]  # multiplied by 0
    assert compared.exit_code == SAME and compared.step == 3


def test_two_losses_of_a_step_are_two_reports():
    first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
    with StepsCompared(PAIR) as compared:
        for w in (first, second, first):
            w.clamp(max=1).sum().backward()
    assert len(compared.reports) == 2 and compared.exit_code == CHANGES


def test_what_goes_wrong_inside_does_not_end_the_training(monkeypatch):
    monkeypatch.setattr(upgrading, "examine_step", lambda *_: 1 / 0)
    said = []
    with StepsCompared(PAIR) as compared:
        compared.reported = said.append
        train(bounded)
    assert compared.exit_code == UNKNOWN and compared.step == 3
    assert [text for text in said if "ZeroDivisionError" in text] == said != []


def test_compiled_code_is_not_seen():
    w = torch.ones(2, requires_grad=True)
    with StepsCompared(PAIR) as compared:
        torch.compile(lambda x: x.clamp(0, 1).sum(), backend="aot_eager")(w).backward()
    assert compared.exit_code == UNKNOWN and not compared.troubles
    assert "torch.compile" in str(compared.reports[0])


def test_several_losses_at_once():
    w = torch.ones(2, requires_grad=True)
    with StepsCompared(PAIR) as compared:
        torch.autograd.backward([w.sum(), w.clamp(0, 1).sum()])
    assert compared.exit_code == UNKNOWN and compared.troubles
