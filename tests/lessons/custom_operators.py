"""Right and wrong answers on operators of torch.library."""

import itertools

import torch
import torch.nn.functional as F
from torch.library import custom_op

NAMES = itertools.count()


def operator(backward=None, forward=F.softsign, save=lambda inputs, output: inputs[:1]):
    """An operator for softsign; `backward` gets what was saved, and grad_output."""

    def computed(x: torch.Tensor) -> torch.Tensor:
        return forward(x)

    made = custom_op(f"answers::softsign_{next(NAMES)}", computed, mutates_args=())
    if backward:
        made.register_autograd(
            lambda ctx, grad_output: backward(ctx.saved_tensors[0], grad_output),
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*save(inputs, output)),
        )
    return made


RIGHT = {
    "custom_operators.1": {
        "from the input": operator(lambda x, g: g / (1 + x.abs()) ** 2),
        "from the output": operator(
            lambda y, g: g * (1 - y.abs()) ** 2, save=lambda inputs, output: [output]
        ),
    },
    "custom_operators.2": {"at 0.5, two decimals": ("third", 0.5, 0.8)},
}

WRONG = {
    "custom_operators.1": {
        "no backward": (operator(), "the value is right … has no backward … register_autograd"),
        "without the square": (
            operator(lambda x, g: g / (1 + x.abs())),
            "gradient at x = -3 … the square is missing",
        ),
        "x for |x|": (operator(lambda x, g: g / (1 + x) ** 2), "Below 0 the slope needs |x|"),
        "of the identity": (operator(lambda x, g: g.clone()), "the gradient of x itself"),
        "torch's own": (F.softsign, "they do not come from an operator … Call the operator"),
        "the input's formula with the output": (
            operator(lambda y, g: g / (1 + y.abs()) ** 2, save=lambda inputs, output: [output]),
            "That is the slope at y: save the input",
        ),
        "nothing saved": (
            operator(lambda x, g: g / (1 + x.abs()) ** 2, save=lambda inputs, output: []),
            "found nothing in ctx.saved_tensors … setup_context",
        ),
    },
    "custom_operators.2": {
        "first": (("first", 1.0, 0.71), "'first' … its gradient is right"),
        "second": (("second", 1.0, 0.71), "'second' … opcheck finds … its gradient is right"),
        "fourth": (("fourth", 1.0, 0.71), "'fourth' … all that is registered is right"),
        "a fifth": (("fifth", 1.0, 0.71), "one of first, second, third, fourth; got 'fifth'"),
        "only a name": ("third", "needs three things"),
        "at 0": (("third", 0.0, 1.0), "at x = 0 the gradient of 'third' is right … another x"),
        "what it returns": (("third", 2.0, 0.33), "yours 0.33, expected 0.2 … its backward"),
        "for a grad_output of -1.25": (
            ("third", 2.0, -0.25),
            "yours -0.25, expected 0.2 … for grad_output = 1",
        ),
    },
}
