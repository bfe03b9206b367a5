"""watch() is healthy only if what the optimizers hold gets a gradient, and if their steps move it.

Each loop is a few steps of training. A bug has the status and the cause that are reported, and a
healthy loop has no alarm.
"""

import functools

import torch
import torch._dynamo
from test_rules import RULES
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as schedulers
from training import Collocation, Heads, PlainList, RoundsAtRandom, network, sgd_of, train

BUGS, HEALTHY = {}, {}
CLEARED = "cleared before the step"
SENTENCES = {rule.id: rule.sentence for rule in RULES}


def bug(status, rule):
    def register(loop):
        BUGS[loop.__name__] = loop, status, rule, {}
        return loop

    return register


def healthy(loop, note=""):
    """A note in the summary says what its rule says."""
    HEALTHY[loop.__name__] = loop, note
    return loop


def noted(rule):
    return functools.partial(healthy, note=rule)


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
    optimizers = list(map(sgd_of, parts))
    for step in range(1, steps + 1):
        hidden = parts[0](torch.rand(8, 4))
        parts[1](hidden.detach() if cut else hidden).square().mean().backward()
        for optimizer, often in zip(optimizers, every, strict=True):
            if step % often == 0:
                optimizer.step()
                optimizer.zero_grad()


def batches(count, clears, steps=lambda batch: True, clipped=False, set_to_none=True):
    """Which batches begin with zero_grad(), and which end with step()?"""
    model = network(4, 1)
    sgd = sgd_of(model)
    for batch in range(count):
        if clears(batch):
            sgd.zero_grad(set_to_none)
        model(torch.rand(8, 4)).square().mean().backward()
        if steps(batch):
            if clipped:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
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


def heads(steps, name_of):
    model = Heads()
    train(sgd_of(model), lambda step: model.loss(name_of(step)), steps)


def words(sparse, kind, **options):
    table, head = nn.Embedding(50, 4, sparse=sparse), nn.Linear(4, 1)
    both = [kind(table.parameters(), **options), torch.optim.Adam(head.parameters())]
    train(both, lambda step: head(table(torch.tensor([step]))).square().mean())


def plain_list(is_held, lr=0.1):
    model = PlainList(nn.Linear(4, 8), nn.Sequential(nn.Tanh(), nn.Linear(8, 4)))
    held = [p for (part,) in model.parts if is_held for p in part.parameters()]
    regression(model, torch.optim.SGD([*held, *model.parameters()], lr=lr))


def detached(steps):
    model = network(4, 1)
    train(sgd_of(model), lambda _: model(torch.rand(8, 4)).detach().requires_grad_().mean(), steps)


def at_rate(lr, steps=4, warm_up=0, kind=torch.optim.SGD):
    model = network(4, 1)
    optimizer = kind(model.parameters(), lr=lr)
    after = [warmed_up(optimizer, warm_up)] if warm_up else []
    regression(model, optimizer, steps, after)


def in_bfloat16(lr, steps=4, warm_up=0):
    model = nn.Linear(4, 4).bfloat16()
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.5)
    x = torch.rand(8, 4, dtype=torch.bfloat16)
    adam = torch.optim.AdamW(model.parameters(), lr=lr)
    after = [warmed_up(adam, warm_up)] if warm_up else []
    train(adam, lambda step: model(x).square().mean(), steps, after)


def second_group_warmed_up():
    layer = nn.Linear(64, 64).bfloat16()
    groups = [{"params": [layer.bias]}, {"params": [layer.weight]}]
    adam = torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.0)
    rates = schedulers.LambdaLR(adam, [lambda step: 1.0, lambda step: step / 1000])
    x, goal = torch.rand(2, 8, 64, dtype=torch.bfloat16)
    train(adam, lambda step: (layer(x) - goal).square().mean(), 20, [rates])


def in_bfloat16_for_long(lr, steps, warm_up=0, kind=torch.optim.AdamW):
    """A layer whose weights lie between -1/8 and 1/8."""
    model = nn.Linear(64, 64, bias=False).bfloat16()
    optimizer = kind(model.parameters(), lr=lr, weight_decay=0.0)
    after = [warmed_up(optimizer, warm_up)] if warm_up else []
    x, goal = torch.rand(2, 8, 64, dtype=torch.bfloat16)
    train(optimizer, lambda step: (model(x) - goal).square().mean(), steps, after)


def ones_and_zeros(*counts):
    """Weights of float16 whose ones no update moves, and whose zeros each update does."""
    weights = [torch.eye(2).half()[0].repeat_interleave(torch.tensor(c)) for c in counts]
    groups = [{"params": w.requires_grad_(), "lr": 0.005 / len(w)} for w in weights]
    train(torch.optim.SGD(groups), lambda step: sum(w.sum() for w in weights))


def classifier(*more):
    return nn.Sequential(nn.Linear(4, 8), *more, nn.Linear(8, 2))


def error_of(model):
    return F.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))


def classify(model, sgd, steps=12, before=lambda i: None, after=lambda i: None):
    for i in range(steps):
        before(i)
        model.zero_grad()
        error_of(model).backward()
        sgd.step()
        after(i)


def in_modes(before=lambda model, i: None, after=lambda model, i: None, first=lambda model: None):
    """What sets the mode of a model with a dropout, and when?"""
    model = classifier(nn.Dropout(0.5))
    first(model)
    each = (functools.partial(change, model) for change in (before, after))
    classify(model, sgd_of(model), 12, *each)


def replaced(is_added):
    """A layer of another one: is it given to the optimizer, too?"""
    model = classifier()
    sgd = sgd_of(model)
    classify(model, sgd, 20)
    model[-1] = nn.Linear(8, 2)
    if is_added:
        sgd.param_groups[0]["params"][-2:] = model[-1].parameters()
    classify(model, sgd, 10)
    return model


def scheduled(steps, kind, *options, each_step=True):
    model = network(4, 1)
    optimizer = sgd_of(model)
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
    optimizer = sgd_of(model)
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
    sgd, parameters = sgd_of(model), given(model)
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


def each_step(update, before=lambda sgd: sgd.zero_grad()):
    """Four steps of one loss: before(sgd), backward(), update(sgd, model)."""
    model, x = network(4, 4, 1), torch.rand(8, 4)
    sgd = sgd_of(model)
    for _ in range(4):
        before(sgd)
        model(x).square().mean().backward()
        update(sgd, model)


def cleared_first(set_to_none, by_model=False):
    """https://github.com/cloneofsimo/lora/issues/263"""

    def update(sgd, model):
        (model if by_model else sgd).zero_grad(set_to_none)
        sgd.step()

    each_step(update, before=lambda sgd: None)


def update_by_hand(sgd, model):
    for p in model.parameters():
        p.data -= 0.1 * p.grad


HUGE = 2.0**100  # as a scale, it makes each gradient in float16 infinite
ALWAYS = {step: HUGE for step in range(9)}
PARTLY = "not trained", "lost-update/partly"
USED_TWICE = "wrong", "accumulated/used-twice"
DETACHED, WAITING = ("none", "detach/call"), "a generator that waits for long"
BUGS |= {name: (loop, *found, {}) for name, loop, found in [
    ("few elements", lambda: ones_and_zeros((60, 4), (60, 2)), PARTLY),
    ("halves", lambda: ones_and_zeros((40, 0), (0, 50)), (PARTLY[0], "lost-update/half")),
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
    ("nobody clears", lambda: batches(6, lambda batch: False), USED_TWICE),
    ("cleared in every second step", lambda: batches(10, lambda k: k and k % 2 == 0), USED_TWICE),
    ("each batch cleared", lambda: batches(8, lambda k: True, lambda k: k % 2),
     ("wrong", "cleared-batches")),
    ("each batch cleared and clipped",
     lambda: batches(18, lambda k: True, lambda k: k % 3 == 2, True, set_to_none=False),
     ("wrong", "cleared-batches")),
    ("a step without parentheses", lambda: each_step(lambda sgd, model: sgd.step),
     ("not trained", "no-step")),
    ("layers in a plain list", lambda: plain_list(is_held=False),
     ("not trained", "unregistered/attribute")),
    ("never in training mode again",
     lambda: in_modes(after=lambda model, i: model.train(i < 4)), ("wrong", "left-in-eval-mode")),
    ("in eval mode for three steps",
     lambda: in_modes(lambda model, i: model.train(i not in (5, 6, 7))),
     ("wrong", "left-in-eval-mode")),
    ("a layer that was replaced", lambda: replaced(is_added=False),
     ("not trained", "replaced-layer")),
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
    ("validated after every second step",
     lambda: in_modes(lambda model, i: model.train(), lambda model, i: model.train(i % 2 == 0))),
    ("a part in eval mode", lambda: in_modes(first=lambda model: model[1].eval())),
    ("in eval mode at times", lambda: in_modes(lambda model, i: model.train(i not in (5, 6, 9)))),
    ("a layer that was replaced and added", lambda: replaced(is_added=True)),
    ("a cosine that ends at 0", lambda: scheduled(33, schedulers.CosineAnnealingLR, 33)),
    ("a rate of 0 in one step",
     lambda: scheduled(40, schedulers.LambdaLR, lambda step: float(step != 31))),
    ("a rate that falls and moves", lambda: scheduled(34, schedulers.ExponentialLR, 0.7)),
    ("words that are not in the batch", lambda: words(False, torch.optim.SGD, lr=0.1)),
    ("sparse gradients", lambda: words(True, torch.optim.SparseAdam)),
    ("an input in an attribute", lambda: Collocation().train_it()),
    ("a warm-up from what is rounded away", lambda: in_bfloat16(0.1, 40, warm_up=1000)),
    ("a warm-up of the second group alone", second_group_warmed_up),
    *((f"a scaler that skips {which}, {fused=}", functools.partial(scaled, 8, scales, fused))
      for fused in (False, True)
      for which, scales in [("the first steps", {1: HUGE, 2: HUGE, 3: 8.0}),
                            ("a late step", {4: HUGE, 5: 8.0}), ("the last step", {8: HUGE})]),
]}  # fmt: skip
HEALTHY["one step of a warm-up"] = lambda: at_rate(0.01, 1, warm_up=100), "early"
HEALTHY["steps by hand"] = (lambda: each_step(update_by_hand), "no step() of an optimizer was seen")
HEALTHY["all steps skipped, fused"] = lambda: scaled(3, ALWAYS, fused=True), "skipped-steps"
