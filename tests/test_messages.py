"""The catalogue of messages: each says what torch really says, and is found by it."""

import re

import nbformat
import pytest
from pasted_texts import EXAMPLES, UNKNOWN, every_warning, pasted, said_by_torch

from autograd_surprises import explain_error
from autograd_surprises.messages import MESSAGES, known_message, messages_in, remedy_for
from autograd_surprises.messages.message import contains
from tools.notebooks import notebook_files

each = pytest.mark.parametrize("message, text, code", EXAMPLES, ids=[e[1][:50] for e in EXAMPLES])


@each
def test_an_example_makes_torch_say_it(message, text, code):
    with every_warning():
        (error,) = said_by_torch(code)
    said = str(error)
    assert any(contains(said, wording) for wording in (text, *message.variants)), said
    assert known_message(said) is message, f"{known_message(said)} hides it"
    for how, whole in pasted(error).items():
        assert messages_in(whole) == [message], how


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


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_found_where_nothing_is_known(text):
    assert messages_in(text) == []


def test_the_error_that_stopped_the_program_comes_first():
    first, last = "forward() takes 2 positional arguments", "No module named 'pytorch'"
    found = messages_in(f"TypeError: {first}\n\nx.y.Failure: mine\n\nImportError: {last}")
    assert found == [known_message(last), known_message(first)]


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
