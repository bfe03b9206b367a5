"""What the doctor knows about torch's operations: one row per kind of graph node, with its traits.

A kind is the name of a node without "Backward" and number: "LogSoftmax" of LogSoftmaxBackward0.
Further below: what is known about calls of torch by the name that they have in Python.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Traits:
    """What is known about one kind of graph node. Rules ask for these by name.

    >>> traits_of("Addmm").factors
    (1, 2)
    """

    # Where its derivative is 0, or nearly 0:
    staircase: bool = False  # everywhere
    interpolates: bool = False  # everywhere, if it picks the nearest pixel
    flat_in_part: bool = False  # where its input lies outside a range
    # That range; None where there is no end. Without both ends, it stands in the node.
    range: tuple[float | None, float | None] = (None, None)
    clamps: bool = False  # its range includes the ends
    relu: bool = False  # left of 0
    slope_on_left: bool = False  # left of 0, if its slope there is 0
    saturates: bool = False  # at an end, or at both
    # Where one entry is nearly 1: its entries, or their exponentials, sum to 1.
    softmax: bool = False
    stationary: bool = False  # at single points
    stationary_at_0: bool = False  # where the input is 0

    # Which elements get a gradient:
    picks: bool = False  # the elements that it selects; the others get 0
    picks_anew: bool = False  # it selects others in each step, by value or by index
    chooses: bool = False  # those of the branch that a condition chooses
    overwrites: bool = False  # those that it does not replace
    drops: bool = False  # those that dropout keeps
    looks_up: bool = False  # the rows of a table that it looks up
    picks_targets: bool = False  # the scores of the target classes
    joins: bool = False  # each input gets its own part
    arranges: bool = False  # it only moves or selects numbers
    mixes: bool = False  # its gradient may keep its shape, though the elements do not correspond

    # Factors and sums, by the numbers of the edges of a node:
    factors: tuple[int, ...] = ()  # these inputs are multiplied with each other
    added: tuple[int, ...] = ()  # these are added, to the product if there is one
    scales: bool = False  # it multiplies one number by another
    divides: bool = False  # it divides, also 1 by a number
    totals: bool = False  # it adds up or averages elements
    normalises: bool = False  # it divides by the size of its input, so scaling that changes nothing
    # Its result stays the same if something is added to all that it normalises.
    ignores_a_shift: bool = False

    # Inf and NaN:
    edge: str = ""  # what happens at the edge of its domain, in words
    overflows: bool = False  # result and gradient may be more than their dtype can hold
    grows: bool = False  # the result may be, the gradient not
    of_one: bool = False  # it needs more than one element
    has_softmax: bool = False  # it contains a softmax, and one of nothing is 0/0

    # Of losses:
    probabilities: bool = False  # it returns probabilities

    @property
    def multiplies(self) -> bool:
        """Is it a product of two inputs, to which a third one may be added?"""
        return len(self.factors) == 2

    @property
    def only_adds(self) -> bool:
        return bool(self.added) and not self.factors


# Kinds with the same traits share a row; no kind has two rows.
TABLE = {
    # Products, sums and quotients
    "Mul": Traits(factors=(0, 1), scales=True),
    "Mm Bmm Mv Dot Vdot": Traits(factors=(0, 1), mixes=True),
    "Linear Convolution MkldnnConvolution CudnnConvolution": Traits(
        factors=(0, 1), added=(2,), mixes=True
    ),
    "Addmm Addmv Baddbmm Addbmm": Traits(factors=(1, 2), added=(0,), mixes=True),
    "Addcmul Addr": Traits(factors=(1, 2), added=(0,)),
    "Add Sub": Traits(added=(0, 1)),
    "Neg": Traits(scales=True),
    "Div": Traits(scales=True, divides=True),
    "Reciprocal": Traits(divides=True),
    "Sum": Traits(totals=True, grows=True),
    "Mean": Traits(totals=True),
    "Cumsum Cumprod Logcumsumexp FftC2C FftR2C FftC2R CompiledFunction": Traits(mixes=True),
    # Arranging and picking elements
    "Unsqueeze Squeeze Expand Alias Clone Repeat": Traits(arranges=True),
    "T Transpose Permute View UnsafeView ReshapeAlias Flip Roll": Traits(arranges=True, mixes=True),
    "ToCopy": Traits(arranges=True, overflows=True),
    "Slice Select Split SplitWithSizes UnsafeSplit Chunk Unbind": Traits(arranges=True, picks=True),
    "Index IndexSelect Gather Take MaskedSelect": Traits(
        arranges=True, picks=True, picks_anew=True, mixes=True
    ),
    "Embedding EmbeddingBag": Traits(looks_up=True, picks=True, picks_anew=True, mixes=True),
    "Sort": Traits(picks=True, picks_anew=True, mixes=True),
    "Max Min Maximum Minimum Fmax Fmin Amax Amin Topk Median Nanmedian Mode Kthvalue Cummax Cummin "
    "MaxPool2D MaxPool2DWithIndices MaxPool3DWithIndices AdaptiveMaxPool2D AdaptiveMaxPool3D": (
        Traits(picks=True, picks_anew=True)
    ),
    "Diagonal Tril Triu": Traits(picks=True),
    "Where MaskedFill MaskedScatter": Traits(chooses=True),
    "Zero Fill CopySlices CopyBackwards IndexFill IndexCopy IndexPut Scatter SliceScatter "
    "SelectScatter DiagonalScatter ConstantPadNd": Traits(overwrites=True),
    "Cat Stack": Traits(joins=True),
    # Activations, and functions that are flat in places
    "Round Floor Ceil Trunc Sign Sgn Bernoulli": Traits(staircase=True),
    "GridSampler2D GridSampler3D": Traits(interpolates=True),
    "Clamp ClampMin ClampMax": Traits(flat_in_part=True, clamps=True),
    "Hardtanh Hardshrink Softshrink Threshold": Traits(flat_in_part=True),
    "Hardsigmoid": Traits(flat_in_part=True, range=(-3.0, 3.0)),
    "Hardswish": Traits(range=(-3.0, None), stationary=True),
    "Relu": Traits(relu=True),
    "LeakyRelu PreluKernel RreluWithNoise": Traits(slope_on_left=True),
    "Sigmoid": Traits(saturates=True, probabilities=True),
    "Tanh LogSigmoid Erf Erfc Softplus Gelu Silu Mish Elu Celu Glu Atan": Traits(saturates=True),
    "Exp Exp2 Expm1": Traits(saturates=True, overflows=True),
    "Sinh": Traits(overflows=True),
    "Cosh": Traits(stationary=True, overflows=True),
    "Cos Sinc MseLoss SmoothL1Loss HuberLoss": Traits(stationary=True),
    "Abs": Traits(stationary_at_0=True),
    "NativeDropout FusedDropout": Traits(drops=True),
    # Softmax, normalisation, attention
    "Softmax": Traits(
        softmax=True, stationary=True, has_softmax=True, ignores_a_shift=True, probabilities=True
    ),
    "LogSoftmax": Traits(softmax=True, stationary=True, has_softmax=True, ignores_a_shift=True),
    "SafeSoftmax": Traits(has_softmax=True, ignores_a_shift=True),
    "Logsumexp": Traits(has_softmax=True),
    "ScaledDotProductFlashAttention ScaledDotProductFlashAttentionForCpu "
    "ScaledDotProductEfficientAttention ScaledDotProductCudnnAttention": (
        Traits(has_softmax=True, ignores_a_shift=True, mixes=True)
    ),
    "NativeLayerNorm NativeBatchNorm CudnnBatchNorm NativeGroupNorm": Traits(
        factors=(1,), added=(2,), normalises=True, ignores_a_shift=True
    ),
    "FusedRmsNorm": Traits(factors=(1,), normalises=True),
    # Losses
    "NllLoss NllLoss2D": Traits(picks_targets=True),
    # Functions with an edge of their domain
    "Pow": Traits(
        stationary_at_0=True,
        overflows=True,
        edge="an exponent below 1 is infinitely steep at 0, and a power of a negative base is real "
        "for whole exponents only",
    ),
    "Sqrt": Traits(edge="sqrt has the derivative 1/(2·sqrt(x)), infinite at 0"),
    "Rsqrt": Traits(edge="rsqrt is infinite at 0"),
    "Log": Traits(edge="log has the derivative 1/x, infinite at 0"),
    "Log2": Traits(edge="log2 has an infinite derivative at 0"),
    "Log10": Traits(edge="log10 has an infinite derivative at 0"),
    "Log1P": Traits(edge="log1p has an infinite derivative at -1"),
    "Logit": Traits(edge="logit has infinite derivatives at 0 and 1"),
    "Erfinv": Traits(edge="erfinv has infinite derivatives at -1 and 1"),
    "Acos": Traits(edge="acos has an infinite derivative at -1 and 1"),
    "Asin": Traits(edge="asin has an infinite derivative at -1 and 1"),
    "Acosh": Traits(edge="acosh has an infinite derivative at 1"),
    "Atanh": Traits(edge="atanh has an infinite derivative at -1 and 1"),
    "Atan2": Traits(edge="atan2 has no derivative at (0, 0)", stationary=True),
    "Std StdMean": Traits(
        edge="std has no derivative where all values are equal, or there is only one",
        stationary=True,
        of_one=True,
    ),
    "Var VarMean": Traits(
        edge="the variance of a single element is 0/0", stationary=True, of_one=True
    ),
    "LinalgVectorNorm Norm": Traits(
        edge="a norm has no derivative at the zero vector", stationary_at_0=True, grows=True
    ),
    "Cdist": Traits(stationary=True, grows=True),
    "LinalgSvd": Traits(edge="singular values that are equal or 0 divide by 0"),
    "LinalgEigh": Traits(edge="eigenvalues that are equal divide by 0"),
    "LinalgInvEx": Traits(edge="a singular matrix has no inverse"),
    "LinalgSlogdet": Traits(edge="log|det| has an infinite derivative at a singular matrix"),
    "LinalgDet": Traits(
        edge="torch computes the derivative of det with the inverse, which is infinite near a "
        "singular matrix"
    ),
    "SpecialEntr": Traits(edge="entr has the derivative -log(x) - 1, infinite at 0"),
    "Xlogy": Traits(edge="xlogy(x, y) has the derivative log(y), infinite at y = 0"),
    "SpecialXlog1Py": Traits(edge="xlog1py(x, y) has the derivative log1p(y), infinite at y = -1"),
    "Tan": Traits(edge="tan has poles"),
    "Lgamma": Traits(edge="lgamma has poles"),
    "Digamma": Traits(edge="digamma has poles"),
}
KINDS = {kind: traits for kinds, traits in TABLE.items() for kind in kinds.split()}

# Calls of torch that make nodes of other kinds, under the names that a recording gives them.
CALLS = {
    "Square": Traits(grows=True),
    "MultiHeadAttentionForward": Traits(has_softmax=True),
    "ScaledDotProductAttention": Traits(has_softmax=True),
    "TrueDivide": KINDS["Div"],
    "Log1p": KINDS["Log1P"],
    "Inverse": KINDS["LinalgInvEx"],
    "LinalgInv": KINDS["LinalgInvEx"],
    "Logdet": KINDS["LinalgSlogdet"],
    "Slogdet": KINDS["LinalgSlogdet"],
}
_NOTHING = Traits()


def traits_of(kind: str) -> Traits:
    """The row of a kind of node, or of a call of torch; without any trait if there is none.

    >>> traits_of("Round").staircase, traits_of("Sin").staircase
    (True, False)
    """
    return KINDS.get(kind) or CALLS.get(kind, _NOTHING)


@cache
def is_one_of(kind: str, names: str) -> bool:
    """Has a kind of node one of these traits, or is it one of these kinds?

    >>> is_one_of("Round", "staircase Prod"), is_one_of("Prod", "staircase Prod")
    (True, True)
    """
    return any(name == kind or getattr(traits_of(kind), name, False) for name in names.split())


def is_total(name: str) -> bool:
    """Does a node of this name add up or average all elements, not those along a dimension?

    >>> is_total("MeanBackward0"), is_total("MeanBackward1")
    (True, False)
    """
    return name.endswith("Backward0") and traits_of(name.removesuffix("Backward0")).totals


# Names of calls in Python, without underscores at their ends.

COMBINES = {"sub", "rsub", "subtract", "mul", "multiply"}  # two tensors, element by element
ELEMENTWISE = COMBINES | {"square", "pow", "abs", "neg", "add", "radd", "clamp", "detach", "max",
                          "min", "maximum", "minimum"}  # fmt: skip
# They give a tensor the shape that the writer of the line had in mind.
SHAPES_BY_HAND = {"unsqueeze", "getitem", "view", "reshape", "expand", "sum", "mean", "amax",
                  "norm"}  # fmt: skip
# Arithmetic that only corrects a value, as in a term that is added to a loss.
ARITHMETIC = {"add", "radd", "iadd", "sub", "rsub", "mul", "rmul", "div", "truediv", "neg", "sum",
              "mean", "float", "to", "squeeze"}  # fmt: skip
# They use the shape and dtype of a tensor, and none of its numbers.
SHAPE_ONLY = {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
              "randint_like", "new_zeros", "new_ones", "new_empty", "new_full"}  # fmt: skip
LIKE_ANOTHER = {"view_as", "reshape_as", "expand_as", "type_as"}  # of the second, the form alone
ELEMENTWISE_LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
# They return inf or NaN for finite numbers, and not only for very large ones.
SPOILS = frozenset(
    "log log2 log10 log1p logit exp exp2 expm1 sqrt rsqrt reciprocal pow square div true_divide "  # noqa: SIM905
    "divide truediv rtruediv rpow std var std_mean var_mean norm vector_norm linalg_vector_norm "
    "normalize softmax log_softmax logsumexp acos asin acosh atanh tan lgamma digamma sum mean "
    "inverse logdet linalg_inv slogdet linalg_slogdet cosh sinh prod cumprod matmul bmm linear "
    "mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy binary_cross_entropy "
    "kl_div multi_head_attention_forward scaled_dot_product_attention cosine_similarity".split()
)


# The kind of node that a call makes, where the names differ.
_KIND_OF_CALL = {"truediv": "Div", "rtruediv": "Div", "divide": "Div", "rpow": "Pow",
                 "vector_norm": "Norm"}  # fmt: skip


def kind_made_by(call: str) -> str:
    """The kind of the graph node that a call of torch makes.

    >>> kind_made_by("log_softmax"), kind_made_by("__truediv__")
    ('LogSoftmax', 'Div')
    """
    name = call.strip("_")
    return _KIND_OF_CALL.get(name) or "".join(part.capitalize() for part in name.split("_"))
