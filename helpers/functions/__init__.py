"""Functions with an overridden backward: value and surrogate gradient side by side.

Each is a class, a `torch.autograd.Function` with `forward` and `backward`, and a function that
people call: `round_ste(x)`. All work under torch.func, forward mode, torch.compile and autocast,
in float64, float32, bfloat16 and float16. Notebook 04 builds one of them step by step, and
notebooks 17 and 18 show what each of its lines is for.

A straight-through estimator (STE) has the value of one function and the gradient of another:
Bengio, Léonard, Courville 2013, https://arxiv.org/abs/1308.3432.
"""

from helpers.functions.anywhere import apply_anywhere, value_with_gradient_of
from helpers.functions.choosing import ArgmaxSTE, argmax_ste
from helpers.functions.clamping import Clamp, ClampSTE, SignSTE, clamp, clamp_ste, sign_ste
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
from helpers.functions.upstream import ScaleGradient, reverse_gradient, scale_gradient

__all__ = [
    "SURROGATES",
    "ArgmaxSTE",
    "CeilSTE",
    "Clamp",
    "ClampSTE",
    "FakeQuantize",
    "FloorSTE",
    "LSQuantize",
    "RoundSTE",
    "ScaleGradient",
    "SignSTE",
    "Step",
    "TruncSTE",
    "apply_anywhere",
    "argmax_ste",
    "ceil_ste",
    "clamp",
    "clamp_ste",
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
