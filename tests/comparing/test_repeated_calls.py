"""compare --compiled: which call is repeated, and what of it is compiled already."""

import pytest
import torch
from test_compiled import Net, Part, X, first_step, planted
from torch import nn

from autograd_surprises.comparing.compiled_step import CompiledRun

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's compiler has some of its own


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


class Half(nn.Module):
    """A part that is compiled already, by a backend with a fault."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(6, 6)
        fault = planted("tanh", lambda result, *_: result / 2)
        self.part = torch.compile(Part(torch.tanh), backend=fault)

    def forward(self, x):
        return self.part(self.first(x))


@pytest.mark.slow
def test_what_is_compiled_already_is_eager_beside_it():
    found = first_step(Half(), X, backend=planted("tanh", lambda result, *_: result / 2))
    assert found.status == "differ"


@pytest.mark.slow
def test_a_parameter_of_whole_numbers_is_left_where_it_is():
    model = Net(torch.tanh)
    model.count = nn.Parameter(torch.tensor(3), requires_grad=False)
    found = first_step(model, X, backend=planted("tanh", lambda result, *_: result / 2))
    assert found.status == "differ" and model.count == 3


def test_the_last_call_may_be_no_part_of_the_loss():
    model, run = Net(torch.tanh), CompiledRun("aot_eager")
    with pytest.raises(SystemExit), run:
        loss = model(X).square().sum()
        model(X)
        loss.backward()
    assert run.found is None and "the last call of Net is not in this loss" in run.trouble


@pytest.mark.slow
@pytest.mark.parametrize("autocast", [False, True])
def test_the_call_is_repeated_as_the_script_made_it(autocast):
    model, x = nn.Sequential(Part(lambda x: x.mul_(2)), nn.Conv1d(1, 2, 3)), X[:, None] / 7
    right = torch.autograd.grad(model(x.clone()).float().sin().sum(), model[1].weight)[0]
    run = CompiledRun("aot_eager")
    with pytest.raises(SystemExit), run:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            result = model(x)
        result.float().sin().sum().backward()
    weight = next(each for each in run.found.parameters if each.name == "1.weight")
    assert run.found.status == "same" and weight.size == pytest.approx(
        right.norm().item(), rel=0.05
    )
    assert weight.floor > 1e-4 * weight.size if autocast else weight.floor < 1e-5 * weight.size
