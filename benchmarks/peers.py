"""What benchmarks/functions.py compares: each operator of helpers/functions, and its peers.

A contender is one entry of CONTENDERS, which has those of the installed libraries. Whoever wants to
try a peer's function in another way, on a report card for example, finds it here.
"""

import logging
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from installed import installed

from helpers.functions import (
    argmax_ste,
    clamp,
    fake_quantize,
    lsq_quantize,
    round_ste,
    sign_ste,
    step,
)

OURS, DETACHED = "ours", "p + (y - p).detach()"

BITS, LOW, HIGH, SCALE, ZERO_POINT = 8, -128, 127, 1 / 64, 10  # clips 5% of normal numbers
OPTIONS = 100  # of which argmax_ste chooses one
BOUNDS = [LOW, HIGH, LOW - ZERO_POINT, HIGH - ZERO_POINT, 0]
KINKS = [-1, 1, *(SCALE * bound for bound in BOUNDS)]  # within half a step, definitions differ


class Contender(NamedTuple):
    """One way to compute an operator.

    function  returns y
    takes     "x", or "x step" where the step size is learned; both get a gradient
    differs   how its gradient differs from ours by design; without such words it must be the same
    """

    operator: str
    name: str
    function: Callable[..., torch.Tensor]
    takes: str = "x"
    differs: str = ""


def round_without_function(x):
    """As in the_report_card: a clone, and its numbers overwritten."""
    y = x.clone()
    y.detach().round_()
    return y


def detached(p, y):
    """The value of y with the gradient of p, as most people spell it."""
    return p + (y - p).detach()


def detached_fake_quantize(x):
    bins = x / SCALE
    bins = detached(bins, bins.round()) + ZERO_POINT
    return (bins.clamp(LOW, HIGH) - ZERO_POINT) * SCALE


def detached_lsq(x, step):
    step = detached(step * lsq_factor(x), step)
    bins = (x / step).clamp(LOW, HIGH)
    return detached(bins, bins.round()) * step


def lsq_factor(x):
    """Times this, the gradient of a step size has the right size: arxiv.org/abs/1902.08153."""
    return 1 / math.sqrt(x.numel() * HIGH)


def among(choose):
    """choose(rows), for rows of OPTIONS numbers each."""
    return lambda x: choose(x.unflatten(0, (-1, OPTIONS))).flatten()


def torch_argmax(rows):
    """What torch's gumbel_softmax(hard=True) does with its noisy logits."""
    soft = rows.softmax(-1)
    hard = torch.zeros_like(rows).scatter_(-1, soft.max(-1, keepdim=True)[1], 1.0)
    return hard - soft.detach() + soft


def torch_fake_quantize(x):
    return torch.fake_quantize_per_tensor_affine(x, SCALE, ZERO_POINT, LOW, HIGH)


def torch_lsq(x, step):
    learnable = torch._fake_quantize_learnable_per_tensor_affine
    return learnable(x, step, zero, LOW, HIGH, lsq_factor(x))


scale, zero_point, zero = torch.tensor(SCALE), torch.tensor(float(ZERO_POINT)), torch.zeros(1)


def ours_and_torch():
    return [
        Contender("round_ste", OURS, round_ste),
        Contender("round_ste", "torch.round, gradient 0", torch.round, differs="0 everywhere"),
        Contender("round_ste", "clone, no Function", round_without_function),
        Contender("round_ste", DETACHED, lambda x: detached(x, x.round())),
        #
        Contender("sign_ste", OURS, sign_ste),
        Contender("sign_ste", DETACHED, lambda x: detached(F.hardtanh(x), x.sign())),
        #
        Contender("clamp", OURS, lambda x: clamp(x, -1, 1, bound_gradient=0)),
        Contender("clamp", "ours, bound ½", lambda x: clamp(x, -1, 1, bound_gradient=0.5)),
        Contender("clamp", "ours, bound 1", lambda x: clamp(x, -1, 1, bound_gradient=1)),
        Contender("clamp", "F.hardtanh", lambda x: F.hardtanh(x, -1, 1)),
        Contender("clamp", "torch.clamp", lambda x: torch.clamp(x, -1, 1)),
        #
        Contender("step", OURS, lambda x: step(x, "atan", width=1 / math.pi)),
        #
        Contender("fake_quantize", OURS, lambda x: fake_quantize(x, SCALE, ZERO_POINT, LOW, HIGH)),
        Contender("fake_quantize", "torch", torch_fake_quantize),
        Contender("fake_quantize", DETACHED, detached_fake_quantize),
        #
        # half of all normal numbers are clipped, which takes torch longer
        Contender("fake_quantize, 0 to 255", OURS, lambda x: fake_quantize(x, SCALE, 0, 0, 255)),
        Contender(
            "fake_quantize, 0 to 255",
            "torch",
            lambda x: torch.fake_quantize_per_tensor_affine(x, SCALE, 0, 0, 255),
        ),
        #
        Contender("lsq_quantize", OURS, lambda x, step: lsq_quantize(x, step, LOW, HIGH), "x step"),
        Contender("lsq_quantize", "torch", torch_lsq, "x step"),
        Contender("lsq_quantize", DETACHED, detached_lsq, "x step"),
        #
        Contender("argmax_ste", OURS, among(argmax_ste)),
        Contender("argmax_ste", "as in torch's gumbel_softmax", among(torch_argmax)),
    ]


def of_brevitas():
    from brevitas.core.function_wrapper import Identity
    from brevitas.core.quant import IntQuant
    from brevitas.function import ops_ste

    integer = IntQuant(signed=True, narrow_range=False, input_view_impl=Identity())
    bits = torch.tensor(float(BITS))
    no_factor = "dL/dstep without the factor of LSQ"
    return [
        Contender("round_ste", "brevitas", ops_ste.round_ste),
        Contender(
            "sign_ste", "brevitas binary, unclipped", ops_ste.binary_sign_ste, differs="not clipped"
        ),
        Contender(
            "sign_ste",
            "brevitas ternary, unclipped",
            ops_ste.ternary_sign_ste,
            differs="not clipped",
        ),
        Contender(
            "sign_ste",
            "brevitas binary, clipped",
            lambda x: ops_ste.binary_sign_ste(F.hardtanh(x)),
        ),
        Contender("fake_quantize", "brevitas", lambda x: integer(scale, zero_point, bits, x)),
        Contender(
            "lsq_quantize",
            "brevitas",
            lambda x, step: integer(step, zero, bits, x),
            "x step",
            differs=no_factor,
        ),
    ]


def of_snntorch():
    from snntorch import surrogate

    return [Contender("step", "snntorch", surrogate.atan(alpha=2.0))]


def of_spikingjelly():
    from spikingjelly.activation_based import surrogate

    return [Contender("step", "spikingjelly", surrogate.ATan(alpha=2.0))]


def of_torchao():
    from torchao.prototype.paretoq.models.utils_quant import LsqBinaryTernaryExtension
    from torchao.quantization import quant_primitives

    def quantized(x):
        affine = quant_primitives._fake_quantize_affine
        return affine(x, x.shape, scale, zero_point, torch.int32, LOW, HIGH)

    def lsq(x, step):
        return LsqBinaryTernaryExtension.apply(x, step, BITS, True)

    return [
        Contender("round_ste", "torchao", quant_primitives._Round.apply),
        Contender("fake_quantize", "torchao", quantized),
        Contender("lsq_quantize", "torchao", lsq, "x step"),
    ]


def of_vector_quantize_pytorch():
    from vector_quantize_pytorch.vector_quantize_pytorch import gumbel_sample

    return [
        Contender(
            "argmax_ste",
            "vector_quantize_pytorch",
            among(lambda rows: gumbel_sample(rows, straight_through=True)[1]),
        )
    ]


PEERS = {
    "brevitas": of_brevitas,
    "snntorch": of_snntorch,
    "spikingjelly": of_spikingjelly,
    "torchao": of_torchao,
    "vector_quantize_pytorch": of_vector_quantize_pytorch,
}


def installed_contenders():
    """All contenders, by operator; in each, ours is the first."""
    contenders = ours_and_torch()
    operators = list(dict.fromkeys(contender.operator for contender in contenders))
    logging.disable(logging.WARNING)  # torchao names each GPU library that it does not find
    for peer in installed(PEERS):
        contenders += PEERS[peer]()
    logging.disable(logging.NOTSET)
    return sorted(contenders, key=lambda contender: operators.index(contender.operator))


CONTENDERS = installed_contenders()
