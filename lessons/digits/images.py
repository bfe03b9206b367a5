"""The images, their labels, and which are held out. README.md names their source."""

import gzip
from pathlib import Path

import torch

FILE = Path(__file__).with_name("digits.csv.gz")


def load_digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Images of shape (1797, 64) from 0 (paper) to 1 (ink), and digits of shape (1797,).

    >>> images, labels = load_digits()
    >>> images.shape, labels[:3]
    (torch.Size([1797, 64]), tensor([0, 1, 2]))
    """
    lines = gzip.decompress(FILE.read_bytes()).decode().split()
    rows = torch.tensor([[int(number) for number in line.split(",")] for line in lines])
    return rows[:, :64] / 16, rows[:, 64]


IMAGES, LABELS = load_digits()
SHUFFLED = torch.randperm(len(LABELS), generator=torch.Generator().manual_seed(0))
TRAINING, HELD_OUT = SHUFFLED[:-500], SHUFFLED[-500:]
