"""Right and wrong answers on a straight-through choice of two."""

import torch


def chosen(scores, count=2, dim=-1):
    places = scores.topk(count, dim).indices
    return torch.zeros_like(scores).scatter(dim, places, 1.0)


def through(soft, hard=chosen):
    """The straight-through estimator of this choice with this softmax."""

    def straight_through_top_two(scores, temperature):
        carrier = soft(scores, temperature)
        return hard(scores) - carrier.detach() + carrier

    return straight_through_top_two


def softmax(scores, temperature):
    return (scores / temperature).softmax(-1)


class TopTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, temperature):
        ctx.save_for_backward(softmax(scores, temperature))
        ctx.temperature = temperature
        return chosen(scores)

    @staticmethod
    def backward(ctx, grad_output):
        (soft,) = ctx.saved_tensors
        mean = (grad_output * soft).sum(-1, keepdim=True)
        return soft * (grad_output - mean) / ctx.temperature, None


def by_a_threshold(scores, temperature):
    soft = softmax(scores, temperature)
    second = scores.topk(2).values[..., -1:]
    return (scores >= second).to(scores.dtype) + (soft - soft.detach())


RIGHT = {
    "which_gradient_a_choice_passes_on.1": {
        "the difference last": by_a_threshold,
        "a Function": lambda scores, temperature: TopTwo.apply(scores, temperature),
    }
}

WRONG = {
    "which_gradient_a_choice_passes_on.1": {
        "no gradient": (
            lambda scores, temperature: chosen(scores),
            "The result has no graph: let the softmax carry the gradient",
        ),
        "the softmax itself": (softmax, "value, entry [0]: … That is the softmax"),
        "argmax": (through(softmax, lambda scores: chosen(scores, 1)), "Only the highest score"),
        "another dimension": (
            through(softmax, lambda scores: chosen(scores, min(2, len(scores)), 0)),
            "value … The two highest are taken of the first dimension.",
        ),
        "no temperature": (
            through(lambda scores, temperature: scores.softmax(-1)),
            "The temperature is missing.",
        ),
        "the order of the terms": (
            lambda scores, temperature: (
                chosen(scores)
                + softmax(scores, temperature)
                - softmax(scores, temperature).detach()
            ),
            "in bfloat16, a value is … take the difference first",
        ),
        "the other one detached": (
            lambda scores, temperature: (
                chosen(scores)
                - softmax(scores, temperature)
                + softmax(scores, temperature).detach()
            ),
            "The sign is turned",
        ),
        "nothing subtracted": (
            lambda scores, temperature: chosen(scores) + softmax(scores, temperature),
            "The softmax is added to the choice",
        ),
        "the identity": (
            through(lambda scores, temperature: scores),
            "passes the upstream gradient on as it is",
        ),
    }
}
