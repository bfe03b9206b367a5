"""What cannot be examined is refused at once, in the user's words."""

import faulty
import pytest
import torch
from torch import nn

from autograd_surprises.report_card import report_card

x = torch.linspace(-2, 2, 9)


def raises(x):
    raise KeyError("scale")


def random(x):
    return x * torch.rand(x.shape)


square = torch.ones(40, 40)
BAD = {
    "no function": ((3, x), TypeError, "fn needs to be a function, got int: pass MyFunction.apply"),
    "the class": ((faulty.Square, x), TypeError, "fn is the class Square: pass Square.apply"),
    "a layer": ((nn.Linear(9, 2), x), TypeError, "fn is a Linear with parameters of its own"),
    "no inputs": ((torch.relu,), TypeError, "to differentiate, got no inputs: pass an example"),
    "a number": ((torch.relu, 0.5), TypeError, "got float: pass an example, such as torch.lin"),
    "integers": ((torch.relu, torch.tensor([1])), TypeError, "got torch.int64: pass an example"),
    "empty": ((torch.relu, torch.ones(0)), ValueError, "input 0 needs finite numbers, at least"),
    "infinity": ((torch.add, x, x / 0), ValueError, "input 1 needs finite numbers"),
    "an error": ((raises, x), ValueError, r"fn\(\*inputs\) needs to run .* raised KeyError: 'sc"),
    "a tuple": ((lambda x: (x, x), x), TypeError, "fn needs to return one tensor, got a tuple of"),
    "None": ((lambda x: None, x), TypeError, "fn needs to return a tensor, got NoneType"),
    "a comparison": ((lambda x: x > 0, x), TypeError, "point tensor, got torch.bool: only real"),
    "complex": ((torch.abs, torch.ones(2) * 1j), TypeError, "got torch.complex64: pass an exa"),
    "to complex": ((torch.fft.rfft, x), TypeError, "got torch.complex64: only real numbers"),
    "random": ((random, x), ValueError, "the same for the same inputs, but two calls differ"),
    "too large": ((torch.matmul, square, square), ValueError, "at most, got 4800: pass a slice"),
    "no like": ((torch.relu, x), TypeError, "like needs to be a function, got int", 3),
    "another shape": ((torch.relu, x), ValueError, r"the shape of fn, \(9,\), got \(\)", torch.sum),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_function_or_example_is_refused(name):
    given, error, message, *like = BAD[name]
    with pytest.raises(error, match=message):
        report_card(*given, **({"like": like[0]} if like else {}))


def test_only_tensors_that_require_a_gradient_are_differentiated():
    def needs_the_mask_as_it_is(x, mask):
        assert not mask.requires_grad
        return x * mask

    mask = torch.linspace(0, 1, 9)
    assert report_card(needs_the_mask_as_it_is, x.clone().requires_grad_(), mask).passed
    with pytest.raises(ValueError, match="AssertionError"):
        report_card(needs_the_mask_as_it_is, x, mask)


def test_an_input_that_does_not_change_the_value_needs_no_gradient():
    given = torch.ones(9), x.clone().requires_grad_(), (x + 1).requires_grad_()
    row = report_card(lambda mask, x, unused: x * mask, *given)["one gradient per input"]
    assert row.status == "works"
    assert row.message == "none for input 2, which does not change the value"


def test_the_example_and_the_other_inputs_are_left_alone():
    def writes(x, scale, tensor):
        y = x.clone() * scale * tensor
        tensor.zero_()
        return y

    example, tensor = x.clone().requires_grad_(), torch.ones(9)
    report_card(writes, example, 2.0, tensor)
    assert torch.equal(example, x) and example.grad is None
    assert torch.equal(tensor, torch.ones(9))


def test_a_layer_without_parameters_is_a_function():
    assert report_card(nn.Softplus(), x).name == "Softplus"


@pytest.mark.parametrize(
    "function, name",
    [(torch.relu, "relu"), (faulty.Square.apply, "Square.apply"), (lambda x: x, "the function")],
)
def test_the_card_is_about_a_name(function, name):
    assert report_card(function, x).summary.startswith(f"report card of {name}: 2")
