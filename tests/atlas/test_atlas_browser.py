"""The browser and the close-up without a page: what they find, show and open."""

import pytest

from autograd_surprises.atlas import CLASSES, atlas, describe, versions
from autograd_surprises.show.findings import with_code
from lessons.gradient_atlas.atlas_browser import ANY, AtlasBrowser
from lessons.gradient_atlas.drawings import CloseUpDrawing, eventful_numbers


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


def test_at_first_it_lists_well_known_functions_and_opens_relu(browser):
    assert len(browser.found) == len(atlas("2.13").operations)
    first = ["torch.relu(x)", "torch.clamp(x, -1, 1)", "torch.abs(x)"]
    assert list(browser.operations.options)[:3] == first
    assert browser.explorer.summary.startswith("torch.relu(x), half_width=1: value 0, gradient 0")


def test_typing_finds(browser):
    opened = browser.explorer
    browser.search.value = "ReLU"
    options = browser.operations.options
    assert options[0] == "torch.relu(x)", "what is called exactly so comes first"
    assert {"F.leaky_relu(x)", "F.relu6(x)"} <= {*options} and browser.operations.index is None
    assert f"found: {len(options)}" in browser.count.value
    browser.search.value = "no such thing"
    assert browser.operations.options == () and browser.summary == "found: 0"
    browser.search.value = ""
    assert len(browser.operations.options) == len(atlas("2.13").operations)
    assert browser.explorer is opened, "what is open stays while somebody types"


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_chosen(name, browser):
    browser.of_class.value = name
    names = browser.operations.options
    assert names and all(name in atlas("2.13").operations[each].classes for each in names)
    browser.of_class.value = ANY
    assert len(browser.operations.options) == len(atlas("2.13").operations)


@pytest.mark.slow
def test_what_is_chosen_is_opened_where_something_happens(browser):
    for search in ("hardtanh", "sqrt", "hardtanh"):
        browser.search.value = search
        name = browser.operations.options[0]
        browser.operations.value = name
        assert browser.opened.children == (browser.explorer,)
        assert browser.explorer.summary.startswith(f"{name}, ")
        measured = atlas("2.13").operations[name]
        assert f"<b>{name}</b>, {', '.join(measured.classes)}: " in browser.words.value
        assert with_code(describe(measured)) in browser.words.value
    assert browser.explorer.values == {"at": "-1", "half_width": 1.0}
    assert browser.explorer.sliders["at"].options == ("-1", "1")
    assert 'alt="F.hardtanh(x), at=-1' in browser.explorer.picture.stored.value, (
        "for want of anywidget"
    )


def test_without_a_derivative_it_says_why(browser):
    browser.choose("torch.heaviside(x, half)")
    assert "heaviside is not implemented" in browser.words.value
    assert browser.explorer is None and browser.opened.children == ()
    assert "image/png" not in browser._repr_mimebundle_()[0]


def test_an_unknown_operation_is_refused(browser):
    with pytest.raises(ValueError, match="atlas of torch 2.13 has no 'torch.hardsilu"):
        browser.choose("torch.hardsilu(x)")


def test_what_a_notebook_stores(browser):
    data, metadata = browser._repr_mimebundle_()
    assert f"\n{browser.explorer.summary}\nRun this cell: " in data["text/plain"]
    assert data["text/plain"].startswith("found: 197\ntorch.relu(x)\ntorch.clamp(x, -1, 1)\n")
    newest, _ = AtlasBrowser("2.15")._repr_mimebundle_()
    assert newest["text/plain"] == data["text/plain"], "or another torch fails the stored notebook"
    assert metadata["image/png"]["width"] == 800


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
