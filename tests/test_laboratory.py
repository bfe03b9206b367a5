"""The laboratory without a browser: buttons pressed in Python, text and picture that follow."""

import asyncio
import collections
import functools
import io
import itertools
import json
import time
from dataclasses import replace

import pytest
import torch
from PIL import Image, ImageChops
from read_strokes import read_strokes

from lessons import laboratory as module
from lessons.digits import (
    HELD_OUT,
    IMAGES,
    LABELS,
    WAYS,
    Run,
    accuracy,
    train,
    training_steps,
)
from lessons.laboratory import Laboratory

STRAIGHT = WAYS["straight-through"]
BATCHES = 42


@pytest.fixture(autouse=True, scope="module")
def short_trainings():
    """Two epochs in place of fifteen, to save time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lessons.digits.networks.EPOCHS", 2)
        yield


@pytest.fixture(scope="module")
def used():
    return Laboratory()


@pytest.fixture
def laboratory(used):
    """Its controls are as at first, but it may have trained: making one takes longer."""
    used.set(bits=2, method="straight-through", learning_rate=0.2)
    return used


@pytest.fixture
def fresh():
    return Laboratory()


def picture(laboratory):
    laboratory.picture.paint()
    return Image.open(io.BytesIO(laboratory.chart.figure.png())).convert("RGB")


def panels(laboratory):
    """The pictures inside the axes: the loss, the digits, the weights, the gradients."""
    figure, image = laboratory.chart.figure, picture(laboratory)
    boxes = [ax.get_window_extent() for ax in figure.axes]
    return [
        image.crop((int(b.x0) + 4, int(image.height - b.y1) + 4, int(b.x1) - 4,
                    int(image.height - b.y0) - 4))
        for b in boxes
    ]  # fmt: skip


def said(laboratory):
    """What was trained, and how well it reads: the first lines of the title."""
    return laboratory.summary.partition("; ")[0]


def difference(one, other):
    """The largest difference between two pictures in any pixel and colour, from 0 to 255."""
    return max(high for _, high in ImageChops.difference(one, other).getextrema())


def rightmost_blue(image):
    """The right end of the blue curve, in pixels."""
    half = image.crop((0, 0, image.width // 2, 500))  # not the bars below
    red, _, blue = (band.point(lambda level: level // 2) for band in half.split())
    return ImageChops.subtract(blue, red).point(lambda level: 255 * (level > 50)).getbbox()[2]


def learn(laboratory, **values):
    laboratory.set(**values)
    asyncio.run(laboratory.train())
    return laboratory


@functools.cache
def trained():
    """A laboratory after its first training. Tests share it and must not change it."""
    return learn(Laboratory())


async def until(check):
    """Let the other tasks of the event loop run until `check` holds."""
    for _ in range(2000):
        await asyncio.sleep(0)  # a training that was asked for starts
        if check():
            return
    raise AssertionError("it never came to that")


def failing(after, error):
    """A laboratory whose method raises once this share of the training is done."""

    def fails(x, scale, low, high):
        if broken.done >= after:
            raise error
        return STRAIGHT.quantize(x, scale, low, high)

    broken = Laboratory({"fails": Run(fails), **WAYS})
    broken.set(method="fails")
    return broken


def test_before_the_first_training(fresh):
    assert fresh.values == {"bits": 2, "method": "straight-through", "learning_rate": 0.2}
    assert fresh.controls["bits"].options == (8, 4, 3, 2)
    assert fresh.controls["method"].options == tuple(WAYS)
    assert fresh.controls["learning_rate"].options == (0.03, 0.1, 0.2, 0.3, 1, 3)
    assert fresh.summary == "nothing trained yet: choose, and press Train"
    assert (fresh.train_button.disabled, fresh.stop_button.disabled) == (False, True)
    assert picture(fresh).size == (1600, 1480)
    assert len(panels(fresh)[1].getcolors()) == 1, "there are no digits to show yet"


def test_it_trains_to_the_same_end_as_without_it():
    laboratory = trained()
    model = train(replace(STRAIGHT, bits=2, learning_rate=0.2))
    assert laboratory.accuracy == pytest.approx(accuracy(model), abs=1e-9)
    assert laboratory.accuracy > 30
    right = f"{accuracy(model):.1f} % of the held-out digits read right"
    assert said(laboratory) == f"2 bits, straight-through, learning rate 0.2: {right}"
    assert laboratory.picture.summary == laboratory.summary
    assert (laboratory.progress.value, laboratory.progress.bar_style) == (1.0, "success")
    losses = [loss.item() for *_, loss in training_steps(replace(STRAIGHT, bits=2))]
    assert laboratory.losses == losses
    assert laboratory.chart.line.get_ydata() == losses
    assert laboratory.chart.line.get_xdata()[[0, -1]] == pytest.approx([100 / BATCHES, 100])


def test_confusion_counts_each_held_out_digit_once():
    laboratory = trained()
    read = laboratory.model(IMAGES[HELD_OUT]).argmax(1).tolist()
    written = LABELS[HELD_OUT].tolist()
    pairs = list(zip(written, read, strict=True))
    counted = [[pairs.count((row, column)) for column in range(10)] for row in range(10)]
    assert laboratory.confusion.tolist() == counted
    assert laboratory.confusion.sum() == 500
    assert laboratory.confusion.trace() / 5 == pytest.approx(laboratory.accuracy)
    assert counted != torch.tensor(counted).T.tolist(), "or rows and columns may be mixed up"


def test_the_numbers_of_the_picture_are_the_confusion():
    laboratory = trained()
    shown = [number.get_text() for number in laboratory.chart.numbers]
    assert shown == [str(n) if n else "" for n in laboratory.confusion.flatten().tolist()]
    for number in laboratory.chart.numbers:
        column, row = number.get_position()
        assert laboratory.chart.numbers[10 * row + column] is number
        assert number.get_fontsize() >= 9
    cells = laboratory.chart.cells.get_array()
    assert (cells.diagonal() > 0).all(), "what is right is blue"
    assert ((cells < 0).sum(), (cells > 0).sum()) == (sum(n != "" for n in shown) - 10, 10)
    digits_ax = laboratory.chart.figure.axes[1]
    assert (digits_ax.get_xlabel(), digits_ax.get_ylabel()) == ("read as", "written")
    right = laboratory.confusion.diag()
    wrong = laboratory.confusion - right.diag()
    red, _, blue = colour_of_cell(laboratory, right.argmax(), right.argmax())
    assert blue > red
    red, _, blue = colour_of_cell(laboratory, *divmod(wrong.argmax().item(), 10))
    assert red > blue
    kinds = [json.loads(style)["kind"] for style, _ in read_strokes(laboratory.picture)[1]]
    assert "path" in kinds[kinds.index("cells") :], "the cells hide the frame around them"


def colour_of_cell(laboratory, row, column):
    """In its upper left corner, beside the number."""
    ax, image = laboratory.chart.figure.axes[1], picture(laboratory)
    x, y = ax.transData.transform((column - 0.4, row - 0.4))
    return image.getpixel((int(x), int(image.height - y)))


def near(colour, colours):
    return any(sum(abs(a - b) for a, b in zip(colour, one, strict=True)) < 24 for one in colours)


@pytest.mark.slow
@pytest.mark.parametrize(
    "values, name",
    [
        ({"bits": 8, "method": "learned step", "learning_rate": 3},
         "8 bits, learned step, learning rate 3"),
        ({"bits": 8, "method": "floating point"}, "floating point, learning rate 0.2"),
    ],
)  # fmt: skip
def test_the_controls_choose_the_run(laboratory, monkeypatch, values, name):
    runs = []
    monkeypatch.setattr(
        module, "training_steps", lambda run: runs.append(run) or training_steps(run)
    )
    learn(laboratory, **values)
    chosen = {"bits": 2, "method": "straight-through", "learning_rate": 0.2, **values}
    way = WAYS[chosen.pop("method")]
    assert runs == [replace(way, **chosen)]
    assert laboratory.summary.startswith(f"{name}: "), "floating point has no bits to choose"


@pytest.mark.slow
def test_the_loss_grows_while_it_trains(laboratory, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    seen, texts = [], []

    async def watch():
        task = asyncio.ensure_future(laboratory.train())
        for done in (0.1, 0.2, 0.3):
            await until(lambda done=done: laboratory.done > done)
            assert laboratory.progress.value == laboratory.done
            seen.append((laboratory.done, picture(laboratory)))
            texts.append(laboratory.picture.summary)
            assert laboratory.is_training and laboratory.confusion is None
            assert (laboratory.train_button.disabled, laboratory.stop_button.disabled) == (1, 0)
        laboratory.stop_button.click()
        await task

    asyncio.run(watch())
    for (done, _), text in zip(seen, texts, strict=True):
        start, _, rest = text.partition(" % trained, loss ")
        name, _, percent = start.rpartition(" ")
        assert name == "2 bits, straight-through, learning rate 0.2:"
        assert float(percent) == pytest.approx(100 * done, abs=100 / BATCHES + 0.5)
        loss, _, layers = rest.partition("; ")
        assert 0 < float(loss) < 3 and "mean |gradient|" in layers
    ends = [rightmost_blue(image) for _, image in seen]
    axes = laboratory.chart.figure.axes[0].get_window_extent()
    expected = [axes.x0 + done * axes.width for done, _ in seen]
    off = 12 + axes.width / BATCHES
    assert ends == pytest.approx(expected, abs=off)
    lasting = (0, int(1480 - axes.y1) + 4, int(expected[0] - off), 1480)
    for one, other in itertools.combinations([image.crop(lasting) for _, image in seen], 2):
        assert difference(one, other) < 80, "what was drawn has moved"
    assert not laboratory.is_training
    assert (laboratory.train_button.disabled, laboratory.stop_button.disabled) == (False, True)


@pytest.mark.slow
def test_nothing_jumps(fresh):
    before = [ax.axis() for ax in fresh.chart.figure.axes]
    empty = picture(fresh)
    learn(fresh, learning_rate=3, method="floating point")
    assert max(fresh.losses) > 100, "or it is no test of the limits"
    assert [ax.axis() for ax in fresh.chart.figure.axes] == before
    edge = fresh.chart.figure.axes[0].get_window_extent()
    for strip in ((0, 120, int(edge.x0), 700), (0, int(1480 - edge.y0) + 4, 1600, 840)):
        one, other = empty.crop(strip), picture(fresh).crop(strip)
        assert len(one.getcolors(1 << 20)) > 10, "nothing is written here"
        assert difference(one, other) < 30


@pytest.mark.slow
def test_the_same_training_gives_the_same_picture(laboratory):
    one, other = {"bits": 8, "method": "default gradient"}, {"bits": 2, "method": "learned step"}
    for values in (other, one, other):
        before = read_strokes(laboratory.picture)
        learn(laboratory, **values)
    last, fresh = read_strokes(laboratory.picture), learn(Laboratory(), **one)
    assert before != last == read_strokes(learn(fresh, **other).picture)


def test_the_curve_of_the_run_before_stays(fresh):
    chart = fresh.chart
    learn(fresh)
    first, losses = said(fresh), fresh.losses
    assert len(chart.before.get_xdata()) == 0 and "the run before" not in fresh.summary
    assert len(chart.title.get_text().splitlines()) == 2

    learn(fresh, method="learned step", bits=3)
    assert list(chart.before.get_ydata()) == losses
    assert list(chart.line.get_ydata()) == fresh.losses != losses
    assert fresh.summary.endswith(f"; the run before: {first}")
    assert chart.title.get_text().splitlines()[2] == (
        "dashed: " + first.replace(" of the held-out digits", "")
    )
    # dashed, and of another colour than the curve of this run
    assert chart.before.is_dashed() and not chart.line.is_dashed()
    assert chart.before.get_color() != chart.line.get_color()

    async def stop_early():
        task = asyncio.ensure_future(fresh.train())
        await until(lambda: 0.05 < fresh.done < 0.5)
        fresh.stop_button.click()
        await task

    second = said(fresh)
    asyncio.run(stop_early())
    assert fresh.summary.endswith(f"; the run before: {second}")
    assert chart.before.get_xdata()[-1] == 100 and chart.line.get_xdata()[-1] < 20


def heights(collection):
    """{bin: height} of the bars."""
    boxes = [path.get_extents() for path in collection.get_paths()]
    return {round((box.x0 + box.x1) / 2): box.height for box in boxes}


@pytest.mark.parametrize("bits, method", [(2, "straight-through"), (3, "floating point")])
def test_each_weight_is_counted_in_its_bin(laboratory, bits, method):
    learn(laboratory, bits=bits, method=method, learning_rate=0.3)
    low, high = -(2**bits) // 2, 2**bits // 2 - 1
    layers = laboratory.model[::2]
    scaled = [w / layer.weight_scale for layer in layers for w in layer.weight.flatten().tolist()]
    inside = collections.Counter(round(w) for w in scaled if low - 0.5 <= w <= high + 0.5)
    outside = [low if w < low - 0.5 else high for w in scaled if not low - 0.5 <= w <= high + 0.5]
    share = 100 / len(scaled)
    expected = {k: n * share for k, n in inside.items()}
    assert heights(laboratory.chart.inside) == pytest.approx(expected, abs=0.1)
    beyond = {k: n * share for k, n in collections.Counter(outside).items()}
    assert heights(laboratory.chart.outside) == pytest.approx(beyond, abs=0.1) and beyond
    for path in laboratory.chart.outside.get_paths():
        box = path.get_extents()
        below = expected[round((box.x0 + box.x1) / 2)]
        assert box.y0 == pytest.approx(below, abs=0.1), "it stands on the rest of its bin"
    percent = f"{sum(beyond.values()):.0f} % of the weights are outside the grid"
    assert percent in laboratory.summary
    ax = laboratory.chart.figure.axes[2]
    assert ax.get_xlim() == (low - 0.8, high + 0.8) and ax.get_ylim()[1] > max(expected.values())


def test_the_gradient_of_each_layer_is_drawn_while_it_trains(laboratory, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    run, sizes = replace(STRAIGHT, bits=3), []
    for model, *_ in training_steps(run):
        sizes.append([layer.weight.grad.abs().mean().item() for layer in model[::2]])
    shown = []
    monkeypatch.setattr(
        laboratory.chart, "show", lambda *_: shown.append(laboratory.chart.gradients[0].get_xdata())
    )
    learn(laboratory, bits=3)
    assert laboratory.gradients == sizes
    assert len(sizes) == 42, "two epochs: 14 points of 3 batches each"
    for line, layer in zip(laboratory.chart.gradients, zip(*sizes, strict=True), strict=True):
        means = [sum(layer[k : k + 3]) / 3 for k in range(0, 42, 3)]
        assert list(line.get_ydata()) == pytest.approx(means, rel=1e-4)
        assert list(line.get_xdata()) == pytest.approx([100 * (k + 1) / 14 for k in range(14)])
    ends = [places[-1] for places in shown if len(places)]
    assert len(ends) > 38 and all(a <= b for a, b in itertools.pairwise(ends))


def test_no_gradient_is_drawn_at_0(fresh):
    learn(fresh, method="default gradient")
    assert fresh.summary.partition("from the first: ")[2] == "0, 0, 0"
    ax = fresh.chart.figure.axes[3]
    low, _ = ax.get_ylim()
    for line in fresh.chart.gradients:
        assert not line.get_ydata().any()
    assert low < 0 and [tick.get_text() for tick in ax.get_yticklabels()][:2] == ["0", "0.00001"]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["first layer", "second", "last"]
    looks = {(line.get_color(), line.get_marker()) for line in fresh.chart.gradients}
    assert len(looks) == 3


def test_stop_in_the_middle(laboratory):
    async def stop():
        laboratory.train_button.click()
        await until(lambda: laboratory.done > 0.4)
        laboratory.stop_button.click()
        await until(lambda: not laboratory.is_training)

    asyncio.run(stop())
    assert 0.4 < laboratory.done < 0.43, "it went on for more than some batches"
    right = f"{accuracy(laboratory.model):.1f} % of the held-out digits read right"
    assert said(laboratory) == (
        "2 bits, straight-through, learning rate 0.2, stopped after "
        f"{int(100 * laboratory.done)} %: {right}"
    )
    assert laboratory.confusion.sum() == 500 and laboratory.progress.bar_style == "warning"
    assert laboratory.progress.value == laboratory.done
    assert not laboratory.is_training

    learn(laboratory)  # the next one is not stopped
    assert laboratory.done == 1 and "stopped" not in said(laboratory)
    assert said(laboratory) == said(trained())


def test_others_have_their_turn_while_it_trains(fresh):
    """Another task of the event loop waits for at most one batch."""
    at_work = []

    async def other():
        while not fresh.done:
            await asyncio.sleep(0)
        while fresh.is_training:
            batches = len(fresh.losses)
            await asyncio.sleep(0)
            at_work.append(len(fresh.losses) - batches)

    async def both():
        await asyncio.gather(fresh.train(), other())

    asyncio.run(both())
    assert len(at_work) > BATCHES - 30 and max(at_work) == 1


def test_a_second_click_starts_no_second_training(laboratory, monkeypatch):
    runs, once = [], said(trained())
    monkeypatch.setattr(
        module, "training_steps", lambda run: runs.append(run) or training_steps(run)
    )

    async def click():
        laboratory.train_button.click()
        laboratory.train_button.click()
        await until(lambda: laboratory.done > 0.1)
        laboratory.train_button.click()
        with pytest.raises(RuntimeError, match="is training: wait until it is done, or press"):
            await laboratory.train()
        assert laboratory.is_training and 0.1 < laboratory.done < 0.2, "it should go on"
        await until(lambda: not laboratory.is_training)

    asyncio.run(click())
    assert len(runs) == 1 and len(laboratory.losses) == BATCHES
    assert said(laboratory) == once
    learn(laboratory)
    assert len(runs) == 2


def test_moving_the_controls_leaves_the_run_as_it_is(laboratory):
    async def move():
        task = asyncio.ensure_future(laboratory.train())
        await until(lambda: laboratory.done > 0.3)
        laboratory.set(bits=8, method="floating point", learning_rate=3)
        await task

    asyncio.run(move())
    assert said(laboratory) == said(trained())
    learn(laboratory)
    assert laboratory.summary.startswith("floating point, learning rate 3: ")


@pytest.mark.slow
@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_told(broken):
    def breaks(x, scale, low, high):
        return x * broken if laboratory.done >= 0.5 else x

    laboratory = Laboratory({"breaks": Run(breaks)})
    learn(laboratory)
    assert len(laboratory.losses) == BATCHES
    right = f"{accuracy(laboratory.model):.1f} % of the held-out digits read right"
    first = laboratory.losses[BATCHES // 2]
    at = f"at batch {BATCHES // 2 + 1}"
    assert said(laboratory).endswith(f": the loss became {first} {at}, {right}")
    assert laboratory.progress.bar_style == "warning"
    loss, digits, *_ = panels(laboratory)
    blue = [near((0, 114, 178), [colour]) for _, colour in loss.getcolors(1 << 20)]
    assert any(blue), "the curve is gone"
    half = loss.crop((loss.width // 2 + 4, 0, loss.width, loss.height))
    assert not near((0, 114, 178), [colour for _, colour in half.getcolors(1 << 20)])
    assert near((239, 166, 121), [colour for _, colour in digits.getcolors(1 << 20)])


@pytest.mark.slow
@pytest.mark.parametrize("after, percent", [(0.0, 0), (0.5, 50)])
def test_an_error_is_shown_and_raised_and_goes_away(after, percent):
    broken = failing(after, ValueError("a scale of <b>0</b>"))
    with pytest.raises(ValueError, match="a scale of <b>0</b>"):
        asyncio.run(broken.train())
    assert "ValueError: a scale of &lt;b&gt;0&lt;/b&gt;" in broken.message.value
    assert 'role="alert"' in broken.message.value and "#b00020" in broken.message.value
    assert said(broken) == (
        f"2 bits, fails, learning rate 0.2: an error ended the training after {percent} %"
    )
    assert broken.picture.summary == broken.summary and broken.progress.bar_style == "danger"
    assert not broken.is_training and broken.confusion is None
    assert (broken.train_button.disabled, broken.stop_button.disabled) == (False, True)

    learn(broken, method="straight-through")
    assert broken.message.value == "" and said(broken) == said(trained())


@pytest.mark.slow
def test_an_error_after_a_click_is_shown_and_logged(caplog):
    broken = failing(0.1, ValueError("a scale of 0"))

    async def click():
        broken.train_button.click()
        await until(lambda: "ValueError" in caplog.text)

    asyncio.run(click())
    assert "ValueError: a scale of 0" in broken.message.value
    assert "ValueError: a scale of 0" in caplog.text
    learn(broken, method="straight-through")
    assert broken.message.value == ""


def test_an_interrupted_cell_leaves_the_laboratory_usable(laboratory):
    async def interrupt():
        task = asyncio.ensure_future(laboratory.train())
        await until(lambda: laboratory.done > 0.3)
        task.cancel()  # what the kernel does to a cell
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupt())
    assert (
        f"stopped after {int(100 * laboratory.done)} %" in laboratory.summary
        and laboratory.confusion.sum() == 500
    )
    assert not laboratory.is_training
    assert said(learn(laboratory)) == said(trained())


def test_a_refused_value_leaves_the_controls_as_they_were(fresh):
    before = fresh.values
    for wrong, error, message in (
        ({"bits": 5}, ValueError, "bits cannot be 5"),
        ({"bits": 8, "method": "magic"}, ValueError, "method cannot be 'magic'"),
        ({"bits": 8, "epochs": 3}, TypeError, "no control 'epochs' here, only bits, method"),
    ):
        with pytest.raises(error, match=message):
            fresh.set(**wrong)
        assert fresh.values == before
    assert fresh.summary.startswith("nothing trained yet"), "choosing alone trains nothing"


def test_what_a_notebook_stores():
    laboratory = trained()
    data, metadata = laboratory._repr_mimebundle_()
    assert data["text/plain"] == laboratory.summary == metadata["image/png"]["alt"]
    assert metadata["image/png"]["width"] == 800
    assert "application/vnd.jupyter.widget-view+json" in data
    assert 20_000 < len(data["image/png"]) < 120_000


@pytest.mark.slow
def test_one_thread_is_enough_and_others_keep_theirs():
    inside, between = [], []

    def watched(x, scale, low, high):
        if torch.is_grad_enabled():  # in training
            inside.append(torch.get_num_threads())
        return x

    laboratory = Laboratory({"watched": Run(watched)})

    async def both():
        task = asyncio.ensure_future(laboratory.train())
        while not task.done():
            await asyncio.sleep(0)
            between.append(torch.get_num_threads())
        await task

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        asyncio.run(both())
        assert (set(inside), set(between)) == ({1}, {2})
        broken = failing(0.1, ValueError("a scale of 0"))
        with pytest.raises(ValueError):
            asyncio.run(broken.train())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_pictures_take_a_small_part_of_the_time(laboratory, monkeypatch):
    """A picture after every batch would take ten times as long as the training."""
    shows = []

    def slow(*anything):
        start = time.perf_counter()
        time.sleep(0.005)
        shows.append((start, time.perf_counter()))

    monkeypatch.setattr(laboratory.chart, "show", slow)
    learn(laboratory)
    pauses = [after[0] - before[1] for before, after in itertools.pairwise(shows[:-1])]
    assert pauses and min(pauses) > 4 * 0.005
