"""The catalogue of messages: each says what torch really says, and is found by it."""

import re

import nbformat
import pytest
import torch
from pasted_texts import EXAMPLES, TWO, pasted, retyped

from autograd_surprises import explain_error
from autograd_surprises.facts.sections import address
from autograd_surprises.facts.toml_data import read_toml
from autograd_surprises.messages.catalogue import (
    all_messages,
    all_questions,
    contains,
    known_message,
    remedy_for,
)
from autograd_surprises.messages.entries import Message
from autograd_surprises.messages.pasted import messages_in
from autograd_surprises.messages.queries import find
from tools.notebooks import notebook_files
from tools.printed_by_torch import output_and_errors_of, output_of, printed_by_torch

ENTRIES = [*all_messages(), *all_questions()]
each = pytest.mark.parametrize("message, text, code", EXAMPLES, ids=[e[1][:50] for e in EXAMPLES])

LATER = ("hook-without-inputs",)  # torch 2.6 does not say it, 2.13 does
IS_OLD = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13)


@each
def test_an_example_makes_torch_say_it_and_it_is_explained(message, text, code):
    if IS_OLD and message.id in LATER:
        pytest.skip("this torch does not say it")
    (error,) = printed_by_torch(code)
    printed = str(error)
    assert any(contains(printed, wording) for wording in (text, *message.variants)), printed
    assert known_message(printed) is message, f"{known_message(printed)} hides it"
    for how, whole in pasted(error).items():
        assert messages_in(whole) == [message], how
    found = explain_error(RuntimeError(f"before it: {text} after it"))
    assert (found.rule, found.sentence) == (message.id, message.meaning)
    assert (found.fix, found.section) == (message.fix, address(message.section))
    assert remedy_for(text) == (message.in_function or message.fix)


# How often another message comes first, whose words are nearly the same.
LESS_CLEAR = {
    "no-double-backward": 5,
    "no-jvp": 4,
    "gradient-count/several": 2,
    "no-backward": 1,
    "no-signature": 1,
    "ddp-twice": 1,
    "captured-in-place": 1,
}


@pytest.mark.slow
@each
def test_an_error_that_is_retyped_is_found_first(message, text, code):
    """Of 1369 ways, 990 found it first before the search fell back to words, and 1354 do now."""
    if IS_OLD and message.id in LATER:
        pytest.skip("this torch does not say it")
    (error,) = printed_by_torch(code)
    first = [find(text).found[0] for text in retyped(str(error))]
    others = sum(getattr(found, "id", "") != message.id for found in first)
    assert others <= LESS_CLEAR.get(message.id, 0)


REPAIRED = [message for message in all_messages() if message.repaired]


@pytest.mark.parametrize("message", REPAIRED, ids=lambda message: message.id)
def test_the_repaired_example_shows_something_and_torch_says_nothing(message):
    assert output_of(message.repaired)


@pytest.mark.parametrize(
    "question", [each for each in all_questions() if each.example], ids=lambda each: each.id
)
def test_the_example_of_a_question_shows_something(question):
    assert output_of(question.example)


CAUSES = [(entry, cause) for entry in ENTRIES for cause in entry.causes if cause.helps]


@pytest.mark.parametrize("entry, cause", CAUSES, ids=[f"{e.id}: {c.what[:30]}" for e, c in CAUSES])
def test_the_code_of_a_cause_shows_it_and_that_it_is_repaired(entry, cause):
    broken, repaired = output_and_errors_of(cause.broken), output_of(cause.repaired)
    assert bool(broken) == bool(cause.broken) == bool(repaired) and (
        broken != repaired or not broken
    )
    if broken and isinstance(entry, Message):
        assert known_message(broken) is entry, broken
    assert any(cause.is_told_by(text) for text in (cause.what, cause.helps, cause.broken))


def test_a_step_that_a_bfloat16_loses_is_as_small_as_is_said():
    """A cause of weights that do not move: below 0.2 % all are lost, above some are not."""
    weights = torch.linspace(1, 2, 129)[:-1].bfloat16().float()
    moved = [(weights * (1 + step)).bfloat16() != weights for step in (-0.0019, 0.0019, 0.0021)]
    assert [bool(each.any()) for each in moved] == [False, False, True]


def test_each_cause_that_a_token_tells_belongs_to_an_entry():
    known = {entry.id for entry in ENTRIES}
    assert [id for id in read_toml("messages/causes.toml") if id not in known] == []


def test_each_message_with_an_example_has_a_repaired_one():
    lacking = [m.id for m in all_messages() if bool(m.examples) != bool(m.repaired)]
    assert lacking == [], "they need `repaired`: the example without the mistake, which prints"


def test_a_message_that_is_not_known_is_called_so():
    assert known_message("mine") is None
    assert remedy_for("mine") == ""
    found = explain_error(ValueError("mine"))
    assert (found.cause, found.fix) == ("unknown-error", "")


def test_the_error_that_stopped_the_program_comes_first():
    last, first = (known_message(line.partition(": ")[2]) for line in reversed(TWO.split("\n\n")))
    assert first and last and first is not last
    assert messages_in(TWO) == [last, first]
    assert messages_in(TWO.replace("\n\n", "\n\nx.y.Failure: mine\n\n")) == [last, first]


VARIANTS = {  # other wordings of the same, some of which only a GPU prints, and their message
    "element 3 of tensors does not require grad and does not have a grad_fn": "not-connected",
    "Mismatch in shape: grad_output[1] has a shape of torch.Size([2])": "wrong-vector-shape",
    "a view of a leaf Variable that requires grad is being used": "leaf-in-place",
    "`nn.init.normal` is now deprecated in favor of `nn.init.normal_`": "renamed-initializer",
    "Jacobian mismatch for output 1 with respect to input 2,": "gradcheck-mismatch",
    "Net.forward() takes 3 positional arguments but 2 were given": "forward-arguments",
    "cannot assign 'torch.DoubleTensor' as parameter": "assigned-parameter",
    "index_copy_(): self and source expected to have the same dtype": "dtype",
    "NYI - User defind jvp": "compiled-jvp",
    "Could not guard on data-dependent expression": "no-single-number",
    "the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not "
    "supported for CuDNN RNNs due to limitations in the CuDNN API.": "no-double-backward-of-rnn",
    "derivative for aten::_cudnn_rnn_backward is not implemented": "no-double-backward-of-rnn",
    "derivative for _thnn_fused_lstm_cell_backward is not implemented": "no-double-backward",
    "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are "
    "scattered to the same position in self": "no-double-backward",
    "grid_sampler_3d double backward not implemented for interpolation": "no-double-backward",
}


def test_variants_of_a_message_are_known():
    assert {printed: known_message(printed).id for printed in VARIANTS} == VARIANTS


RETURNED = {  # by a backward, and the message that explains it
    "grad_output[:1]": "gradient-shape",
    "grad_output.sum(0).expand(3)": "gradient-shape",
    "grad_output.to('meta')": "gradient-device",
    "grad_output.expand(2, 2).to_sparse_csr()": "gradient-layout",
    "grad_output * 1j": "complex-gradient",
    "3.0": "gradient-not-a-tensor",
    "grad_output.numpy()": "gradient-not-a-tensor",
    "[grad_output]": "gradient-not-a-tensor",
    "(grad_output, grad_output)": "gradient-count/one",
}


@pytest.mark.parametrize("returned", RETURNED)
def test_each_wrong_return_of_a_backward_has_its_own_explanation(returned):
    code = f"""
    class Double(Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, grad_output: {returned})
    Double.apply(x.expand(2, 2) if "csr" in {returned!r} else x).sum().backward()
    """
    (error,) = printed_by_torch(code)
    assert explain_error(error).rule == RETURNED[returned], error


ASKED_TWICE = {
    "attention": "nn.functional.scaled_dot_product_attention(v, v, v)",
    "cdist": "torch.cdist(v[0, 0], torch.ones(2, 2))",
    "pdist": "nn.functional.pdist(v[0, 0])",
    "ctc_loss": "nn.functional.ctc_loss(v[0].log_softmax(-1).expand(2, 2, 2)[:, :1], "
    "torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))",
}


@pytest.mark.parametrize("name", ASKED_TWICE)
def test_a_missing_second_derivative_is_not_taken_for_a_missing_first_one(name):
    code = f"""
    v = torch.tensor([[[[0.0, 1.0], [2.0, 4.0]]]], requires_grad=True)
    (slope,) = torch.autograd.grad(({ASKED_TWICE[name]}).sum(), v, create_graph=True)
    (slope**2).sum().backward()
    """
    errors = printed_by_torch(code)  # a later torch may have this derivative
    assert [explain_error(error).cause for error in errors] == ["no-double-backward"] * len(errors)
    assert all("//" not in explain_error(error).fix for error in errors)


NOT_OF_TORCH = {"13_calling_a_function": {"wrong-name"}}  # the name of a page's own class


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
