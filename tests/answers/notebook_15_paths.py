"""Right and wrong answers on freezing, hooks and several processes."""

import copy

import torch
from torch.autograd import Function


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


def hooked(hook, copy=torch.Tensor.clone):
    def clipped(x, limit):
        y = copy(x)
        y.register_hook(lambda gradient: hook(gradient, limit))
        return y

    return clipped


def clamp(gradient, limit):
    return gradient.clamp(-limit, limit)


# ---- right ones, besides the folded solution


def through_functional_call(image, target, network):
    fixed = {name: p.detach() for name, p in network.named_parameters()}
    goal = network(target).detach()
    seen = torch.func.functional_call(network, fixed, image)
    return torch.nn.functional.mse_loss(seen, goal)


def one_by_one(image, target, network):
    for parameter in network.parameters():
        parameter.requires_grad = False
    with torch.no_grad():
        goal = network(target)
    return ((network(image) - goal) ** 2).mean()


def through_a_copy(image, target, network):
    with torch.inference_mode():
        goal = network(target)
    fixed = copy.deepcopy(network).requires_grad_(False)
    return (fixed(image) - goal.clone()).square().mean()


class ClampsGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


def with_a_hook(new):
    def clipped(x, limit):
        y = new(x)
        y.register_hook(lambda gradient: torch.clamp(gradient, -limit, limit))
        return y

    return clipped


RIGHT = {
    "15.5": {
        "functional_call": through_functional_call,
        "one by one": one_by_one,
        "a frozen copy": through_a_copy,
    },
    "15.6": {
        "a clone": with_a_hook(torch.clone),
        "times 1": with_a_hook(lambda x: x * 1),
        "a view": with_a_hook(lambda x: x.view(x.shape)),
        "a Function": ClampsGradient.apply,
    },
    "15.7": {
        "the share first": lambda losses, everywhere, processes: (
            processes * (losses / everywhere).sum()
        ),
        "a mean where there are any": lambda losses, everywhere, processes: (
            losses.mean() * len(losses) * processes / everywhere if len(losses) else losses.sum()
        ),
        "a divisor": lambda losses, everywhere, processes: losses.sum() / (everywhere / processes),
    },
}

WRONG = {
    "15.5": {
        "no_grad around all": (nothing_recorded, "the value is right … has no history"),
        "the features are detached": (features_detached, "image.grad: yours None … cuts its path"),
        "eval() instead of freezing": (in_eval, "0.weight … eval() does not freeze it"),
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
    "15.6": {
        "a hook on x itself": (hooked(clamp, copy=lambda x: x), "x.grad … The hook is on x itself"),
        "the hook returns nothing": (
            hooked(lambda gradient, limit: None),
            "x.grad … a hook has to return the new gradient",
        ),
        "the hook writes in place": (
            hooked(lambda gradient, limit: gradient.clamp_(-limit, limit)),
            "neighbour … clamp, not clamp_",
        ),
        "one side": (
            hooked(lambda gradient, limit: gradient.clamp(max=limit)),
            "below -limit, too",
        ),
        "to [-1, 1]": (
            hooked(lambda gradient, limit: gradient.clamp(-1, 1)),
            "clamped to [-1, 1], whatever the limit is",
        ),
        "to 0.5": (
            hooked(lambda gradient, limit: gradient.clamp(-0.5, 0.5)),
            "x.grad [0, 0]: yours",
        ),
        "clipped by norm": (
            hooked(lambda gradient, limit: gradient * (limit / gradient.norm()).clamp(max=1)),
            "x.grad … That is clipping by norm",
        ),
        "the value is clamped": (
            lambda x, limit: x.clamp(-limit, limit),
            "value … expected the gradient",
        ),
        "cut off from x": (
            lambda x, limit: hooked(clamp)(x.detach().requires_grad_(), limit),
            "x.grad … The path through the result is cut.",
        ),
        "no history": (lambda x, limit: x.detach(), "has no history: no gradient reaches x"),
    },
    "15.7": {
        "the mean": (lambda losses, everywhere, processes: losses.mean(), "1 + 3 … mean of means"),
        "without the number of processes": (
            lambda losses, everywhere, processes: losses.sum() / everywhere,
            "2 + 2 … DDP divides by the number of processes once more",
        ),
        "the sum": (
            lambda losses, everywhere, processes: losses.sum(),
            "2 + 2 … the sum divided by the number of processes",
        ),
        "divided by the processes": (
            lambda losses, everywhere, processes: losses.sum() / everywhere / processes,
            "into the product, not the divisor",
        ),
        "the mean, weighted by its share": (
            lambda losses, everywhere, processes: (
                losses.mean() * len(losses) * processes / everywhere
            ),
            "3 + 0: yours nan … take the sum",
        ),
        "a vector": (
            lambda losses, everywhere, processes: losses * processes / everywhere,
            "yours has shape (2,) … Add up the losses",
        ),
        "a new zero for an empty share": (
            lambda losses, everywhere, processes: (
                losses.sum() * processes / everywhere
                if len(losses)
                else torch.zeros((), requires_grad=True)
            ),
            "3 + 0 … does not lead back to the weights … DDP in the other processes waits",
        ),
        "a number": (
            lambda losses, everywhere, processes: losses.sum().detach(),
            "has no history, so nothing is trained",
        ),
    },
}
