"""The card itself: as text, as HTML and as data; torch.compile."""

import html
import re

import faulty
import faulty_elsewhere
import pytest
import torch
from faulty import identity

from autograd_surprises.report_card import CardRow, ReportCard, report_card
from autograd_surprises.report_card.questions import COMPILED, ask
from autograd_surprises.report_card.subject import Subject
from tools.notebooks import notebook_files

x = torch.linspace(-2, 2, 9)
TORCH = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2]))


# ---- As text, as HTML and as data


def test_the_worst_comes_first_and_the_same_story_is_told_once():
    card = ReportCard(
        "f",
        (
            CardRow("a", "works"),
            CardRow("b", "refused", "no", remedy="try"),
            CardRow("c", "silently wrong", "here", "1", "2"),
            CardRow("d", "refused", "no", remedy="try"),
            CardRow("e", "works", "but"),
            CardRow("f", "skipped", remedy="pass what"),
            CardRow("g", "not applicable", "never"),
        ),
    )
    assert card.summary == (
        "report card of f: 2 of 5 work, 2 refused, 1 silently wrong, 1 not applicable; "
        "1 skipped: pass what"
    )
    assert str(card).splitlines()[1:] == [
        "SILENTLY WRONG  c: here: yours 1, expected 2",
        "REFUSED         b, d: no",
        "                what to change: try",
        "works           a",
        "works           e: but",
        "not applicable  g: never",
    ]
    assert repr(card) == str(card)


def words(markup):
    """What is left of HTML where all styles are dropped, as on GitHub."""
    text = re.sub("<[^>]*>", "", markup.replace("<br>", "\n"))
    return " ".join(html.unescape(text).split())


def test_each_status_has_a_badge_of_its_own():
    statuses = "works", "refused", "silently wrong", "not applicable", "skipped"
    rows = [CardRow(f"q{i}", status) for i, status in enumerate(statuses)]
    card = ReportCard("f", tuple(rows))
    assert words(card._repr_html_().partition("</p>")[2]) == (
        "SILENTLY WRONG q2 REFUSED q1 works q0 not applicable q3"
    )
    colours = re.findall("background:(#[0-9a-f]{6})", card._repr_html_())
    assert len(set(colours)) == 4


def test_the_html_says_what_the_text_says():
    card = report_card(faulty.SavesItsOutput.apply, x, like=faulty.like_saves_its_output)
    said = words(card._repr_html_())
    assert said.startswith(card.summary)
    assert (
        "SILENTLY WRONG double backward at x = -1: yours 0.3076, expected 0" in said
        and "what to change: " in said
    )
    for row in card.rows:
        assert row.status == "skipped" or row.name in said
        assert all(text in said for _, text in row.sentences() if row.status != "skipped")


def test_the_html_is_escaped():
    card = ReportCard("<b>", (CardRow("<i>", "refused", "a < b", remedy="<u>"),))
    markup = card._repr_html_()
    assert all(tag not in markup for tag in ("<i>", "<u>", "a < b", "of <b>"))


def test_a_row_answers_to_its_name():
    card = report_card(torch.relu, x)
    assert card["vmap"] == next(row for row in card.rows if row.name == "vmap")
    with pytest.raises(KeyError, match="no row 'vmapp', only .*'vmap'"):
        card["vmapp"]


# ---- The assertion that README.md and docs/your_own_code.md show


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/your_own_code.md"])
def test_the_assertion_on_a_page_fits_a_function_for_training(page):
    text = (notebook_files()[0].parent.parent / page).read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (code,) = (block for block in blocks if "report_card(MyOp" in block)
    model = torch.nn.Linear(2, 1)
    given = {"loss_fn": torch.nn.functional.mse_loss, "model": model}
    given |= {"batch": torch.ones(3, 2), "target": torch.ones(3, 1), "torch": torch}
    given["MyRoundSTE"] = faulty.RoundStraightThrough
    exec(code, {**given, "MyOp": faulty_elsewhere.OldStyle})
    assert model.weight.grad is None
    for wrong in (faulty.SlopeOfAnother, faulty.TooManyGradients, faulty.NotLinear):
        with pytest.raises(AssertionError, match=r"report card of"):
            exec(code, {**given, "MyOp": wrong})


# ---- torch.compile


DROPPED = "silently wrong" if TORCH < (2, 14) else "works"


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, name, status, says",
    [
        (faulty.RoundStraightThrough, "compile(aot_eager)", "refused", "is_compiling()"),
        (faulty.RoundWithoutJvp, "compile(aot_eager)", "works", ""),
        (faulty.RoundWithoutJvp, "compile(grad)", DROPPED, ""),
        (faulty.RoundWithoutJvp, "compile(jvp)", "silently wrong", "without a Function"),
    ],
)
def test_what_compile_drops_or_refuses(function, name, status, says):
    row = ask(Subject(function.apply, (x,), identity), name, COMPILED[name])
    assert row.status == status and says in row.remedy


def test_a_compiler_that_is_missing_is_no_fault(monkeypatch):
    def no_compiler(*args, backend, **keywords):
        raise RuntimeError(f"no C++ compiler for {backend}\nmore")

    monkeypatch.setattr(torch, "compile", no_compiler)
    card = report_card(torch.relu, x, compile=True)
    assert card.passed
    row = card["compile(inductor)"]
    assert row.status == "not applicable"
    assert "no C++ compiler for inductor" in row.message and "more" not in row.message


def test_what_refuses_numbers_is_told_that_it_was_asked_at_its_example_alone():
    def careful(x):
        if (x <= 0).any():
            raise ValueError("only positive numbers")
        return x.log()

    card = report_card(careful, torch.rand(4) + 1)
    for name in ("slope", "inf upstream", "empty", "large x"):
        assert "refuses numbers" in card[name].message, name
