"""Train again what notebooks 23 and 24 show of many seeds, and store it: some minutes.

    python tools/trainings.py

The numbers differ a little from processor to processor. tests/test_choices.py checks that what the
notebook says follows from those that are stored.
"""

import json
import sys
from datetime import date
from pathlib import Path

import torch

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from lessons.digits.autoencoder import TRAININGS, measure_codebook  # noqa: E402
from lessons.digits.looks import WAYS, measure_reader  # noqa: E402

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


def as_text(found):
    """JSON with a line for each training."""
    parts = [f'"date": "{date.today()}"', f'"torch": "{torch.__version__}"']
    for name, rows in found.items():
        parts.append(f'"{name}": [\n    ' + ",\n    ".join(map(json.dumps, rows)) + "\n  ]")
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


if __name__ == "__main__":
    STORED.write_text(as_text({"readers": readers(), "codebooks": codebooks()}), encoding="utf-8")
