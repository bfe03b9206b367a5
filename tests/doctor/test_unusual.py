"""What is rare, and must neither break explain() and trace() nor leave anything behind."""

import warnings
from collections import OrderedDict

import pytest
import torch
import torch.nn.functional as F
from test_left_behind import Angry
from torch import nn
from training import leaf, switches

from autograd_surprises.doctor import explain, explain_error, trace
from autograd_surprises.doctor.trained import trained_by

ZEROS_AND_FOURS = torch.tensor([0.0, 4.0])


# ---- Tensors of other kinds


class LogSoftmax(torch.autograd.Function):
    """With a name of torch."""

    @staticmethod
    def forward(ctx, label, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * 2


def masked_categorical(x):
    scores = x.masked_fill(torch.eye(3, dtype=torch.bool), -torch.inf)
    choice = torch.distributions.Categorical(logits=scores, validate_args=False)
    return choice.log_prob(torch.tensor([1, 2, 0])).mean() - choice.entropy().mean()


def replaced(x):
    """The loss has the value of the hard one."""
    soft, hard = x.sigmoid().sum(), (x > 0.5).float().sum()
    return hard + soft - soft.detach()


def sparse_beside_an_old_one(x):
    F.embedding(torch.tensor([1, 2]), x, sparse=True).sum().backward()
    return F.embedding(torch.tensor([1, 2]), x, sparse=True).sum()


def times_a_sparse(layout):
    return lambda x: (torch.eye(2).to_sparse(layout=layout) @ x).sqrt().sum()


KINDS = {  # x, a loss of it, and the status
    "sparse gradients": (torch.ones(5, 3), sparse_beside_an_old_one, "ok"),
    "sparse factor": (torch.zeros(2, 2), times_a_sparse(torch.sparse_coo), "inf"),
    "sparse rows": (torch.zeros(2, 2), times_a_sparse(torch.sparse_csr), "inf"),
    "complex": (torch.tensor([1 + 2j, 0j]), lambda z: (z * z.conj()).real.sum(), "partial"),
    "half": (torch.ones(2, dtype=torch.float16), lambda x: (x * x).sum(), "ok"),
    "bfloat16": (torch.ones(2, dtype=torch.bfloat16), lambda x: (x * x).sum(), "ok"),
    "double": (torch.ones(2, dtype=torch.float64), lambda x: (x * x).sum(), "ok"),
    "empty": (torch.zeros(0), lambda x: x.sum() + leaf(1.0).sum(), "ok"),
    "a name of torch": (torch.ones(1), lambda x: LogSoftmax.apply("label", x).sum(), "ok"),
    "masked categorical": (torch.rand(3, 3), masked_categorical, "partial"),
    "replaced value": (torch.tensor([0.2, 0.7]), replaced, "ok"),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_a_gradient_of_an_unusual_kind_is_judged(kind, traced):
    values, loss_of, status = KINDS[kind]
    x = values.clone().requires_grad_()
    with trace() as t:
        loss = loss_of(x)
    report = (t.explain if traced else explain)(loss, {"x": x})
    assert report["x"].status == status and report.healthy == (status != "inf")


def test_a_lazy_parameter_and_a_meta_tensor_are_refused_in_words():
    x = leaf(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lazy modules are new and may change
        lazy = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="run the model once"):
        explain(x.sum(), lazy)
    with pytest.raises(ValueError, match="no numbers"):
        explain(torch.ones(2, device="meta", requires_grad=True).sum())


def test_inside_of_torch_func_it_says_so():
    with pytest.raises(ValueError, match="torch.func"):
        torch.func.grad(lambda x: explain((x**2).sum()) and x.sum())(torch.ones(2))


def test_tensors_of_one_name_are_kept_apart():
    x, y = leaf(1.0), leaf(2.0)
    report = explain((x * y).sum(), [("a", x), ("a", y)])
    assert [finding.name for finding in report.findings] == ["a", "a (2)"]


def test_anomaly_detection_does_not_get_in_the_way():
    x = ZEROS_AND_FOURS.clone().requires_grad_()
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        assert explain(x.sqrt().sum(), {"x": x})["x"].cause == "infinite-derivative"


@pytest.mark.parametrize("times, status", [(1, "ok"), (2, "wrong"), (100, "wrong"), (101, "ok")])
def test_an_old_gradient_is_wrong_if_it_is_this_one_several_times(times, status):
    x = leaf(1.0, 2.0)
    x.grad = times * torch.tensor([2.0, 4.0])
    assert explain((x**2).sum(), {"x": x})["x"].status == status


# ---- Retained gradients: backward adds to them, explain must not


def part(h):
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].kept = h
    return model


KEPT = {  # how a result is kept, and found again
    "part": (part, lambda kept: kept[0].kept),
    "list": (lambda h: [None, h], lambda kept: kept[1]),
    "dict": (lambda h: {"name": "h", "tensor": h}, lambda kept: kept["tensor"]),
    "deep": (lambda h: {"deep": {"deeper": [h]}}, lambda kept: kept["deep"]["deeper"][0]),
    "closure": (lambda h: lambda: h, lambda kept: kept()),
    "set": (lambda h: {h}, lambda kept: next(iter(kept))),
}


@pytest.mark.parametrize("put, get", KEPT.values(), ids=KEPT)
def test_a_result_kept_in_a_container(put, get):
    x = leaf(1.0, 2.0)
    h = x * 2
    h.retain_grad()
    kept, loss = put(h), h.sum()
    del h
    explain(loss, {"x": x})
    loss.backward()
    assert get(kept).grad.tolist() == [1.0, 1.0]


class Locked(OrderedDict):
    """As transformers' ModelOutput."""

    def update(self, *args, **kwargs):
        raise TypeError("use something else")


def test_a_container_that_refuses_changes_is_left_alone():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    layer.latest = Locked(logits=torch.ones(1))
    assert explain(layer(leaf(1.0, 2.0)).sum(), layer).healthy
    assert list(layer.latest) == ["logits"]


class Equal(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.size = torch.ones(1), 3

    def __hash__(self):
        return hash(self.size)


def test_a_module_that_cannot_be_hashed_yet():
    with trace():
        Equal()


# ---- trace()


def test_traces_may_overlap_and_end_in_any_order_but_not_begin_twice():
    before, first, second = switches(), trace(), trace()
    first.__enter__()
    second.__enter__()
    with pytest.raises(RuntimeError, match="recording already"):
        first.__enter__()
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)
    assert switches() == before


def test_a_second_use_forgets_the_first_error_and_one_that_is_not_autograds_has_no_note():
    t = trace()
    with pytest.raises(RuntimeError), t:
        torch.ones(2).sum().backward()
    assert t.error.cause == "not-connected"
    with pytest.raises(ValueError) as caught, t:
        raise ValueError("mine")
    assert t.error.cause == "unknown-error"
    assert not getattr(caught.value, "__notes__", [])
    with t:
        pass
    assert t.error is None


def test_transforms_inside_a_trace():
    x = torch.ones(3)
    with trace():
        jacobian = torch.func.jacrev(lambda v: v.exp() / v)(x)
        gradients = torch.func.vmap(torch.func.grad(lambda v: v.log()))(x)
    assert jacobian.shape == (3, 3) and gradients.tolist() == [1.0, 1.0, 1.0]


def test_a_switch_inside_a_switch_is_undone_with_it():
    weight, bias = leaf(1.0), leaf(0.0)
    with trace() as t:
        with torch.no_grad():  # this one
            with torch.no_grad():
                weight * 3
            h = weight * 2
        loss = (h + bias).sum()
    switched = dict(t.explain(loss, {"w": weight})["w"].places)["recording was switched off at"]
    assert switched.source == "with torch.no_grad():  # this one"


def test_a_tensor_that_is_written_after_its_use_is_still_known():
    weight, bias = leaf(1.0), leaf(0.0)
    with trace() as t:
        h = (weight * 2).detach()
        with torch.no_grad():
            weight.add_(1.0)
        loss = (h + bias).sum()
    assert t.explain(loss, {"w": weight})["w"].cause == "detach"


def test_a_decorator_is_named():
    @torch.no_grad()
    def helper(x):
        return x * 2

    weight, bias = leaf(1.0), leaf(0.0)
    with trace() as t:
        loss = (helper(weight) + bias).sum()
    found = t.explain(loss, {"w": weight})["w"]
    assert found.where.source == "@torch.no_grad()"
    assert "loss = (helper(weight) + bias).sum()" in [place.source for _, place in found.places]


def test_a_loss_that_adds_up_normalised_values_is_named_by_its_own_line():
    layer = nn.TransformerEncoderLayer(12, 2, 24, 0.0, F.gelu, batch_first=True)
    with trace() as t:
        hidden = layer(torch.randn(4, 5, 12))
        loss = hidden.mean()
    found = t.explain(loss, layer)["linear1.weight"]
    assert (found.cause, found.where.source) == ("normalised", "loss = hidden.mean()")


class Adapted(nn.Module):
    """A layer with a low-rank part beside it."""

    def __init__(self):
        super().__init__()
        self.base, self.down, self.up = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(2, 4)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def with_adapters(freeze, held=("down", "up")):
    model = nn.Sequential(Adapted(), nn.Linear(4, 1))
    with trace() as t:
        freeze(model[0])
        adapters = [p for name in held for p in getattr(model[0], name).parameters()]
        optimizer = torch.optim.SGD([*adapters, *model[1].parameters()], lr=0.1)
        loss = model(torch.ones(3, 4)).square().sum()
    return t.explain(loss, model, optimizer=optimizer)


def frozen_altogether(adapted):
    adapted.requires_grad_(False)


def test_adapters_that_were_frozen_with_what_they_adapt_are_no_choice():
    found = with_adapters(frozen_altogether)
    assert found["0.down.weight"].alarming and not found["0.base.weight"].alarming
    assert "requires_grad_(False)" in found["0.down.weight"].where.source
    assert with_adapters(lambda adapted: adapted.base.requires_grad_(False)).healthy
    assert with_adapters(frozen_altogether, held=("base", "down", "up")).healthy


def test_a_complex_loss_is_told_apart_from_a_vector():
    z = torch.tensor(1 + 2j, requires_grad=True)
    try:
        (z * 2).backward()
    except RuntimeError as error:
        assert "complex" in explain_error(error).sentence


def test_a_switch_at_the_top_of_a_script():
    script = (
        "w = torch.ones(2, requires_grad=True)\n"
        "with trace() as t:\n    with torch.no_grad():\n        h = w * 2\n"
        "    loss = (h + torch.zeros(1, requires_grad=True)).sum()\n"
    )
    names = {"torch": torch, "trace": trace}
    exec(compile(script, "/home/me/script.py", "exec"), names)
    found = names["t"].explain(names["loss"], names["w"]).findings[0]
    switched = dict(found.places)["recording was switched off at"]
    assert (found.cause, switched.file, switched.line) == ("no-grad", "/home/me/script.py", 3)


def test_the_step_that_failed_is_named_among_several_that_wait():
    x = leaf(1.0)
    loss = (x * 3).exp().sum() + Angry.apply(x * 2).sum()
    found = explain(loss, {"x": x}).findings[0]
    assert found.node == "raised in AngryBackward" and "explain() first" not in str(found)


def test_a_leaf_made_of_a_tensors_numbers_leads_back_to_it():
    weight = leaf(1.0, 2.0)
    with trace() as t:
        stacked = torch.stack([weight, weight]).detach().requires_grad_()
        loss = torch.func.vmap(lambda row: row.sum())(stacked).sum()
    found = t.explain(loss, {"w": weight})["w"]
    assert (found.cause, found.where.source) == (
        "detach",
        "stacked = torch.stack([weight, weight]).detach().requires_grad_()",
    )


def test_modules_without_a_name_are_numbered_as_their_parameters_come():
    """And not as they were made, or as a garbage collection has ordered them."""
    parts = [nn.Linear(2, 2) for _ in range(2)]
    first, second = parts[1].weight, parts[0].weight
    model = trained_by([first, second]).model
    names = {id(p): name for name, p in model.named_parameters()}
    assert (names[id(first)], names[id(second)]) == ("Linear.weight", "Linear_2.weight")
