"""How far two colours are apart, as a reader's eye and WCAG have it."""

import torch
from matplotlib.colors import to_rgb


def linear(colour):
    """Red, green and blue light of a colour, each from 0 to 1."""
    parts = torch.tensor(to_rgb(colour))
    return torch.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """WCAG's contrast of two colours, from 1 to 21."""
    weights = torch.tensor([0.2126, 0.7152, 0.0722])
    dark, light = sorted((linear(colour) @ weights).item() for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)
