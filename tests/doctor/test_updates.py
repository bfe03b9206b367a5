"""watch() is healthy only if what optimizers hold gets a gradient, and if steps move it."""

import gc
import re

import pytest
import torch
import torch._dynamo
from loops import (
    ALWAYS,
    BUGS,
    CLEARED,
    HEALTHY,
    SENTENCES,
    adversarial,
    closures,
    plain_list,
    regression,
    scaled,
)
from loops_of_models import a_frozen_embedding_whose_weight_is_that_of_the_last_layer_too
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from training import alarms, findings, network, sgd_of, train, watched

from autograd_surprises import watch
from autograd_surprises.doctor.watch import idle_optimizers
from autograd_surprises.doctor.watch.fingerprints import BLOCK, fingerprints
from autograd_surprises.doctor.watch.idle_optimizers import FirstSteps
from cases.small import HEALTHY as STEPS


def test_the_backwards_of_a_closure_are_one_step():
    w = watched(closures)
    assert w.step == 4 and len(w.reports) == 1


def test_a_gradient_that_was_cleared_is_not_called_one_that_never_came():
    w = watched(BUGS[CLEARED][0])
    assert w.healthy is False and "the gradients are cleared" in str(w)


def test_the_gradient_of_an_input_needs_no_step():
    def attack():
        model = network(4, 1)
        sgd = sgd_of(model)
        for _ in range(4):
            x = torch.rand(8, 4, requires_grad=True)
            sgd.zero_grad()
            model(x).square().mean().backward()

    w = watched(attack)
    assert w.healthy and str(w).endswith("no step() of an optimizer was seen")


GUILTY = {  # of the loops whose gradients are added up or cleared
    "model(torch.rand(8, 4)).square().mean().backward()",
    "F.softplus(-critic(maker(torch.rand(8, 2)))).mean().backward()",
}
SAID = {
    "few elements": "at most 6.25% ... 7.8125e-05 ... 8.06452e-05 ... 0.00098 apart",
    "halves": "0.00098 apart",
    "never in training mode again": "since step 6",
    "in eval mode for three steps": "since step 6",
    "a layer that was replaced": "1.weight, 1.bias",
}


@pytest.mark.parametrize("name", BUGS)
def test_it_is_reported(name):
    loop, status, rule, options = BUGS[name]
    w = watched(loop, **options)
    assert not w.healthy
    assert {(found.status, found.rule) for found in alarms(w)} == {(status, rule)}, str(w)
    assert len([each for each in w.reports if not each.healthy]) == 1, "told once"
    told = {found.name for found in alarms(w)}
    assert len(told) == len(alarms(w)) and all(told)
    assert all(part in str(w) for part in SAID.get(name, "").split(" ... "))
    if rule in ("cleared-batches", "accumulated/used-twice"):
        assert {dict(f.places)["backward at"].source for f in alarms(w)} <= GUILTY


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
        regression(model, sgd_of(model))
    ((found,),) = (each.report.findings for each in w.reports)
    assert (found.status, found.rule) == ("error", "frozen/all")
    assert found.sentence.startswith("SGD holds 4 parameters") and "SGD(" in found.where.source


def test_if_a_scaler_skips_all_steps_the_summary_says_why_none_was_seen():
    w = watched(lambda: scaled(3, ALWAYS))
    assert w.healthy and "no step() of an optimizer was seen (a GradScaler" in str(w)


# ---- How it looks


def test_a_loss_of_each_optimizer_is_examined():
    w = watched(lambda: adversarial(1, real=True, rounds=3))
    examined = {found.name for found in findings(w)}
    assert examined >= {"critic.0.weight", "maker.0.weight"}, w.reports


PARTS = ("adversarial", "zero_convolution")  # whose other part has an optimizer of its own
SPARSE = ("dlrm_sparse_bags", "matrix_factorization")


@pytest.mark.slow
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
    sgd = sgd_of(model)
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
        idle_optimizers, "fingerprints", lambda ps: read.append(len(ps)) or [0] * len(ps)
    )
    model = network(4, 1)
    sgd = sgd_of(model)
    with watch():
        regression(model, sgd, steps=40)
    assert read == [2, 2, 2, 2], "before and after each of two steps"


def test_what_has_moved_is_not_looked_at_again(monkeypatch):
    read, real = [], idle_optimizers.fingerprints
    monkeypatch.setattr(
        idle_optimizers, "fingerprints", lambda ps: read.append(len(ps)) or real(ps)
    )
    watched(lambda: adversarial(1, real=True))
    assert read == [2, 2, 2, 2], "one step of each of two optimizers"


def test_no_copy_of_the_weights_is_kept_between_two_steps():
    model = network(4, 1)
    sgd = sgd_of(model, lr=0.0)
    x = torch.rand(8, 4)
    with watch() as w:
        train(sgd, lambda step: model(x).square().mean(), steps=1)
        kept = [thing for thing in gc.get_objects() if type(thing) is FirstSteps]
        held = [value for first in kept for value in gc.get_referents(vars(first))]
        assert kept and not any(isinstance(value, torch.Tensor) for value in held)
    assert w.healthy


def test_a_part_in_a_plain_list_that_the_optimizer_holds_has_a_name():
    w = watched(lambda: plain_list(is_held=True, lr=0.0))
    names = [found.name for found in alarms(w)]
    assert any(name.endswith("Linear.weight") for name in names)
    assert not any("that the optimizer holds" in name for name in names)


def test_a_watch_that_is_entered_again_sees_that_no_step_was_made():
    ((loop, *_),) = [bug for bug in BUGS.values() if bug[2] == "no-step"][:1]
    w = watch()
    with w:
        pass
    with w:
        loop()
    assert "no-step" in {found.rule for found in findings(w)}, str(w)


def test_a_term_is_followed_although_its_loss_was_first_met_without_a_recording():
    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
    heads, encoders = (torch.optim.SGD(part.parameters(), lr=0.01) for part in (head, encoder))
    x = torch.rand(4, 3)
    with watch(steps=[4]) as w:
        for step in range(1, 20):
            heads.zero_grad(), encoders.zero_grad()
            loss = head(x).square().mean() + (encoder(x) - head(x).detach()).square().mean()
            bad = step == 2
            (loss * float("nan") if bad else loss).backward()
            if not bad:
                heads.step()
    assert "unused-term" in {found.rule for found in findings(w)}, str(w)
