"""docs/report_cards.md, from what tools/library_cards.py found."""

from datetime import date
from importlib.metadata import version

import torch

TORCH = torch.__version__.partition("+")[0]
SECOND = "The first derivative is right. Gradient penalties and Hessians through it are "
CONSTANT = "backward treats what forward computed as a constant."
ONCE = (
    "silently 0 where it is summed or is the loss itself. Its backward is marked "
    "@once_differentiable, which raises an error only if grad_output requires a gradient."
)
FLOAT32 = (
    "A step function with a documented surrogate gradient, which is right. The result is always "
    "float32, so a model in bfloat16 or float64 fails at the next layer, or continues in float32."
)
MASK = (
    "Right for finite gradients. Where the gradient should be 0, an infinite upstream gradient "
    "becomes NaN, because backward multiplies by the mask. A loss scaler skips such a "
    "step in either case."
)
TWICE = (
    "A surrogate gradient. With a parameter of 1, it is twice the slope of the function in the "
    "docstring, which scales the gradients of the layers below."
)
SEES = {
    "BlockCircularConvolution": (
        "The gradient for the input is that of a convolution in the other direction: wrong for "
        "blocks longer than 2. The adapter's own weight gets the right gradient, but the layers "
        "below a C3A layer do not."
    ),
    "HadaWeightCP": (
        "The gradients of w1a and w2a are wrong: each is computed with the other's factor. LoHa "
        "uses it for convolutions with use_effective_conv2d=True."
    ),
    "LogNormalCDF": (
        "Below -1, value and gradient are approximations: at -1 the value jumps by 0.002, and at "
        "-1.02 the gradient is 0.6 % off the slope of the value. The second derivative there is 0, "
        "without an error."
    ),
    "HeaviErfc": TWICE,
    "HeaviTanh": TWICE,
    "HeaviCirc": TWICE + " Beyond 1e19 in float32, x² is infinite, and the gradient is NaN.",
    "SuperSpike": (
        "The surrogate gradient of the paper is 1 / (β·abs(x) + 1)². `alpha` should be this β, but "
        "it is not used: every alpha gives the gradient for 1."
    ),
    "Sigmoid": (
        "With the default slope 25, the surrogate gradient is NaN below -3.55 in float32, where "
        "exp(25 · 3.55) overflows, and below -0.44 in float16. One such membrane potential "
        "puts NaN into the weights. The result is always float32."
    ),
    "Heaviside": (
        FLOAT32 + " An infinite upstream gradient becomes NaN where nothing should pass. Its "
        "second derivative is not 0: it differentiates through the saved output."
    ),
    "LeakySpikeOperator": (
        "backward returns one gradient for two inputs, so every training step fails with an error."
    ),
    "s2nn": "The first derivative is right. At x = -1, the second is NaN: 0 · inf in torch.where.",
    "_SoftUnitStep": (
        "For x from 0 to 1e-23 in float32 (to 1e-162 in float64), x · x is 0, and the gradient is "
        "0 / 0: NaN instead of 0."
    ),
    "GeLUFunction": "Beyond 1e19 in float32, x² is infinite, and the gradient is NaN instead of 1.",
    "SymmetricQuantFunction": (
        "Straight-through, documented. For a half-precision input the result is float32, and for a "
        "0-d input it has one dimension."
    ),
    "entmax15": SECOND + "NaN where a probability is 0: the slope of a square root at 0.",
    "entmax_bisect": SECOND + "NaN where a probability is 0: the slope of a power at 0.",
    "sparsemax_loss": SECOND + "silently 0.",
    "entmax15_loss": SECOND + "silently 0.",
    "RBFCovariance": SECOND + f"silently wrong: {CONSTANT}",
    "MaternCovariance": SECOND + f"silently wrong: {CONSTANT}",
    "_SoftTargetCrossEntropy": SECOND + f"silently 0: {CONSTANT}",
    "_CategoricalKL": SECOND + f"silently 0: {CONSTANT}",
    "_SoftTargetBinaryCrossEntropy": SECOND + f"silently 0: {CONSTANT}",
    "AFB2D": (
        "DWTForward with mode='symmetric' or 'reflect' and a wavelet longer than Haar: near the "
        "border, the gradient for the image is wrong, because backward does not undo the padding. "
        "mode='zero' and 'periodization' are right."
    ),
    "_NullSpaceBasis": (
        SECOND + "silently wrong: backward treats the singular vectors, which forward computed, as "
        "constants."
    ),
    "InvQuad": SECOND + f"silently wrong: {CONSTANT}",
    "SqrtInvMatmul": (
        SECOND + "silently 0. In float16 the value is NaN."
    ),
    **dict.fromkeys(["MatrixSqrtFunction", "sparse_cross_entropy"], SECOND + ONCE),
    **dict.fromkeys(
        ["AdditiveBlockFunction", "AdditiveBlockFunction2"],
        SECOND + "silently 0: backward computes inside a graph of its own and cuts it. memcnn "
        "calls implementation_fwd=0 and 1, which use it, deprecated.",
    ),
    **dict.fromkeys(
        ["StraightThroughEstimator", "Triangular", "FastSigmoid", "ATan", "SparseFastSigmoid",
         "SpikeRateEscape"],
        FLOAT32,
    ),
    **dict.fromkeys(
        ["ClampATGF", "Triangle", "HardSigmoidAutoFn", "HardSwishAutoFn", "HardMishAutoFn"], MASK
    ),
}  # fmt: skip


def page_of(found) -> str:
    """The page as Markdown: what is wrong, what is meant, and what is healthy."""
    picture = [each for each in found if each[0].is_picture]
    wrong = [each for each in found if each[2] and each not in picture]
    wrong.sort(key=lambda each: rank(each[2]))
    fine = [each for each in found if not each[2]]
    unproven = [(entry.name, f.row.name) for entry, _, fs in found for f in fs if not f.confirmed]
    assert not unproven, f"not confirmed, so not for the page: {unproven}"
    packages = len({entry.package for entry, _, _ in found})
    texts = [
        "# Report cards of released libraries",
        f"`report_card` examined {len(found)} functions with a custom backward from {packages} "
        f"released libraries, with torch {TORCH}, on {date.today()}. "
        "`make cards` repeats this and writes this page. Each row of a card that says *silently "
        "wrong* is confirmed by three lines that do not use the report card: torch's own "
        "gradcheck or gradgradcheck in float64, or the numbers. The page is written only if all "
        "of them agree.",
        "A surrogate gradient is not a fault. Where a library documents one, a function with that "
        "gradient was passed as `like=`, and the two gradients were compared. Most of these "
        "functions cannot be used with `torch.func`, which refuses them with an error; such "
        "refusals are not listed here. Some faults need inputs that are rare in training; the "
        "text names them.",
        f"## Silently wrong, or refused in training: {len(wrong)}",
        table(
            ["function", "version", "rows", "what a user sees", "confirmed by"],
            [
                [f"`{entry.name}`", release(entry), rows_of(findings), SEES[entry.name],
                 proof(findings)]
                for entry, card, findings in wrong
            ],
        ),
        f"## Intended: {len(picture)}",
        table(
            ["function", "version", "rows", "why"],
            [[f"`{entry.name}`", release(entry), rows_of(findings), entry.intent]
             for entry, card, findings in picture],
        ),
        f"## Nothing wrong: {len(fine)}",
        table(
            ["function", "version", "works", "refused", "gradient"],
            [[f"`{entry.name}`", release(entry), str(count(card, "works")),
              str(count(card, "refused")), entry.intent or "that of its value"]
             for entry, card, _ in fine],
        ),
        "## To report",
        f"What the library of each of the {len(wrong)} needs to know: what a user sees, and the "
        "lines that show it, with what they print.",
        *(section(entry, SEES[entry.name], code_of(findings)) for entry, _, findings in wrong),
        "## What shows the intended ones",
        *(section(entry, code_of(findings)) for entry, _, findings in picture),
    ]  # fmt: skip
    return "\n\n".join(texts) + "\n"


def rank(findings):
    """What breaks training comes first, then second derivatives."""
    rows = {finding.row.name for finding in findings}
    if rows & {"slope", "one gradient per input"}:
        return 0
    return 1 if "double backward" in rows else 2


def table(head, rows):
    return "\n".join(
        "| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]
    )


def release(entry):
    return f"{entry.package} {version(entry.package)}"


def rows_of(findings):
    return ", ".join(finding.row.name for finding in findings)


def proof(findings):
    """How: by torch's own checks, or by the numbers."""
    texts = "".join(line for finding in findings for line in finding.lines)
    ways = [way for way in ("gradcheck", "gradgradcheck") if f"autograd.{way}(" in texts]
    return " and ".join(ways) or "the numbers"


def count(card, status):
    return sum(row.status == status for row in card.rows)


def section(entry, *texts):
    return "\n\n".join([f"### {entry.name}, {release(entry)}", *texts])


def code_of(findings):
    """The lines of each finding, with what they print; those that are the same, once."""
    blocks = {finding.lines: finding for finding in findings}
    code = [
        "\n".join([*lines, *(f"# {text}" for text in finding.printed.splitlines())])
        for lines, finding in blocks.items()
    ]
    shown = "\n\n".join([f"import torch  # {TORCH}", *code])
    return f"```python\n{shown}\n```"
