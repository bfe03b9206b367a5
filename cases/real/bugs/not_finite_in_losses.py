"""A loss, or what enters it, is NaN or infinite.

Each function follows the thread that it cites; the model around the line is small.
"""

import torch
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case
from cases.real.bugs.not_finite import END, tiny_bert


@case(
    library="diffusers",
    source="https://github.com/TiankaiHang/Min-SNR-Diffusion-Training/issues/2",
    cause="division-by-zero",
)
def terminal_snr_is_zero():
    from diffusers import DDPMScheduler, UNet2DModel

    model = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
        block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    scheduler = DDPMScheduler(prediction_type="v_prediction", rescale_betas_zero_snr=True)
    clean, noise, time = (
        torch.rand(2, 3, 16, 16),
        torch.randn(2, 3, 16, 16),
        torch.tensor([300, 999]),
    )

    def compute():
        noisy = scheduler.add_noise(clean, noise, time)
        target = scheduler.get_velocity(clean, noise, time)
        alpha = scheduler.alphas_cumprod[time]
        snr = alpha / (1 - alpha)
        weight = snr.clamp(max=5.0) / snr  #!
        loss = F.mse_loss(model(noisy, time).sample, target, reduction="none").mean((1, 2, 3))
        return (weight * loss).mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 1e-4))


@case(
    library="transformers",
    source="https://github.com/huggingface/sentence-transformers/pull/4033",
    cause=("infinite-derivative", "masked-too-late"),
)
def positive_equals_anchor():
    import transformers as tf

    config = tiny_bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = tf.BertModel(config, add_pooling_layer=False)
    anchor, negative = torch.randint(3, 100, (4, 10)), torch.randint(3, 100, (4, 10))
    positive = torch.randint(3, 100, (4, 10))
    positive[2] = anchor[2]  # a sentence that is in the data twice

    def distance(a, b):
        return ((a - b) ** 2).sum(-1).sqrt()  #!

    def compute():
        a, p, n = (model(ids).last_hidden_state.mean(1) for ids in (anchor, positive, negative))
        return F.relu(distance(a, p) - distance(a, n) + 5).mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 2e-5))


@case(
    library="segmentation_models_pytorch",
    source="https://github.com/kornia/kornia/issues/918",
    cause=(
        "infinite-derivative",
        "masked-too-late",
    ),  # where the slope is infinite, the other factor is 0
)
def focal_loss_with_a_small_gamma():
    import segmentation_models_pytorch as smp

    model = smp.Unet("resnet18", encoder_weights=None, classes=1)
    with torch.no_grad():
        model.segmentation_head[0].weight.mul_(500)  # late in training: very sure of itself
    image, mask = torch.rand(2, 3, 64, 64), torch.randint(2, (2, 1, 64, 64)).float()

    def focal(logits, target, gamma, eps=1e-8):
        p = logits.sigmoid()
        positive = (1 - p) ** gamma * target * torch.log(p + eps)  #!
        negative = p**gamma * (1 - target) * torch.log(1 - p + eps)  #!
        return -(positive + negative).mean()

    def compute():
        return focal(model(image), mask, gamma=0.5)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-4))


@case(
    library="timm",
    source="https://github.com/huggingface/pytorch-image-models/issues/814",
    cause="nan-leaf",
    also=("forward-nonfinite",),
    missed="the reason is in earlier steps; the line that wrote the NaN is named",
)
def learning_rate_for_a_larger_batch():
    import timm

    model = timm.create_model("test_vit", num_classes=10)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=4.0, momentum=0.9)  #!
    image, label = torch.rand(4, 3, 160, 160), torch.randint(10, (4,))

    def compute():
        return F.cross_entropy(model(image), label)

    for _ in range(100):  # an epoch later ...
        optimizer.zero_grad()
        compute().backward()
        optimizer.step()
        if not all(p.isfinite().all() for p in model.parameters()):
            break
    optimizer.zero_grad()
    return Step(model, compute, optimizer)


@case(
    library="torch_geometric",
    source="https://github.com/chemprop/chemprop/issues/960",
    cause=(
        "nan-target",
        "forward-nonfinite",
        "masked-too-late",
    ),  # 0 · NaN: the mask comes too late
)
def missing_targets():
    from torch_geometric.nn import GCNConv

    class Properties(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GCNConv(8, 32), GCNConv(32, 3)

        def forward(self, atoms, bonds):
            return self.second(F.relu(self.first(atoms, bonds)), bonds)

    model = Properties()
    atoms, bonds, target = torch.rand(20, 8), torch.randint(20, (2, 50)), torch.rand(20, 3)
    target[torch.rand(20, 3) < 0.3] = torch.nan  # not measured

    def compute():
        measured = target.isfinite().float()
        squares = (model(atoms, bonds) - target) ** 2
        return (squares * measured).sum() / measured.sum()  #!

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-3))


@case(
    library="torch",
    source="https://github.com/philtabor/Actor-Critic-Methods-Paper-To-Code/issues/7",
    cause=("infinite-derivative", "forward-nonfinite"),  # the loss is NaN, the gradient is finite
)
def log_of_a_scaled_action():
    class Actor(nn.Module):
        def __init__(self, limit):
            super().__init__()
            self.limit = limit
            self.layers = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
            self.mean, self.std = nn.Linear(64, 1), nn.Linear(64, 1)

        def sample(self, state):
            x = self.layers(state)
            normal = torch.distributions.Normal(self.mean(x), self.std(x).clamp(1e-6, 1))
            raw = normal.rsample()
            action = torch.tanh(raw) * self.limit
            log_p = normal.log_prob(raw)
            log_p = log_p - torch.log(1 - action.pow(2) + 1e-6)  #!
            return action, log_p.sum(1)

    model, critic = Actor(limit=2.0), nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
    nn.init.constant_(model.std.bias, 0.5)
    state = torch.randn(32, 3)

    def compute():
        action, log_p = model.sample(state)
        return (log_p - critic(torch.cat([state, action], 1)).squeeze(1)).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters(), 3e-4))


@case(
    library="transformers",
    source="https://github.com/pytorch/pytorch/issues/70348",
    cause="empty-selection",
)
def prompt_longer_than_the_window():
    import transformers as tf

    config = tf.GPT2Config(vocab_size=60, n_positions=32, n_embd=32, n_layer=2, n_head=2, **END)
    model, ids = tf.GPT2LMHeadModel(config), torch.randint(50, (2, 24))
    labels = ids.clone()
    labels[:, :20] = -100  # the prompt
    ids, labels = ids[:, :16], labels[:, :16]  # cut off at the longest length  #!

    def compute():
        logits = model(ids).logits[:, :-1]
        return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())  #!

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 1e-5))


@case(
    library="torch",
    source="https://github.com/vadimkantorov/convasr/pull/73",
    cause="overflow",
)
def long_recording_in_float16():
    class Recognizer(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv1d(8, 32, 11, stride=2), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 28, 1)
            )

        def normalise(self, x):
            mean = x.sum(-1, keepdim=True) / x.shape[-1]  #!
            deviation = x - mean
            return deviation / (deviation.square().mean(-1, keepdim=True) + 1e-5).sqrt()

        def forward(self, x):
            return self.layers(self.normalise(x.half()).float()).log_softmax(1)

    model, sound = Recognizer(), 8 * torch.randn(2, 8, 1500) - 60  # decibels
    text, letters = torch.randint(1, 28, (2, 20)), torch.tensor([20, 15])

    def compute():
        log_p = model(sound).permute(2, 0, 1)
        return F.ctc_loss(log_p, text, torch.full((2,), len(log_p)), letters)

    return Step(model, compute, torch.optim.SGD(model.parameters(), 1e-3))


@case(
    library="gpytorch",
    source="https://github.com/cornellius-gp/gpytorch/pull/455",
    cause="infinite-derivative",
)
def root_of_the_squared_distance():
    import gpytorch

    class Exponential(gpytorch.kernels.Kernel):
        """The Matern kernel of order 1/2."""

        has_lengthscale = True

        def forward(self, x1, x2, diag=False, **params):
            x1, x2 = x1 / self.lengthscale, x2 / self.lengthscale
            squared = ((x1[..., :, None, :] - x2[..., None, :, :]) ** 2).sum(-1)
            return torch.exp(-squared.sqrt())  #!

    class GP(gpytorch.models.ExactGP):
        def __init__(self, x, y):
            super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(Exponential())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 20)[:, None]
    y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(20)
    model = GP(x, y)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    return Step(model, lambda: -marginal(model(x), y), torch.optim.Adam(model.parameters(), 0.1))


@case(
    library="transformers",
    source="https://github.com/MakazhanAlpamys/Soup/issues/719",
    cause=("infinite-derivative", "masked-too-late"),
)
def student_as_the_target():
    import transformers as tf

    config = tf.GPT2Config(vocab_size=60, n_positions=32, n_embd=32, n_layer=2, n_head=2, **END)
    teacher, student = tf.GPT2LMHeadModel(config).eval(), tf.GPT2LMHeadModel(config)
    with torch.no_grad():
        student.transformer.wte.weight.mul_(40)  # pretrained: much surer than a new model
    ids, temperature = torch.randint(3, 60, (2, 12)), 0.05

    def compute():
        with torch.no_grad():
            teacher_log_p = (teacher(ids).logits / temperature).log_softmax(-1)
        student_p = (student(ids).logits / temperature).softmax(-1)
        return F.kl_div(teacher_log_p, student_p, reduction="batchmean")  #!

    return Step(student, compute, torch.optim.AdamW(student.parameters(), 1e-5))
