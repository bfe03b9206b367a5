"""The doctor names the user's line, whatever happens inside this project's own packages."""

import linecache

import pytest
import torch
from torch import nn

import autograd_surprises
from autograd_surprises.doctor import explain_error, trace, watch
from helpers.functions import round_ste, value_with_gradient_of

CHECKOUT = autograd_surprises.__path__[0].removesuffix("autograd_surprises")


def line_of(where):
    return where.file, linecache.getline(where.file, where.line).strip()


def test_a_cut_inside_helpers_is_at_the_line_that_calls_it():
    w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with trace() as t:
        y = value_with_gradient_of(2 * w, 3 * x)
    assert line_of(t.explain(y.sum(), {"w": w, "x": x})["w"].where) == (
        __file__,
        "y = value_with_gradient_of(2 * w, 3 * x)",
    )


def test_an_error_inside_helpers_is_at_the_line_that_calls_it():
    with pytest.raises(TypeError) as caught:
        round_ste(3)
    assert line_of(explain_error(caught.value).where) == (__file__, "round_ste(3)")


OF_THE_USER = {
    CHECKOUT + "helpers/functions/rounding.py": False,
    CHECKOUT + "autograd_surprises/show/table.py": False,
    CHECKOUT + "helpers.py": True,
    CHECKOUT + "train.py": True,
    "/home/me/project/helpers.py": True,
    "/home/me/project/helpers/losses.py": True,
}


@pytest.mark.parametrize("file, is_the_users", OF_THE_USER.items())
def test_whose_file_it_is(file, is_the_users):
    space = library(file, "def cut(x):\n    return x.detach()")
    w = torch.ones(2, requires_grad=True)
    with trace() as t:
        y = space["cut"](w).sum()
    assert t.explain(y, {"w": w})["w"].where.file == (file if is_the_users else __file__)


# ---- A loop or a model of a library: the user's line, and the library's

SITE = "/venv/lib/site-packages/trainer/loop.py"
LIBRARY = """
import torch
def fit(model, x):
    return model(x)
def fails(x):
    return x + torch.ones(3)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.ModuleDict({"first": Block()})
    def forward(self, x):
        return self.body["first"](x)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        return (self.weight.detach() * x).sum()
"""


PARTS = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.pooler = torch.nn.Linear(3, 3)
        self.unused = torch.nn.Parameter(torch.ones(()))
    def forward(self, x):
        both = torch.cat([self.first(x), self.second(x)], 1)
        return both[:, :3] + 0.0 * self.unused, self.pooler(x)
"""


def library(file=SITE, code=LIBRARY):
    """The names of a module with this code, as if it was imported from this file."""
    space = {"__name__": "loop"}
    exec(compile(code, file, "exec"), space)
    return space


def test_inside_a_library_both_lines_are_named_and_the_module():
    space = library()
    model, x = space["Model"](), torch.ones(2, requires_grad=True)
    with trace() as t:
        loss = space["fit"](model, x)
    where = t.explain(loss, model)["body.first.weight"].where
    assert line_of(where) == (__file__, 'loss = space["fit"](model, x)')
    assert (where.inside.file, where.inside.line, where.module) == (SITE, 18, "body.first")
    assert f"{where}".endswith(", inside loop.py:18  (in body.first)")


@pytest.mark.parametrize("wrapped, path", [(False, "1"), (True, "0.1")])
def test_a_layer_without_a_name_is_called_as_print_shows_it(wrapped, path):
    """In an nn.Sequential a layer has only a number, which says little: its class is added."""
    layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    layers[0].bias.data.fill_(-9.0)
    model = nn.Sequential(layers) if wrapped else layers
    with trace() as t:
        loss = model(torch.ones(1, 2)).sum()
    where = t.explain(loss, {"bias": layers[0].bias})["bias"].where
    assert (where.module, where.kind) == (path, "ReLU")
    assert f"{where}".endswith(f"  (in {path}: ReLU)") and "(1): ReLU()" in str(model)


def test_an_error_inside_a_library_is_at_both_lines():
    with pytest.raises(RuntimeError) as caught:
        library()["fails"](torch.ones(2))
    where = explain_error(caught.value).where
    assert (line_of(where)[1], where.inside.line) == ('library()["fails"](torch.ones(2))', 6)


def test_the_users_own_line_stays_alone():
    space = library("/home/me/project/loop.py")
    model, x = space["Model"](), torch.ones(2, requires_grad=True)
    with trace() as t:
        loss = space["fit"](model, x)
    where = t.explain(loss, model)["body.first.weight"].where
    assert (where.file, where.line, where.inside) == ("/home/me/project/loop.py", 18, None)


MINE = "/home/me/project/model.py"
LEFT_OUT = [
    (SITE, True, ["not-picked/joined-in-library", "dead-branch/library", "zero-factor/library"]),
    (MINE, False, ["not-picked/joined", "dead-branch/loss", "zero-factor/tensor"]),
]


@pytest.mark.parametrize("file, healthy, rules", LEFT_OUT)
def test_what_a_librarys_model_leaves_out_is_no_alarm(file, healthy, rules):
    model = library(file, PARTS)["Model"]()
    with trace() as t:
        loss = model(torch.rand(2, 3))[0].square().sum()
    report = t.explain(loss, model)
    found = [report[name] for name in ("second.weight", "pooler.weight", "unused")]
    assert [each.rule for each in found] == rules
    assert {each.alarming for each in found} == {not healthy}


def test_a_bias_that_no_derivative_depends_on_is_no_alarm():
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.rand(6, 2, requires_grad=True)
    with trace() as t:
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        loss = (slope.sum(1) - 1).square().mean()
    report = t.explain(loss, model)
    assert report.healthy and report["2.bias"].rule == "dead-branch/derivatives"


def test_the_optimizer_that_watch_makes_for_itself_is_not_taken_for_the_users():
    model = torch.nn.ModuleDict({"held": torch.nn.Linear(2, 2), "forgotten": torch.nn.Linear(2, 2)})
    sgd = torch.optim.SGD(model["held"].parameters(), lr=0.1)
    with watch(model, sgd) as w:
        model["held"](model["forgotten"](torch.ones(1, 2))).sum().backward()
        sgd.step()
    found = w.reports[0].report["forgotten.weight"]
    assert found.cause == "not-in-optimizer"
    assert not any(line_of(where)[1].endswith("backward()") for _, where in found.places)


MAKER = """
import torch
def make():
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
"""


@pytest.mark.parametrize(("file", "is_the_users"), [(SITE, False), ("/home/me/net.py", True)])
def test_a_layer_that_a_library_made_is_blamed_where_it_runs(file, is_the_users):
    with trace() as t:
        model = library(file, MAKER)["make"]()
        loss = model(torch.full((2, 3), 1e6)).sum()
    found = t.explain(loss, model)["0.weight"]
    assert found.alarming and found.where.file == (file if is_the_users else __file__)
    assert is_the_users or "loss = model(" in str(found.where)
