"""What another torch version changes in a step: which elements, how much, and what is not known."""

import itertools
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from autograd_surprises import trace
from autograd_surprises.atlas import changes, upgrade_report, versions
from autograd_surprises.atlas.changed_elements import changed_elements
from autograd_surprises.atlas.changed_points import changed_points
from autograd_surprises.atlas.elementwise_operations import Operation, evaluate
from autograd_surprises.atlas.installed import installed_version
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.record import stored
from autograd_surprises.atlas.ties import TIES
from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.graph import reachable

PAIRS = [*itertools.pairwise(versions()), (versions()[0], versions()[-1])]
BOUNDS = torch.tensor([-2.0, -1.0, -1.0, 0.5, 1.0, 3.0, torch.inf, torch.nan])


def clamped(x):
    return x.clamp(-1, 1)


def report_of(make, old="2.13", new="2.15", **inputs):
    module = torch.nn.ParameterDict(inputs)  # which names them
    with trace() as t:
        loss = make(**module).sum()
    return upgrade_report(loss, t, old, new)


def counts(report):
    return [(line.operation, line.elements, line.total) for line in report.lines]


@pytest.mark.parametrize(
    ("make", "elements"),
    [
        (lambda x: torch.clamp(x, -1, 1), 3),
        (lambda x: x.clip(min=-1.0), 2),
        (lambda x: x.clamp(max=3), 1),
        (lambda x: x.clamp(-1, None), 2),
        (lambda x: (x * 1).clamp_(-1, 1), 3),
        (lambda x: torch.clamp_min(x, -1), 2),
        (lambda x: x.clamp_max(0.5), 1),
        (lambda x: x.clamp(-1, 1).clamp(-1, 1), 3 + 6),
        (lambda x: F.margin_ranking_loss(x, x * 0, torch.ones(8), margin=1.0), 1),
        (lambda x: F.normalize((x + 2).abs()[:1], dim=0, eps=0.0), 1),
    ],
)
def test_the_elements_on_a_bound_are_counted(make, elements):
    report = report_of(make, x=BOUNDS)
    assert sum(line.elements for line in report.lines) == elements
    assert {(line.before, line.after) for line in report.lines} == {(1.0, 0.0)}
    assert report.lines[0].where.file == __file__


def test_a_bound_that_is_a_tensor_shares_the_gradient():
    report = report_of(lambda x: x.clamp(torch.tensor(-1.0), torch.tensor([1.0])), x=BOUNDS)
    found = {line.places: (line.before, line.after, line.elements) for line in report.lines}
    assert found == {("min", "max"): (1.0, 0.5, 3), ("nan",): (0.0, 1.0, 1)}


def test_the_size_of_the_change_is_that_of_the_gradient():
    """Two of four numbers have the gradients 3 and 4, and lose them: 5 of sqrt(9 + 16 + 144)."""
    factors = torch.tensor([3.0, 4.0, 0.0, 12.0])
    report = report_of(lambda x: x.clamp(-1, 1) * factors, x=torch.tensor([1.0, -1.0, 1.0, 0.0]))
    assert report.changes
    assert report.leaves == pytest.approx({"x": 5 / 13})
    assert (
        report.leaves
        == report_of(
            lambda x: x.clamp(-1, 1) * factors, x=torch.tensor([1.0, -1.0, -1.0, 0.0])
        ).leaves
    )


def test_a_downgrade_is_the_reverse():
    (up,) = report_of(clamped, x=BOUNDS).lines
    (down,) = report_of(clamped, "2.15", "2.13", x=BOUNDS).lines
    assert (down.before, down.after, down.elements) == (up.after, up.before, up.elements)


@pytest.mark.parametrize(
    ("make", "x", "old"),
    [
        (clamped, torch.tensor([0.5, 1.0000001, 7.0]), "2.13"),
        (clamped, BOUNDS, "2.12"),
        (lambda x: F.hardtanh(x) + F.relu6(x) + x.abs(), BOUNDS, "2.13"),
        (lambda x: x.amax(0) + x.max() + torch.maximum(x, x * 1).sum(), torch.ones(3), "2.13"),
    ],
)
def test_nothing_changes(make, x, old):
    new = "2.13" if old == "2.12" else "2.15"
    report = report_of(make, old, new, x=x)
    assert not report.changes and not report.doubts and report.leaves == {}
    assert not any(line.elements for line in report.lines)


def test_a_point_of_two_arguments_needs_both():
    """atan2(0, 0) changed in 2.10, and atan2(0, 1) did not."""
    report = report_of(
        torch.atan2, "2.6", "2.12", input=torch.zeros(2), other=torch.tensor([0.0, 1.0])
    )
    assert {line.elements for line in report.lines} == {1}


def test_no_gradient_arrives_at_the_elements():
    report = report_of(lambda x: x.clamp(-1, 1) * torch.zeros(8), x=BOUNDS.nan_to_num(0, 0))
    assert [line.elements for line in report.lines] == [3]
    assert not report.changes and "no leaf" in str(report)


def test_it_says_what_was_measured():
    report = report_of(lambda x: (x.abs().unsqueeze(0) @ torch.ones(8, 2)).clamp(-1, 1), x=BOUNDS)
    assert report.measured == ("abs", "clamp")
    assert {"mm", "sum"} == {*report.unknown}
    for name in (*report.measured, *report.unknown):
        assert name in str(report)


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_a_gradient_that_a_function_overrides_does_not_change():
    report = report_of(lambda x: Own.apply(x), x=BOUNDS)
    assert not report.changes and "Own" in report.unknown


def test_elements_at_both_bounds_were_not_measured():
    """There, torch 2.15 leaves the whole gradient to x."""
    one = torch.ones(2)
    report = report_of(lambda x: x.clamp(one, one), x=one)
    assert report.doubts and report.leaves is None


def test_the_gradient_of_a_bound_that_was_not_measured():
    """Of a learned upper bound, only the lower one was measured."""
    x, bound = BOUNDS[:5], torch.tensor(1.0)
    low = report_of(lambda x, low: x.clamp(low, torch.tensor(9.0)), x=x, low=bound)
    assert not low.doubts and low.leaves == {"x": 0.5, "low": 4.5 / 4 - 1}
    high = report_of(lambda x, high: x.clamp(torch.tensor(-9.0), high), x=x, high=bound)
    assert high.doubts and high.changes


def test_a_loss_with_a_gradient_in_it():
    def penalised(x):
        (slope,) = torch.autograd.grad((x.clamp(-1, 1) ** 2).sum(), x, create_graph=True)
        return slope**2

    report = report_of(penalised, x=BOUNDS)
    assert report.changes and report.leaves is None and report.doubts


def test_what_a_checkpoint_hides():
    open_ = report_of(lambda x: checkpoint(clamped, x, use_reentrant=False), x=BOUNDS)
    assert [line.elements for line in open_.lines] == [3] and not open_.doubts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        closed = report_of(
            lambda x: checkpoint(torch.clamp, x, -1, 1, use_reentrant=True), x=BOUNDS
        )
    assert closed.doubts and not closed.changes and not closed.lines


def test_a_number_that_this_machine_does_not_have_is_no_claim(monkeypatch):
    """Here, the gradient at the bound is another one than the atlas of this version has."""
    here = installed_version()
    lies, other = ("2.15", "2.13") if here in ("2.15", "2.14") else ("2.13", "2.15")
    monkeypatch.setattr(
        "autograd_surprises.atlas.upgrade.installed_version",
        lambda: other,
    )
    report = report_of(clamped, lies, other, x=BOUNDS)
    assert report.doubts and not report.lines


def test_a_derivative_that_one_version_has():
    x = torch.ones(2, requires_grad=True)
    with trace() as t:
        loss = (torch.special.bessel_j0(x) + x).sum()
    report = upgrade_report(loss, t, "2.13", "2.15")
    assert report.changes and report.leaves is None
    assert ["bessel_j0" in what for _, what in report.derivatives] == [True]
    assert not upgrade_report(loss, t, "2.13", "2.14").changes


def test_it_leaves_everything_as_it_was():
    x = BOUNDS[:6].clone().requires_grad_()
    seen = []
    with trace() as t:
        y = x * 2
        y.retain_grad()
        loss = F.dropout(y.clamp(-1, 1), 1e-9).sum()
    y.register_hook(lambda gradient: seen.append(gradient.clone()))
    random = torch.get_rng_state()
    with torch.no_grad():
        report = upgrade_report(loss, t, "2.13", "2.15")
    assert report.changes and report.measured == ("clamp", "mul")
    assert torch.equal(random, torch.get_rng_state()) and x.grad is None and y.grad is None
    seen.clear()
    loss.backward()
    assert len(seen) == 1 and x.grad[4] == 2 * seen[0][4]


@pytest.mark.parametrize(
    ("pair", "match"),
    [
        (("2.13", "2.99"), "'2.99' was not measured"),
        (("1.0", "2.15"), "'1.0' was not measured"),
        (("2.14", "2.14"), "both versions are torch 2.14"),
    ],
)
def test_versions_that_cannot_be_compared(pair, match):
    with pytest.raises(ValueError, match=match):
        report_of(torch.abs, *pair, x=BOUNDS)


def test_an_installed_version_that_was_not_measured(monkeypatch):
    monkeypatch.setattr("autograd_surprises.atlas.upgrade.installed_version", lambda: "2.99")
    with pytest.raises(ValueError, match="the installed torch 2.99 was not measured"):
        report_of(torch.abs, None, None, x=BOUNDS)
    assert report_of(torch.abs, x=BOUNDS).measured == ("abs",)


# The points that are derived for a node are those at which the atlas has other numbers.


def gradient_changes(old, new):
    """(expression, {points}) of each gradient that differs."""
    found = {}
    for change in changes(old, new):
        if change.what.startswith("gradient"):
            found.setdefault(change.expression, set()).update(change.points.split(", "))
    return found


def is_found(result, points):
    """Is any element, in any node behind this result, at a changed point?"""
    steps = [BackwardStep(node) for node in reachable([result.grad_fn])]
    found = [changed_elements(step, points.get(step.name, ())) for step in steps]
    return any(each.count for some in found for each in some)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_each_change_of_the_atlas_is_found_at_its_points_alone(old, new):
    points = changed_points(stored(old), stored(new))
    table = gradient_changes(old, new)
    for name, measured in stored(old).operations.items():
        if name not in table or not Operation(name).exists or measured.error:
            continue
        for place in measured.probes:
            some = [Point(place).tensor().repeat(count).requires_grad_() for count in (1, 64)]
            found = any(is_found(Operation(name)(x), points) for x in some)
            assert found == (place in table[name]), (name, place)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_each_tie_that_changed_is_found(old, new):
    points = changed_points(stored(old), stored(new))
    table = gradient_changes(old, new)
    for tie in TIES:
        if tie.name in table:
            x = {
                name: torch.tensor(v, dtype=torch.float64, requires_grad=True)
                for name, v in tie.inputs.items()
            }
            assert is_found(evaluate(tie.expression, **x), points), tie.name


@pytest.mark.slow
def test_no_kind_of_change_is_passed_over():
    """A point that is special in one version alone, or an operation, would need another look."""
    known = {"gradient", "value", "derivative", "node in the graph"}
    pairs = itertools.permutations(versions(), 2)
    kinds = {change.what.partition(" (")[0] for pair in pairs for change in changes(*pair)}
    assert kinds <= known
