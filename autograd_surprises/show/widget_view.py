"""Outputs of widgets, with a picture or a text beside them for readers without a kernel."""


def view_of(model_id: str) -> dict[str, dict]:
    """What ipywidgets 8 puts into a widget's output. Version 7, which Colab has, keeps it private.

    >>> view_of("4d2f")
    {'application/vnd.jupyter.widget-view+json': {'version_major': 2, 'version_minor': 0, \
'model_id': '4d2f'}}
    """
    about = {"version_major": 2, "version_minor": 0, "model_id": model_id}
    return {"application/vnd.jupyter.widget-view+json": about}


class WithStoredOutput:
    """A mixin for a widget: what `stored_output` returns is stored beside it in the notebook.

    GitHub, nbviewer and exported HTML, which have no kernel, show that.
    """

    model_id: str
    _ipython_display_ = None  # ipywidgets 7's own would leave out what is stored

    def stored_output(self) -> tuple[dict, dict]:
        """The data of the output by their MIME types, and its metadata."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = self.stored_output()
        return {**view_of(self.model_id), **data}, metadata
