"""Operations whose gradient is chosen by hand: what each pretends stands beside what it does.

Each is a class and a function. The class is a `torch.autograd.Function` with

    forward      the value
    times_slope  the gradient that it pretends to have, times the incoming one
    proxy        a plain function that really has this gradient

and the function is what you call: `round_ste(x)`. Two differ: `LSQuantize` has two gradients, and
so a whole backward, and `value_with_gradient_of` joins any value with any gradient, without a
class. All work under torch.func, forward mode, torch.compile and autocast, in float64, float32,
bfloat16 and float16. Notebook 04 builds one of them step by step, and notebook 10 shows what each
line of them is good for.

A straight-through estimator (STE) has the value of one function and the gradient of another:
Bengio, Léonard, Courville 2013, https://arxiv.org/abs/1308.3432.
"""

from helpers.functions.clamping import Clamp, ClampSTE, SignSTE, clamp, clamp_ste, sign_ste
from helpers.functions.elementwise import (
    Elementwise,
    StraightThrough,
    apply_anywhere,
    value_with_gradient_of,
)
from helpers.functions.quantizing import FakeQuantize, LSQuantize, fake_quantize, lsq_quantize
from helpers.functions.rounding import (
    CeilSTE,
    FloorSTE,
    RoundSTE,
    TruncSTE,
    ceil_ste,
    floor_ste,
    round_ste,
    trunc_ste,
)
from helpers.functions.stepping import SURROGATES, Step, step
from helpers.functions.upstream import (
    ClipGradient,
    ScaleGradient,
    clip_gradient,
    reverse_gradient,
    scale_gradient,
)

__all__ = [
    "SURROGATES",
    "CeilSTE",
    "Clamp",
    "ClampSTE",
    "ClipGradient",
    "Elementwise",
    "FakeQuantize",
    "FloorSTE",
    "LSQuantize",
    "RoundSTE",
    "ScaleGradient",
    "SignSTE",
    "Step",
    "StraightThrough",
    "TruncSTE",
    "apply_anywhere",
    "ceil_ste",
    "clamp",
    "clamp_ste",
    "clip_gradient",
    "fake_quantize",
    "floor_ste",
    "lsq_quantize",
    "reverse_gradient",
    "round_ste",
    "scale_gradient",
    "sign_ste",
    "step",
    "trunc_ste",
    "value_with_gradient_of",
]
