"""watch() is healthy only if what the optimizers hold gets a gradient, and if their steps move it.

Each loop is a few steps of training. A bug has the status and the cause that are reported, and a
healthy loop has no alarm.
"""

import copy
import functools
import gc
import re

import pytest
import torch
import torch._dynamo
from test_rules import RULES
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as schedulers
from torch.optim.optimizer import register_optimizer_step_post_hook

from autograd_surprises import watch
from autograd_surprises.doctor.watch import first_steps
from autograd_surprises.doctor.watch.fingerprints import BLOCK, fingerprints
from autograd_surprises.doctor.watch.first_steps import FirstSteps
from cases.small import HEALTHY as STEPS

BUGS, HEALTHY = {}, {}
CLEARED = "cleared before the step"
SENTENCES = {rule.id: rule.sentence for rule in RULES}


def bug(status, rule, **options):
    def register(loop):
        BUGS[loop.__name__] = loop, status, rule, options
        return loop

    return register


def healthy(loop):
    HEALTHY[loop.__name__] = loop, ""
    return loop


def noted(rule):
    """Healthy, and a note in the summary says what this rule says."""

    def register(loop):
        HEALTHY[loop.__name__] = loop, rule
        return loop

    return register


def network(*sizes):
    layers = [nn.Linear(*pair) for pair in zip(sizes[:-1], sizes[1:], strict=True)]
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))[:-1]


def train(optimizers, loss_of, steps=4, after=()):
    """One loss for all optimizers."""
    optimizers = optimizers if isinstance(optimizers, list) else [optimizers]
    for step in range(1, steps + 1):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss_of(step).backward()
        for each in [*optimizers, *after]:
            each.step()


def regression(model, optimizer, steps=4, after=()):
    x = torch.rand(8, 4)
    train(optimizer, lambda step: model(x).square().mean(), steps, after)


def warmed_up(optimizer, steps):
    return schedulers.LambdaLR(optimizer, lambda step: min(1.0, step / steps))


def adversarial(critics, real, rounds=4):
    """A critic makes several steps, then the generator makes one."""
    maker, critic = network(2, 4), network(4, 1)
    of_maker, of_critic = (torch.optim.Adam(m.parameters(), lr=0.01) for m in (maker, critic))
    for _ in range(rounds):
        for _ in range(critics):
            of_critic.zero_grad()
            fake = maker(torch.rand(8, 2))
            F.softplus(critic(fake.detach())).mean().backward()
            of_critic.step()
        of_maker.zero_grad()
        fake = maker(torch.rand(8, 2))
        F.softplus(-critic(fake if real else fake.detach())).mean().backward()
        of_maker.step()


def two_parts(every=(1, 1), cut=False, steps=8):
    """One loss, an optimizer for each of two parts, which make a step in every so many."""
    parts = network(4, 4), network(4, 1)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]
    for step in range(1, steps + 1):
        hidden = parts[0](torch.rand(8, 4))
        parts[1](hidden.detach() if cut else hidden).square().mean().backward()
        for optimizer, often in zip(optimizers, every, strict=True):
            if step % often == 0:
                optimizer.step()
                optimizer.zero_grad()


def batches(count, clears, steps=lambda batch: True):
    """Which batches begin with zero_grad(), and which end with step()?"""
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in range(count):
        if clears(batch):
            sgd.zero_grad()
        model(torch.rand(8, 4)).square().mean().backward()
        if steps(batch):
            sgd.step()


def closures(cut=False, logged=False):
    model, x = network(4, 1), torch.rand(8, 4)
    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        lbfgs.zero_grad()
        y = model(x)
        loss = (y.detach().requires_grad_() if cut else y).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        if logged:
            closure()
            lbfgs.zero_grad()
        lbfgs.step(closure)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.heads = nn.Linear(4, 4), nn.ModuleDict({n: nn.Linear(4, 1) for n in "ab"})

    def loss(self, name):
        return self.heads[name](self.body(torch.rand(8, 4))).square().mean()


def heads(steps, name_of):
    model = Heads()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    train(sgd, lambda step: model.loss(name_of(step)), steps)


def words(sparse, kind, **options):
    table, head = nn.Embedding(50, 4, sparse=sparse), nn.Linear(4, 1)
    both = [kind(table.parameters(), **options), torch.optim.Adam(head.parameters())]
    train(both, lambda step: head(table(torch.tensor([step]))).square().mean())


class PlainList(nn.Module):
    """Its parts are in lists of a list, as in https://github.com/pytorch/pytorch/issues/715"""

    def __init__(self, *parts):
        super().__init__()
        self.parts, self.last = [[part] for part in parts], nn.Linear(4, 1)

    def forward(self, x):
        for (part,) in self.parts:
            x = part(x)
        return self.last(x)


def plain_list(is_held, lr=0.1):
    model = PlainList(nn.Linear(4, 8), nn.Sequential(nn.Tanh(), nn.Linear(8, 4)))
    held = [p for (part,) in model.parts if is_held for p in part.parameters()]
    regression(model, torch.optim.SGD([*held, *model.parameters()], lr=lr))


def detached(steps):
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    train(sgd, lambda step: model(torch.rand(8, 4)).detach().requires_grad_().mean(), steps)


def at_rate(lr, steps=4, warm_up=0, kind=torch.optim.SGD):
    model = network(4, 1)
    optimizer = kind(model.parameters(), lr=lr)
    after = [warmed_up(optimizer, warm_up)] if warm_up else []
    regression(model, optimizer, steps, after)


def in_bfloat16(lr, steps=4, warm_up=0):
    model = nn.Linear(4, 4).bfloat16()
    nn.init.constant_(model.weight, 0.5)
    nn.init.constant_(model.bias, 0.5)
    x = torch.rand(8, 4, dtype=torch.bfloat16)
    adam = torch.optim.AdamW(model.parameters(), lr=lr)
    after = [warmed_up(adam, warm_up)] if warm_up else []
    train(adam, lambda step: model(x).square().mean(), steps, after)


def in_bfloat16_for_long(lr, steps, warm_up=0, kind=torch.optim.AdamW):
    """A layer whose weights lie between -1/8 and 1/8."""
    model = nn.Linear(64, 64, bias=False).bfloat16()
    optimizer = kind(model.parameters(), lr=lr, weight_decay=0.0)
    after = [warmed_up(optimizer, warm_up)] if warm_up else []
    x, goal = torch.rand(2, 8, 64, dtype=torch.bfloat16)
    train(optimizer, lambda step: (model(x) - goal).square().mean(), steps, after)


def scheduled(steps, kind, *options, each_step=True):
    model = network(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    after = [kind(optimizer, *options)]
    regression(model, optimizer, steps, after if each_step else ())


def scaled(steps, scales, fused=False):
    """With a GradScaler, which gets another scale before some steps: {step: scale}."""
    model = network(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=scales.get(1, 8.0))
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = model(torch.rand(8, 4)).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update(scales.get(step + 1))


def clipped(unscaled, enabled=True, scale=2.0**16):
    model = network(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=enabled)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(model(torch.rand(8, 4)).square().mean()).backward()
        if unscaled:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def clipping_first(given, clipped_again=False):
    model, x = network(4, 1), torch.rand(8, 4)
    sgd, parameters = torch.optim.SGD(model.parameters(), lr=0.1), given(model)
    for _ in range(4):
        sgd.zero_grad()
        nn.utils.clip_grad_norm_(parameters, 0.1)
        model(x).square().mean().backward()
        if clipped_again:
            nn.utils.clip_grad_norm_(parameters, 0.1)
        sgd.step()


def read_before(model):
    once = model.parameters()
    print(sum(p.numel() for p in once))
    return once


def cleared_first(set_to_none, by_model=False):
    """https://github.com/cloneofsimo/lora/issues/263"""
    model, x = network(4, 4, 1), torch.rand(8, 4)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        model(x).square().mean().backward()
        (model if by_model else sgd).zero_grad(set_to_none)
        sgd.step()


def without_step(update):
    model, x = network(4, 4, 1), torch.rand(8, 4)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        sgd.zero_grad()
        model(x).square().mean().backward()
        update(sgd)


def update_by_hand(sgd):
    for p in sgd.param_groups[0]["params"]:
        p.data -= 0.1 * p.grad


HUGE = 2.0**100  # as a scale, it makes each gradient in float16 infinite
ALWAYS = {step: HUGE for step in range(9)}
PARTLY = "not trained", "lost-update/partly"
DETACHED, WAITING = ("none", "detach/call"), "a generator that waits for long"
BUGS |= {name: (loop, *found, {}) for name, loop, found in [
    ("a loss that requires a gradient again", lambda: detached(4), DETACHED),
    ("only one step, which no loss reaches", lambda: detached(1), ("none", "no-loss")),
    ("a generator", lambda: adversarial(1, real=False), DETACHED),
    (WAITING, lambda: adversarial(12, real=False, rounds=3), DETACHED),
    ("two parts", lambda: two_parts((1, 1), cut=True), DETACHED),
    ("two parts of another rhythm", lambda: two_parts((2, 1), cut=True), DETACHED),
    ("two parts, accumulated", lambda: two_parts((4, 4), cut=True, steps=12), DETACHED),
    ("a head that is never used", lambda: heads(4, lambda step: "b"), ("none", "unused/never")),
    ("a head that is not used in the only step", lambda: heads(1, lambda step: "b"),
     ("none", "unused/never")),
    ("a rate of 0", lambda: at_rate(0.0), ("not trained", "learning-rate/all")),
    ("a schedule that stays at 0", lambda: at_rate(1e-3, warm_up=float("inf")),
     ("not trained", "learning-rate/all")),
    ("rounded away", lambda: at_rate(1e-14), ("not trained", "lost-update/single")),
    ("rounded away by half", lambda: in_bfloat16(1e-6), ("not trained", "lost-update/half")),
    ("rounded away also at the end of a warm-up", lambda: in_bfloat16(1e-6, 20, warm_up=5),
     ("not trained", "lost-update/half")),
    ("most updates rounded away", lambda: in_bfloat16_for_long(1e-5, 20), PARTLY),
    ("most updates rounded away in few steps", lambda: in_bfloat16_for_long(1e-5, 5), PARTLY),
    ("most rounded away after a warm-up", lambda: in_bfloat16_for_long(1e-5, 40, 8), PARTLY),
    ("a closure behind a detach", lambda: closures(cut=True), DETACHED),
    ("clipping before unscaling", lambda: clipped(unscaled=False),
     ("wrong", "clipped-while-scaled")),
    # https://github.com/yandex-research/tabm/issues/20
    ("clipping before backward", lambda: clipping_first(lambda model: [*model.parameters()]),
     ("wrong", "clipped-nothing")),
    # https://github.com/pytorch/pytorch/issues/148259
    ("clipping what a generator gave before", lambda: clipping_first(read_before),
     ("wrong", "clipped-nothing")),
    (CLEARED, lambda: cleared_first(set_to_none=True), ("not trained", "cleared-gradient")),
    ("set to 0 before the step", lambda: cleared_first(set_to_none=False, by_model=True),
     ("not trained", "cleared-gradient")),
    ("nobody clears", lambda: batches(6, lambda batch: False), ("wrong", "accumulated/used-twice")),
    ("a step without parentheses", lambda: without_step(lambda sgd: sgd.step),
     ("not trained", "no-step")),
    ("layers in a plain list", lambda: plain_list(is_held=False),
     ("not trained", "unregistered/attribute")),
    ("a scheduler that makes no step", lambda: scheduled(20, warmed_up, 10, each_step=False),
     ("not trained", "learning-rate/no-step")),
    ("a scheduler for epochs is called for batches", lambda: scheduled(70, schedulers.StepLR, 3),
     ("not trained", "learning-rate/fallen")),
]}  # fmt: skip
BUGS["in steps that are asked for"] = *BUGS["a generator"][:3], {"steps": (1, 2, 3, 4)}
HEALTHY |= {name: (loop, "") for name, loop in [
    ("a generator", lambda: adversarial(1, real=True)),
    (WAITING, lambda: adversarial(12, real=True, rounds=3)),
    ("two parts", two_parts),
    ("two parts of another rhythm", lambda: two_parts((2, 1))),
    ("two parts without a common step", lambda: two_parts((3, 4), steps=12)),
    ("two parts, accumulated", lambda: two_parts((4, 4), steps=12)),
    ("float32 at a small rate", lambda: at_rate(1e-6, kind=torch.optim.AdamW)),
    ("a warm-up that begins at 0", lambda: at_rate(0.01, warm_up=100)),
    ("many weights of bfloat16 move", lambda: in_bfloat16_for_long(1e-3, 20)),
    ("a long warm-up in bfloat16", lambda: in_bfloat16_for_long(1e-3, 20, warm_up=1000)),
    ("rounded at random", lambda: in_bfloat16_for_long(1e-5, 20, kind=RoundsAtRandom)),
    ("heads that take turns", lambda: heads(5, lambda step: "ab"[step % 2])),
    ("a closure", closures),
    ("gradients cleared for a closure", lambda: closures(logged=True)),
    ("clipping what is unscaled", lambda: clipped(unscaled=True)),
    ("clipping with a scaler that is off", lambda: clipped(unscaled=False, enabled=False)),
    ("clipping with a scale of 1", lambda: clipped(unscaled=False, scale=1.0)),
    ("clipped again", lambda: clipping_first(lambda model: [*model.parameters()], True)),
    ("clipping a part that has nothing to train", lambda: clipping_first(lambda model: [])),
    ("accumulation", lambda: batches(16, lambda k: k % 4 == 0, lambda k: k % 4 == 3)),
    ("a sum in a single step", lambda: batches(6, lambda batch: batch != 2)),
    ("layers in a plain list that the optimizer holds", lambda: plain_list(is_held=True)),
    ("a cosine that ends at 0", lambda: scheduled(33, schedulers.CosineAnnealingLR, 33)),
    ("a rate of 0 in one step",
     lambda: scheduled(40, schedulers.LambdaLR, lambda step: float(step != 31))),
    ("a rate that falls and moves", lambda: scheduled(34, schedulers.ExponentialLR, 0.7)),
    ("words that are not in the batch", lambda: words(False, torch.optim.SGD, lr=0.1)),
    ("sparse gradients", lambda: words(True, torch.optim.SparseAdam)),
    ("an input in an attribute", lambda: Collocation().train_it()),
    ("a warm-up from what is rounded away", lambda: in_bfloat16(0.1, 40, warm_up=1000)),
    *((f"a scaler that skips {which}, {fused=}", functools.partial(scaled, 8, scales, fused))
      for fused in (False, True)
      for which, scales in [("the first steps", {1: HUGE, 2: HUGE, 3: 8.0}),
                            ("a late step", {4: HUGE, 5: 8.0}), ("the last step", {8: HUGE})]),
]}  # fmt: skip
HEALTHY["one step of a warm-up"] = lambda: at_rate(0.01, 1, warm_up=100), "early"
HEALTHY["steps by hand"] = (
    lambda: without_step(update_by_hand),
    "no step() of an optimizer was seen",
)
HEALTHY["all steps skipped, fused"] = lambda: scaled(3, ALWAYS, fused=True), "skipped-steps"


# ---- No loss reaches what an optimizer holds


@bug("none", "unused/never")
def a_loss_of_something_else():
    model, other = network(4, 1), torch.zeros(3, requires_grad=True)
    adam = torch.optim.Adam(model.parameters())
    train(adam, lambda step: (other - 1).square().sum())


@bug("none", "deepcopy")
def an_optimizer_of_an_old_copy():
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    model = copy.deepcopy(model)
    regression(model, sgd)


@healthy
def two_losses_that_take_turns():
    parts = network(4, 1), network(4, 1)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]
    train(optimizers, lambda step: parts[step % 2](torch.rand(8, 4)).square().mean())


@healthy
def a_head_that_is_computed_and_used_in_every_second_step():
    model = Heads()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(step):
        return [model.loss(name) for name in "ab"][step % 2]

    train(sgd, loss_of)


@healthy
def a_body_that_is_detached_in_every_second_step():
    body, head = network(4, 4), network(4, 1)
    sgd = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)

    def loss_of(step):
        hidden = body(torch.rand(8, 4))
        return head(hidden.detach() if step % 2 else hidden).square().mean()

    train(sgd, loss_of)


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


class RoundsAtRandom(torch.optim.SGD):
    """Moves a weight by one number of bfloat16 now and then."""

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p += p.abs() * 2**-7 * (torch.rand_like(p) < 0.001) * -p.grad.sign()


@healthy
def master_weights_of_bfloat16():
    model = nn.Linear(4, 4).bfloat16()
    masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    adam = torch.optim.AdamW(masters, lr=1e-6)
    for _ in range(4):
        model(torch.rand(8, 4, dtype=torch.bfloat16)).square().mean().backward()
        for master, p in zip(masters, model.parameters(), strict=True):
            master.grad, p.grad = p.grad.float(), None
        adam.step()
        with torch.no_grad():
            for master, p in zip(masters, model.parameters(), strict=True):
                p.copy_(master)


@noted("frozen/held")
def a_frozen_embedding_whose_weight_is_that_of_the_last_layer_too():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 5, bias=False))
    model[2].weight = model[0].weight.requires_grad_(False)
    adam = torch.optim.AdamW(model.parameters())
    train(adam, lambda step: model(torch.arange(5)).square().mean())


@healthy
def gradients_of_two_losses_merged_by_hand():
    model, x = network(4, 1), torch.rand(8, 4)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        parts = []
        for power in (2, 4):
            model(x).pow(power).mean().backward()
            parts.append([p.grad for p in model.parameters()])
            sgd.zero_grad()
        for p, one, other in zip(model.parameters(), *parts, strict=True):
            p.grad = one + other.sign()
        sgd.step()


@bug("none", "unused/never")
def an_optimizer_of_an_old_copy_beside_gradients_that_are_cleared():
    model, x = network(4, 1), torch.rand(8, 4)
    sgd = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
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
def adapters_that_start_at_0():
    base = nn.Linear(4, 4).requires_grad_(False)
    down, up = nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)
    nn.init.zeros_(up.weight)
    model = nn.ModuleDict({"base": base, "lora_A": down, "lora_B": up})
    x, y = torch.rand(2, 8, 4)
    adam = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    train(adam, lambda step: (base(x) + up(down(x)) - y).square().mean())


@healthy
def all_inputs_clamped_after_the_first_step():
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(step):
        score = model(torch.rand(8, 4))
        return (score + (0 if step < 2 else 100)).clamp(max=2).mean()

    train(sgd, loss_of, steps=2)


@healthy
def one_parameter_without_elements():
    model = network(4, 1)
    model.register_parameter("none", nn.Parameter(torch.ones(0)))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.rand(8, 4)
    train(sgd, lambda step: model(x).square().mean() + model.none.sum())


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


class Signs(torch.optim.Optimizer):
    """Not torch's own; it forgets the gradients at the end of its step."""

    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p -= 1e-3 * p.grad.sign()
            p.grad = None


class Twice(torch.optim.SGD):
    def step(self, closure=None):
        super().step()
        return super().step(closure)


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


def test_a_part_in_a_plain_list_that_the_optimizer_holds_has_a_name():
    w = watched(lambda: plain_list(is_held=True, lr=0.0))
    names = [f.name for each in w.reports for f in each.report.findings if f.alarm]
    assert any(name.endswith("Linear.weight") for name in names)
    assert not any("that the optimizer holds" in name for name in names)


class Child(nn.Linear):
    """It knows its parent, which nn.Module shall not see."""

    def forward(self, x):
        return super().forward(x) * self.parent[0].scale


@healthy
def a_child_that_holds_its_parent_in_a_list():
    model = nn.Sequential(Child(4, 4), nn.Linear(4, 1))
    model.scale = nn.Parameter(torch.ones(1))
    model[0].parent = [model]
    regression(model, torch.optim.SGD(model.parameters(), lr=0.1))


class Collocation(nn.Module):
    """The points at which an equation has to hold are an input, with a gradient of its own."""

    def __init__(self):
        super().__init__()
        self.net, self.points = network(1, 4, 1), torch.rand(8, 1, requires_grad=True)

    def loss(self, step):
        y = self.net(self.points)
        (slope,) = torch.autograd.grad(y.sum(), self.points, create_graph=True)
        return (slope + y).square().mean()

    def train_it(self):
        train(torch.optim.SGD(self.parameters(), lr=0.1), self.loss)


@bug("wrong", "accumulated/used-twice")
def gradients_of_a_generator_that_nobody_clears():
    maker, critic = network(2, 4), network(4, 1)
    of_maker, of_critic = (torch.optim.SGD(m.parameters(), lr=0.01) for m in (maker, critic))
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
    of_maker, of_critic = (torch.optim.SGD(m.parameters(), lr=0.01) for m in (maker, critic))
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


def test_the_backwards_of_a_closure_are_one_step():
    w = watched(closures)
    assert w.step == 4 and len(w.reports) == 1


def test_a_gradient_that_was_cleared_is_not_called_one_that_never_came():
    w = watched(BUGS[CLEARED][0])
    assert w.healthy is False and "the gradients are cleared" in str(w)


def test_the_gradient_of_an_input_needs_no_step():
    def attack():
        model = network(4, 1)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            x = torch.rand(8, 4, requires_grad=True)
            sgd.zero_grad()
            model(x).square().mean().backward()

    w = watched(attack)
    assert w.healthy and str(w).endswith("no step() of an optimizer was seen")


def watched(loop, **options):
    gc.collect()  # a watch looks for all optimizers
    torch.manual_seed(0)
    with watch(**options) as w:
        loop()
    return w


@pytest.mark.parametrize("name", BUGS)
def test_it_is_reported(name):
    loop, status, rule, options = BUGS[name]
    w = watched(loop, **options)
    assert not w.healthy
    alarms = [found for each in w.reports for found in each.report.findings if found.alarming]
    assert {(found.status, found.rule) for found in alarms} == {(status, rule)}, str(w)
    assert len([each for each in w.reports if not each.healthy]) == 1, "told once"
    told = {found.name for found in alarms}
    assert len(told) == len(alarms) and all(told)


def noting_states(run):
    """What every optimizer holds after each step, and the random numbers; what `run` returns."""
    states = []

    def note(optimizer, args, kwargs):
        states.extend(p.detach().clone() for g in optimizer.param_groups for p in g["params"])

    hook = register_optimizer_step_post_hook(note)
    torch.manual_seed(0)
    result = run()
    hook.remove()
    return [*states, torch.get_rng_state()], result


@pytest.mark.parametrize("name", HEALTHY)
def test_what_trains_is_healthy_and_watch_changes_no_bit_of_it(name):
    loop, note = HEALTHY[name]
    plain, _ = noting_states(loop)
    seen, w = noting_states(lambda: watched(loop))
    assert w.healthy, str(w)
    assert len(plain) == len(seen) and all(map(same, plain, seen))
    said = str(w).partition("no alarm\n")[2]
    assert said if note else str(w).endswith("no alarm")
    assert all(part in said for part in re.split(r"\{.*?\}", SENTENCES.get(note, "")))


def same(one, other):
    return torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def test_a_tensor_with_two_names_is_named_by_both():
    loop = a_frozen_embedding_whose_weight_is_that_of_the_last_layer_too
    assert "not trained: 0.weight = 2.weight: frozen, though" in watched(loop).summary


def test_an_error_because_all_is_frozen_says_so():
    model = network(4, 4, 1).requires_grad_(False)
    with watch() as w, pytest.raises(RuntimeError, match="does not require grad"):
        regression(model, torch.optim.SGD(model.parameters(), lr=0.1))
    ((found,),) = (each.report.findings for each in w.reports)
    assert (found.status, found.rule) == ("error", "frozen/all")
    assert found.sentence.startswith("SGD holds 4 parameters") and "SGD(" in found.where.source


def test_if_a_scaler_skips_all_steps_the_summary_says_why_none_was_seen():
    w = watched(lambda: scaled(3, ALWAYS))
    assert w.healthy and "no step() of an optimizer was seen (a GradScaler" in str(w)


# ---- How it looks


@pytest.mark.parametrize("critics", [1, 12])
def test_a_loss_of_each_optimizer_is_examined_at_any_rhythm(critics):
    w = watched(lambda: adversarial(critics, real=True, rounds=3))
    examined = {found.name for each in w.reports for found in each.report.findings}
    assert examined >= {"critic.0.weight", "maker.0.weight"}, w.reports


PARTS = (
    "adversarial",
    "zero_convolution",
    "dcgan_generator",
    "soft_actor",
)  # whose other parts have an optimizer of their own
SPARSE = ("dlrm_sparse_bags", "matrix_factorization")


@pytest.mark.parametrize("name", [name for name in STEPS if name not in PARTS])
def test_two_steps_of_what_is_known_to_be_healthy(name):
    gc.collect()
    torch.manual_seed(0)
    model, compute, _ = STEPS[name].build()
    kind = torch.optim.SGD if name in SPARSE or len(name) % 2 else torch.optim.AdamW
    optimizer = kind(model.parameters(), lr=1e-3)
    with watch() as w:
        train(optimizer, lambda step: compute(), steps=2)
    assert w.healthy, str(w)
    frozen = any(not parameter.requires_grad for parameter in model.parameters())
    assert str(w).endswith("such parameters" if frozen else "no alarm")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what dynamo says about hooks
def test_the_steps_of_an_optimizer_that_is_compiled_pass_unseen_and_without_an_alarm():
    torch._dynamo.reset()
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    step = torch.compile(lambda: sgd.step(), backend="eager")
    with watch() as w:
        for _ in range(3):
            sgd.zero_grad()
            model(torch.rand(8, 4)).square().mean().backward()
            step()
    assert w.healthy and "no alarm" in str(w)


def test_what_the_report_of_a_step_says_is_not_said_again_of_its_optimizer():
    reached, cut = nn.Linear(2, 2), nn.Linear(2, 2)
    sgd, x = torch.optim.SGD(cut.parameters(), lr=0.1), torch.rand(4, 2)
    with watch(nn.Sequential(reached, cut), sgd, steps=[2]) as w:
        for _ in range(2):
            (reached(x).sum() + cut(x).detach().exp().sum()).backward()
            sgd.step()
    assert [each.why for each in w.reports] == ["asked for"]


KINDS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.bool]


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("size", [1, BLOCK, 2 * BLOCK + 3])
def test_a_fingerprint_changes_with_any_element(dtype, size):
    tensor = torch.ones(size, dtype=dtype)
    before = fingerprints([tensor])
    for place in (0, size // 2, size - 1):
        changed = tensor.clone()
        changed[place] = 0
        assert fingerprints([tensor, changed]) == [*before, fingerprints([changed])[0]]
        assert fingerprints([changed]) != before


def test_a_fingerprint_changes_if_elements_change_places_or_by_opposite_amounts():
    """A sum would not."""
    tensor = torch.arange(1.0, 2 * BLOCK + 1)
    before = fingerprints([tensor])
    for one, other in [(0, 1), (0, BLOCK), (5, BLOCK + 5)]:
        swapped, moved = tensor.clone(), tensor.view(torch.int32).clone()
        swapped[one], swapped[other] = tensor[other], tensor[one]
        moved[one] += 1
        moved[other] -= 1
        assert fingerprints([swapped]) != before != fingerprints([moved.view(torch.float32)])


def test_a_fingerprint_is_of_the_numbers_and_not_of_how_they_lie():
    tensor = torch.rand(3, 5)
    turned = tensor.t().contiguous().t()
    state = torch.get_rng_state()
    with torch.device("meta"):
        assert fingerprints([tensor]) == fingerprints([turned])
    assert fingerprints([tensor]) == fingerprints([turned]) == fingerprints([tensor.clone()])
    assert torch.equal(state, torch.get_rng_state()) and tensor._version == 0


def test_what_has_no_bits_here_has_no_fingerprint():
    freed = torch.ones(5)
    freed.untyped_storage().resize_(0)
    for tensor in (freed, torch.eye(3).to_sparse(), torch.ones(2, device="meta")):
        assert fingerprints([torch.ones(2), tensor])[1] is None


def test_an_optimizer_is_looked_at_in_two_steps_and_then_left_alone(monkeypatch):
    read = []
    monkeypatch.setattr(
        first_steps, "fingerprints", lambda ps: read.append(len(ps)) or [0] * len(ps)
    )
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch():
        regression(model, sgd, steps=40)
    assert read == [2, 2, 2, 2], "before and after each of two steps"


def test_what_has_moved_is_not_looked_at_again(monkeypatch):
    read, real = [], first_steps.fingerprints
    monkeypatch.setattr(first_steps, "fingerprints", lambda ps: read.append(len(ps)) or real(ps))
    watched(lambda: adversarial(1, real=True))
    assert read == [2, 2, 2, 2], "one step of each of two optimizers"


def test_no_copy_of_the_weights_is_kept_between_two_steps():
    model = network(4, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.0)
    x = torch.rand(8, 4)
    with watch() as w:
        train(sgd, lambda step: model(x).square().mean(), steps=1)
        kept = [thing for thing in gc.get_objects() if type(thing) is FirstSteps]
        held = [value for first in kept for value in gc.get_referents(vars(first))]
        assert kept and not any(isinstance(value, torch.Tensor) for value in held)
    assert w.healthy
