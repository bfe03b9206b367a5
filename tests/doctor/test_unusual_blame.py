"""Rare steps: which line is blamed, and which is not."""

import copy
import traceback

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from training import leaf

from autograd_surprises.backward.steps import size_of
from autograd_surprises.doctor import explain, explain_error, trace
from autograd_surprises.doctor.errors import OLD_GRAPH, ONE_GRAPH
from autograd_surprises.messages.pasted import messages_in


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad:UserWarning")
def test_of_several_cuts_the_one_that_can_be_avoided_is_blamed():
    scores = leaf(1.0, 3.0)
    with trace() as t:
        picked = scores.argmax()
        value = torch.tensor([scores.log_softmax(0)[picked] * 2.0])
        loss = (value * leaf(1.0)).sum()
    assert t.explain(loss, {"s": scores})["s"].cause == "copy"


def test_a_variable_that_does_not_let_itself_be_looked_into():
    class Shy:
        @property
        def __dict__(self):
            raise RuntimeError("not now")

    shy, x = Shy(), leaf(1.0)
    assert explain(x.sum(), x).findings[0].name == "x" and shy


def each_step_twice(w):
    for _ in range(2):
        loss = (w**2).sum()
        loss.backward()  # frees
    loss.backward()


def one_retained(w):
    loss = (w**2).sum()
    loss.backward(retain_graph=True)
    loss.backward()  # frees
    loss.backward()


def hidden_state(w):
    hidden = torch.zeros(2)
    while True:
        hidden = torch.tanh(w * hidden + 1)  # old
        hidden.sum().backward()  # frees


def other_graph_before(w):
    early = w.exp()
    (w**2).sum().backward()
    loss = (early * 2).sum()
    loss.backward()  # frees
    torch.autograd.grad(loss, w)


def old_result_in_no_later_graph(w):
    hidden = torch.tanh(w)  # old
    hidden.sum().backward()  # frees
    hidden.exp()
    (hidden * 2).sum().backward()  # old


@pytest.mark.parametrize(
    "steps, marks",
    [
        (each_step_twice, ["frees"]),
        (one_retained, ["frees"]),
        (hidden_state, ["old", "old", "frees"]),
        (other_graph_before, ["frees"]),
        (old_result_in_no_later_graph, ["old", "old", "frees"]),
    ],
)
def test_a_second_backward_names_the_first_one_of_that_graph(steps, marks):
    with pytest.raises(RuntimeError), trace() as t:
        steps(leaf(1.0, 2.0))
    assert t.error.cause == "second-backward"
    places = [where for label, where in t.error.places if label != "raised at"]
    assert [place.source.partition("  # ")[2] for place in places] == marks
    assert t.error.sentence == (OLD_GRAPH if len(marks) > 1 else ONE_GRAPH)


def test_what_freed_a_graph_before_the_trace_is_not_guessed():
    shared = leaf(1.0, 2.0) ** 2
    with pytest.raises(RuntimeError) as caught, trace() as t:
        shared.sum().backward()
        (shared * 2).sum().backward()
    (only,) = t.error.places
    assert only[0] == "raised at"
    assert t.error.sentence == explain_error(caught.value).sentence


def test_the_size_of_a_half_precision_gradient_is_measured():
    size = size_of(torch.full((2000,), 100.0, dtype=torch.float16))
    assert size.l1 == pytest.approx(200_000) and size.finite


@pytest.mark.parametrize("again", [False, True])
def test_an_input_that_is_used_twice_is_judged_by_both_uses_and_each_time_alike(again):
    x = leaf(0.2, 1.7)
    with trace() as t:
        dead = x.round().sum() + x.clamp(5, 6).sum()  # both
        alive = x.round().sum() + (2 * x).sum()
        cut = x.round().sum() + (2 * x).detach().sum()
    if again:
        for loss in (dead, alive, cut):
            t.explain(loss, {"x": x})
            loss.backward(retain_graph=True)
        x.grad = None
    found = t.explain(dead, {"x": x})["x"]
    assert (found.rule, found.where.source[-6:]) == ("outside-range", "# both")
    assert any("round" in said for said in found.also)
    assert t.explain(alive, {"x": x})["x"].status == "ok"
    assert t.explain(cut, {"x": x})["x"].rule == "staircase"


def test_of_several_writes_after_its_use_the_last_one_is_probably_to_blame():
    weight = leaf(1.0, 2.0)
    with trace() as t, pytest.raises(RuntimeError) as caught:
        with torch.no_grad():
            weight.add_(1.0)
        loss = (weight * leaf(1.0, 1.0)).sum()
        with torch.no_grad():
            weight.add_(1.0)
            weight.mul_(2.0)  # the last one
        loss.backward()
    (_, where), *_ = explain_error(caught.value, t).places
    assert where.source.endswith("# the last one")


@pytest.mark.parametrize("how", ["from", "during"])
def test_of_a_chain_of_errors_the_last_one_is_explained_also_when_its_text_is_pasted(how):
    def twice(first=None):
        try:
            loss = (leaf(1.0) ** 2).sum()
            loss.backward()
            loss.backward()  # again
        except RuntimeError as error:
            if first is None:
                raise
            raise error from first

    with pytest.raises(RuntimeError) as caught, trace() as t:
        try:
            torch.ones(2).sum().backward()
        except RuntimeError as first:
            twice(first if how == "from" else None)
    found = t.error
    assert (found.cause, explain_error(caught.value).cause) == ("second-backward",) * 2
    assert dict(found.places)["raised at"].source.endswith("# again")
    printed = "".join(traceback.format_exception(caught.value))
    assert [each.cause for each in messages_in(printed)] == ["second-backward", "not-connected"]


def test_a_backward_after_the_trace_is_explained_with_its_lines():
    x = leaf(0.5, 1.0)
    with trace() as t:
        y = torch.sigmoid(x)
        y += 1.0
        loss = y.sum()
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    assert explain_error(caught.value).cause == "overwritten"
    assert explain_error(caught.value, t).where.source == "y += 1.0"


@pytest.mark.parametrize("lose", [lambda x: F.dropout(x, 0.5), lambda x: torch.where(x > 0, x, 0)])
def test_of_a_part_nobody_says_that_all_of_it_is_lost(lose):
    torch.manual_seed(0)
    x = torch.randn(20, requires_grad=True)
    with trace() as t:
        loss = lose(x).sum()
    found = t.explain(loss, {"x": x})["x"]
    assert found.status == "partial" and found.cause in ("dropout", "other-branch")
    assert "every" not in found.sentence


ONLY_PASSED_ON = [
    torch.exp,
    torch.sqrt,
    torch.tan,
    lambda x: x.log_softmax(0),
    lambda x: x.softmax(0),
    lambda x: x * leaf(1.0, 2.0),
    lambda x: torch._weight_norm(x[:, None], leaf(1.0, 1.0)[:, None], 0),
]


@pytest.mark.parametrize("operation", ONLY_PASSED_ON)
def test_an_operation_that_may_only_pass_nan_on_is_blamed_with_a_probably(operation):
    x = leaf(1.0, 2.0) + torch.tensor([0.0, torch.nan])
    found = explain(operation(x).square().sum())["loss"]
    assert "probably" in found.sentence
    assert found.cause not in ("zero-times-infinity", "division-by-zero", "masked-class")


@pytest.mark.parametrize("operation", [torch.log, torch.lgamma, lambda x: torch.ones(2) / x])
def test_an_operation_that_keeps_its_finite_input_is_blamed_without_a_doubt(operation):
    loss = operation(leaf(0.0, 1.0)).square().sum()
    assert "probably" not in explain(loss)["loss"].sentence


@pytest.mark.parametrize("mode", ["alone", "traced"])
def test_data_that_hold_nan_are_named(mode):
    model, x, target = nn.Linear(2, 1), torch.ones(3, 2), torch.tensor([[1.0], [torch.nan], [2.0]])
    with trace() as t:
        loss = F.l1_loss(model(x), target)
    found = (t.explain if mode == "traced" else explain)(loss, model)["loss"]
    assert found.sentence.removeprefix("probably this: ").startswith("target holds inf or NaN in 1")
    x[0, 1] = torch.inf
    with trace() as t:
        loss = model(x).square().sum()
    found = (t.explain if mode == "traced" else explain)(loss, model)["loss"]
    assert found.sentence.startswith("x holds inf or NaN in 1 of 6")
    assert [place.source for _, place in found.places] == (
        ["loss = model(x).square().sum()"] if mode == "traced" else []
    )


def test_a_mask_of_minus_infinity_is_not_blamed_for_what_overflows():
    x = leaf(100.0, 1.0, 2.0)
    mask = torch.tensor([False, True, False])
    p = x.masked_fill(mask, -torch.inf).log_softmax(0)
    loss = p.exp().sum() + x.exp().pow(2).sum()
    assert explain(loss, {"x": x})["loss"].cause == "overflow"


def kmeans(x):
    rows = x.expand(3, 2)
    size = rows.square().sum(1, keepdim=True) + torch.ones(3)
    return (size - 2 * rows @ torch.ones(2, 3)).amin(1).mean()


PAIRS = {  # of a column x and a row y: are all pairs meant?
    "matching costs": (lambda x, y: (x - y).abs().amin(1).sum(), True),
    "kmeans": (lambda x, y: kmeans(x), True),
    "a column by hand": (lambda x, y: (x[:, 0].unsqueeze(1) - y).square().mean(), True),
    "kernel": (lambda x, y: (x - y).square().neg().exp().mean(), True),
    "distances in a line": (lambda x, y: (x - x[:, 0]).abs().sum(), True),
    "distances in a plane": (lambda x, y: (x[:, None] - torch.zeros(3, 2)).abs().sum(), True),
    "l1": (lambda x, y: (x - y).abs().mean(), False),
    "root of the mean": (lambda x, y: torch.sqrt(torch.mean((y - x).pow(2))), False),
    "sum of torch": (lambda x, y: F.l1_loss(x, y, reduction="sum"), False),
    "mean of torch": (F.mse_loss, False),
}


@pytest.mark.parametrize("loss_of, meant", PAIRS.values(), ids=PAIRS)
@pytest.mark.filterwarnings("ignore:Using a target size:UserWarning")
def test_pairs_in_a_loss_are_an_alarm_unless_all_of_them_are_meant(loss_of, meant):
    x = torch.tensor([[1.5], [2.5], [4.5]], requires_grad=True)
    with trace() as t:
        loss = loss_of(x * 2, torch.ones(3))
    report = t.explain(loss, {"x": x})
    assert report.healthy == meant
    assert meant or report["loss"].cause == "broadcast"


class WithPooler(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pooler, self.head = nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        with torch.no_grad():
            for weight in (self.body.weight, self.pooler.weight, self.head.weight):
                weight.copy_(weight / weight.norm())

    def forward(self, x):
        return self.head(self.body(x).tanh())


def saved(model):
    model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()})
    return 0


def averaged(model):
    average = copy.deepcopy(model)
    with torch.no_grad():
        for old, new in zip(average.parameters(), model.parameters(), strict=True):
            old.mul_(0.9).add_(new.data, alpha=0.1)
    return average.requires_grad_(False)(torch.ones(1, 4)).mean()


def logged(model):
    return sum(p.detach().norm().item() for p in model.parameters())


@pytest.mark.parametrize("use", [lambda model: 0, saved, averaged, logged])
def test_a_copy_of_all_parameters_is_not_blamed_for_one_that_is_not_used(use):
    with trace() as t:
        model = WithPooler()
        aside = use(model)
        loss = model(torch.ones(2, 4)).pow(2).mean() + aside
    found = t.explain(loss, model)["pooler.weight"]
    assert found.status == "none" and found.cause in ("unused", "dead-branch")
    assert all("cut" not in label for label, _ in found.places)


@pytest.mark.parametrize("use", [lambda model: 0, saved, logged])
def test_what_was_lost_lies_on_the_way_to_the_loss(use):
    with pytest.raises(RuntimeError), trace() as t:
        model = WithPooler()
        use(model)
        best = model(torch.ones(2, 4)).argmax(1).float()
        best.mean().backward()
    lost = [where.source for label, where in t.error.places if label == "history lost at"]
    assert lost == ["best = model(torch.ones(2, 4)).argmax(1).float()"]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.norm(self.body(x).tanh()))


@pytest.mark.parametrize("mode", ["alone", "traced"])
@pytest.mark.parametrize("attribute, width", [("fc", 8), ("pooler", 4)])
def test_a_head_of_another_name_is_named_and_no_other_layer(mode, attribute, width):
    model = Classifier()
    setattr(model, attribute, nn.Linear(width, 2))
    model.body = nn.Sequential(WithPooler(), nn.Linear(2, 8))
    with trace() as t:
        loss = F.cross_entropy(model(torch.randn(5, 4)), torch.zeros(5, dtype=torch.long))
    report = (t.explain if mode == "traced" else explain)(loss, model)
    found, inner = (report[f"{name}.weight"] for name in (attribute, "body.0.pooler"))
    assert found.status == "none"
    assert mode == "alone" or inner.where.source == "return self.head(self.body(x).tanh())"
    assert any("`head`" in said for said in found.also) == (attribute == "fc")


def test_a_layer_norm_of_zeros_is_not_blamed_on_its_bias():
    model = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2))
    found = explain(model(torch.zeros(3, 4)).square().sum(), model)["0.weight"]
    assert found.status == "zero" and "bias" not in f"{found}"


def test_a_message_that_is_not_known_is_shown_with_its_remedy():
    said = "it does not work " + 10 * "because of this and that " + "but this helps"
    found = explain_error(RuntimeError(said))
    assert (found.cause, found.also) == ("unknown-error", (said,))


@pytest.mark.parametrize("again", [False, True])
def test_a_gradient_used_twice_is_told_only_if_a_backward_added_to_it(again):
    w = leaf(1.0, 2.0)
    sgd = torch.optim.SGD([w], lr=0.1)
    with trace() as t:
        w.square().sum().backward()
        sgd.step()
        if again:
            w.square().sum().backward()
        sgd.step()
        loss = w.exp().sum()
    causes = [found.cause for found in t.explain(loss, {"w": w}).findings]
    assert ("accumulated" in causes) == again


def test_the_backward_that_added_to_a_used_gradient_is_named_and_not_a_later_one():
    w = leaf(1.0, 2.0)
    sgd = torch.optim.SGD([w], lr=0.1)
    with trace() as t:
        w.square().sum().backward()
        sgd.step()
        w.square().sum().backward()  # this one
        w.cos().sum().backward()
        sgd.step()
        w.sin().sum().backward()
        loss = w.exp().sum()
    report = t.explain(loss, {"w": w})
    (found,) = [each for each in report.findings if each.cause == "accumulated"]
    assert dict(found.places)["backward at"].source == "w.square().sum().backward()  # this one"
    assert dict(found.places)["used at"].source == "sgd.step()"


def test_a_result_has_a_gradient_if_backward_was_asked_for_it():
    x = leaf(1.0, 2.0)
    result = 2 * x
    loss = result.square().sum()
    loss.backward(inputs=[result], retain_graph=True)
    assert result.grad.tolist() == [4.0, 8.0] and x.grad is None
    result.grad = None
    assert explain(loss, {"result": result})["result"].status == "ok"
