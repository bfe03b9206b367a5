"""How a notebook is stored, and what its outputs may not contain."""

import copy
import re

from notebook_rules import rule, text_of
from tools.notebooks import IGNORED, normalise, stored_text

REMEDY = "run `make notebooks`"
TRAINED = "a training differs a little from processor to processor; the cell asserts what does not"
OTHER_NAME = "torch 2.6 has another name for the operation; expect_error compares the rest"
# Cells whose output nbval does not compare: {notebook: {cell id: the reason}}.
OPT_OUTS = {
    "02_backward_needs_a_gradient.ipynb": {
        "unused": "newer versions of torch name the unused input; the cell asserts the rest",
    },
    "03_round_and_clamp.ipynb": {
        "clamp-at-the-bound": "torch.clamp's gradient there changed with torch 2.14; "
        "the cell asserts what all versions have in common",
        "chain-in-your-torch": "the same change, seen in a quantizer; asserted likewise",
    },
    "07_train_through_rounding.ipynb": {
        cell: "accuracies differ a little from processor to processor; the cell asserts the order"
        for cell in (
            "afterwards-shown",
            "four-ways-table",
            "scale-table",
            "last-bin-shares",
            "last-bin-pairs",
            "one-line-trained",
            "misread-shown",
        )
    },
    "13_gradient_atlas.ipynb": {
        "crowd-shown": "vector instructions differ from processor to processor; the cell asserts "
        "that both gradients are 0 or 1",
    },
    "15_compile_precision_memory.ipynb": {
        "compiled-gradient-shown": "torch 2.15 no longer loses the backward; the cell asserts the "
        "plain gradient, and one of the two compiled ones",
    },
    "18_checkpoints_and_freezing.ipynb": {"unseen-detach": OTHER_NAME},
    "19_hooks.ipynb": {"relu-broken": OTHER_NAME}
    | dict.fromkeys(("cam-empty", "cam-explorer", "cam-table"), TRAINED),
    "23_a_codebook.ipynb": dict.fromkeys(
        ("dead-shown", "dead-gradients", "revived-trained"), TRAINED
    ),
    "24_three_patches.ipynb": dict.fromkeys(("mixture-new-reader", "sharper-explorer"), TRAINED),
}


@rule
def name_says_number_and_title(notebook):
    if re.fullmatch(r"\d\d_[a-z0-9]+(_[a-z0-9]+)*\.ipynb", notebook.name):
        return []
    return [f"{notebook.name}: rename it to NN_title.ipynb (two digits, lowercase words)"]


@rule
def counts_are_1_to_n(notebook):
    counts = [cell.execution_count for cell in notebook.code]
    if counts == list(range(1, len(counts) + 1)):
        return []
    return [f"execution counts are {counts}, so nbval would not compare every cell: {REMEDY}"]


@rule
def stored_as_make_notebooks_does(notebook):
    """Format, kernel, metadata, ids, no widget's state, and the seal of each output that nbval
    ignores: after an edit by hand it would no longer fit."""
    normal = stored_text(normalise(copy.deepcopy(notebook.node)))
    return [] if notebook.text == normal else [f"the file is not in the stored form: {REMEDY}"]


@rule
def no_machine_paths(notebook):
    # An absolute path of two parts or more, but not the tail of an address or of a/b/c.
    path = re.compile(r"(?<![\w./:<])/[A-Za-z][\w.-]*/\w|\b[A-Z]:\\\w|site-packages|ipykernel_\d")
    return [
        f"{cell.id}: the output names a place on this machine ({match[0]}…): print less"
        for cell, output in notebook.outputs
        if (match := path.search(text_of(output)))
    ]


@rule
def no_addresses(notebook):
    return [
        f"{cell.id}: {match[0]} is another number in each run: print a name instead of the object"
        for cell, output in notebook.outputs
        if (match := re.search(r"\b0x[0-9a-f]{6,}", text_of(output)))
    ]


@rule
def no_errors_and_warnings(notebook):
    return [
        f"{cell.id}: stores an error or a warning: show it with `expect_error` / `expect_warning`"
        for cell, output in notebook.outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]


@rule
def pictures_have_a_text(notebook):
    return [
        f"{cell.id}: a picture without text/plain: nbval and screen readers need one"
        for cell, output in notebook.outputs
        if any(mime.startswith("image/") for mime in output.get("data", {}))
        and not output.data.get("text/plain")
    ]


@rule
def everything_is_compared(notebook):
    """A cell whose output nbval ignores is declared in OPT_OUTS, with its reason."""
    ignored = {cell.id for cell in notebook.code if IGNORED in cell.metadata.get("tags", [])}
    other = [
        cell.id
        for cell in notebook.code
        if re.search(r"NBVAL_|PYTEST_VALIDATE_", cell.source)
        or any(
            tag != IGNORED and ("nbval" in tag or "raises" in tag)
            for tag in cell.metadata.get("tags", [])
        )
    ]
    return [
        *(
            f"{cell_id}: ignored by nbval, or declared and gone: see OPT_OUTS in {__file__}"
            for cell_id in sorted(ignored ^ set(OPT_OUTS.get(notebook.name, {})))
        ),
        *(f"{cell_id}: opt out by the tag {IGNORED} alone" for cell_id in other),
    ]
