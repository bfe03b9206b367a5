"""What cannot be explained is said in the user's words: what was given, and what to do."""

import pytest
import torch
from torch import nn

from autograd_surprises.doctor import explain, explain_error, trace


@pytest.fixture
def weight():
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


REFUSED = [  # (error, words of its message, arguments that take the place of right ones)
    (TypeError, ["loss", "tensor", "float", "item()"], {"loss": 14.0}),
    (TypeError, ["loss", "tensor", "str"], {"loss": "loss"}),
    (TypeError, ["loss", "tensor", "None"], {"loss": None}),
    (TypeError, ["loss", "tensor", "list", "sum"], {"loss": [torch.ones(())]}),
    (TypeError, ["loss", "tensor", "dict"], {"loss": {"loss": torch.ones(())}}),
    (TypeError, ["loss", "tensor", "MSELoss"], {"loss": nn.MSELoss()}),
    (TypeError, ["Linear", "explain(loss, model)"], {"loss": nn.Linear(2, 1)}),
    *(
        (ValueError, ["grad_outputs", str(shape), "()"], {"grad_outputs": torch.ones(shape)})
        for shape in [(3,), (1,), (1, 1)]
    ),
    (TypeError, ["grad_outputs", "tensor", "list"], {"grad_outputs": [1.0]}),
    (TypeError, ["grad_outputs", "tensor", "float"], {"grad_outputs": 1.0}),
    (TypeError, ["wrt", "str", "tensor"], {"wrt": "weight"}),
    (TypeError, ["wrt", "int", "tensor"], {"wrt": 1}),
    (TypeError, ["wrt", "type", "tensor"], {"wrt": nn.Linear}),
    *((ValueError, ["wrt"], {"wrt": empty}) for empty in ([], (), {}, nn.ReLU())),
    (TypeError, ["1", "float"], {"wrt": [torch.ones(1), 3.0]}),
    (TypeError, ["'rate'", "float"], {"wrt": {"w": torch.ones(1), "rate": 3.0}}),
    (TypeError, ["None"], {"wrt": [None, torch.ones(1)]}),
    (TypeError, ["model", "Module", "str"], {"model": "net"}),
    (TypeError, ["model", "Module", "type"], {"model": nn.Linear}),
    (TypeError, ["optimizer", "list"], {"optimizer": [torch.ones(1)]}),
]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("error, words, arguments", REFUSED)
def test_what_makes_no_sense_is_refused_in_words(error, words, arguments, traced, weight):
    with trace() as t:
        loss = (weight**2).sum()
    with pytest.raises(error) as caught:
        (t.explain if traced else explain)(**{"loss": loss, "wrt": weight} | arguments)
    for word in words:
        assert word in str(caught.value)
    assert weight.grad is None
    loss.backward()  # the graph is still there
    assert weight.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_vector_is_a_finding(weight):
    report = explain(weight**2, weight)
    assert not report.healthy
    finding = report["loss"]
    assert (finding.cause, finding.status) == ("vector-loss", "error")
    assert "(3,)" in str(finding)
    assert "sum()" in finding.fix and "grad_outputs" in finding.fix


ABOUT_THE_LOSS = {  # of the weight -> what is found, "" if it is healthy
    "empty": (lambda w: w[:0] ** 2, "vector-loss"),
    "detached": (lambda w: (w.detach() ** 2).sum(), "no-history"),
    "leaf": (lambda w: (w.detach() ** 2).sum().requires_grad_(), "loss-is-leaf"),
    "integer": (lambda w: (w > 1).sum(), "no-history"),
    "one element": (lambda w: (w**2).sum()[None], ""),
}


@pytest.mark.parametrize("name", ABOUT_THE_LOSS)
def test_a_loss_that_cannot_be_differentiated_is_a_finding(name, weight):
    make, cause = ABOUT_THE_LOSS[name]
    loss = make(weight)
    for wrt in (weight, (weight,)):
        report = explain(loss, wrt)
        assert report.healthy == (not cause)
        assert not cause or report["loss"].cause == cause
    assert name == "leaf" or explain(loss).healthy == (not cause)


def test_a_loss_whose_backward_has_run_says_that_explain_comes_first(weight):
    loss = (weight**2).sum()
    loss.backward()
    (found,) = [each for each in explain(loss, weight).findings if each.status == "error"]
    assert found.cause == "second-backward" and "explain() first" in found.also[-1]


def test_a_vector_with_its_vector_is_healthy(weight):
    assert explain(weight**2, weight, grad_outputs=torch.tensor([1.0, 2.0, 3.0])).healthy
    assert explain((weight - 2).sqrt(), weight, grad_outputs=torch.ones(3))["loss"].status == "nan"


def test_wrt_takes_what_parameters_returns():
    model = nn.Linear(2, 1)
    loss = model(torch.ones(1, 2)).sum()
    assert len(explain(loss, model.parameters()).findings) == 2
    assert explain(loss, dict(model.named_parameters()))["weight"].status == "ok"


def test_without_wrt_every_leaf_of_the_graph_is_looked_at(weight):
    bias = torch.zeros(1, requires_grad=True)
    assert len(explain((weight**2 + bias).sum()).findings) == 2
    report = explain((weight * torch.full((1,), torch.nan, requires_grad=True)).sum())
    assert report["loss"].sentence.startswith("leaf 1 of shape (1,) itself holds NaN")


def test_it_works_where_recording_is_off(weight):
    loss = (weight**2).sum()
    with torch.no_grad():
        assert explain(loss, weight).healthy
    with torch.inference_mode():
        assert explain(loss, weight).healthy


def test_an_unknown_name_is_answered_with_the_known_ones(weight):
    report = explain((weight**2).sum(), {"weight": weight})
    with pytest.raises(KeyError, match="weight"):
        report["bias"]


@pytest.mark.parametrize("given", ["RuntimeError", None, RuntimeError])
def test_explain_error_takes_an_exception(given):
    with pytest.raises(TypeError, match="exception"):
        explain_error(given)
