"""The stored numbers: as this torch measures them, as every file says, as ATLAS.md shows them."""

import dataclasses
import json
from math import inf, nan

import pytest

from autograd_surprises.atlas import Operation, atlas, atlas_table, changes, measure, versions
from autograd_surprises.atlas.installed import installed_version, survey
from autograd_surprises.atlas.record import FOLDER, as_text, from_text, stored
from autograd_surprises.atlas.rows import NOTES
from tools.atlas import PAGE, page

REMEDY = "run `make atlas` (TORCH=2.8.0 for another version), and read what changed"


# Where eigenvalues or inputs tie, libraries of other processors may pick another one.
PICKED_BY_LIBRARIES = ("svdvals", "eigvalsh", "'nuc'", "topk", "kthvalue", "median", "mode")


def essentials(data):
    """What has to be the same on every processor: where something happens, and what."""
    numbers = from_text(json.dumps(data))
    parts = {**numbers.operations, **numbers.ties}
    return {
        call: each.error or each.events
        for call, each in parts.items()
        if not any(name in call for name in PICKED_BY_LIBRARIES)
    }


@pytest.mark.slow  # test_known_gradients measures some
def test_this_torch_measures_what_is_stored():
    version = installed_version()
    assert version in versions(), f"nobody measured torch {version}: {REMEDY}"
    measured = survey()
    read = from_text(as_text(measured))
    for part in ("operations", "ties"):
        for call, each in getattr(measured, part).items():
            again = getattr(read, part)[call]
            assert again.events == each.events, f"{call}: storing loses something"
    old = json.loads((FOLDER / f"torch-{version}.json").read_text(encoding="utf-8"))
    new = json.loads(as_text(measured))
    assert essentials(new) == essentials(old), REMEDY


@pytest.mark.parametrize("version", versions())
def test_a_file_is_as_it_is_written(version):
    text = (FOLDER / f"torch-{version}.json").read_text(encoding="utf-8")
    assert as_text(stored(version)) == text, REMEDY
    assert stored(version).version == version


def unexplained(numbers):
    """Operations whose gradient is not the slope somewhere, without a note, and idle notes."""
    measured = {**numbers.operations, **numbers.ties}
    found = {c for c, m in measured.items() if "not the slope" in m.events.values()}
    return found ^ {call for call in NOTES if not measured[call].error}


@pytest.mark.parametrize("version", versions())
def test_the_two_measurements_agree_or_a_note_says_why(version):
    assert unexplained(stored(version)) == set()
    text = (FOLDER / f"torch-{version}.json").read_text(encoding="utf-8")
    assert all(json.dumps(note) in text for note in NOTES.values())


def test_the_page_is_current():
    text = PAGE.read_text(encoding="utf-8")
    assert page(list(map(stored, versions()))) == text, (
        "run `.venv/bin/python -m tools.atlas --page`"
    )


def with_number(call, number, field, point="0.3"):
    """The atlas of torch 2.13, where one number of an operation is another."""
    operations = stored("2.13").operations
    measured = operations[call]
    probe = dataclasses.replace(measured.probes[point], **{field: number})
    made_up = dataclasses.replace(measured, probes={**measured.probes, point: probe})
    return dataclasses.replace(stored("2.13"), operations={**operations, call: made_up})


@pytest.mark.parametrize("call", ["torch.sin(x)", "torch.relu(x)", "F.gelu(x)"])
def test_a_made_up_gradient_contradicts_the_slope(call):
    assert unexplained(with_number(call, 0.5, "gradient")) == {call}


# What the mathematics and the page of PyTorch on gradients at kinks say, written by hand:
# {operation: {point: (gradient, kind)}}, the same in all versions.
KNOWN = {
    "torch.abs(x)": {"0": (0, "kink"), "-1.7": (-1, "plain"), "nan": (0, "NaN value")},
    "torch.relu(x)": {"0": (0, "kink"), "1.7": (1, "plain")},
    "torch.round(x)": {"0.5": (0, "jump"), "0.3": (0, "plain")},
    "torch.frac(x)": {"1": (1, "jump"), "0.3": (1, "plain")},
    "torch.sqrt(x)": {"0": (inf, "infinite"), "-1.7": (nan, "plain")},
    "torch.log(x)": {"0": (inf, "infinite"), "-1.7": (-0.58824, "NaN value")},
    "torch.reciprocal(x)": {"-1.7": (-0.34602, "plain"), "0": (-inf, "infinite")},
    "torch.sqrt(x * x)": {
        "0": (nan, "NaN gradient"),
        "1.7": (1, "plain"),
        ">0": (inf, "not the slope"),
    },
    "torch.hypot(x, zero)": {"0": (nan, "NaN gradient")},
    "F.hardtanh(x)": {"1": (0, "kink"), "-1": (0, "kink"), "<1": (1, "plain")},
    "F.leaky_relu(x)": {"0": (0.01, "kink")},
    "F.silu(x)": {"inf": (nan, "NaN gradient"), "0": (0.5, "plain")},
    "torch.maximum(x, one)": {"1": (0.5, "kink")},
    "torch.where(x > 0, torch.sqrt(x), zero)": {"0": (nan, "NaN gradient")},
    "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -4, 3)": {
        "0.3": (1, "not the slope"),
        "-2.25": (1, "not the slope"),
        "<-2.25": (0, "plain"),
    },
    "F.binary_cross_entropy(x, one, reduction='none')": {"0": (-1e12, "not the slope")},
    "torch.nan_to_num(x)": {"inf": (0, "plain"), "0": (1, "plain")},
    "F.soft_margin_loss(x, one, reduction='none')": {"-1000": (nan, "NaN gradient")},
    "torch.pow(0, x)": {"0": (0, "jump")},
    "torch.remainder(one, x)": {"0.1": (-9, "jump")},
    "torch.fmod(one, x)": {"0.1": (-10, "not the slope")},
    "F.gaussian_nll_loss(one, one, x, eps=0.1, reduction='none')": {"0.1": (5, "kink")},
}


@pytest.mark.parametrize("call", KNOWN)
def test_known_gradients(call):
    """As stored for each version, and as measured with this one."""
    mine = measure(Operation(call))
    assert mine.events == stored(installed_version()).operations[call].events, REMEDY
    for probes in (mine.probes, *(stored(each).operations[call].probes for each in versions())):
        for point, (gradient, name) in KNOWN[call].items():
            assert probes[point].gradient == pytest.approx(gradient, rel=1e-4, nan_ok=True), point
            assert probes[point].kind == name, point


CLAMP = "torch.clamp(x, -1, 1)"


def test_another_limit_is_a_change():
    old = with_number("torch.sign(x)", -2.0, "below", "0")
    (change,) = changes(old, stored("2.13"))
    assert str(change) == "torch.sign(x) at 0: limit from below -2, then -1"


def test_changes_name_what_came_and_went():
    new = stored("2.13")
    less = {call: each for call, each in new.operations.items() if call != CLAMP}
    old = dataclasses.replace(new, operations=less)
    assert [str(each) for each in changes(old, new)] == [
        f"{CLAMP}: operation not there, then there"
    ]
    assert [str(each) for each in changes(new, old)] == [
        f"{CLAMP}: operation there, then not there"
    ]
    (derivative,) = [c for c in changes("2.12", "2.13") if c.what == "derivative"]
    assert derivative.expression == "torch.nextafter(x, one)" and derivative.after == "there"
    (node, *_) = [c for c in changes("2.10", "2.11") if c.what == "node in the graph"]
    assert node.before == "MulBackward0" and node.after == "LdexpBackward0"


def test_a_number_that_only_long_tensors_have_is_a_change():
    said = [str(change) for change in changes("2.6", "2.7")]
    assert "F.hardswish(x) at 3: gradient (64 numbers) 1, then 1.5" in said


def test_the_table_is_searched_and_filtered():
    assert [row[0] for row in atlas_table("ReLU6", version="2.13").rows] == ["F.relu6(x)"]
    assert [row[0] for row in atlas_table("arctanh", version="2.13").rows] == ["torch.atanh(x)"]
    (row,) = atlas_table("entropy logits", version="2.13").rows
    assert row[1:] == ("NaN value", "at -inf: -1, value nan; at inf: 0, value nan")
    kinks = atlas_table(of_class="Kink", version="2.13.0").rows
    assert 20 < len(kinks) < 40 and all("kink" in row[1] for row in kinks)
    assert atlas_table(version="2.6").rows != atlas_table(version="2.15").rows
    assert len(atlas_table(version="2.13").rows) == len(stored("2.13").operations)


def test_a_table_of_nothing_says_so():
    with pytest.raises(ValueError, match="no operation has 'hardsilu' in its name"):
        atlas_table("hardsilu", version="2.13")
    with pytest.raises(ValueError, match="'kinky' is not a class; .* zero everywhere, "):
        atlas_table(of_class="kinky")


def test_a_version_that_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="torch '1.13' was not measured; these were: 2.6, 2.7"):
        atlas("1.13")


def test_an_installed_torch_that_nobody_measured_is_measured(monkeypatch):
    monkeypatch.setattr("autograd_surprises.atlas.installed.installed_version", lambda: "9.9")
    monkeypatch.setattr("autograd_surprises.atlas.installed.survey", lambda: "measured here")
    assert atlas() == "measured here"
