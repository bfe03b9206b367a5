"""Rules about an operation of the forward pass that made inf or NaN, and about data that had it."""

from types import SimpleNamespace

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.rule import Rule, Rulebook, always

FINITE_MASK = (
    "mask with a finite number instead of -inf, one that float16 can hold: "
    "scores.masked_fill(mask, -1e4)"
)
LOOK_AT_THE_DATA = (
    "check torch.isfinite(x).all() for the data and the parameters, before the forward pass"
)
SAFE_DIVISOR = "divide by a safe number: torch.where(d == 0, 1.0, d)"
READY_MADE = (
    "use the ready-made function (sigmoid, softmax, logsumexp, cross_entropy), or another scale; a "
    "wider dtype only moves the limit"
)

# An operation turned finite numbers into inf or NaN in the forward pass.
FORWARD = Rulebook()


def ctc_lengths(step: BackwardStep) -> list[tuple[int, int, int]]:
    """Of each sample of a CTC loss: the frames, the labels, and the frames that these need.

    >>> scores, labels = torch.zeros(3, 1, 2, requires_grad=True), torch.tensor([[1, 1]])
    >>> loss = torch.nn.functional.ctc_loss(scores, labels, (3,), (2,), reduction="none")
    >>> ctc_lengths(BackwardStep(loss.grad_fn))
    [(3, 2, 3)]
    """
    saved = step.saved
    frames, labels = ([int(n) for n in saved[name]] for name in ("input_lengths", "target_lengths"))
    targets, start, found = saved["targets"], 0, []
    for k, (have, length) in enumerate(zip(frames, labels, strict=True)):
        own = targets[k, :length] if targets.dim() == 2 else targets[start : start + length]
        start += length
        repeats = int((own[1:] == own[:-1]).sum())  # a blank has to stand between two equal labels
        found.append((have, length, length + repeats))
    return found


def _the_shortest(origin: SimpleNamespace) -> str:
    lengths = ctc_lengths(origin.step)
    short = [k for k, (have, _, needed) in enumerate(lengths) if needed > have]
    have, labels, needed = lengths[short[0]]
    more = f" ({len(short)} of {len(lengths)} samples)" if len(short) > 1 else ""
    return (
        f"sample {short[0]} has {labels} labels, which need {needed} frames, but its input has "
        f"{have}{more}"
    )


FORWARD.add(
    "target-too-long",
    "ctc_loss is inf, since no alignment exists: {detail}",
    "give it longer inputs (less downsampling) or shorter targets, or leave such samples out with "
    "zero_infinity=True",
    on={"CtcLoss": lambda origin: origin.proven},
    detail=_the_shortest,
)

FORWARD.add(
    "empty-selection/all-ignored",
    "each target has the ignore_index of the loss, so its mean is 0/0",
    "divide the sum by the number of targets that count, and by 1 if there is none: "
    "cross_entropy(..., reduction='sum') / (target != -100).sum().clamp(min=1)",
    on={"picks_targets": lambda origin: origin.proven},
)

FORWARD.add(
    "zero-times-infinity",
    "{operation} multiplies 0 by infinity, which is NaN: probably a masked probability (0) by its "
    "logarithm (-inf)",
    f"mask the logarithm as well, before the product: p * logp.masked_fill(p == 0, 0.0); or "
    f"{FINITE_MASK}",
    on={"Mul": lambda origin: origin.proven},
)

FORWARD.add(
    "division-by-zero/weight-norm",
    "weight_norm divides by the norm of a weight that is 0, and 0/0 is NaN",
    "initialise the weight with other numbers; to start from 0, set the gain "
    "(weight_g, parametrizations.weight.original0) to 0",
    on={"WeightNormInterface": lambda origin: origin.proven},
)

FORWARD.add(
    "division-by-zero/normalize",
    "normalize divides by 0: a vector is 0, and eps rounds to 0 in the dtype of the vector, as "
    "1e-12 does in float16",
    "normalize in float32, F.normalize(x.float(), dim=-1), or pass an eps that the dtype can hold: "
    "1e-6 in float16",
    on={"Normalize": always},
)

FORWARD.add(
    "forward-nonfinite/single-element",
    "the forward pass computed with inf or NaN: the {operation} of a single element is 0/0",
    "use correction=0 (unbiased=False), or at least two elements, as in a group of answers",
    on={"of_one": always},
)

FORWARD.add(
    "infinite-derivative/forward",
    "{operation} returned inf or NaN in the forward pass: its input is at or beyond the edge of "
    "its domain",
    "keep the input inside: x.clamp_min(1e-7) before a log; for the logarithm of a softmax, "
    "log_softmax",
    "nan.entropy",
    on={"edge": lambda origin: not traits_of(origin.kind).grows and origin.kind != "Pow"},
)

FORWARD.add(
    "infinite-derivative/power",
    "{operation} returned inf or NaN in the forward pass: its input is at or beyond the edge of "
    "its domain, or its result is more than its dtype can hold",
    "keep the input away from 0, or use another scale; a wider dtype moves the limit",
    on={"Pow": always},
)

FORWARD.add(
    "overflow/forward",
    "{operation} overflowed in the forward pass: its result is more than its dtype can hold",
    READY_MADE,
    "nan.overflow",
    on={"overflows grows": always},
)


def _is_sure(origin: SimpleNamespace) -> bool:
    """Does a log_softmax hold -inf, but no NaN?"""
    return origin.step is not None and not bool(origin.step.saved["result"].isnan().any())


FORWARD.add(
    "masked-class",
    "log_softmax is -inf for a class: probably its score is masked with -inf, and the loss uses it",
    f"check that no target is masked, or {FINITE_MASK}",
    on={"LogSoftmax": _is_sure},
)

FORWARD.add(
    "empty-softmax",
    "{operation} returned inf or NaN in the forward pass: probably a whole row is masked (-inf), "
    "and a softmax over nothing is 0/0",
    f"leave out empty rows, or {FINITE_MASK}",
    "nan.attention",
    on={"has_softmax": always},
)

FORWARD.add(
    "division-by-zero/forward",
    "{operation} returned inf or NaN in the forward pass: the divisor is 0, or so small that the "
    "quotient overflows",
    SAFE_DIVISOR,
    on={"divides": always},
)

FORWARD.add(
    "forward-nonfinite/made-here",
    "{operation} returned inf or NaN in the forward pass, for finite inputs",
    "look at the numbers that enter it: are they too large, or outside its domain?",
    on={"": lambda origin: origin.finite},
)

UNKNOWN_OPERATION = FORWARD.add(
    "forward-nonfinite/operation",
    "the forward pass computed with inf or NaN, which {operation} returned",
    LOOK_AT_THE_DATA,
    on={"": always},
)

NAN_LEAF = Rule(
    "nan-leaf",
    "{name} itself holds NaN, which spreads to what is computed with it",
    "find what was written into it: data, or an update by a gradient that was already NaN",
    "nan",
)

NAN_DATA = Rule(
    "nonfinite-data",
    "{name} holds inf or NaN in {bad} elements, which spread to what is computed with them. It "
    "requires no gradient: it is data, or was computed from data",
    "check torch.isfinite(x).all() of the data, and of each result computed from them. If the data "
    "are finite, look for the std of one element, 0/0 or the log of 0; if not, leave out these "
    "samples",
    "nan",
)

MASKED_DATA = Rule(
    "masked-too-late/data",
    "0 times NaN is NaN: the data hold NaN, and multiplying by a mask of 0 does not remove it",
    "replace it before the computation: torch.where(ok, data, 0.0); or leave it out: x[ok]",
    "nan.where",
)

UNKNOWN_ORIGIN = Rule(
    "forward-nonfinite/unknown",
    "the forward pass computed with inf or NaN, and no operation that can be checked here produced "
    "them: probably the data or a parameter has them, or something overflowed",
    LOOK_AT_THE_DATA,
)
