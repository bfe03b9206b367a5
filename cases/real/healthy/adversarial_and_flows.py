"""Models that generate: adversarial networks and normalizing flows."""

import copy
import itertools

import normflows as nf
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

from cases.case import Step, case
from cases.real.healthy.generative import DCGAN, FLOWS, GAN, SNGAN


def dcgan():
    """The two networks of the DCGAN example, for images of 16 by 16."""
    generator = nn.Sequential(
        nn.ConvTranspose2d(16, 32, 4, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(32, 1, 4, bias=False), nn.Sigmoid(), nn.Flatten(0),
    )  # fmt: skip
    for module in itertools.chain(generator.modules(), discriminator.modules()):
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(module.weight, 0.0, 0.02)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02)
    return generator, discriminator


@case(library="torch", source=DCGAN)
def dcgan_discriminator_step():
    generator, discriminator = dcgan()
    real, criterion = torch.rand(8, 3, 16, 16) * 2 - 1, nn.BCELoss()

    def compute():
        fake = generator(torch.randn(8, 16, 1, 1))
        on_real = criterion(discriminator(real), torch.full((8,), 1.0))
        return on_real + criterion(discriminator(fake.detach()), torch.full((8,), 0.0))

    optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    return Step(discriminator, compute, optimizer)


@case(library="torch", source=DCGAN)
def dcgan_generator_step():
    generator, discriminator = dcgan()
    criterion = nn.BCELoss()

    def compute():
        fake = generator(torch.randn(8, 16, 1, 1))
        return criterion(discriminator(fake), torch.full((8,), 1.0))

    optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    return Step(generator, compute, optimizer)


@case(library="torch", source=GAN + "wgan_gp/wgan_gp.py")
def wgan_critic_with_gradient_penalty():
    generator = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.Tanh())
    critic = nn.Sequential(
        nn.Linear(64, 64), nn.LeakyReLU(0.2, inplace=True), nn.Linear(64, 32),
        nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 1),
    )  # fmt: skip
    real = torch.rand(16, 64) * 2 - 1

    def compute():
        fake = generator(torch.randn(16, 16)).detach()
        alpha = torch.rand(16, 1)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    return Step(critic, compute, torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999)))


@case(library="torch", source=SNGAN)
def hinge_discriminator_with_spectral_norm():
    generator, _ = dcgan()
    discriminator = nn.Sequential(
        spectral_norm(nn.Conv2d(3, 16, 4, 2, 1)), nn.LeakyReLU(0.1),
        spectral_norm(nn.Conv2d(16, 32, 4, 2, 1)), nn.LeakyReLU(0.1),
        nn.Flatten(), spectral_norm(nn.Linear(512, 1)),
    )  # fmt: skip
    real = torch.rand(8, 3, 16, 16) * 2 - 1

    def compute():
        with torch.no_grad():
            fake = generator(torch.randn(8, 16, 1, 1))
        on_real = F.relu(1.0 - discriminator(real)).mean()
        return on_real + F.relu(1.0 + discriminator(fake)).mean()

    optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.0, 0.9))
    return Step(discriminator, compute, optimizer)


@case(library="torch", source=GAN + "cyclegan/cyclegan.py")
def cyclegan_generators():
    def translator():
        return nn.Sequential(
            nn.ReflectionPad2d(3), nn.Conv2d(3, 8, 7), nn.InstanceNorm2d(8), nn.ReLU(inplace=True),
            nn.Conv2d(8, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(inplace=True),
            nn.ReflectionPad2d(3), nn.Conv2d(8, 3, 7), nn.Tanh(),
        )  # fmt: skip

    g_ab, g_ba = translator(), translator()
    d_a = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4, 2, 1))
    d_b = copy.deepcopy(d_a)
    real_a, real_b = torch.rand(2, 3, 16, 16) * 2 - 1, torch.rand(2, 3, 16, 16) * 2 - 1
    valid = torch.ones(2, 1, 4, 4)

    def compute():
        fake_b, fake_a = g_ab(real_a), g_ba(real_b)
        identity = (F.l1_loss(g_ba(real_a), real_a) + F.l1_loss(g_ab(real_b), real_b)) / 2
        adversarial = (F.mse_loss(d_b(fake_b), valid) + F.mse_loss(d_a(fake_a), valid)) / 2
        cycle = (F.l1_loss(g_ba(fake_b), real_a) + F.l1_loss(g_ab(fake_a), real_b)) / 2
        return adversarial + 10.0 * cycle + 5.0 * identity

    both = itertools.chain(g_ab.parameters(), g_ba.parameters())
    optimizer = torch.optim.Adam(both, lr=2e-4, betas=(0.5, 0.999))
    return Step(nn.ModuleDict({"g_ab": g_ab, "g_ba": g_ba}), compute, optimizer)


@case(library="normflows", source=FLOWS + "real_nvp_colab.ipynb")
def real_nvp():
    flows = []
    for _ in range(4):
        network = nf.nets.MLP([1, 32, 32, 2], init_zeros=True)
        flows += [nf.flows.AffineCouplingBlock(network), nf.flows.Permute(2, mode="swap")]
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows)
    moons = nf.distributions.TwoMoons().sample(64)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, weight_decay=1e-5)
    return Step(model, lambda: model.forward_kld(moons), optimizer)


@case(library="normflows", source=FLOWS + "neural_spline_flow.ipynb")
def neural_spline_flow():
    flows = []
    for _ in range(2):
        flows += [nf.flows.AutoregressiveRationalQuadraticSpline(2, 2, 16)]
        flows += [nf.flows.LULinearPermute(2)]
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows)
    moons = nf.distributions.TwoMoons().sample(64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    return Step(model, lambda: model.forward_kld(moons), optimizer)


@case(library="normflows", source=FLOWS + "glow_colab.ipynb")
def glow():
    blocks = [
        [nf.flows.GlowBlock(channels, 16, split_mode="channel", scale=True), nf.flows.Squeeze()]
        for channels in (24, 12)
    ]
    bases = [nf.distributions.ClassCondDiagGaussian(size, 4) for size in ((24, 4, 4), (6, 8, 8))]
    merges = [nf.flows.Merge()]
    model = nf.MultiscaleFlow(bases, blocks, merges, nf.transforms.Logit(0.05))
    images, classes = torch.rand(4, 3, 16, 16), torch.randint(4, (4,))
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3, weight_decay=1e-5)
    return Step(model, lambda: model.forward_kld(images, classes), optimizer)
