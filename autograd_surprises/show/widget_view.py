"""The part of an output that names the widget to show."""

from __future__ import annotations


def view_of(model_id: str) -> dict[str, dict]:
    """What ipywidgets 8 puts into a widget's output. Version 7, which Colab has, keeps it private.

    >>> view_of("4d2f")
    {'application/vnd.jupyter.widget-view+json': {'version_major': 2, 'version_minor': 0, \
'model_id': '4d2f'}}
    """
    about = {"version_major": 2, "version_minor": 0, "model_id": model_id}
    return {"application/vnd.jupyter.widget-view+json": about}
