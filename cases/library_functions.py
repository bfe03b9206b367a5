"""Functions with a custom backward in released libraries, and what each of them documents.

Each is text, as a user would type it, which library_cards.py runs. `x` is torch.linspace(-2, 2, 9).
"""

from dataclasses import dataclass

STE = "straight-through, documented"
SURROGATE = "a surrogate gradient, documented"
GUIDED = "guided backpropagation, documented: a picture, and no gradient"
DECONVOLUTION = "the deconvolution rule, documented: a picture, and no gradient"


@dataclass(frozen=True)
class Entry:
    """A function of a library.

    package  as it is installed
    name     as the page calls it; the package has no other of that name
    imports  a line that imports what fn needs
    fn       what is examined: a function of the inputs
    inputs   the example
    like     a function that has the documented gradient, where that is not the slope
    intent   why there is a `like`, or what is returned instead of a gradient on purpose
    """

    package: str
    name: str
    imports: str
    fn: str
    inputs: str = "x"
    like: str = ""
    intent: str = ""

    @property
    def is_picture(self) -> bool:
        return self.intent in (GUIDED, DECONVOLUTION)


def ours(package, module, name, rest="", like="", intent="", inputs="x"):
    """An Entry of a class called with x and constants."""
    fn = f"lambda x: {name}.apply(x, {rest})" if rest else f"{name}.apply"
    return Entry(package, name, f"from {module} import {name}", fn, inputs, like, intent)


def of_brevitas(name, rest="", like="lambda x: x", intent=STE):
    return ours("brevitas", "brevitas.ops.autograd_ste_ops", name, rest, like, intent)


def of_snntorch(name, rest, like):
    return ours("snntorch", "snntorch.surrogate", name, rest, like, SURROGATE)


def of_spikingjelly(name, module, rest):
    """The module around it documents the primitive whose gradient the Function returns."""
    like = f"lambda x: {module}.primitive_function(x, {rest})"
    imports = f"from spikingjelly.activation_based.surrogate import {module}, {name}"
    fn = f"lambda x: {name}.apply(x, {rest})"
    return Entry("spikingjelly", name, imports, fn, "x", like, SURROGATE)


def of_norse(name, rest, like, module="threshold"):
    return ours("norse", f"norse.torch.functional.{module}", name, rest, like, SURROGATE)


def of_timm(name):
    return ours("timm", "timm.layers.activations_me", name)


FAST = "lambda x: x / (1 + 25 * x.abs())"
ENTRIES = [
    # ---- brevitas
    *(of_brevitas(name) for name in (
        "RoundSteFn", "CeilSteFn", "FloorSteFn", "RoundToZeroSteFn", "DPURoundSteFn",
        "BinarySignSteFn", "TernarySignSteFn",
    )),
    of_brevitas("ScalarClampSteFn", "-1.0, 1.0"),
    of_brevitas("ScalarClampMinSteFn", "-1.0"),
    of_brevitas("TensorClampSteFn", "torch.tensor(-1.0).to(x), torch.tensor(1.0).to(x)"),
    of_brevitas("AbsBinarySignGradFn", "", "torch.abs", "a gradient of 1 at 0, documented"),
    # ---- snntorch
    of_snntorch("StraightThroughEstimator", "", "lambda x: x"),
    of_snntorch("Triangular", "1", "lambda x: -x.abs()"),
    of_snntorch("FastSigmoid", "25", FAST),
    of_snntorch("ATan", "2.0", "lambda x: torch.atan(torch.pi * x) / torch.pi"),
    of_snntorch("Heaviside", "", "torch.relu"),
    of_snntorch("Sigmoid", "25", "lambda x: torch.sigmoid(25 * x)"),
    of_snntorch("SparseFastSigmoid", "25, 1", f"lambda x: torch.where(x > 1, ({FAST})(x), 0 * x)"),
    of_snntorch("LeakySpikeOperator", "0.1", "lambda x: torch.where(x > 0, x, 0.1 * x)"),
    of_snntorch(
        "SpikeRateEscape", "1, 25",
        "lambda x: -25 * torch.sign(x - 1) * torch.expm1(-(x - 1).abs())",
    ),
    # ---- spikingjelly
    of_spikingjelly("piecewise_quadratic", "PiecewiseQuadratic", "1.0"),
    of_spikingjelly("piecewise_exp", "PiecewiseExp", "1.0"),
    of_spikingjelly("sigmoid", "Sigmoid", "4.0"),
    of_spikingjelly("soft_sign", "SoftSign", "2.0"),
    of_spikingjelly("atan", "ATan", "2.0"),
    of_spikingjelly("nonzero_sign_log_abs", "NonzeroSignLogAbs", "1.0"),
    of_spikingjelly("erf", "Erf", "2.0"),
    of_spikingjelly("piecewise_leaky_relu", "PiecewiseLeakyReLU", "1.0, 0.01"),
    of_spikingjelly("q_pseudo_spike", "QPseudoSpike", "2.0"),
    of_spikingjelly("leaky_k_relu", "LeakyKReLU", "0.1, 1.0"),
    of_spikingjelly("log_tailed_relu", "LogTailedReLU", "0.1"),
    ours(
        "spikingjelly", "spikingjelly.activation_based.surrogate", "s2nn", "4.0, 1.0",
        "lambda x: torch.where(x < 0, torch.sigmoid(4 * x), 0.5 + (x.abs() + 1).log())", SURROGATE,
    ),
    ours(
        "spikingjelly", "spikingjelly.activation_based.surrogate", "super_spike", "1.0",
        "lambda x: x / (1 + x.abs())", SURROGATE,
    ),
    *(ours(
        "spikingjelly", "spikingjelly.activation_based.quantize", name, rest, "lambda x: x", STE
    ) for name, rest in (("RoundATGF", ""), ("FloorATGF", ""), ("StepQuantizeATGF", "0.5"))),
    ours(
        "spikingjelly", "spikingjelly.activation_based.quantize", "ClampATGF", "-1.0, 1.0",
        "lambda x: x.clamp(-1, 1)", SURROGATE,
    ),
    # ---- norse
    of_norse("HeaviErfc", "1.0", "lambda x: torch.erf(x) / 2"),
    of_norse("HeaviTanh", "1.0", "lambda x: torch.tanh(x) / 2"),
    of_norse("HeaviCirc", "1.0", "lambda x: x / (x * x + 1).sqrt() / 2"),
    of_norse("Triangle", "1.0", "lambda x: x.clamp(-1, 1) * (1 - x.clamp(-1, 1).abs() / 2)"),
    of_norse("SuperSpike", "100.0", "lambda x: x / (1 + 100 * x.abs())", "superspike"),
    # ---- activations
    *map(of_timm, (
        "SwishAutoFn", "MishAutoFn", "HardSigmoidAutoFn", "HardSwishAutoFn", "HardMishAutoFn",
    )),
    ours("monai", "monai.networks.blocks.activation", "SwishImplementation"),
    ours(
        "monai", "monai.visualize.gradient_based", "_AutoGradReLU", "", "", GUIDED,
    ),
    ours(
        "torchlens", "torchlens.attribution._guided", "_GuidedReluFunction", "", "", GUIDED,
    ),
    ours(
        "torchlens", "torchlens.attribution._guided", "_DeconvReluFunction", "", "", DECONVOLUTION,
    ),
    ours("e3nn", "e3nn.math._soft_unit_step", "_SoftUnitStep"),
    # ---- transformers and peft
    ours("transformers", "transformers.models.bloom.modeling_bloom", "GeLUFunction"),
    ours(
        "transformers", "transformers.models.recurrent_gemma.modeling_recurrent_gemma",
        "SqrtBoundDerivative", inputs="torch.linspace(0.1, 2, 9)",
    ),
    Entry(
        "transformers", "XSoftmax", "from transformers.models.sew_d.modeling_sew_d import XSoftmax",
        "lambda x, mask: XSoftmax.apply(x, mask, -1)",
        "torch.randn(2, 4), torch.tensor([[1, 1, 1, 0], [1, 0, 1, 1]])",
    ),
    *(ours(
        "transformers", "transformers.models.ibert.quant_modules", name, "", "lambda x: x", STE
    ) for name in ("round_ste", "floor_ste")),
    Entry(
        "transformers", "SymmetricQuantFunction",
        "from transformers.models.ibert.quant_modules import SymmetricQuantFunction",
        "lambda x: SymmetricQuantFunction.apply(x, 8, False, torch.tensor([0.1]).to(x))", "x",
        "lambda x: x / 0.1", STE,
    ),
    Entry(
        "peft", "BlockCircularConvolution",
        "from peft.tuners.c3a.utils import BlockCircularConvolution",
        "BlockCircularConvolution.apply", "torch.randn(3, 8), torch.randn(2, 2, 4)",
    ),
    Entry(
        "peft", "HadaWeight", "from peft.tuners.loha.layer import HadaWeight", "HadaWeight.apply",
        "torch.randn(3, 2), torch.randn(2, 4), torch.randn(3, 2), torch.randn(2, 4)",
    ),
    Entry(
        "peft", "HadaWeightCP", "from peft.tuners.loha.layer import HadaWeightCP",
        "HadaWeightCP.apply",
        "torch.randn(2, 2, 3, 3), torch.randn(2, 4), torch.randn(2, 5), "
        "torch.randn(2, 2, 3, 3), torch.randn(2, 4), torch.randn(2, 5)",
    ),
    Entry(
        "peft", "UniqueBaseGrad", "from peft.tuners.randlora.layer import UniqueBaseGrad",
        "UniqueBaseGrad.apply",
        "torch.randn(3, 1, 4), torch.randn(3, 2).requires_grad_(), "
        "torch.randn(2, 4).requires_grad_()",
    ),
    # ---- sparse probabilities
    *(Entry("entmax", name, f"from entmax import {name}", name, "torch.randn(2, 5)")
      for name in ("sparsemax", "entmax15", "entmax_bisect", "normmax_bisect", "budget_bisect")),
    *(Entry("entmax", name, f"from entmax.losses import {name}", name,
            "torch.randn(3, 5), torch.tensor([0, 2, 4])")
      for name in ("sparsemax_loss", "entmax15_loss")),
    # ---- Gaussian processes and probabilistic programs
    ours("gpytorch", "gpytorch.functions._log_normal_cdf", "LogNormalCDF"),
    Entry(
        "gpytorch", "RBFCovariance", "from gpytorch.functions.rbf_covariance import RBFCovariance",
        "lambda s: RBFCovariance.apply(torch.tensor([[0.0], [1.0], [3.0]]).to(s), "
        "torch.tensor([[0.5], [2.0]]).to(s), s, lambda a, b: torch.cdist(a, b) ** 2)",
        "torch.tensor([[0.7]])",
    ),
    Entry(
        "gpytorch", "MaternCovariance",
        "from gpytorch.functions.matern_covariance import MaternCovariance",
        "lambda s: MaternCovariance.apply(torch.tensor([[0.0], [1.0], [3.0]]).to(s), "
        "torch.tensor([[0.5], [2.0]]).to(s), s, 2.5, torch.cdist)",
        "torch.tensor([[0.7]])",
    ),
    Entry(
        "pyro-ppl", "safe_log", "from pyro.ops.special import safe_log", "safe_log",
        "torch.linspace(0.1, 2, 9)",
    ),
    Entry(
        "pyro-ppl", "_EwmaLogFn", "from pyro.contrib.oed.eig import _EwmaLogFn", "_EwmaLogFn.apply",
        "torch.linspace(0.1, 2, 9).requires_grad_(), torch.tensor(0.7)",
        "lambda x, ewma: x / ewma", "a moving average in the slope, documented",
    ),
    *(ours(
        "pyro-ppl", "pyro.distributions.relaxed_straight_through", name, "", "lambda x: x", STE,
        "torch.rand(3, 4)",
    ) for name in ("QuantizeBernoulli", "QuantizeCategorical")),
    # ---- losses
    Entry(
        "torch-geometric", "sparse_cross_entropy",
        "from torch_geometric.utils.cross_entropy import sparse_cross_entropy",
        "lambda x: sparse_cross_entropy(x, torch.tensor([[0, 0, 1, 2], [1, 3, 0, 2]]))",
        "torch.randn(3, 4)",
    ),
    *(Entry("torch-einops-utils", name, f"from torch_einops_utils.stable_softmax import {name}",
            f"{name}.apply", inputs)
      for name, inputs in (
        ("_SoftTargetCrossEntropy", "torch.randn(3, 4).requires_grad_(), torch.randn(3, 4)"),
        ("_CategoricalKL", "torch.randn(3, 4), torch.randn(3, 4)"),
        ("_SoftTargetBinaryCrossEntropy", "torch.randn(3, 4).requires_grad_(), torch.randn(3, 4)"),
    )),
    Entry(
        "kornia", "_TargetLogSoftmax", "from kornia.losses.focal import _TargetLogSoftmax",
        "lambda x: _TargetLogSoftmax.apply(x, torch.tensor([[0, 2]]).mT, None)",
        "torch.randn(2, 4)",
    ),
    Entry(
        "kornia", "_NullSpaceBasis",
        "from kornia.geometry.epipolar.essential import _NullSpaceBasis",
        "lambda x: _NullSpaceBasis.apply(x)[0] @ _NullSpaceBasis.apply(x)[0].mT",
        "torch.randn(1, 5, 9)",
    ),
    # ---- matrices, wavelets and reversible layers
    *(Entry(
        "linear_operator", name, "from linear_operator import to_linear_operator",
        "lambda a: to_linear_operator(torch.eye(2).to(a) + torch.diag(a))."
        f"{method}(torch.tensor([[1.0], [2.0]]).to(a))",
        "torch.tensor([0.5, 2.0])",
    ) for name, method in (("InvQuad", "inv_quad"), ("SqrtInvMatmul", "sqrt_inv_matmul"))),
    Entry(
        "pot", "MatrixSqrtFunction", "from ot.backend import TorchBackend",
        "TorchBackend().MatrixSqrtFunction.apply", "torch.tensor([[2.0, 0.5], [0.5, 1.0]])",
    ),
    Entry(
        "pytorch_wavelets", "AFB2D", "from pytorch_wavelets import DWTForward",
        "lambda x: DWTForward(wave='db2', mode='symmetric').to(x)(x)[0]", "torch.randn(1, 1, 4, 4)",
    ),
    *(Entry(
        "memcnn", name, "from memcnn import AdditiveCoupling",
        f"lambda x: AdditiveCoupling(torch.nn.Tanh(), implementation_fwd={number})(x)",
        "torch.tensor([[0.5, -1.0]])",
    ) for number, name in enumerate(("AdditiveBlockFunction", "AdditiveBlockFunction2"))),
    # ---- others
    ours(
        "torchao", "torchao.quantization.quant_primitives", "_Round", "", "lambda x: x", STE
    ),
    ours(
        "torchao", "torchao.prototype.quantization.module_swap.quantizers", "RoundStraightThrough",
        "", "lambda x: x", STE,
    ),
    Entry(
        "torchao", "ApplyMask", "from torchao.sparsity.supermask import ApplyMask",
        "ApplyMask.apply", "torch.randn(3, 4), torch.rand(3, 4).round()", "lambda w, s: w + s", STE,
    ),
    ours("sinabs", "sinabs.activation.quantize", "Quantize", "", "lambda x: x", STE),
    ours(
        "pytorch-revgrad", "pytorch_revgrad.functional", "RevGrad", "torch.tensor(0.5).to(x)",
        "lambda x: -0.5 * x", "a reversed gradient, documented",
    ),
    *(Entry(
        "vector-quantize-pytorch", name,
        f"from vector_quantize_pytorch.finite_scalar_quantization import {name}", name, "x",
        "lambda x: x", STE,
    ) for name in ("round_ste", "floor_ste")),
]  # fmt: skip
