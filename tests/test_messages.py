"""The catalogue of messages: each says what torch really says, and is found by it."""

import re
import textwrap
import warnings

import nbformat
import pytest
import torch
import torch.distributed as dist

from autograd_surprises import explain_error
from autograd_surprises.messages import MESSAGES, PRELUDE, known_message, remedy_for
from autograd_surprises.messages.message import contains
from helpers.lessons.symptoms import symptom_table
from tools.notebooks import notebook_files

EXAMPLES = [(m, text, code) for m in MESSAGES for text, code in m.examples.items()]
each = pytest.mark.parametrize("message, text, code", EXAMPLES, ids=[e[1][:50] for e in EXAMPLES])


@pytest.fixture
def what_torch_says():
    """A function that runs an example and returns the error's text, or the texts of warnings."""

    def run(code):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(PRELUDE + textwrap.dedent(code), {"__name__": "example"})
            except Exception as error:
                return [str(error)]
        return [str(warning.message) for warning in caught]

    torch.set_warn_always(True)  # some come once in a process, and another test may have had them
    yield run
    torch.set_warn_always(False)
    if dist.is_initialized():
        dist.destroy_process_group()


@each
def test_an_example_makes_torch_say_it(message, text, code, what_torch_says):
    (said,) = what_torch_says(code)
    assert any(contains(said, wording) for wording in (text, *message.variants)), said
    assert known_message(said) is message, f"{known_message(said)} hides it"


@each
def test_explain_error_and_the_report_card_know_it(message, text, code):
    found = explain_error(RuntimeError(f"before it: {text} after it"))
    assert (found.cause, found.sentence) == (message.cause, message.meaning)
    assert (found.fix, found.section) == (message.fix, message.section)
    assert remedy_for(text) == (message.in_function or message.fix)


def test_a_message_that_is_not_known_is_called_so():
    assert known_message("mine") is None
    assert remedy_for("mine") == ""
    found = explain_error(ValueError("mine"))
    assert (found.cause, found.fix) == ("unknown-error", "")


@pytest.mark.parametrize(
    "said, cause",
    [
        ("element 3 of tensors does not require grad and does not have a grad_fn", "not-connected"),
        ("Mismatch in shape: grad_output[1] has a shape of torch.Size([2])", "wrong-vector-shape"),
        ("a view of a leaf Variable that requires grad is being used", "leaf-in-place"),
        ("`nn.init.normal` is now deprecated in favor of `nn.init.normal_`", "renamed-initializer"),
        ("Jacobian mismatch for output 1 with respect to input 2,", "gradcheck-mismatch"),
        ("Net.forward() takes 3 positional arguments but 2 were given", "forward-arguments"),
        ("cannot assign 'torch.DoubleTensor' as parameter", "assigned-parameter"),
        ("index_copy_(): self and source expected to have the same dtype", "dtype"),
        ("NYI - User defind jvp", "compiled-jvp"),
        ("Could not guard on data-dependent expression", "no-single-number"),
        ("an in-place operation of some other kind", "captured-in-place"),
    ],
)
def test_variants_of_a_message_are_known(said, cause):
    assert known_message(said).cause == cause


def test_no_text_is_listed_twice():
    texts = [text for message in MESSAGES for text in message.examples]
    assert len(texts) == len(set(texts))


def test_the_index_lists_every_message_that_a_section_explains():
    lines = repr(symptom_table()).splitlines()[1:]
    explained = [message for message in MESSAGES if message.section]
    assert len(lines) == sum(len(message.examples) for message in explained)
    for message in explained:
        for text in message.examples:
            (line,) = [line for line in lines if re.match(f"`+ ?{re.escape(text)} ?`", line)]
            assert f"]({message.section})" in line


def test_the_index_follows_the_notebooks():
    links = [link for _, link in symptom_table().rows]
    assert [link[:3] for link in links] == sorted(link[:3] for link in links)
    assert len(set(links)) == 1 + sum(a != b for a, b in zip(links, links[1:], strict=False))


@pytest.mark.parametrize("section", sorted({m.section for m in MESSAGES if m.section}))
def test_a_section_is_a_heading_of_its_notebook(section):
    notebook, _, anchor = section.partition("#")
    (path,) = [path for path in notebook_files() if path.name == notebook]
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    headings = re.findall(r"^##+ (.+)$", "\n".join(texts), re.MULTILINE)
    assert anchor in [heading.strip().replace(" ", "-") for heading in headings]


NOT_OF_TORCH = {"04_override_backward": {"wrong-name"}}  # the name of a page's own class


def test_every_message_of_a_notebook_is_known():
    unknown = []
    for path in notebook_files():
        for cell in nbformat.read(path, as_version=4).cells:
            text = "".join(output.get("text", "") for output in cell.get("outputs", []))
            for line in re.findall(r"^\w+(?:Error|Warning): .*", text, re.MULTILINE):
                ours = cell.id in NOT_OF_TORCH.get(path.stem, ())
                if known_message(line) is None and not ours:
                    unknown.append(f"{path.stem}, {cell.id}: {line}")
    assert unknown == [], "add them to autograd_surprises/messages/"
