"""Why a gradient differs from the slope, by line of code. The stored files contain these notes.

>>> NOTES["torch.median(x) at x = (1, 1, 1)"].partition(";")[0]
'one alone can move without moving the median'
"""

CLAMPED_DENOMINATOR = (
    "torch divides by x (1 - x), kept above 1e-12: at both ends it is (x - target) / 1e-12"
)
SHARED = "one alone can move without moving the median; torch shares the 1 of all together equally"
ZERO_TO_THE_ZERO = (
    "0 ** b is 1 only at b = 0 itself, and x ** x falls steeply where both move; torch returns 0"
)
EPSILON = "the length is kept above {}, so this is the slope only within that distance of 0"
OTHER_PIECE = "forward counts the number to one piece of the curve, backward to the next one"
NOTES = {
    "F.binary_cross_entropy(x, one, reduction='none')": CLAMPED_DENOMINATOR,
    "F.binary_cross_entropy(x, zero, reduction='none')": CLAMPED_DENOMINATOR,
    "F.binary_cross_entropy(a, b) at a = 1, b = 1": (
        CLAMPED_DENOMINATOR + "; forward keeps the logarithm above -100, backward does not"
    ),
    "F.gaussian_nll_loss(one, one, x, eps=0.1, reduction='none')": (
        "the variance is kept above eps in the forward pass, and backward does as if it were not"
    ),
    "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -4, 3)": (
        "a straight-through estimator on purpose: 1 where the rounded number is in range, else 0"
    ),
    "torch.fmod(one, x)": OTHER_PIECE,
    "torch.nextafter(x, one)": "at x = one it is x, and the gradient is 0",
    "torch.pow(x, x)": "x ** x falls steeply from 1, but 0 ** 0 hands nothing back",
    "torch.sqrt(x * x)": "so close to 0 the square is 0, and the root of 0 is infinitely steep",
    "torch.pow(a, b) at a = 0, b = 0": ZERO_TO_THE_ZERO,
    "torch.float_power(a, b) at a = 0, b = 0": ZERO_TO_THE_ZERO,
    "torch.median(x) at x = (1, 1, 1)": SHARED,
    "torch.nanmedian(x) at x = (1, 1, 1)": SHARED,
    "F.normalize(x, dim=0)[0] at x = (0, 0)": EPSILON.format("1e-12"),
    "F.cosine_similarity(x, torch.ones_like(x), dim=0) at x = (0, 0)": EPSILON.format("1e-8"),
    "torch.linalg.det(x.view(2, 2)) at x = (1, 2, 2, 4)": (
        "wrong: torch multiplies by the determinant, which is 0; the slopes are the cofactors "
        "4, -2, -2, 1, and with create_graph=True they are what comes out"
    ),
}
