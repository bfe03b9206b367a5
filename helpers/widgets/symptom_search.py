"""The index of messages, with a search field for words or a whole traceback."""

from __future__ import annotations

import ipywidgets

from autograd_surprises.messages import find_messages
from autograd_surprises.show.widget_view import view_of
from helpers.lessons.symptoms import answers, symptom_table
from helpers.widgets.alert import Alert
from helpers.widgets.callbacks import in_this_thread


class SymptomSearch(ipywidgets.VBox):
    """A field for words or a traceback, and the answers below; if it is empty, all messages.

    said     what is typed
    answers  what is shown, as Markdown

    >>> search = SymptomSearch()
    >>> search.said.value = "NameError: name 'tensor' is not defined"
    >>> search.answers[:14]
    'Nothing found.'
    """

    def __init__(self):
        self.said = ipywidgets.Textarea(
            description="message",
            placeholder="Type some words of it, or paste a whole traceback",
            rows=3,
            layout={"width": "auto", "max_width": "700px"},
        )
        # Links in Markdown open notebooks; links in ipywidgets.HTML do not.
        self.shown = ipywidgets.Output()
        self.message = Alert()
        self._show()
        self.said.observe(in_this_thread(self._on_text), "value")
        super().__init__([self.said, self.message, self.shown])

    @property
    def answers(self) -> str:
        return self.shown.outputs[0]["data"]["text/markdown"]

    def _on_text(self, change):
        with self.message.on_error():
            self._show()

    def _show(self):
        text = self.said.value
        if text.strip():
            found = find_messages(text)
            self.message.say(f"found: {len(found)}")
            markdown = answers(found)
        else:
            self.message.say("")
            markdown = symptom_table()._repr_markdown_()
        shown = {"data": {"text/markdown": markdown}, "metadata": {}}
        self.shown.outputs = ({"output_type": "display_data", **shown},)

    _ipython_display_ = None  # ipywidgets 7's own would leave out the stored table

    def _repr_mimebundle_(self, **kwargs):
        # Without a kernel, readers see all messages.
        table = symptom_table()
        data = {"text/markdown": table._repr_markdown_(), "text/plain": repr(table)}
        return {**view_of(self.model_id), **data}
