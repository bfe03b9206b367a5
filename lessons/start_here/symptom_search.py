"""The search and the index: a field for a question or a whole traceback, and what is found."""

import ipywidgets

from autograd_surprises.messages.queries import find
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.explore.callbacks import Alert, in_this_thread
from lessons.start_here.index_text import answers, plain_index, whole_index


class SymptomSearch(WithStoredOutput, ipywidgets.VBox):
    """A field for a question or a traceback, and the answers below; if it is empty, the index.

    question  the field, whose value is what is typed
    answers   what is shown, as Markdown

    >>> search = SymptomSearch()
    >>> search.question.value = "NameError: name 'tensor' is not defined"
    >>> search.answers[:34]
    'The search is about gradients only'
    """

    def __init__(self):
        self.question = ipywidgets.Textarea(
            description="question",
            placeholder="Type a question or some words, or paste a whole traceback",
            rows=3,
            layout={"width": "auto", "max_width": "700px"},
        )
        # Links in Markdown open notebooks; links in ipywidgets.HTML do not.
        self.shown = ipywidgets.Output()
        self.message = Alert()
        self._show()
        self.question.observe(in_this_thread(self._on_text), "value")
        super().__init__([self.question, self.message, self.shown])

    @property
    def answers(self) -> str:
        return self.shown.outputs[0]["data"]["text/markdown"]

    def _on_text(self, change):
        with self.message.on_error():
            self._show()

    def _show(self):
        text = self.question.value
        if text.strip():
            answer = find(text)
            self.message.say("" if answer.is_guess or not answer.found else answer.verdict)
            markdown = answers(answer)
        else:
            self.message.say("")
            markdown = whole_index()
        shown = {"data": {"text/markdown": markdown}, "metadata": {}}
        self.shown.outputs = ({"output_type": "display_data", **shown},)

    def stored_output(self):
        return {"text/markdown": whole_index(), "text/plain": plain_index()}, {}
