"""A question that the reader answers before the cell that shows it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.show.colours import GREEN, RED
from autograd_surprises.show.findings import WIDTH, badge, with_code
from autograd_surprises.show.widget_view import view_of


def predict(name: str, answer: object) -> Prediction:
    """Ask before showing: radio buttons, and for each option a line on why it is right or wrong.

    `name` is that of the lesson and of the question in its `questions.toml`:

        [round]
        question = "Where is the weight after 100 steps with `torch.round`?"

        [round.options]
        "2.3" = "Right. Its gradient was 0 in every step, so it never moved."
        "5.0" = "The loss is lowest there."

    The right option is the one that reads as `answer` does, which should be measured, not typed:
    then the question cannot go stale. Tensors are compared as lists. `code` is set as code. A
    question asked again keeps what was chosen. Raises ValueError unless exactly one option is
    right.

    >>> predict("zero.dead_relu", answer="neither")
    Which of the two gets a gradient that is not 0?
      ( ) weight and bias
      ( ) bias
      ( ) neither
    Run this cell to answer.
    """
    lesson, _, question = name.partition(".")
    if question not in (known := _questions_of(lesson)):
        raise ValueError(f"there is no question {name!r}, only {', '.join(known) or 'none'}")
    return Prediction(**known[question], answer=answer)


@cache
def _questions_of(lesson):
    file = files("lessons") / lesson / "questions.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


# question: the option chosen last. A click selects the cell of the question, so Shift+Enter on the
# way to the next cell runs it again.
_chosen: dict[str, str] = {}
# The type under which outputs store questions, so that a page without a kernel can ask them.
STORED = "application/vnd.autograd-surprises.questions+json"
# The lines of ipywidgets' texts are as far apart as its controls. Where a page cannot run
# anywidget, only the arrow keys are missing.
STYLE = """<style>
.prediction .widget-html-content { line-height: 1.5 }
.prediction > :has(> .jupyter-widgets-error-widget) { display: none }
</style>"""


class Prediction:
    """A question that shows itself; `choice` holds the radio buttons."""

    def __init__(self, question, options, answer):
        import ipywidgets  # here, because checking exercises needs no widgets

        from lessons.asking.arrow_keys import ArrowKeys

        if hasattr(answer, "tolist"):  # a tensor or a NumPy object
            answer = answer.tolist()
        self.question, self.explanations, self.right = question, options, str(answer)
        if self.right not in options:
            raise ValueError(f"no option reads as the answer, {self.right!r}: {list(options)}")
        self.choice = ipywidgets.RadioButtons(
            options=list(self.explanations), value=None, layout={"width": "max-content"}
        )
        self.explanation = ipywidgets.HTML(layout={"min_height": "56px"})  # two lines will fit
        self.choice.observe(self._explain, "value")
        asked = ipywidgets.HTML(f"{STYLE}<b>{with_code(question)}</b>")
        self.box = ipywidgets.VBox([asked, self.choice, self.explanation, ArrowKeys()])
        self.box.add_class("prediction")
        if _chosen.get(question) in options:
            self.choice.value = _chosen[question]
        self.choice.observe(lambda change: _chosen.update({question: change.new}), "value")

    def _explain(self, change):
        if change.new is None:
            self.explanation.value = ""
            return
        mark = badge("✓", GREEN) if change.new == self.right else badge("✗", RED)
        why = with_code(self.explanations[change.new])
        self.explanation.value = f'<div role="status">{mark} {why}</div>'

    def __repr__(self):
        question = textwrap.fill(self.question, WIDTH)  # JupyterLab would break it inside a word
        options = [f"  ( ) {option}" for option in self.explanations]
        return "\n".join([question, *options, "Run this cell to answer."])

    def _repr_mimebundle_(self, **kwargs):
        asked = [as_stored(self.question, self.explanations, self.right)]
        return {**view_of(self.box.model_id), "text/plain": repr(self), STORED: asked}


def as_stored(question: str, options: Mapping[str, str], right: str) -> dict:
    """A question as JSON; a list keeps the order of its options.

    >>> as_stored("1 + 1?", {"2": "Right.", "11": "No."}, "2")["options"]
    [['2', 'Right.'], ['11', 'No.']]
    """
    return {"question": question, "options": list(map(list, options.items())), "right": right}
