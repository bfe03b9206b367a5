"""The browser and the close-up without a page: what they find, show and open."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from autograd_surprises.atlas import CLASSES, atlas, describe, select, versions
from autograd_surprises.atlas.elementwise_operations import WELL_KNOWN
from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.findings import with_code
from helpers.explore.explorer import explore
from lessons.atlas_browser import ANY, ROWS, AtlasBrowser, tiny_picture
from lessons.drawings import CloseUpDrawing
from lessons.drawings.close_up import HALF_WIDTHS, eventful_numbers


@pytest.fixture(scope="module")
def one():
    return AtlasBrowser("2.13")


@pytest.fixture
def browser(one):
    """As at first. Making one takes half a second, and opening an operation nearly as long."""
    one.search.value, one.of_class.value = "", ANY
    if not (one.explorer and one.explorer.summary.startswith("torch.relu(x), half_width=1:")):
        one.choose("torch.relu(x)")
    return one


def shown(browser):
    return [row.name.description for row in browser.rows if row.box.layout.display != "none"]


def test_at_first_it_shows_well_known_functions_and_opens_relu(browser):
    assert len(browser.found) == len(atlas("2.13").operations)
    assert shown(browser)[:3] == ["torch.relu(x)", "torch.clamp(x, -1, 1)", "torch.abs(x)"]
    assert {*shown(browser)} <= {*WELL_KNOWN}
    assert "torch.relu(x)" in AtlasBrowser("2.13").explorer.summary
    assert f"1 to {ROWS} of {len(browser.found)}" in browser.position.value
    assert browser.back.disabled and not browser.more.disabled
    assert browser.explorer.summary.startswith("torch.relu(x), half_width=1: value 0, gradient 0")


@pytest.mark.parametrize("version", versions())
def test_every_version_has_the_well_known_operations_and_lists_them_first(version):
    found = [each.expression for each in select(atlas(version))]
    assert tuple(found[: len(WELL_KNOWN)]) == WELL_KNOWN
    assert sorted(found) == sorted(atlas(version).operations), "one is missing, or there twice"
    kinks = [each.expression for each in select(atlas(version), of_class="kink")]
    assert kinks[:4] == [*WELL_KNOWN[:4]]
    clamps = [each.expression for each in select(atlas(version), "clamp one")]
    assert clamps[0] == "torch.clamp(x, minus_one, one)", "a search ignores what is well known"


def test_typing_finds(browser):
    browser.search.value = "ReLU"
    assert shown(browser)[0] == "torch.relu(x)", "what is called exactly so comes first"
    assert {"F.leaky_relu(x)", "F.relu6(x)"} <= {*shown(browser)}
    assert browser.back.disabled and browser.more.disabled
    browser.search.value = "no such thing"
    assert shown(browser) == [] and "nothing found" in browser.position.value
    assert browser.back.disabled and browser.more.disabled and browser.summary == "found: 0"
    browser.search.value = ""
    assert len(shown(browser)) == ROWS


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_chosen(name, browser):
    browser.of_class.value = name
    assert browser.found
    assert all(f"{name}" in row.words.value.partition("</b>")[0] for row in browser.rows[:1])
    browser.of_class.value = ANY
    assert len(browser.found) == len(atlas("2.13").operations)


def test_pages_are_turned_to_both_ends(browser):
    browser.of_class.value = "kink"
    seen = shown(browser)
    while not browser.more.disabled:
        browser.more.click()
        seen += shown(browser)
    assert seen == [each.expression for each in browser.found]
    assert f"of {len(seen)}" in browser.position.value
    browser.back.click()
    assert not browser.more.disabled
    browser.search.value = "relu"
    assert browser.page == 0, "another search begins at its first page"


@pytest.mark.parametrize("count", [0, 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS, 2 * ROWS + 1])
def test_no_page_is_empty_and_none_is_missing(count, browser, monkeypatch):
    some = dict(list(atlas("2.13").operations.items())[:count])
    monkeypatch.setattr(browser, "numbers", replace(atlas("2.13"), operations=some))
    browser.search.value = " "  # searches again
    seen, pages = shown(browser), 1
    assert browser.back.disabled
    while not browser.more.disabled:
        browser.more.click()
        assert shown(browser), "an empty page"
        assert f"{len(seen) + 1} to {len(seen) + len(shown(browser))} of" in browser.position.value
        seen, pages = seen + shown(browser), pages + 1
    assert seen == list(some) and pages == max(1, math.ceil(count / ROWS))


def test_each_row_shows_and_opens_its_own_operation(browser):
    for search in ("sqrt", "relu", "sqrt"):
        browser.search.value = search
        for row in browser.rows[: len(shown(browser))]:
            measured = atlas("2.13").look_up(row.name.description)
            assert row.picture.value == tiny_picture(measured)
            assert ET.fromstring(row.picture.value)[0].text.startswith(f"{row.name.description} ")
            assert f"<b>{', '.join(measured.classes)}</b>" in row.words.value
            assert with_code(describe(measured)) in row.words.value
    for row in browser.rows[1::-1]:
        row.name.click()
        assert browser.explorer.summary.startswith(f"{row.name.description}, ")


def test_a_click_that_comes_too_late_turns_no_page(browser):
    """A second click may be on its way when the button turns grey."""
    browser.search.value = "relu"
    only = shown(browser)
    for button in (browser.more, browser.back):
        button.click()
        assert browser.page == 0 and shown(browser) == only


def test_a_click_opens_an_operation_where_something_happens(browser):
    browser.search.value = "hardtanh"
    before = browser.explorer
    browser.rows[0].name.click()
    assert browser.explorer is not before and browser.opened.children == (browser.explorer,)
    assert browser.explorer.values == {"at": "-1", "half_width": 1.0}
    assert browser.explorer.sliders["at"].options == ("-1", "1")
    assert 'alt="F.hardtanh(x), at=-1' in browser.explorer.picture.stored.value, (
        "for want of anywidget"
    )


def test_without_a_derivative_it_says_why(browser):
    browser.choose("torch.heaviside(x, half)")
    (words,) = browser.opened.children
    assert "heaviside is not implemented" in words.value and browser.explorer is None
    assert "image/png" not in browser._repr_mimebundle_()[0]


def test_an_error_is_shown_and_goes_away(monkeypatch):
    browser = AtlasBrowser("2.13")  # one that has no pictures yet

    def fails(measured):
        raise RuntimeError("planted: no <picture>")

    with monkeypatch.context() as broken:
        broken.setattr("lessons.atlas_browser.tiny_picture", fails)
        with pytest.raises(RuntimeError, match="planted"):
            browser.search.value = "hardtanh"
        assert 'role="alert"' in browser.message.value
        assert "RuntimeError: planted: no &lt;picture&gt;" in browser.message.value
        broken.setattr("lessons.atlas_browser.CloseUpDrawing", fails)
        browser.message.value = ""
        browser.rows[0].name.click()  # ipywidgets logs what a click raises
        assert "planted" in browser.message.value
    browser.search.value = "sqrt"
    assert browser.message.value == ""


def test_an_unknown_operation_is_refused(browser):
    with pytest.raises(ValueError, match="atlas of torch 2.13 has no 'torch.hardsilu"):
        browser.choose("torch.hardsilu(x)")


def test_what_a_notebook_stores(browser):
    data, metadata = browser._repr_mimebundle_()
    assert data["text/plain"].endswith(browser.explorer.summary)
    assert data["text/plain"].startswith("found: 197\ntorch.relu(x)\ntorch.clamp(x, -1, 1)\n")
    newest, _ = AtlasBrowser("2.15")._repr_mimebundle_()
    assert newest["text/plain"] == data["text/plain"], "or another torch fails the stored notebook"
    assert metadata["image/png"]["width"] == 800


def coordinates(path):
    numbers = path.get("d").removeprefix("M").removesuffix("h0").replace("L", "").split()
    return [*zip(map(float, numbers[::2]), map(float, numbers[1::2]), strict=True)]


def test_every_operation_has_a_tiny_picture():
    seen = set()
    for measured in atlas().operations.values():
        picture = tiny_picture(measured)
        title, *paths = ET.fromstring(picture)
        assert title.text.startswith(f"{measured.expression} for x from -4 to 4: value ")
        assert (", gradient " in title.text) == bool(measured.backward)
        for colour, left, right in ((VALUE_COLOUR, 0, 75), (GRADIENT_COLOUR, 75, 150)):
            lines = [path for path in paths if path.get("stroke") == colour]
            what = "value" if colour == VALUE_COLOUR else "gradient"
            said = f"{what} " in title.text and f"{what} is no number" not in title.text
            assert bool(lines) == said, title.text
            points = [point for line in lines for point in coordinates(line)]
            assert all(left < x < right and 0 < y < 40 for x, y in points)
        assert {path.get("stroke") for path in paths} <= {
            VALUE_COLOUR, GRADIENT_COLOUR, "currentColor",
        }  # fmt: skip
        seen.add(picture)
    assert len(seen) > 100


def test_a_tiny_picture_shows_jumps_and_single_points():
    title, *paths = ET.fromstring(tiny_picture(atlas("2.13").operations["torch.abs(x)"]))
    assert title.text == "torch.abs(x) for x from -4 to 4: value 0 to 4, gradient -1 to 1"
    value, *gradient = (path for path in paths if path.get("stroke") != "currentColor")
    (left, top), *_, (right, _) = coordinates(value)
    assert (left, right, top) == (1, 72, min(y for _, y in coordinates(value)))
    assert [len(coordinates(line)) for line in gradient] == [64, 1, 64]
    low, middle, high = (coordinates(line)[0][1] for line in gradient)
    assert low > middle > high, "up is smaller in SVG"
    assert float(gradient[1].get("stroke-width")) > float(gradient[0].get("stroke-width"))


def test_a_tiny_picture_of_what_is_nowhere_a_number():
    title, *_ = ET.fromstring(tiny_picture(atlas("2.13").operations["torch.pow(minus_one, x)"]))
    assert title.text.endswith("value -1 to 1, gradient is no number")


@pytest.mark.parametrize("call", ["torch.log(x)", "F.hardtanh(x)", "torch.sin(x)", "torch.sgn(x)"])
def test_a_close_up_says_what_was_measured(call):
    drawing = CloseUpDrawing(call)
    for at in drawing.places:
        probe = drawing.measured.probes[at]
        said = drawing.show(at=at, half_width=0.1)
        assert said.startswith(f"value {probe.value:.5g}, gradient {probe.gradient:.5g}")
        kind = drawing.measured.events.get(at, "the gradient is the slope")
        assert kind in said
        assert drawing.curve.x[0].item() == pytest.approx(float(at) - 0.1)
        middle = drawing.curve.x.tolist().index(float(at))
        assert drawing.curve.grad[middle].item() == pytest.approx(probe.gradient, 1e-4, nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    ["torch.fmod(one, x)", "torch.digamma(x)", "F.binary_cross_entropy(x, one, reduction='none')"],
)
def test_a_difficult_operation_can_be_opened(call):
    drawing = CloseUpDrawing(call)
    e = explore(drawing, at=drawing.places, half_width=HALF_WIDTHS)
    for half_width in HALF_WIDTHS:
        e.set(half_width=half_width)
        assert e.message.value == ""


def test_a_close_up_of_what_is_not_there():
    with pytest.raises(ValueError, match="airy_ai.* has no derivative to show: no error, but"):
        CloseUpDrawing("special.airy_ai(x)")
    with pytest.raises(ValueError, match="has no 'torch.hardsilu"):
        CloseUpDrawing("torch.hardsilu(x)")


def test_places_are_numbers_that_can_be_looked_at():
    for version in versions():
        for measured in atlas(version).operations.values():
            for at in eventful_numbers(measured):
                assert abs(float(at)) < 1e9 and at in measured.probes | {"0": None}
