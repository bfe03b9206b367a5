"""Each operation of the table that is a staircase, or has an edge of its domain, is told as one."""

import pytest
import torch
from training import leaf

from autograd_surprises.doctor import explain
from autograd_surprises.facts.operations import KINDS

STAIRCASES = {
    "Round": torch.round,
    "Floor": torch.floor,
    "Ceil": torch.ceil,
    "Trunc": torch.trunc,
    "Sign": torch.sign,
    "Sgn": torch.sgn,
    "Bernoulli": torch.bernoulli,
}
BEYOND = "its input is at or beyond the edge of its domain"
AT_0 = "or where it has none and PyTorch uses 0"
EDGES = {  # a function, where its derivative is not finite, and what is said but for its own words
    "Pow": (lambda x: x**0.5, 0.0),
    "Sqrt": (torch.sqrt, 0.0),
    "Rsqrt": (torch.rsqrt, 0.0, BEYOND),
    "Log": (torch.log, 0.0),
    "Log2": (torch.log2, 0.0),
    "Log10": (torch.log10, 0.0),
    "Log1P": (torch.log1p, -1.0),
    "Logit": (torch.logit, 0.0),
    "Erfinv": (torch.erfinv, 1.0),
    "Acos": (torch.acos, 1.0),
    "Asin": (torch.asin, 1.0),
    "Acosh": (torch.acosh, 1.0),
    "Atanh": (torch.atanh, 1.0),
    "Atan2": (lambda x: torch.atan2(x, x), 0.0, AT_0),
    "Std": (torch.std, 1.0, "of a single element is 0/0"),
    "StdMean": (lambda x: torch.std_mean(x)[0], 1.0, "of a single element is 0/0"),
    "Var": (torch.var, 1.0),
    "VarMean": (lambda x: torch.var_mean(x)[0], 1.0),
    "LinalgVectorNorm": (lambda x: torch.linalg.vector_norm(x), 0.0, AT_0),
    "LinalgSvd": (lambda x: torch.linalg.svd(x * torch.eye(2))[0], 1.0),
    "LinalgEigh": (lambda x: torch.linalg.eigh(x * torch.eye(2))[1] * torch.arange(2), 1.0),
    "LinalgInvEx": (
        lambda x: torch.linalg.inv_ex(x * torch.eye(2))[0],
        0.0,
        "computed with inf or NaN",
    ),
    "LinalgSlogdet": (lambda x: torch.logdet(x * torch.eye(2)), 0.0),
    "SpecialEntr": (torch.special.entr, 0.0),
    "Xlogy": (lambda x: torch.xlogy(torch.ones(1), x), 0.0),
    "SpecialXlog1Py": (lambda x: torch.special.xlog1py(torch.ones(1), x), -1.0),
    "Lgamma": (torch.lgamma, 0.0),
    "Digamma": (torch.digamma, 0.0),
}


def test_each_row_of_the_table_has_one_here():
    assert set(STAIRCASES) == {kind for kind, traits in KINDS.items() if traits.staircase}
    # no float is a pole of tan, det has a derivative where it is 0, and today's norm is another
    others = {"Tan", "LinalgDet", "Norm"}
    assert set(EDGES) | others == {kind for kind, traits in KINDS.items() if traits.edge}


@pytest.mark.parametrize("kind", STAIRCASES)
def test_a_staircase_is_told(kind):
    x = leaf(0.3, 0.7)
    found = explain(STAIRCASES[kind](x).sum(), {"x": x})["x"]
    assert (found.status, found.rule) == ("zero", "staircase")


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
@pytest.mark.parametrize("kind", EDGES)
def test_an_edge_is_told_in_its_own_words(kind):
    function, at, *says = EDGES[kind]
    x = leaf(at)
    y = function(x)
    assert kind in y.grad_fn.name() + "".join(str(n) for n, _ in y.grad_fn.next_functions)
    found = explain(y.sum(), {"x": x})["x"]
    assert (says or [KINDS[kind].edge])[0] in found.sentence
