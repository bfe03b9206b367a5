"""Train again what three lessons show of many trainings, and store it: some minutes.

    python -m tools.trainings

The numbers differ a little from processor to processor.
"""

import json
from dataclasses import replace
from datetime import date
from itertools import product

import torch

from lessons import digits
from lessons.digits.autoencoder import TRAININGS, measure_codebook
from lessons.digits.looks import WAYS, measure_reader
from tools.notebooks import ROOT

STORED = ROOT / "lessons" / "measured" / "trainings.json"


def readers(seeds=24):
    """Networks that look at three patches."""
    for way in WAYS:
        for seed in range(seeds):
            yield {"way": way, "seed": seed, **measure_reader(way, seed)}


def codebooks(seeds=12):
    """Autoencoders with a codebook."""
    for way, train in TRAININGS.items():
        for seed in range(seeds):
            yield {"way": way, "seed": seed, **measure_codebook(train(seed))}


def in_few_bits(parts=15):
    """Networks that round: means over parts of the training, as one batch is noise."""
    for bits, rate in product((8, 4, 2), (0.03, 0.2, 1.0)):
        for method in ("default gradient", "straight-through", "learned step"):
            run = replace(digits.WAYS[method], bits=bits, learning_rate=rate)
            batches = [
                (model, [loss.item(), *digits.mean_gradients(model)])
                for model, _, loss in digits.training_steps(run)
            ]
            means = torch.tensor([numbers for _, numbers in batches]).view(parts, -1, 4).mean(1)
            rounded = [[float(f"{x:.3g}") for x in row] for row in means.tolist()]
            yield {
                **{"bits": bits, "method": method, "learning rate": rate},
                **{"losses": [row[0] for row in rounded], "gradients": [r[1:] for r in rounded]},
                "read": round(digits.accuracy(batches[-1][0]), 1),
            }


def accuracies():
    """Networks in 2 to 8 bits, and in 2 bits from scales that are wrong: three seeds of each."""
    wrong_scales = product(("straight-through", "learned step"), (2,), (0.25, 0.5, 2))
    for way, bits, factor in (*product(digits.WAYS, (2, 3, 4, 8), (1,)), *wrong_scales):
        run = replace(digits.WAYS[way], bits=bits, scale_factor=factor)
        read = [round(percent, 1) for percent in digits.three_seeds(run)]
        yield {"way": way, "bits": bits, "scale factor": factor, "read": read}


def as_text(found):
    """JSON with a line for each training."""
    parts = [f'"date": "{date.today()}"', f'"torch": "{torch.__version__}"']
    for name, rows in found.items():
        parts.append(f'"{name}": [\n    ' + ",\n    ".join(map(json.dumps, rows)) + "\n  ]")
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


if __name__ == "__main__":
    found = {"digits": in_few_bits(), "accuracies": accuracies()}
    found |= {"readers": readers(), "codebooks": codebooks()}
    STORED.write_text(as_text(found), encoding="utf-8")
