"""Right and wrong answers on checkpoints and frozen networks."""

import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def each_in(run):
    def run_blocks(blocks, x):
        for block in blocks:
            x = run(block, x)
        return x

    return run_blocks


def reentrant(block, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return checkpoint(block, x, use_reentrant=True)


def unfrozen(block, x):
    block.requires_grad_()
    return checkpoint(block, x, use_reentrant=False)


def input_that_requires(blocks, x):
    x = x.detach().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


def not_reentrant(blocks, x):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


def nothing_recorded(image, target, network):
    with torch.no_grad():
        return (network(image) - network(target)).square().mean()


def features_detached(image, target, network):
    network.requires_grad_(False)
    difference = network(image).detach() - network(target)
    return difference.square().mean()


def in_eval(image, target, network):
    return (network.eval()(image) - network(target.detach())).square().mean()


def flag_of_the_module(image, target, network):
    network.requires_grad = False
    return in_eval(image, target, network)


def target_not_detached(image, target, network):
    network.requires_grad_(False)
    return (network(image) - network(target)).square().mean()


def sum_of_squares(image, target, network):
    network.requires_grad_(False)
    return (network(image) - network(target.detach())).square().sum()


# ---- right ones, besides the folded solution


def through_functional_call(image, target, network):
    fixed = {name: p.detach() for name, p in network.named_parameters()}
    goal = network(target).detach()
    seen = torch.func.functional_call(network, fixed, image)
    return torch.nn.functional.mse_loss(seen, goal)


RIGHT = {
    "checkpoints_and_freezing.1": {
        "not reentrant": not_reentrant,
        "an input that requires": input_that_requires,
    },
    "checkpoints_and_freezing.2": {"functional_call": through_functional_call},
}

WRONG = {
    "checkpoints_and_freezing.1": {
        "all in one": (
            lambda blocks, x: checkpoint(nn.Sequential(*blocks), x, use_reentrant=False),
            "[0, 1, 2, 3] again … a checkpoint of its own",
        ),
        "the caller's own x": (
            lambda blocks, x: not_reentrant(blocks, x.requires_grad_()),
            "x itself requires a gradient now",
        ),
        "as it was": (each_in(reentrant), "no grad_fn … none of its *inputs*"),
        "no checkpoint": (each_in(lambda block, x: block(x)), "kept for backward: yours"),
        "unfrozen": (each_in(unfrozen), "0.frozen: yours has a gradient"),
        "another dropout": (
            each_in(
                lambda block, x: checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
            ),
            "gradient with respect to 0.down … the same dropout",
        ),
        "covered": (
            lambda blocks, x: each_in(reentrant)(blocks, x).requires_grad_(),
            "gradient with respect to 0.down … Nothing inside this checkpoint was recorded",
        ),
    },
    "checkpoints_and_freezing.2": {
        "no_grad around all": (nothing_recorded, "the value is right … has no history"),
        "the features are detached": (
            features_detached,
            "image.grad: yours is NoneType … cuts its path",
        ),
        "the module's own requires_grad": (
            flag_of_the_module,
            "0.weight … network.requires_grad = False … is a method",
        ),
        "the target is trained, too": (
            target_not_detached,
            "target.grad … expected None … Only the image",
        ),
        "the sum": (sum_of_squares, "loss: yours … That is the sum, expected the mean."),
    },
}
