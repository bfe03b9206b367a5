"""The search: what it finds for questions, slips, parts of messages and whole tracebacks."""

import pytest
from pasted_texts import TYPED, UNKNOWN, pasted

from autograd_surprises.messages import queries
from autograd_surprises.messages.entries import Section
from autograd_surprises.messages.queries import MOST, find
from autograd_surprises.messages.words import stem, terms


def found_ids(text):
    """Ids of entries and addresses of sections."""
    return [each.address if isinstance(each, Section) else each.id for each in find(text).found]


FOUND_FIRST = {
    "Why is my gradient None?": "grad-is-none",
    "gradients are zero": "gradient-is-zero",
    "why do I get NaN in the gradient": "gradient-is-nan",
    "how can I print the gradient of a hidden layer": "inner-gradient",
    "what does retain_graph do": "retain-graph",
    "zero_grad": "gradient-grows",
    "my Function in torch.compile": "function-under-transforms",
    "x.cuda() has no gradient": "grad-is-none",
    "in-place operation": "leaf-in-place",
    "GRADIENTS incorrect": "gradient-count/one",
    "my loss does not go down": "loss-does-not-fall",
    "the loss stays the same": "loss-does-not-fall",
    "parameters not updating": "weight-never-moves",
    "difference between Parameter and Variable": "kinds-of-tensors",
    "RuntimeError: element 0 of t": "not-connected",  # being typed
    "KeyError: 'lr'\n\nRuntimeError: element 0 of t": "not-connected",
}


def test_a_question_is_found_by_its_words():
    assert {text: found_ids(text)[0] for text in FOUND_FIRST} == FOUND_FIRST


def test_a_part_of_several_messages_finds_them_all():
    assert set(found_ids("does not require grad")) >= {"not-connected", "not-differentiable-input"}
    counts = found_ids("returned an incorrect number of gradients")
    assert counts == ["gradient-count/one", "gradient-count/several"]
    for text in ("does not require grad", "an in-place operation"):
        assert all(text in entry.searched for entry in find(text).found)


def test_nothing_is_found_where_nothing_is_known():
    for how, text in UNKNOWN.items():
        assert find(text).is_guess or not find(text).found, how


def test_not_too_many_are_found_by_words():
    for text in TYPED:
        answer = find(text)
        assert len(answer.entries) <= MOST and len(answer.sections) <= MOST, text


def test_a_pasted_message_finds_its_entry_alone():
    said = "Jacobian mismatch for output 0 with respect to input 1,"
    for how, text in pasted(RuntimeError(said)).items():
        assert found_ids(text) == ["gradcheck-mismatch"], how


SLIPS = {
    "retian_graph": "retain_graph",
    "detatch": "detach",
    "requries_grad": "requires_grad",
    "jacobain": "jacobian",
    "nans in the gradient": "nan in the gradient",
    "quantisation": "quantization",
    "clipping gradients": "clip gradient",
    "BatchNorm": "batch norm",
    "backwards hook": "backward hooks",
}


@pytest.mark.parametrize("slip", SLIPS)
def test_another_spelling_finds_the_same(slip):
    assert found_ids(slip)[0] == found_ids(SLIPS[slip])[0]


UNKNOWN_ERRORS = (  # each with words of the catalogue
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)",
    "ModuleNotFoundError: No module named 'torchvision'",
    "ZeroDivisionError: float division by zero",
    "RuntimeError: the tensor bakes bread for the gradient of the oven",
    "TypeError: 'int' object is not callable",
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4)",
    "RuntimeError: gradient tensor float",
)


def test_what_nobody_wrote_about_is_a_guess_and_its_words_are_named():
    for text in ("how to install cuda", "accuracy is low", "dataloader worker killed"):
        assert find(text).is_guess and "guess" in find(text).verdict, text
    bread = find("how do I bake some bread?")
    assert bread.is_guess and "bake" in bread.unknown and "bake" in bread.verdict
    assert find("0").verdict == queries.NOTHING_FOUND
    for text in (*UNKNOWN_ERRORS, "KeyError: 'epoch'"):
        assert find(text).is_guess and find(text).verdict == queries.UNKNOWN_ERROR, text


def test_a_whole_message_comes_before_half_of_another():
    whole = "element 0 of tensors does not require grad and does not have a grad_fn"
    half = "one of the variables needed for gradient computation has been modified"
    assert found_ids(f"{half}, and {whole}")[0] == "not-connected"


def test_endings_and_parts_of_names():
    assert terms("it doesn't learn") == terms("not learning")
    assert stem("zero_grad") == "zero_grad" and stem("losses") == "loss"
    for british, american in (
        ("behaviour", "behavior"),
        ("labelled", "labeled"),
        ("realise", "realize"),
    ):
        assert stem(british) == stem(american)
    assert terms("save_for_backward") == ["save_for_backward", "backward"]


@pytest.mark.slow
def test_what_is_stored_is_what_the_lessons_say():
    """`make notebooks` stores it."""
    from tools.lesson_texts import STORED, lesson_texts  # takes a while to import

    assert STORED.read_text(encoding="utf-8") == lesson_texts()
