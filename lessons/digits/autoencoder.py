"""An autoencoder with a codebook, which draws each digit as one of a few images."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from lessons.digits.epochs import epochs
from lessons.digits.images import HELD_OUT, IMAGES, TRAINING


class VQVAE(nn.Module):
    """An encoder from 64 pixels to z, two numbers; the nearest code; a decoder to 64 pixels.

    codes  the first codes, of shape (k, 2): a parameter

    >>> image, z, q, index = VQVAE(torch.zeros(16, 2))(IMAGES[:5])
    >>> image.shape, index
    (torch.Size([5, 64]), tensor([0, 0, 0, 0, 0]))
    """

    def __init__(self, codes: torch.Tensor):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        self.decoder = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64))
        self.codes = nn.Parameter(codes)

    def forward(self, x):
        z = self.encoder(x)
        index = torch.cdist(z, self.codes).argmin(1)
        q = self.codes[index]
        return self.decoder(z + (q - z).detach()), z, q, index


def train_vqvae(
    model: VQVAE, seed: int, beta: float = 0.25, after_epoch: Callable | None = None
) -> VQVAE:
    """The model, trained. `after_epoch(model)` is called after each epoch but the last three.

    >>> codes_in_use(train_vqvae(VQVAE(torch.zeros(1, 2)), seed=0))
    1
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

    def loss_of(rows):
        image, z, q, _ = model(IMAGES[rows])
        codebook_loss, commitment_loss = F.mse_loss(q, z.detach()), F.mse_loss(z, q.detach())
        return F.mse_loss(image, IMAGES[rows]) + codebook_loss + beta * commitment_loss

    for epoch in epochs(loss_of, optimizer, torch.Generator().manual_seed(seed)):
        if after_epoch and epoch <= 12:
            after_epoch(model)
    return model


def random_codes(seed):
    """A model with 16 random codes."""
    torch.manual_seed(seed)
    return VQVAE(torch.randn(16, 2))


def codes_at_images(seed):
    """A model whose codes start where it puts 16 images."""
    model = random_codes(seed)
    with torch.no_grad():
        model.codes.copy_(model.encoder(IMAGES[TRAINING[:16]]))
    return model


def move_dead_codes(model):
    """Move each code that no image chooses to where one is."""
    _, z, _, index = model(IMAGES[TRAINING])
    dead = torch.ones(16, dtype=torch.bool)
    dead[index] = False
    with torch.no_grad():
        model.codes[dead] = z[torch.randperm(len(z))[: dead.sum()]]


TRAININGS = {
    "beta = 0": lambda seed: train_vqvae(random_codes(seed), seed, beta=0.0),
    "beta = 0.25": lambda seed: train_vqvae(random_codes(seed), seed),
    "beta = 1": lambda seed: train_vqvae(random_codes(seed), seed, beta=1.0),
    "beta = 4": lambda seed: train_vqvae(random_codes(seed), seed, beta=4.0),
    "revived": lambda seed: train_vqvae(random_codes(seed), seed, after_epoch=move_dead_codes),
    "start at images": lambda seed: train_vqvae(codes_at_images(seed), seed),
}


@torch.no_grad()
def measure_codebook(model: VQVAE) -> dict[str, float]:
    """How many codes are in use, the error of the drawings, and how far z is from its code.

    >>> measure_codebook(VQVAE(torch.zeros(16, 2)))["codes in use"]
    1
    """
    _, z, q, _ = model(IMAGES[TRAINING])
    return {
        "codes in use": codes_in_use(model),
        "squared error": round(squared_error(model), 4),
        "from z to its code": round((z - q).norm(dim=1).mean().item(), 2),
    }


@torch.no_grad()
def codes_in_use(model: VQVAE) -> int:
    """How many codes are nearest to some digit for training.

    >>> codes_in_use(VQVAE(torch.zeros(16, 2)))
    1
    """
    *_, index = model(IMAGES[TRAINING])
    return len(index.unique())


@torch.no_grad()
def squared_error(model: VQVAE) -> float:
    """The mean squared error of the pixels of the held-out digits.

    >>> model = VQVAE(torch.zeros(1, 2))
    >>> squared_error(model) > squared_error(train_vqvae(model, seed=0))
    True
    """
    image, *_ = model(IMAGES[HELD_OUT])
    return F.mse_loss(image, IMAGES[HELD_OUT]).item()
