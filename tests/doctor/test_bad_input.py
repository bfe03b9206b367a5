"""What cannot be explained is said in the user's words: what was given, and what to do."""

import pytest
import torch
from torch import nn

from autograd_surprises.doctor import explain, explain_error, trace


@pytest.fixture
def weight():
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def refused(error, *words, explain=explain, **arguments):
    """explain() raises this kind of error, and each of the words is in its message."""
    with pytest.raises(error) as caught:
        explain(**arguments)
    for word in words:
        assert word in str(caught.value)


# ---- The loss


@pytest.mark.parametrize(
    "loss, given",
    [
        (14.0, "float"),
        ("loss", "str"),
        (None, "None"),
        ([torch.ones(())], "list"),
        ({"loss": torch.ones(())}, "dict"),
        (nn.MSELoss(), "MSELoss"),
    ],
)
def test_the_loss_is_a_tensor(loss, given, weight):
    refused(TypeError, "loss", "tensor", given, loss=loss, wrt=weight)


def test_a_forgotten_item_is_named(weight):
    refused(TypeError, "float", "item()", loss=(weight**2).sum().item(), wrt=weight)


def test_a_list_of_losses_is_to_be_added(weight):
    refused(TypeError, "list", "sum", loss=[weight.sum(), (weight**2).sum()], wrt=weight)


def test_a_vector_is_a_finding(weight):
    report = explain(weight**2, weight)
    assert not report.healthy
    finding = report["loss"]
    assert (finding.cause, finding.status) == ("vector-loss", "error")
    assert "(3,)" in str(finding)
    assert "sum()" in finding.fix and "grad_outputs" in finding.fix


def test_a_vector_with_its_vector_is_healthy(weight):
    assert explain(weight**2, weight, grad_outputs=torch.tensor([1.0, 2.0, 3.0])).healthy


def test_one_element_is_as_good_as_a_scalar(weight):
    assert explain((weight**2).sum()[None], weight).healthy


def test_an_empty_loss_is_a_finding(weight):
    assert not explain(weight[:0] ** 2, weight).healthy


def test_a_loss_without_history_is_a_finding(weight):
    report = explain((weight.detach() ** 2).sum(), weight)
    assert not report.healthy
    assert (report["loss"].cause, report["loss"].status) == ("no-history", "error")


def test_a_loss_without_history_needs_no_wrt():
    assert explain(torch.tensor(2.0))["loss"].cause == "no-history"


def test_a_loss_that_is_a_leaf_is_a_finding(weight):
    loss = (weight.detach() ** 2).sum().requires_grad_()
    assert explain(loss, weight)["loss"].cause == "loss-is-leaf"


def test_an_integer_loss_is_a_finding(weight):
    assert explain((weight > 1).sum(), weight)["loss"].cause == "no-history"


# ---- grad_outputs


@pytest.mark.parametrize("shape", [(), (2,), (1, 3), (3, 1)])
def test_grad_outputs_has_the_shape_of_the_loss(shape, weight):
    arguments = {"loss": weight**2, "wrt": weight, "grad_outputs": torch.ones(shape)}
    refused(ValueError, "grad_outputs", str(shape), "(3,)", **arguments)


@pytest.mark.parametrize("given, kind", [([1.0, 2.0, 3.0], "list"), (1.0, "float")])
def test_grad_outputs_is_a_tensor(given, kind, weight):
    arguments = {"loss": weight**2, "wrt": weight, "grad_outputs": given}
    refused(TypeError, "grad_outputs", "tensor", kind, **arguments)


# ---- wrt


@pytest.mark.parametrize(
    "wrt, given",
    [("weight", "str"), (1, "int"), (nn.Linear, "type")],
)
def test_wrt_holds_tensors(wrt, given, weight):
    refused(TypeError, "wrt", given, "tensor", loss=(weight**2).sum(), wrt=wrt)


@pytest.mark.parametrize("wrt", [[], (), {}, nn.ReLU()], ids=["list", "tuple", "dict", "module"])
def test_wrt_is_not_empty(wrt, weight):
    refused(ValueError, "wrt", loss=(weight**2).sum(), wrt=wrt)


def test_the_place_of_a_stranger_in_a_list_is_named(weight):
    refused(TypeError, "1", "float", loss=(weight**2).sum(), wrt=[weight, 3.0])


def test_the_name_of_a_stranger_in_a_dict_is_named(weight):
    refused(TypeError, "'rate'", "float", loss=(weight**2).sum(), wrt={"w": weight, "rate": 3.0})


def test_none_in_a_list_is_a_stranger(weight):
    refused(TypeError, "None", loss=(weight**2).sum(), wrt=[None, weight])


def test_wrt_takes_what_parameters_returns():
    model = nn.Linear(2, 1)
    loss = model(torch.ones(1, 2)).sum()
    assert len(explain(loss, model.parameters()).findings) == 2
    assert explain(loss, dict(model.named_parameters()))["weight"].status == "ok"


def test_a_single_tensor_and_a_tuple_will_do(weight):
    loss = (weight**2).sum()
    assert explain(loss, weight).healthy
    assert explain(loss, (weight,)).healthy


def test_without_wrt_every_leaf_of_the_graph_is_looked_at(weight):
    bias = torch.zeros(1, requires_grad=True)
    assert len(explain((weight**2 + bias).sum()).findings) == 2


# ---- The rest


@pytest.mark.parametrize("model, given", [("net", "str"), (nn.Linear, "type")])
def test_the_model_is_a_module(model, given, weight):
    refused(TypeError, "model", "Module", given, loss=(weight**2).sum(), wrt=weight, model=model)


def test_the_optimizer_is_an_optimizer(weight):
    arguments = {"loss": (weight**2).sum(), "wrt": weight, "optimizer": [weight]}
    refused(TypeError, "optimizer", "list", **arguments)


def test_it_works_where_recording_is_off(weight):
    loss = (weight**2).sum()
    with torch.no_grad():
        assert explain(loss, weight).healthy
    with torch.inference_mode():
        assert explain(loss, weight).healthy


def test_the_graph_can_be_used_after_all_refusals(weight):
    loss = (weight**2).sum()
    refused(TypeError, loss=loss, wrt="weight")
    refused(ValueError, loss=loss, wrt=weight, grad_outputs=torch.ones(3))
    assert weight.grad is None
    loss.backward()
    assert weight.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_trace_refuses_the_same(weight):
    with trace() as recording:
        loss = (weight**2).sum()
    refused(TypeError, "wrt", "str", explain=recording.explain, loss=loss, wrt="weight")
    refused(TypeError, "float", "item()", explain=recording.explain, loss=14.0, wrt=weight)


def test_an_unknown_name_is_answered_with_the_known_ones(weight):
    report = explain((weight**2).sum(), {"weight": weight})
    with pytest.raises(KeyError, match="weight"):
        report["bias"]


@pytest.mark.parametrize("given", ["RuntimeError", None, RuntimeError])
def test_explain_error_takes_an_exception(given):
    with pytest.raises(TypeError, match="exception"):
        explain_error(given)
