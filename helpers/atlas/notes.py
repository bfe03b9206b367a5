"""Why a gradient is not the slope, where that is on purpose or surprising; by line of code.

>>> NOTES["torch.median(x) at x = (1, 1, 1)"].partition(";")[0]
'one alone can move without moving the median'
"""

CLAMPED_DENOMINATOR = (
    "torch divides by x (1 - x), kept above 1e-12: at the very end that is 0 / 1e-12 = 0"
)
SHARED = "one alone can move without moving the median; torch shares the 1 of all together equally"
TOGETHER = "0 ** 0 is 1 whichever of the two moves alone; x ** x falls steeply where both move"
EPSILON = (
    "the length is kept above 1e-12 or 1e-8, and the gradient is that of dividing by so little: "
    "right within that distance of 0, wrong by orders of magnitude beyond it"
)
NOTES = {
    "F.binary_cross_entropy(x, one, reduction='none')": CLAMPED_DENOMINATOR,
    "F.binary_cross_entropy(x, zero, reduction='none')": CLAMPED_DENOMINATOR,
    "F.binary_cross_entropy(a, b) at a = 1, b = 1": CLAMPED_DENOMINATOR,
    "F.gaussian_nll_loss(one, one, x, eps=0.1, reduction='none')": (
        "the variance is kept above eps in the forward pass, and backward does as if it were not"
    ),
    "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -4, 3)": (
        "a straight-through estimator on purpose: 1 where the rounded number is in range, else 0"
    ),
    "torch.pow(a, b) at a = 0, b = 0": TOGETHER,
    "torch.float_power(a, b) at a = 0, b = 0": TOGETHER,
    "torch.median(x) at x = (1, 1, 1)": SHARED,
    "torch.nanmedian(x) at x = (1, 1, 1)": SHARED,
    "F.normalize(x, dim=0)[0] at x = (0, 0)": EPSILON,
    "F.cosine_similarity(x, torch.ones_like(x), dim=0) at x = (0, 0)": EPSILON,
    "torch.linalg.det(x.view(2, 2)) at x = (1, 2, 2, 4)": (
        "wrong: torch multiplies the determinant, 0, by an inverse that does not exist; the slopes "
        "are the cofactors 4, -2, -2, 1"
    ),
}
