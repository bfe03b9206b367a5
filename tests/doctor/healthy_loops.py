"""Loops with nothing that is wrong, and what lies just at a bound and just past it."""

import copy

import torch
from loops import BUGS, HEALTHY, PARTLY, batches, healthy, regression
from torch import nn
from torch.nn import functional as F
from training import network, sgd_of, train

BF16 = torch.bfloat16


def of_dtype(dtype, make=lambda: network(4, 4, 1), kind=torch.optim.SGD, lr=0.1):
    model, x = make().to(dtype), torch.rand(8, 4, dtype=dtype)
    train(kind(model.parameters(), lr=lr), lambda step: model(x).square().mean(), steps=20)


def with_a_norm():
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 1))


def looked_up(dtype, kind, rows):
    """A batch uses a few of many rows."""
    table, head = nn.Embedding(64, 4).to(dtype), nn.Linear(4, 1).to(dtype)
    optimizers = [kind(table.parameters(), lr=0.01), sgd_of(head)]
    train(optimizers, lambda step: head(table(rows())).square().mean(), steps=20)


def each_step(model, after=lambda: None, rows=lambda step: 8):
    sgd = sgd_of(model)
    for step in range(1, 7):
        sgd.zero_grad()
        model(torch.rand(rows(step), 4)).square().sum().backward()
        sgd.step()
        after()


@healthy
def an_empty_batch():
    each_step(network(4, 4, 1), rows=lambda step: 0 if step == 3 else 8)


@healthy
def evaluated_after_each_step():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.2), nn.Linear(4, 1))

    def evaluate():
        model.eval()
        with torch.no_grad():
            model(torch.rand(8, 4)).mean()
        model.train()

    each_step(model, evaluate)


@healthy
def a_moving_average():
    model = network(4, 4, 1)
    average = copy.deepcopy(model).requires_grad_(False)

    def update():
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 0.1)

    each_step(model, update)


@healthy
def a_layer_that_is_used_twice():
    layer = nn.Linear(4, 4)
    each_step(nn.Sequential(layer, nn.Tanh(), layer))


@healthy
def one_element():
    model, x = nn.Linear(1, 1, bias=False), torch.rand(1, 1)
    train(sgd_of(model), lambda step: model(x).square().sum())


@healthy
def clipped_exactly_at_the_norm():
    model, x = network(4, 1), torch.rand(8, 4)
    sgd = sgd_of(model)
    for _ in range(4):
        sgd.zero_grad()
        model(x).square().mean().backward()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters()])
        nn.utils.clip_grad_norm_(model.parameters(), norm.item())
        sgd.step()


@healthy
def a_target_of_the_same_model():
    body, head, x = network(4, 4), network(4, 4), torch.rand(8, 4)
    parts = sgd_of(body, head)
    train(parts, lambda step: (head(body(x)) - body(x).detach()).square().mean())


@healthy
def tied_weights():
    table, last, words = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False), torch.arange(10)
    last.weight = table.weight
    train(sgd_of(table), lambda step: F.cross_entropy(last(table(words)), words))


@healthy
def only_what_is_not_frozen_is_held():
    model = network(4, 4, 1)
    model[0].requires_grad_(False)
    regression(model, sgd_of(model[2]))


def partly_moved(size, movers):
    """AdamW adds 0.001, which changes a number near 0.01 of bfloat16, and none near 1."""
    weight = nn.Parameter(torch.ones(size).index_fill(0, torch.arange(movers), 0.01).bfloat16())
    adam = torch.optim.AdamW([weight], weight_decay=0.0)
    train(adam, lambda step: weight.sum(), steps=20)


HEALTHY |= {name: (loop, "") for name, loop in [
    ("float16", lambda: of_dtype(torch.float16)),
    ("bfloat16", lambda: of_dtype(BF16)),
    ("float64", lambda: of_dtype(torch.float64)),
    ("a norm in bfloat16", lambda: of_dtype(BF16, with_a_norm, torch.optim.AdamW, 0.01)),
    ("few rows in bfloat16", lambda: looked_up(BF16, torch.optim.SGD, lambda: torch.arange(4))),
    ("one row in bfloat16", lambda: looked_up(BF16, torch.optim.SGD, lambda: torch.arange(1))),
    ("other rows in bfloat16",
     lambda: looked_up(BF16, torch.optim.AdamW, lambda: torch.randint(64, (4,)))),
    ("cleared in each of three steps", lambda: batches(6, lambda k: True, lambda k: k % 2)),
    ("a tenth of the elements moves", lambda: partly_moved(40, 4)),
    ("31 elements of which one moves", lambda: partly_moved(31, 1)),
]}  # fmt: skip
BUGS |= {name: (loop, *PARTLY, {}) for name, loop in [
    ("less than a tenth of the elements moves", lambda: partly_moved(40, 3)),
    ("32 elements of which one moves", lambda: partly_moved(32, 1)),
]}  # fmt: skip
