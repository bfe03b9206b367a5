"""Training steps with nothing wrong: each returns a model and a function that computes the loss."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from cases.case import case


@case()
def regression():
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    x, target = torch.randn(8, 3), torch.randn(8, 1)
    return model, lambda: F.mse_loss(model(x), target)


@case()
def a_flag_of_the_class():
    """The module reads its own requires_grad: it is not meant for the parameters."""

    class Scaled(nn.Linear):
        def __init__(self):
            super().__init__(3, 1)
            self.requires_grad = False

        def forward(self, x):
            return super().forward(x if self.requires_grad else x.detach())

    return squared(Scaled())


class Switched(nn.Linear):
    def __init__(self):
        super().__init__(3, 1)
        self.requires_grad = False


def squared(model):
    x = torch.randn(8, 3)
    return model, lambda: model(x).square().mean()


@case()
def a_flag_that_a_base_class_reads():
    class Base(Switched):
        def forward(self, x):
            return super().forward(x if self.requires_grad else x.detach())

    class Derived(Base):
        pass

    return squared(Derived())


@case()
def a_flag_that_a_property_reads():
    class Factor(Switched):
        @property
        def factor(self):
            return 1.0 if getattr(self, "requires_grad") else 2.0  # noqa: B009

        def forward(self, x):
            return self.factor * super().forward(x)

    return squared(Factor())


@case()
def a_flag_that_a_decorated_forward_reads():
    class Decorated(Switched):
        @torch.autocast("cpu", enabled=False)
        def forward(self, x):
            return super().forward(x if self.requires_grad else x.detach())

    return squared(Decorated())


@case()
def straight_through():
    encoder, decoder = nn.Linear(3, 4), nn.Linear(4, 3)
    x = torch.randn(8, 3)

    def loss():
        code = encoder(x)
        code = code + (code.round() - code).detach()
        return F.mse_loss(decoder(code), x)

    return nn.ModuleList([encoder, decoder]), loss


@case()
def gumbel_softmax():
    encoder, decoder = nn.Linear(6, 5), nn.Linear(5, 6)
    x = torch.randn(8, 6)
    return nn.ModuleList([encoder, decoder]), lambda: F.mse_loss(
        decoder(F.gumbel_softmax(encoder(x), hard=True)), x
    )


@case()
def transformer():
    class Predictor(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            self.head = nn.Linear(8, 10)
            self.mask = nn.Transformer.generate_square_subsequent_mask(5)

        def forward(self, words):
            hidden = self.layer(self.embedding(words), src_mask=self.mask, is_causal=True)
            return self.head(hidden)

    model = Predictor()
    words = torch.randint(10, (4, 6))
    return model, lambda: F.cross_entropy(
        model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()
    )


@case()
def compiled():
    model = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 1))
    fast = torch.compile(model, backend="eager")
    x, target = torch.randn(8, 3), torch.randn(8, 1)
    return model, lambda: F.mse_loss(fast(x), target)


@case()
def autocast():
    model = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 1))
    x, target = torch.randn(8, 3), torch.randn(8, 1)

    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            predicted = model(x)
        return F.mse_loss(predicted.float(), target)

    return model, loss


@case()
def gradient_penalty():
    critic = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1))
    real, fake = torch.randn(8, 3), torch.randn(8, 3)

    def loss():
        between = ((real + fake) / 2).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).square().mean() + penalty

    return critic, loss


@case()
def adversarial():
    generator, critic = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    noise = torch.randn(8, 2)
    return generator, lambda: F.softplus(-critic(generator(noise))).mean()


@case()
def tied_weights():
    first, last = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
    last.weight = first.weight
    words = torch.randint(10, (4, 5))
    model = nn.Sequential(first, nn.Linear(4, 4), last)
    return model, lambda: F.cross_entropy(model(words).flatten(0, 1), words.flatten())


@case()
def checkpointed():
    """The checkpoint runs its block again in backward, and the norm then counts a second time."""
    block = nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2)
    first = nn.Sequential(*block)
    last = nn.Linear(8, 1)
    x, target = torch.randn(8, 3), torch.randn(8, 1)

    def loss():
        hidden = checkpoint(first, x, use_reentrant=False)
        return F.mse_loss(last(hidden), target)

    return nn.ModuleList([first, last]), loss


@case()
def fine_tuning():
    backbone = nn.Sequential(nn.Linear(3, 8), nn.ReLU()).requires_grad_(False)
    head = nn.Linear(8, 2)
    x, target = torch.randn(8, 3), torch.randint(2, (8,))
    return head, lambda: F.cross_entropy(head(backbone(x)), target)


@case()
def similarities_in_both_directions():
    """The softmax over the columns is meant: each text picks its image."""
    images, texts = nn.Linear(4, 3), nn.Linear(5, 3)
    x, y, own = torch.randn(6, 4), torch.randn(6, 5), torch.arange(6)

    def loss():
        scores = images(x) @ texts(y).T
        rows, columns = scores.log_softmax(1), scores.log_softmax(0)
        return F.nll_loss(rows, own) - columns.gather(1, own[:, None]).mean()

    return nn.ModuleList([images, texts]), loss


@case()
def tokens_that_experts_choose():
    """The softmax runs over the experts, and each expert picks tokens."""
    router, expert = nn.Linear(4, 3), nn.Linear(4, 4)
    x = torch.randn(8, 4)

    def loss():
        gates = router(x).softmax(1).T
        chosen = gates.topk(2, dim=1).indices
        out = gates.gather(1, chosen)[..., None] * expert(x[chosen])
        return F.mse_loss(torch.zeros_like(x).index_add(0, chosen.flatten(), out.flatten(0, 1)), x)

    return nn.ModuleList([router, expert]), loss


@case()
def logged_numbers():
    """Numbers leave torch, and others are added, but no term of the loss became a number."""
    model = nn.Linear(3, 1)
    x, target, log = torch.randn(8, 3), torch.randn(8, 1), []

    def loss():
        error = F.mse_loss(model(x), target)
        log.append(error.item())
        return (error - 0.05).abs() + 0.05

    return model, loss


@case()
def value_replaced_by_a_number():
    """The gradient is that of the surrogate, the value another: the number is subtracted."""
    model, x = nn.Linear(3, 1), torch.randn(8, 3)

    def loss():
        surrogate = model(x).square().mean()
        return x.abs().mean() + (surrogate - surrogate.item())

    return model, loss


@case()
def hooks_of_tensors():
    """The one of the bias runs after .grad is written: only in the real backward()."""
    model, x, before = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 1)), torch.randn(8, 3), []
    for name in ("written", "retained"):
        model.register_buffer(name, torch.zeros(()))
    model[0].weight.register_hook(lambda grad: grad * 2)
    model[0].bias.register_post_accumulate_grad_hook(lambda p: [model.written.add_(1)].clear())

    def loss():
        for hidden in before:
            model.retained += hidden.grad.norm()
        before[:] = [model[0](x)]
        before[0].register_hook(lambda grad: grad.clamp(-0.1, 0.1))
        before[0].retain_grad()
        return model[1](before[0]).square().mean()

    return model, loss


@case()
def gradients_of_each_sample():
    """As opacus computes them: a forward hook pushes what a backward hook pops."""
    model, x, kept = nn.Linear(3, 1), torch.randn(8, 3), []
    model.register_buffer("norms", torch.zeros(8))
    model.register_forward_hook(lambda module, inputs, output: kept.append(inputs[0].detach()))

    def pop(module, grad_input, grad_output, scale):
        each = torch.einsum("bo,bi->boi", grad_output[0], kept.pop())
        model.norms += scale * each.flatten(1).norm(dim=1)

    model.register_full_backward_hook(partial(pop, scale=2.0))
    return model, lambda: model(x.requires_grad_()).square().mean()
