"""The stored numbers: as this torch measures them, as every file says, as ATLAS.md shows them."""

import dataclasses
import functools
import json
import math
import operator
import random
from math import inf, nan

import pytest

from helpers.atlas import atlas, atlas_table, changes, kind, versions
from helpers.atlas.kinds import classes, events
from helpers.atlas.notes import NOTES
from helpers.atlas.record import FOLDER, as_text, from_text, here, load, measured_here
from tools.atlas import PAGE, main, page

REMEDY = "run `make atlas` (TORCH=2.8.0 for another version), and read what changed"


@pytest.fixture(scope="module")
def measured():
    return measured_here()


def same(stored, measured):
    """The same JSON, with numbers that may differ in their last digits; of huge ones, in all."""
    if isinstance(stored, dict):
        return stored.keys() == measured.keys() and all(
            same(stored[key], measured[key]) for key in stored
        )
    if isinstance(stored, list):
        return len(stored) == len(measured) and all(map(same, stored, measured))
    if isinstance(stored, str) or isinstance(measured, str):
        return stored == measured
    if min(abs(stored), abs(measured)) > 1e10:
        return abs(math.log10(abs(stored) / abs(measured))) < 2 and stored * measured > 0
    return math.isclose(stored, measured, rel_tol=2.1e-5, abs_tol=1e-9)


def test_this_torch_measures_what_is_stored(measured):
    assert here() in versions(), f"nobody measured torch {here()}: {REMEDY}"
    stored = json.loads((FOLDER / f"torch-{here()}.json").read_text(encoding="utf-8"))
    found = json.loads(as_text(measured))
    for part in ("elementwise", "ties"):
        assert stored[part].keys() == found[part].keys(), REMEDY
        for call, entry in stored[part].items():
            assert same(entry, found[part][call]), f"{call}: {REMEDY}"


def test_at_least_130_operations():
    for version in versions():
        numbers = load(version)
        assert len(numbers.elementwise) >= 130 and len(numbers.ties) >= 60
        assert sum(bool(each.backward) for each in numbers.elementwise.values()) >= 130


def test_every_minor_version_from_2_6_on_is_there():
    assert versions() == [f"2.{minor}" for minor in range(6, 6 + len(versions()))]
    assert {"2.13", "2.15"} <= {*versions()}


@pytest.mark.parametrize("version", versions())
def test_a_file_is_as_it_is_written(version):
    text = (FOLDER / f"torch-{version}.json").read_text(encoding="utf-8")
    assert as_text(load(version)) == text, REMEDY
    assert load(version).torch == version


@pytest.mark.parametrize("part", ["elementwise", "ties"])
def test_storing_keeps_what_happens(part, measured):
    read = from_text(as_text(measured))
    for call, each in getattr(measured, part).items():
        assert events(getattr(read, part)[call].probes) == events(each.probes), call


def unexplained(numbers):
    """Operations whose gradient is not the slope somewhere, without a note, and idle notes."""
    found = {
        call
        for each in (numbers.elementwise, numbers.ties)
        for call, measured in each.items()
        if "not the slope" in events(measured.probes).values()
    }
    return found ^ NOTES.keys()


@pytest.mark.parametrize("version", versions())
def test_the_two_measurements_agree_or_a_note_says_why(version):
    assert unexplained(load(version)) == set()
    text = (FOLDER / f"torch-{version}.json").read_text(encoding="utf-8")
    assert all(json.dumps(note) in text for note in NOTES.values())


def test_a_wrong_gradient_is_unexplained():
    numbers = load("2.13")
    probes = dict(numbers.elementwise["torch.sin(x)"].probes)
    probes["0"] = dataclasses.replace(probes["0"], gradient=0.5, left=1.0, right=1.0)
    wrong = dataclasses.replace(numbers.elementwise["torch.sin(x)"], probes=probes)
    changed = {**numbers.elementwise, "torch.sin(x)": wrong}
    assert unexplained(dataclasses.replace(numbers, elementwise=changed)) == {"torch.sin(x)"}


def test_the_page_is_current():
    text = PAGE.read_text(encoding="utf-8")
    assert page(list(map(load, versions()))) == text, "run `.venv/bin/python tools/atlas.py --page`"


def numbers_of(data, path=()):
    """The path of each number in a file."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from numbers_of(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from numbers_of(value, (*path, i))
    elif path[-1] != "torch" and isinstance(path[-1], int) and "also" not in path:
        yield path


@pytest.mark.parametrize("version", versions())
def test_a_made_up_number_is_seen(version):
    """Of any version, also of one that is not installed: ATLAS.md is not current any more."""
    data = json.loads((FOLDER / f"torch-{version}.json").read_text(encoding="utf-8"))
    paths = list(numbers_of(data))
    *path, last = random.Random(version).choice(paths)
    numbers = functools.reduce(operator.getitem, path, data)
    numbers[last] = 7 if numbers[last] != 7 else 8
    changed = from_text(json.dumps(data))
    others = [changed if each == version else load(each) for each in versions()]
    assert page(others) != PAGE.read_text(encoding="utf-8"), f"{path} of torch {version}"


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
    "torch.sqrt(x * x)": {"0": (nan, "NaN gradient"), "1.7": (1, "plain")},
    "torch.hypot(x, zero)": {"0": (nan, "NaN gradient")},
    "F.hardtanh(x)": {"1": (0, "kink"), "-1": (0, "kink"), "<1": (1, "plain")},
    "F.leaky_relu(x)": {"0": (0.01, "kink")},
    "F.silu(x)": {"inf": (nan, "NaN gradient"), "0": (0.5, "plain")},
    "torch.maximum(x, one)": {"1": (0.5, "kink")},
    "torch.where(x > 0, torch.sqrt(x), zero)": {"0": (nan, "NaN gradient")},
    "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -4, 3)": {"0.3": (1, "not the slope")},
}


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize("call", KNOWN)
def test_known_gradients(call, version):
    probes = load(version).elementwise[call].probes
    for point, (gradient, name) in KNOWN[call].items():
        assert probes[point].gradient == pytest.approx(gradient, nan_ok=True), point
        assert kind(point, probes[point]) == name, point


CLAMP = "torch.clamp(x, -1, 1)"


def test_clamp_changed_with_2_14():
    said = [str(change) for change in changes("2.13", "2.14")]
    assert f"{CLAMP} at -1, 1: gradient 1, then 0" in said
    assert [change for change in changes("2.14", "2.15") if change.call == CLAMP] == []
    assert [str(change) for change in changes("2.6", "2.13") if change.call == CLAMP] == []


def test_changes_name_what_came_and_went():
    new = load("2.13")
    less = {call: each for call, each in new.elementwise.items() if call != CLAMP}
    old = dataclasses.replace(new, elementwise=less)
    assert [str(each) for each in changes(old, new)] == [
        f"{CLAMP}: operation not there, then there"
    ]
    assert [str(each) for each in changes(new, old)] == [
        f"{CLAMP}: operation there, then not there"
    ]
    (derivative,) = [c for c in changes("2.12", "2.13") if c.what == "derivative"]
    assert derivative.call == "torch.nextafter(x, one)" and derivative.after == "there"
    (node, *_) = [c for c in changes("2.10", "2.11") if c.what == "node in the graph"]
    assert node.before == "MulBackward0" and node.after == "LdexpBackward0"


def test_a_number_that_only_long_tensors_have_is_a_change():
    said = [str(change) for change in changes("2.6", "2.7")]
    assert "F.hardswish(x) at 3: gradient (64 numbers) 1, then 1.5" in said


def test_the_table_is_searched_and_filtered():
    assert [row[0] for row in atlas_table("2.13", "ReLU6").rows] == ["F.relu6(x)"]
    assert [row[0] for row in atlas_table("2.13", "arctanh").rows] == ["torch.atanh(x)"]
    (row,) = atlas_table("2.13", "entropy logits").rows
    assert row[1:] == ("NaN value", "at -inf: -1, value nan; at inf: 0, value nan")
    kinks = atlas_table("2.13", of_class="kink").rows
    assert 20 < len(kinks) < 40 and all("kink" in row[1] for row in kinks)
    assert len(atlas_table("2.13").rows) == len(load("2.13").elementwise)


def test_a_table_of_nothing_says_so():
    with pytest.raises(ValueError, match="no operation has 'hardsilu' in its name"):
        atlas_table("2.13", "hardsilu")
    with pytest.raises(ValueError, match="'kinky' is no class; these are: zero everywhere, "):
        atlas_table("2.13", of_class="kinky")


def test_a_version_that_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="torch '1.13' was not measured; these were: 2.6, 2.7"):
        atlas("1.13")


def test_an_installed_torch_that_nobody_measured_is_measured(monkeypatch):
    monkeypatch.setattr("helpers.atlas.record.here", lambda: "9.9")
    monkeypatch.setattr("helpers.atlas.record.measured_here", lambda: "measured here")
    assert atlas() == "measured here"


def test_classes_of_the_whole():
    numbers = load("2.13").elementwise
    for call, expected in {
        "torch.sin(x)": "plain",
        "torch.floor(x)": "zero everywhere",
        "torch.heaviside(x, half)": "no derivative",
    }.items():
        assert expected in classes(numbers[call].backward, numbers[call].probes), call


def test_the_tool_writes_what_it_measured_and_the_page(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "measured"
    folder.mkdir()
    for name in ("tools.atlas.FOLDER", "helpers.atlas.record.FOLDER"):
        monkeypatch.setattr(name, folder)
    monkeypatch.setattr("tools.atlas.ROOT", tmp_path)
    monkeypatch.setattr("tools.atlas.PAGE", tmp_path / "ATLAS.md")
    old, new = load("2.13"), load("2.14")
    monkeypatch.setattr("tools.atlas.measured_here", lambda: old)
    main([])
    assert (folder / "torch-2.13.json").read_text(encoding="utf-8") == as_text(old)
    monkeypatch.setattr("tools.atlas.measured_here", lambda: new)
    main([])
    load.cache_clear()
    text = (tmp_path / "ATLAS.md").read_text(encoding="utf-8")
    assert text == page([old, new])
    assert "| 2.14 | `torch.clamp(x, -1, 1)` | -1, 1 | gradient | 1 | 0 |" in text
    assert "measured/torch-2.14.json: 191 operations" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="--page"):
        main(["--pages"])
