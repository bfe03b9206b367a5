"""The numbers in the prose of notebook 13 are those of the atlas."""

import re
from math import isfinite, isnan

import nbformat
import pytest

from autograd_surprises.atlas import atlas, changes, versions
from tools.notebooks import ROOT


@pytest.fixture(scope="module")
def prose():
    file = ROOT / "notebooks" / "13_gradient_atlas.ipynb"
    return {cell.id: cell.source for cell in nbformat.read(file, as_version=4).cells}


def number(pattern, text):
    return float(re.search(pattern, text)[1])


def test_the_versions(prose):
    assert f"from torch {versions()[0]} to {versions()[-1]}" in prose["two-classes-intro"]
    assert "in ten versions" in prose["title"] and len(versions()) == 10


def test_the_gradients_that_no_slope_explains(prose):
    newest = atlas("2.15")
    one, zero = (
        newest.operations[f"F.binary_cross_entropy(x, {target}, reduction='none')"].probes
        for target in ("one", "zero")
    )
    size = number(r"the gradient is ±(\d+e\d+)", prose["wrong-why"])
    assert (one["0"].gradient, zero["1"].gradient) == (-size, size)
    normalize = newest.ties["F.normalize(x, dim=0)[0] at x = (0, 0)"].probes["x[0]"]
    assert number(r"`normalize` is (\d+e\d+),", prose["ties-zeros-why"]) == normalize.gradient


def test_where_an_exponential_overflows(prose):
    loss = atlas("2.15").operations["F.soft_margin_loss(x, one, reduction='none')"]
    text = prose["nan-gradients-why"]
    assert isnan(loss.probes[re.search(r"overflows at (-\d+),", text)[1]].gradient)
    (single,) = re.findall(r"in float32 already at (-\d+)\.", text)
    assert isfinite(loss.probes[single].gradient) and isnan(loss.elsewhere["float32"][single][1])


def test_which_operations_differ_in_a_crowd(prose):
    text = prose["crowd-why"]
    stops, spreads = set(), set()
    for name, measured in atlas("2.15").operations.items():
        if "nan" in measured.elsewhere.get("64 numbers", {}):
            _, crowd = measured.elsewhere["64 numbers"]["nan"]
            if isfinite(measured.probes["nan"].gradient):
                (spreads if isnan(crowd) else stops).add(name.partition("(")[0].partition(".")[2])
    for names, verb in ((stops - {"hardtanh"}, "do the same"), (spreads, "return a number alone")):
        (said,) = re.findall(rf"((?:`\w+`(?:, | and )?)+) {verb}", text)
        assert set(re.findall(r"`(\w+)`", said)) == names


def test_what_changed(prose):
    (clamp,) = [
        (old, new)
        for old, new in zip(versions(), versions()[1:], strict=False)
        if any(change.expression == "torch.clamp(x, -1, 1)" for change in changes(old, new))
    ]
    assert f"since {clamp[1]} they get no gradient" in prose["changed-why"]
    for name in ("special.i1(x)", "special.i1e(x)"):
        (change,) = [each for each in changes("2.13", "2.15") if each.expression == name]
        assert (change.points, change.after) == ("nan", "nan")
        assert f"gradient at NaN was {change.before}." in prose["changed-why"]
