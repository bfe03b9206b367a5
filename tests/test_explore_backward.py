"""A slider that runs backward: what is seen at each step, and what is refused."""

import json
import zlib
from base64 import b64decode
from itertools import combinations

import pytest
import torch

from autograd_surprises.show.layers import arranged
from helpers.explore import explore_backward, freeze
from helpers.explore.drawings.backward_run import ACTIVE, GREY, PALE
from helpers.explore.freezing import LARGEST


def leaf(*values):
    return torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)


def chain():
    x = leaf(1.0, 2.0)

    def loss():
        y = 3 * x
        return y.sum()

    return explore_backward(loss, {"x": x})


def half_dead():
    a, b, data = leaf(0.4, 2.6), leaf(1.0, 2.0), torch.tensor([3.0, 5.0])

    def loss():
        cut = (a * b).detach()
        return (torch.round(a) * b + cut + data).sum()

    return explore_backward(loss, {"a": a, "b": b, "data": data})


def weighed():
    x1, x2 = leaf(2.0), leaf(3.0)
    sliders = {f"v{k}": (-1.0, 1.0, 0.25) for k in (1, 2, 3)}
    return explore_backward(
        lambda: torch.stack([x1 * x2, x1**2, x2 - x1]), {"x1": x1, "x2": x2}, **sliders
    )


def scaled():
    x = leaf(1.3)

    def loss(factor=1.0, offset=0.0):
        return (factor * x + offset) ** 2

    return explore_backward(loss, {"x": x}, factor=(-20.0, 20.0, 0.125), offset=(0.0, 0.001, 0.001))


def small():
    """None is wider than the number that takes its place in .grad."""
    w = leaf(1.0)
    return explore_backward(lambda: 3 * w, {"w": w})


MADE = {make.__name__: make for make in (small, chain, half_dead, weighed, scaled)}


def texts(explorer):
    return [text.get_text() for text in explorer.figure.axes[0].texts if text.get_text()]


def test_it_starts_before_backward_and_stores_the_end_of_it():
    explorer = chain()
    assert explorer.values == {"step": 0}
    before, summary = explorer.picture.moving, explorer.summary
    bundle, _ = explorer._repr_mimebundle_()
    assert bundle["text/plain"].endswith("x.grad = [3, 3]\nRun this cell: slider step")
    explorer.picture.refresh()
    assert (explorer.picture.moving, explorer.summary) == (before, summary)
    assert explorer.shown == {"step": 0} and summary.endswith("x.grad = None")
    explorer.set(step=3)
    assert explorer.stored_output()[0] == {k: bundle[k] for k in ("text/plain", "image/png")}


def test_each_step_adds_what_backward_does_there():
    explorer, seen = chain(), []
    for step in range(4):
        explorer.set(step=step)
        seen.append(texts(explorer))
    forward = {"↑ 9", "↑ [3, 6]", "↑ [1, 2]", "loss · SumBackward0", "y · MulBackward0", "x"}
    assert forward < set(seen[0])
    assert not any("=" in text and "[" in text for text in seen[0]), "it shows a gradient already"
    news = [
        {"↓ 1", "upstream 1", "↓ × [1, 1] = [1, 1]"},
        {"upstream [1, 1]\nnon-leaf: .grad stays None", "↓ × [3, 3] = [3, 3]"},
        {".grad = [3, 3]"},
    ]
    for before, after, new in zip(seen[:-1], seen[1:], news, strict=True):
        added = {text for text in after if text not in before and not text.startswith("Step")}
        assert added == new
    assert ".grad = None" in seen[2]


def test_going_back_shows_the_same_again():
    explorer = half_dead()
    shown = {}
    for step in (*range(explorer.drawing.last + 1), *reversed(range(explorer.drawing.last + 1))):
        explorer.set(step=step)
        look = texts(explorer), explorer.summary, explorer.picture.moving
        assert shown.setdefault(step, look) == look, step
    assert len({words for _, words, _ in shown.values()}) == len(shown)


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_one_box_is_marked_at_each_step(name):
    explorer = MADE[name]()
    for step in range(explorer.drawing.last + 1):
        explorer.set(step=step)
        marked = [p for p in explorer.drawing.moving if p in explorer.figure.axes[0].patches]
        marked = [patch for patch in marked if patch.get_linewidth() == ACTIVE[2]]
        assert len(marked) == (step > 0)


def dead_lines(explorer):
    lines = explorer.figure.axes[0].lines
    return sum((line.get_color(), line.get_linestyle()) == (GREY, "--") for line in lines)


def test_a_dead_way_is_grey_and_says_why():
    explorer = half_dead()
    for step in range(explorer.drawing.last + 1):
        explorer.set(step=step)
        # to the cut and to the data, from the cut, and two from its product: two lines each
        rounded = "↓ × [0, 0] = [0, 0]" in texts(explorer)
        assert dead_lines(explorer) == 10 + 2 * rounded
        if "RoundBackward0 gets" in explorer.summary:
            assert rounded and "The local derivative is 0" in explorer.summary
        if "AddBackward0 gets the upstream gradient [1, 1]. For MulBackward0" in explorer.summary:
            assert "No gradient goes through detach(): no history" in explorer.summary
    assert text_of(explorer, "↓ × [0, 0] = [0, 0]").get_color() == PALE
    assert {"no history", "requires_grad=False"} < set(texts(explorer))


def text_of(explorer, words):
    shown = explorer.figure.axes[0].texts
    return next(text for text in shown if words in {text.get_text(), *text.get_text().split()})


def settings(explorer):
    yield {}
    for end in ("min", "max"):
        yield {name: getattr(slider, end) for name, slider in explorer.sliders.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_no_text_leaves_its_box_and_no_boxes_overlap(name):
    """A text is in a box, or touches neither a box nor another text."""
    explorer = MADE[name]()
    figure, (ax,) = explorer.figure, explorer.figure.axes
    start = explorer.values
    for values in settings(explorer):
        for step in range(explorer.drawing.last + 1):
            explorer.set(**{**start, **values, "step": step})
            renderer = figure.canvas.get_renderer()
            boxes = [patch.get_window_extent(renderer) for patch in ax.patches]
            free = list(boxes)
            for text in filter(lambda text: text.get_text(), ax.texts):
                inside = text.get_window_extent(renderer)
                middle = (inside.min + inside.max) / 2
                around = [box for box in boxes if box.contains(*middle)]
                free += [] if around else [inside]
                for box in around:
                    assert box.x0 <= inside.x0 and inside.x1 <= box.x1, text.get_text()
                    assert box.y0 <= inside.y0 and inside.y1 <= box.y1, text.get_text()
            for one, other in combinations(free, 2):
                assert not one.padded(-2).overlaps(other.padded(-2))
            assert all(figure.bbox.contains(*corner) for box in free for corner in box.corners())


@pytest.mark.slow
def test_the_weights_v_enter_at_the_top():
    explorer = weighed()
    assert explorer.values == {"step": 6, "v1": 1.0, "v2": 0.0, "v3": 0.0}
    for v in ((1.0, 0.0, 0.0), (-0.5, 0.25, 1.0)):
        explorer.set(**dict(zip(("v1", "v2", "v3"), v, strict=True)))
        x1, x2 = leaf(2.0), leaf(3.0)
        torch.stack([x1 * x2, x1**2, x2 - x1]).backward(torch.tensor(v))
        assert f"↓ [{', '.join(f'{each:g}' for each in v)}]" in texts(explorer)
        for name, each in (("x1", x1), ("x2", x2)):
            grads = [s for s in explorer.summary.split("; ") if s.startswith(f"{name}.grad")]
            assert grads[0].endswith(f"= {each.grad.item():g}")


def test_a_later_cell_may_give_a_name_to_another_tensor():
    cell = {"x": torch.tensor(2.0, requires_grad=True)}
    exec("def loss(factor=1.0, *, power=2): return (factor * x) ** power", cell)
    explorer = explore_backward(cell["loss"], {"x": cell["x"]}, factor=(0.0, 3.0))
    cell["x"] = torch.ones(3)
    explorer.set(factor=3.0)
    assert explorer.summary.endswith("x.grad = 36")


def test_another_graph_is_an_error_below_the_picture():
    x = leaf(1.0)

    def loss(times=1):
        return x.exp() if times == 1 else x.exp().exp()

    explorer = explore_backward(loss, {"x": x}, times=(1, 2))
    with pytest.raises(ValueError, match="the graph is another one"):
        explorer.set(times=2)
    assert "the graph is another one" in explorer.message.value
    assert explorer.shown["times"] == 1


@pytest.mark.slow
def test_it_works_without_a_kernel():
    x = leaf(1.3)

    def loss(factor=1.0):
        return (factor * x) ** 2

    explorer = explore_backward(loss, {"x": x}, factor=(-2.0, 2.0, 0.5))
    frozen = freeze(explorer)
    assert len(json.dumps(frozen)) < LARGEST
    step, factor = frozen["controls"]
    assert (step["interval"], len(step["values"]), len(factor["values"])) == (1500, 4, 9)
    said = [text for _, text in json.loads(zlib.decompress(b64decode(frozen["texts"])))]
    assert len(set(said)) == 36
    explorer.set(step=1, factor=-1.5)
    assert explorer.summary == said[9 + 1]


W = leaf(1.0)


def numbers(count):
    return lambda: W * torch.ones(count)


REFUSED = [  # a function, its leaves and sliders
    (3 * W, {"w": W}, {}, TypeError, "needs a function .* got Tensor"),
    (lambda: 3 * W, [W], {}, TypeError, 'has to be like {"w": w}'),
    (lambda: 3 * W, {"w": 1.0}, {}, TypeError, 'has to be like {"w": w}'),
    (lambda k: k * W, {"w": W}, {}, TypeError, "k needs a default"),
    (lambda: 3 * W, {"w": W}, {"k": (0, 1)}, TypeError, "'k' is not a par"),
    (numbers(2), {"w": W}, {}, ValueError, r"returns 2 numbers.*add v1=\(-1.0, 1.0\), v2="),
    (numbers(2), {"w": W}, {"v1": (0.0, 1.0)}, ValueError, "returns 2 numbers"),
    (numbers(50), {"w": W}, {}, ValueError, "50 numbers, and more than 9"),
]


@pytest.mark.parametrize("function, leaves, sliders, error, says", REFUSED)
def test_bad_input_is_refused_in_the_users_words(function, leaves, sliders, error, says):
    with pytest.raises(error, match=says):
        explore_backward(function, leaves, **sliders)


def test_an_error_of_the_function_leads_to_its_line():
    def loss():
        return W @ W

    with pytest.raises(RuntimeError) as caught:
        explore_backward(loss, {"w": W})
    own, ours, line, *_ = caught.traceback
    assert (own.path, ours.name) == (line.path, "explore_backward")
    assert str(line.statement).strip() == "return W @ W"


def test_a_link_past_other_rows_keeps_a_place_of_its_own_there():
    rows, ways = arranged(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert [len(row) for row in rows] == [1, 2, 2, 1]
    assert ways[3] == [0, (3, 1), (3, 2), 3]


def test_neighbours_are_swapped_where_fewer_links_cross():
    """x·y, x² and y - x, each input with a box on its way: x comes left, and so do its boxes."""
    x, y, ways = 9, 10, {4: 9, 5: 10, 6: 9, 7: 10, 8: 9}
    links = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (3, 7), (3, 8), *ways.items()]
    rows, _ = arranged(11, links)
    assert rows[1:] == [[1, 2, 3], [4, 5, 6, 8, 7], [x, y]]
