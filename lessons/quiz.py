"""A quiz on default gradients. The right answers are the numbers measured in the atlas."""

import ipywidgets

from autograd_surprises.atlas import atlas
from autograd_surprises.atlas.quiz_questions import choose_questions
from autograd_surprises.show.widget_view import WithStoredOutput
from lessons.prediction import STORED, Prediction, as_stored


class Quiz(WithStoredOutput, ipywidgets.VBox):
    """Predict the gradient at a kink, a jump or another event of the atlas, and see your score.

    The first answer to a question counts; later ones only explain. After the last question,
    `next` starts again with other questions. `version` is a measured torch version.

    >>> quiz = Quiz(count=2, seed=1, version="2.15"); quiz.answer(quiz.right); quiz.score
    '1 right of 1'
    """

    def __init__(self, count: int = 10, seed: int = 0, version: str | None = None):
        self.numbers, self.count = atlas(version), count
        self.sheet = ipywidgets.VBox()
        self.button = ipywidgets.Button()
        self.status = ipywidgets.HTML()
        self._begin(seed)
        super().__init__([self.sheet, self.button, self.status])
        self.button.on_click(self._on_click)

    @property
    def question(self) -> str:
        return self.prediction.question

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(self.prediction.explanations)

    @property
    def right(self) -> str:
        return self.prediction.right

    @property
    def score(self) -> str:
        return f"{sum(self.firsts)} right of {len(self.firsts)}"

    def answer(self, option: str):
        """Choose an option, as a click does."""
        if option not in self.options:
            raise ValueError(f"{option!r} is not an option: choose from {', '.join(self.options)}")
        self.prediction.choice.value = option

    def next(self):
        """Go on to the next question; after the last one, to new questions."""
        if self.button.disabled:
            raise ValueError(f"answer this question first: {', '.join(self.options)}")
        if len(self.firsts) == self.count:
            self._begin(self.seed + 1)
        else:
            self._ask()

    def _on_click(self, button):
        if not button.disabled:  # the second click of two may come before the browser knows
            self.next()

    def _begin(self, seed):
        self.questions = choose_questions(self.numbers, self.count, seed)
        self.seed, self.firsts = seed, []
        self._ask()

    def _ask(self):
        question = self.questions[len(self.firsts)]
        self.prediction = Prediction(question.text, question.options, question.right)
        self.prediction.choice.observe(self._on_answer, "value")
        self.sheet.children = [self.prediction.box]  # the button stays, and with it the focus
        self._say(answered=False)

    def _on_answer(self, change):
        if self.button.disabled:
            self.firsts.append(change.new == self.right)
            self._say(answered=True)

    def _say(self, answered):
        last = answered and len(self.firsts) == self.count
        self.button.disabled = not answered
        self.button.description = "Again" if last else "Next"
        place = f"Question {len(self.firsts) + (not answered)} of {self.count}"
        text = f"{place}. {self.score}." if self.firsts else f"{place}."
        text = f"The end: {self.score}." if last else text
        self.status.value = f'<div role="status">{text}</div>'

    def __repr__(self):
        return repr(self.prediction)

    def stored_output(self):
        asked = [as_stored(each.text, each.options, each.right) for each in self.questions]
        return {"text/plain": repr(self), STORED: asked}, {}
