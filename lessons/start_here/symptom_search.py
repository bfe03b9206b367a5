"""The search: a field for a question or a whole traceback, and what is found."""

import ipywidgets

from autograd_surprises.messages.queries import find
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.explore.callbacks import Alert, in_this_thread
from lessons.start_here.index_text import answers

WITHOUT_A_KERNEL = (
    "A field for a question appears here when this cell runs. Without a kernel, see "
    "[the whole index](#All-questions-and-messages)."
)


class SymptomSearch(WithStoredOutput, ipywidgets.VBox):
    """A field for a question or a traceback, and the answers below.

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
        self.question.observe(in_this_thread(self._on_text), "value")
        super().__init__([self.question, self.message, self.shown])

    @property
    def answers(self) -> str:
        return self.shown.outputs[0]["data"]["text/markdown"] if self.shown.outputs else ""

    def _on_text(self, change):
        with self.message.on_error():
            self._show()

    def _show(self):
        text = self.question.value
        if not text.strip():
            self.message.say("")
            self.shown.outputs = ()
            return
        self.message.say("Searching …")
        self._show_markdown(f'<div style="opacity: 0.4">\n\n{self.answers}\n\n</div>')
        answer = find(text)
        self.message.say("" if answer.is_guess or not answer.found else answer.verdict)
        self._show_markdown(answers(answer))

    def _show_markdown(self, markdown):
        shown = {"data": {"text/markdown": markdown}, "metadata": {}}
        self.shown.outputs = ({"output_type": "display_data", **shown},)

    def stored_output(self):
        return {"text/markdown": WITHOUT_A_KERNEL, "text/plain": WITHOUT_A_KERNEL}, {}
