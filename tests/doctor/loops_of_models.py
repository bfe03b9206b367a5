"""Loops that train in vain, and healthy ones that look like these."""

import copy
import functools

import torch
import torch._dynamo
from loops import (
    BUGS,
    HEALTHY,
    PARTLY,
    batches,
    bug,
    classifier,
    error_of,
    healthy,
    noted,
    regression,
)
from torch import nn
from torch.nn import functional as F
from training import Child, Heads, Signs, Twice, network, sgd_of, train

# ---- No loss reaches what an optimizer holds


@bug("none", "unused/never")
def a_loss_of_something_else():
    model, other = network(4, 1), torch.zeros(3, requires_grad=True)
    adam = torch.optim.Adam(model.parameters())
    train(adam, lambda step: (other - 1).square().sum())


@bug("none", "deepcopy")
def an_optimizer_of_an_old_copy():
    model = network(4, 1)
    sgd = sgd_of(model)
    model = copy.deepcopy(model)
    regression(model, sgd)


@healthy
def two_losses_that_take_turns():
    parts = network(4, 1), network(4, 1)
    train([*map(sgd_of, parts)], lambda step: parts[step % 2](torch.rand(8, 4)).square().mean())


@healthy
def a_head_that_is_computed_and_used_in_every_second_step():
    model = Heads()
    train(sgd_of(model), lambda step: [model.loss(name) for name in "ab"][step % 2])


@healthy
def a_body_that_is_detached_in_every_second_step():
    body, head = network(4, 4), network(4, 1)

    def loss_of(step):
        hidden = body(torch.rand(8, 4))
        return head(hidden.detach() if step % 2 else hidden).square().mean()

    train(sgd_of(body, head), loss_of)


@noted("frozen/held")
def a_backbone_that_is_frozen():
    model = network(4, 4, 1)
    model[0].requires_grad_(False)
    regression(model, torch.optim.AdamW(model.parameters()))


@noted("frozen/optimizer")
def an_optimizer_of_a_frozen_backbone():
    backbone, head = network(4, 4).requires_grad_(False), network(4, 1)
    optimizers = [torch.optim.Adam(m.parameters()) for m in (backbone, head)]
    regression(nn.Sequential(backbone, head), optimizers)


# ---- No step moves what it holds


@bug("not trained", "lost-update/half")
def the_weights_of_a_norm_rounded_away_in_bfloat16():
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64)).bfloat16()
    x, goal = torch.rand(2, 8, 64, dtype=torch.bfloat16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4)
    train(adam, lambda step: (model(x) - goal).square().mean())


@noted("frozen/held")
def a_frozen_embedding_whose_weight_is_that_of_the_last_layer_too():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 5, bias=False))
    model[2].weight = model[0].weight.requires_grad_(False)
    adam = torch.optim.AdamW(model.parameters())
    train(adam, lambda step: model(torch.arange(5)).square().mean())


@healthy
def gradients_of_two_losses_merged_by_hand():
    model, x = network(4, 1), torch.rand(8, 4)
    sgd = sgd_of(model)
    for _ in range(3):
        parts = []
        for power in (2, 4):
            model(x).pow(power).mean().backward()
            parts.append([p.grad for p in model.parameters()])
            sgd.zero_grad()
        for p, one, other in zip(model.parameters(), *parts, strict=True):
            p.grad = one + other.sign()
        sgd.step()


@healthy
def a_loss_that_is_only_measured():
    """Another line clears what it has measured."""
    model = classifier()
    sgd = sgd_of(model)
    for _ in range(6):
        sgd.zero_grad()
        error_of(model).backward()
        sgd.zero_grad()
        error_of(model).backward()
        sgd.step()


@healthy
def sharpness_aware():
    """One line gives both gradients, and the first is used by hand."""
    model = classifier()
    sgd = sgd_of(model)
    for _ in range(6):
        moved = []
        for first in (True, False):
            sgd.zero_grad()
            error_of(model).backward()
            with torch.no_grad():
                if first:
                    moved = [(p, 0.05 * p.grad / p.grad.norm()) for p in model.parameters()]
                for p, by in moved:
                    p.add_(by if first else -by)
        sgd.step()


def gradients_of_each_sample(in_place):
    """Their sum is written into .grad, and the cleared ones have been read."""
    model = classifier()
    sgd = sgd_of(model)
    for step in range(6):
        each = []
        for _ in range(3):
            model.zero_grad()
            error_of(model).backward()
            each.append([p.grad.clone() for p in model.parameters()])
        for i, p in enumerate(model.parameters()):
            total = sum(gradients[i] for gradients in each)
            p.grad = p.grad.copy_(total) if in_place else total
        if in_place and step % 2:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        sgd.step()


for in_place in (False, True):
    name = f"gradients of each sample, {in_place=}"
    HEALTHY[name] = functools.partial(gradients_of_each_sample, in_place), ""


@bug("none", "unused/never")
def an_optimizer_of_an_old_copy_beside_gradients_that_are_cleared():
    model, x = network(4, 1), torch.rand(8, 4)
    sgd = sgd_of(copy.deepcopy(model))
    for _ in range(4):
        model(x).square().mean().backward()
        model.zero_grad()
        sgd.step()


@healthy
def gradients_of_a_critic_cleared_before_the_step_of_the_generator():
    maker, critic = network(2, 4), network(4, 1)
    of_maker, of_critic = (torch.optim.Adam(m.parameters()) for m in (maker, critic))
    for _ in range(3):
        F.softplus(-critic(maker(torch.rand(8, 2)))).mean().backward()
        critic.zero_grad()
        of_maker.step()
        of_maker.zero_grad()
        F.softplus(critic(maker(torch.rand(8, 2)).detach())).mean().backward()
        of_critic.step()
        of_critic.zero_grad()


@noted("learning-rate/one-group")
def a_group_that_is_frozen_by_its_learning_rate():
    model = network(4, 4, 1)
    groups = [{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}]
    regression(model, torch.optim.SGD(groups, lr=0.1))


@healthy
def all_inputs_clamped_after_the_first_step():
    model = network(4, 1)

    def loss_of(step):
        score = model(torch.rand(8, 4))
        return (score + (0 if step < 2 else 100)).clamp(max=2).mean()

    train(sgd_of(model), loss_of, steps=2)


@healthy
def one_parameter_without_elements():
    model = network(4, 1)
    model.register_parameter("none", nn.Parameter(torch.ones(0)))
    x = torch.rand(8, 4)
    train(sgd_of(model), lambda step: model(x).square().mean() + model.none.sum())


@healthy
def weights_of_other_layouts_and_types():
    images = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    turned, deep = torch.rand(3, 5).t().requires_grad_(), torch.rand(3, dtype=torch.float64)
    waves, deep = torch.rand(3, dtype=torch.complex64, requires_grad=True), deep.requires_grad_()
    adam = torch.optim.Adam([*images.parameters(), turned, deep, waves])

    def loss_of(step):
        seen = images(torch.rand(2, 3, 5, 5)).square().mean() + turned.square().sum()
        return seen + deep.square().sum() + waves.abs().sum()

    train(adam, loss_of)


@healthy
def optimizers_of_many_kinds():
    for kind, options in [
        (torch.optim.Adam, {"fused": True}),
        (torch.optim.SGD, {"lr": 0.1, "foreach": True, "momentum": 0.9}),
        (torch.optim.Adadelta, {}),
        (torch.optim.Adafactor, {}),
        (torch.optim.RMSprop, {"lr": torch.tensor(0.01)}),
        (torch.optim.Rprop, {}),
        (torch.optim.NAdam, {}),
        (Signs, {}),
        (Twice, {"lr": 0.1}),
    ]:
        model = network(4, 1)
        regression(model, kind(model.parameters(), **options))


@healthy
def steps_within_a_backward():
    model = network(4, 1)
    hooks = []
    for p in model.parameters():
        sgd = torch.optim.SGD([p], lr=0.1)
        step = functools.partial(lambda sgd, p: sgd.step() or sgd.zero_grad(), sgd)
        hooks.append(p.register_post_accumulate_grad_hook(step))
    for _ in range(4):
        model(torch.rand(8, 4)).square().mean().backward()
    for hook in hooks:  # the collector does not find such a cycle
        hook.remove()


@healthy
def a_child_that_holds_its_parent_in_a_list():
    model = nn.Sequential(Child(4, 4), nn.Linear(4, 1))
    model.scale = nn.Parameter(torch.ones(1))
    model[0].parent = [model]
    regression(model, sgd_of(model))


@bug("wrong", "accumulated/used-twice")
def gradients_of_a_generator_that_nobody_clears():
    maker, critic = network(2, 4), network(4, 1)
    of_maker, of_critic = (sgd_of(part, lr=0.01) for part in (maker, critic))
    for _ in range(5):
        of_critic.zero_grad()
        F.softplus(critic(maker(torch.rand(8, 2)).detach())).mean().backward()
        of_critic.step()
        F.softplus(-critic(maker(torch.rand(8, 2)))).mean().backward()
        of_maker.step()


@healthy
def gradients_that_another_loss_adds_to_before_they_are_cleared():
    """The loss of the critic reaches the generator, too."""
    maker, critic = network(2, 4), network(4, 1)
    of_maker, of_critic = (sgd_of(part, lr=0.01) for part in (maker, critic))
    for _ in range(5):
        for optimizer, sign in ((of_critic, 1), (of_maker, -1)):
            optimizer.zero_grad(set_to_none=False)
            F.softplus(sign * critic(maker(torch.rand(8, 2)))).mean().backward()
            optimizer.step()


@healthy
def gradients_that_are_written_by_hand():
    """No backward adds to those of the masters: they are overwritten."""
    model = network(4, 1)
    masters = [p.detach().clone().requires_grad_() for p in model.parameters()]
    for master in masters:
        master.grad = torch.zeros_like(master)
    sgd = torch.optim.SGD(masters, lr=0.1)
    for _ in range(6):
        model.zero_grad()
        model(torch.rand(8, 4)).square().mean().backward()
        for master, p in zip(masters, model.parameters(), strict=True):
            master.grad.copy_(p.grad)
        sgd.step()
        with torch.no_grad():
            for master, p in zip(masters, model.parameters(), strict=True):
                p.copy_(master)


# ---- Other numbers, and what lies just at a bound and just past it


def of_dtype(dtype, make=lambda: network(4, 4, 1), kind=torch.optim.SGD, lr=0.1):
    model, x = make().to(dtype), torch.rand(8, 4, dtype=dtype)
    train(kind(model.parameters(), lr=lr), lambda step: model(x).square().mean(), steps=20)


def with_a_norm():
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 1))


def looked_up(kind, rows):
    """A batch uses a few of many rows of bfloat16."""
    table, head = nn.Embedding(64, 4).bfloat16(), nn.Linear(4, 1).bfloat16()
    optimizers = [kind(table.parameters(), lr=0.01), sgd_of(head)]
    train(optimizers, lambda step: head(table(rows())).square().mean(), steps=20)


@healthy
def an_empty_batch():
    model = network(4, 4, 1)
    train(sgd_of(model), lambda step: model(torch.rand(8 * (step != 3), 4)).square().sum())


@healthy
def a_layer_that_is_used_twice():
    layer = nn.Linear(4, 4)
    regression(nn.Sequential(layer, nn.Tanh(), layer), sgd_of(layer))


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


def partly_moved(size, movers):
    """AdamW adds 0.001, which changes a number near 0.01 of bfloat16, and none near 1."""
    weight = nn.Parameter(torch.ones(size).index_fill(0, torch.arange(movers), 0.01).bfloat16())
    adam = torch.optim.AdamW([weight], weight_decay=0.0)
    train(adam, lambda step: weight.sum(), steps=20)


HEALTHY |= {name: (loop, "") for name, loop in [
    ("float16", lambda: of_dtype(torch.float16)),
    ("bfloat16", lambda: of_dtype(torch.bfloat16)),
    ("float64", lambda: of_dtype(torch.float64)),
    ("a norm in bfloat16", lambda: of_dtype(torch.bfloat16, with_a_norm, torch.optim.AdamW, 0.01)),
    ("few rows in bfloat16", lambda: looked_up(torch.optim.SGD, lambda: torch.arange(4))),
    ("one row in bfloat16", lambda: looked_up(torch.optim.SGD, lambda: torch.arange(1))),
    ("other rows in bfloat16",
     lambda: looked_up(torch.optim.AdamW, lambda: torch.randint(64, (4,)))),
    ("cleared in each of three steps", lambda: batches(6, lambda k: True, lambda k: k % 2)),
    ("a tenth of the elements moves", lambda: partly_moved(40, 4)),
    ("31 elements of which one moves", lambda: partly_moved(31, 1)),
]}  # fmt: skip
BUGS |= {name: (loop, *PARTLY, {}) for name, loop in [
    ("less than a tenth of the elements moves", lambda: partly_moved(40, 3)),
    ("32 elements of which one moves", lambda: partly_moved(32, 1)),
]}  # fmt: skip
