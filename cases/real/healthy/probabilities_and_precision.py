"""Gaussian processes, probabilistic programs, implicit layers, spikes, quantization."""

import brevitas.nn as qnn
import entmax
import gpytorch
import kornia
import pyro
import pyro.distributions as dist
import snntorch as snn
import torch
import torchdeq
from hypnettorch.hnets import HMLP
from hypnettorch.mnets import MLP
from opacus import GradSampleModule
from pyro.infer import Trace_ELBO
from siren_pytorch import SirenNet
from spikingjelly.activation_based import functional, layer, neuron, surrogate
from torch import nn
from torch.nn import functional as F
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

from cases.case import Step, case
from cases.real.healthy.graphs_and_science import adam


class ExactGP(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        mean, covariance = self.mean_module(x), self.covar_module(x)
        return gpytorch.distributions.MultivariateNormal(mean, covariance)


@case(
    library="gpytorch",
    source="https://docs.gpytorch.ai/en/stable/examples/01_Exact_GPs/Simple_GP_Regression.html",
)
def gaussian_process():
    x = torch.linspace(0, 1, 30)
    y = torch.sin(x * 6.28) + torch.randn(30) * 0.2
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = ExactGP(x, y, likelihood)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return Step(model, lambda: -mll(model(x), y), adam(model, lr=0.1))


class SparseGP(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        mean, covariance = self.mean_module(x), self.covar_module(x)
        return gpytorch.distributions.MultivariateNormal(mean, covariance)


@case(
    library="gpytorch",
    source="https://docs.gpytorch.ai/en/stable/examples/04_Variational_and_Approximate_GPs/SVGP_Regression_CUDA.html",
)
def sparse_variational_gaussian_process():
    x = torch.rand(40, 2)
    y = torch.sin(x.sum(1) * 3)
    model = nn.ModuleDict(
        {"gp": SparseGP(x[:10].clone()), "noise": gpytorch.likelihoods.GaussianLikelihood()}
    )
    mll = gpytorch.mlls.VariationalELBO(model["noise"], model["gp"], num_data=40)
    return Step(model, lambda: -mll(model["gp"](x), y), adam(model))


@case(library="pyro", source="https://pyro.ai/examples/vae.html")
def pyro_vae():
    net = nn.ModuleDict({"encoder": nn.Linear(12, 8), "decoder": nn.Linear(4, 12)})
    x = (torch.rand(16, 12) < 0.4).float()

    def model(x):
        pyro.module("decoder", net["decoder"])
        with pyro.plate("data", len(x)):
            z = pyro.sample("latent", dist.Normal(torch.zeros(len(x), 4), 1.0).to_event(1))
            logits = net["decoder"](z)
            pyro.sample("obs", dist.Bernoulli(logits=logits).to_event(1), obs=x)

    def guide(x):
        pyro.module("encoder", net["encoder"])
        with pyro.plate("data", len(x)):
            mean, log_scale = net["encoder"](x).chunk(2, dim=1)
            pyro.sample("latent", dist.Normal(mean, log_scale.exp()).to_event(1))

    return Step(net, lambda: Trace_ELBO().differentiable_loss(model, guide, x), adam(net))


@case(library="siren_pytorch", source="https://github.com/lucidrains/siren-pytorch#usage")
def siren_picture():
    net = SirenNet(dim_in=2, dim_hidden=32, dim_out=3, num_layers=3, w0_initial=30.0)
    where, colours = torch.rand(64, 2) * 2 - 1, torch.rand(64, 3)
    return Step(net, lambda: F.mse_loss(net(where), colours), adam(net, lr=1e-4))


@case(library="siren_pytorch", source="https://arxiv.org/abs/2006.09661")
def siren_poisson_equation():
    """The Laplacian of the network meets the right side: second derivatives, then the loss."""
    net = SirenNet(dim_in=2, dim_hidden=32, dim_out=1, num_layers=2, w0_initial=5.0)
    where, goal = torch.rand(32, 2) * 2 - 1, torch.randn(32, 1)

    def compute():
        x = where.clone().requires_grad_()
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        laplacian = sum(
            torch.autograd.grad(slope[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2)
        )
        return F.mse_loss(laplacian.unsqueeze(1), goal)

    return Step(net, compute, adam(net, lr=1e-4))


@case(library="hypnettorch", source="https://hypnettorch.readthedocs.io/en/latest/hnets.html")
def hypernetwork():
    """The weights of the classifier are outputs of another network, one set for each task."""
    main = MLP(n_in=6, n_out=3, hidden_layers=[16], no_weights=True, verbose=False)
    hyper = HMLP(main.param_shapes, cond_in_size=4, num_cond_embs=2, layers=[16], verbose=False)
    x, labels = torch.randn(16, 6), torch.randint(0, 3, (16,))

    def compute():
        return F.cross_entropy(main(x, weights=hyper(cond_id=0)), labels)

    return Step(hyper, compute, adam(hyper))


@case(library="torchdeq", source="https://github.com/locuslab/torchdeq")
def deep_equilibrium():
    model = nn.ModuleDict({"in": nn.Linear(6, 16), "f": nn.Linear(16, 16), "out": nn.Linear(16, 3)})
    model["deq"] = torchdeq.get_deq(f_solver="fixed_point_iter", f_max_iter=20, ift=True)
    nn.init.normal_(model["f"].weight, std=0.05)
    x, labels = torch.randn(16, 6), torch.randint(0, 3, (16,))

    def compute():
        injected = model["in"](x)
        states, _ = model["deq"](
            lambda z: torch.tanh(model["f"](z) + injected), torch.zeros_like(injected)
        )
        return F.cross_entropy(model["out"](states[-1]), labels)

    return Step(model, compute, adam(model))


@case(library="entmax", source="https://github.com/deep-spin/entmax")
def entmax_loss():
    """1.5-entmax: classes of probability 0 get no gradient."""
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 10))
    loss_fn = entmax.Entmax15Loss(reduction="elementwise_mean")
    x, labels = torch.randn(16, 6), torch.randint(0, 10, (16,))
    return Step(model, lambda: loss_fn(model(x), labels), adam(model))


@case(library="kornia", source="https://kornia.readthedocs.io/en/latest/augmentation.html")
def kornia_augmented_segmentation():
    augment = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=0.5),
        kornia.augmentation.RandomAffine(15.0, p=1.0),
        kornia.augmentation.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0),
        data_keys=["input", "mask"],
    )
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 3, 1)
    )
    images, masks = torch.rand(4, 3, 24, 24), torch.randint(0, 3, (4, 1, 24, 24)).float()

    def compute():
        with torch.no_grad():
            seen, labels = augment(images, masks)
        logits, labels = model(seen), labels.squeeze(1).round().long()
        focal = kornia.losses.focal_loss(logits, labels, alpha=0.5, reduction="mean")
        return focal + kornia.losses.dice_loss(logits, labels)

    return Step(model, compute, adam(model))


@case(library="kornia", source="https://kornia.readthedocs.io/en/latest/losses.html")
def kornia_image_restoration():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
    clean = torch.rand(2, 3, 32, 32)
    noisy = (clean + 0.1 * torch.randn_like(clean)).clamp(0, 1)

    def compute():
        restored = (noisy + model(noisy)).clamp(0, 1)
        similar = kornia.losses.ssim_loss(restored, clean, window_size=5)
        return (
            F.l1_loss(restored, clean)
            + similar
            + 1e-4 * kornia.losses.total_variation(restored, reduction="mean").mean()
        )

    return Step(model, compute, adam(model, lr=1e-3))


@case(library="opacus", source="https://opacus.ai/api/grad_sample_module.html")
def opacus_per_sample_gradients():
    model = GradSampleModule(
        nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)
        )
    )
    images, labels = torch.randn(5, 1, 8, 8), torch.randint(0, 4, (5,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(
    library="snntorch", source="https://snntorch.readthedocs.io/en/latest/tutorials/tutorial_5.html"
)
def snntorch_leaky_neurons():
    first, second = snn.Leaky(beta=0.95), snn.Leaky(beta=0.95)
    net = nn.Sequential(nn.Linear(12, 32), first, nn.Linear(32, 4), second)
    x, labels = torch.rand(8, 12) * 3, torch.randint(0, 4, (8,))

    def compute():
        v1, v2, loss = first.init_leaky(), second.init_leaky(), 0
        for _ in range(6):
            spikes, v1 = first(net[0](x), v1)
            _, v2 = second(net[2](spikes), v2)
            loss = loss + F.cross_entropy(v2, labels)
        return loss

    return Step(net, compute, torch.optim.Adam(net.parameters(), lr=5e-4, betas=(0.9, 0.999)))


@case(
    library="spikingjelly",
    source="https://github.com/fangwei123456/spikingjelly/blob/master/docs/source/activation_based/4_conv_fashion_mnist.rst",
)
def spikingjelly_convolutions():
    """Four time steps; the rate of the spikes is what should be 1 for the right class."""
    atan = surrogate.ATan()
    net = nn.Sequential(
        layer.Conv2d(1, 8, 3, padding=1, bias=False),
        layer.BatchNorm2d(8),
        neuron.IFNode(surrogate_function=atan),
        layer.MaxPool2d(2, 2),
        layer.Flatten(),
        layer.Linear(8 * 16, 4, bias=False),
        neuron.IFNode(surrogate_function=atan),
    )
    functional.set_step_mode(net, "m")
    images, labels = torch.rand(8, 1, 8, 8), torch.randint(0, 4, (8,))

    def compute():
        functional.reset_net(net)
        rate = net(images.unsqueeze(0).repeat(4, 1, 1, 1, 1)).mean(0)
        return F.mse_loss(rate, F.one_hot(labels, 4).float())

    return Step(net, compute, adam(net))


@case(library="brevitas", source="https://xilinx.github.io/brevitas/getting_started")
def brevitas_low_precision():
    net = nn.Sequential(
        qnn.QuantConv2d(1, 8, 3, bias=True, weight_bit_width=4),
        qnn.QuantReLU(bit_width=4),
        nn.MaxPool2d(2),
        nn.Flatten(),
        qnn.QuantLinear(72, 4, bias=True, weight_bit_width=4),
    )
    images, labels = torch.rand(8, 1, 8, 8), torch.randint(0, 4, (8,))
    return Step(net, lambda: F.cross_entropy(net(images), labels), adam(net, lr=1e-3))


@case(
    library="vector_quantize_pytorch",
    source="https://github.com/lucidrains/vector-quantize-pytorch/blob/master/examples/autoencoder.py",
)
def vector_quantized_autoencoder():
    """The codebook follows a moving average: no gradient trains it."""
    down, up = nn.Conv2d(1, 16, 4, stride=4), nn.ConvTranspose2d(16, 1, 4, stride=4)
    model = nn.ModuleDict({"down": down, "up": up})
    model["vq"] = VectorQuantize(dim=16, codebook_size=32, accept_image_fmap=True)
    images = torch.rand(4, 1, 16, 16)

    def compute():
        codes, _, commitment = model["vq"](down(images))
        return (up(codes) - images).abs().mean() + 10 * commitment

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))


@case(
    library="vector_quantize_pytorch",
    source="https://github.com/lucidrains/vector-quantize-pytorch#residual-vq",
)
def residual_vector_quantization():
    model = nn.ModuleDict({"in": nn.Linear(8, 16), "out": nn.Linear(16, 8)})
    model["vq"] = ResidualVQ(dim=16, num_quantizers=3, codebook_size=32)
    x = torch.randn(2, 12, 8)

    def compute():
        codes, _, commitment = model["vq"](model["in"](x))
        return F.mse_loss(model["out"](codes), x) + commitment.sum()

    return Step(model, compute, adam(model, lr=1e-3))


@case(
    library="vector_quantize_pytorch",
    source="https://github.com/lucidrains/vector-quantize-pytorch/blob/master/examples/autoencoder_fsq.py",
)
def finite_scalar_quantization():
    model = nn.ModuleDict({"in": nn.Linear(8, 4), "out": nn.Linear(4, 8), "fsq": FSQ([8, 5, 5, 5])})
    x = torch.randn(2, 12, 8)

    def compute():
        codes, _ = model["fsq"](model["in"](x))
        return F.l1_loss(model["out"](codes), x)

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))
