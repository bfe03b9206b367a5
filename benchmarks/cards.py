"""The report cards of other libraries' functions, and of ours beside them.

    python benchmarks/cards.py           some minutes
    python benchmarks/cards.py --store   and store them for the_report_card

Needs: pip install -c constraints.txt -e . --group peers.
"""

import json
import math
import sys
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch
from installed import installed, left_out, need
from peers import CONTENDERS, HIGH, LOW, PEERS, SCALE, ZERO_POINT

import lessons
from autograd_surprises.report_card import report_card
from helpers.functions.clamping import sign_proxy
from helpers.functions.quantizing import fake_quantize_proxy, lsq_quantize_proxy
from helpers.functions.stepping import step_proxy

STORED = Path(lessons.__path__[0], "measured", "cards.json")
X = torch.tensor([-2.25, -0.7, 0.3, 1.6])
STEP_SIZE = torch.tensor([0.25])

# operator -> a function with the gradient that all its contenders promise
PROMISED = {
    "round_ste": lambda x: x,
    "sign_ste": sign_proxy,
    "step": lambda x: step_proxy(x, "atan", 1 / math.pi),
    "fake_quantize": lambda x: fake_quantize_proxy(x, SCALE, LOW - ZERO_POINT, HIGH - ZERO_POINT),
    "lsq_quantize": lambda x, step: lsq_quantize_proxy(
        x, step, LOW, HIGH, (max(1, x.numel()) * HIGH) ** -0.5
    ),
}


def cards(compile):
    """One card for each contender that promises the gradient of its operator."""
    for contender in CONTENDERS:
        if contender.operator in PROMISED and not contender.differs:
            inputs = [X, STEP_SIZE] if contender.takes == "x step" else [X]
            like = PROMISED[contender.operator]
            yield contender, report_card(contender.function, *inputs, like=like, compile=compile)


def main(store=False, compile=True):
    warnings.simplefilter("ignore")
    versions = {"torch": torch.__version__} | {peer: version(peer) for peer in installed(PEERS)}
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    print(f"{date.today()}, {named}{left_out(PEERS)}\n")
    found = []
    for contender, card in cards(compile):
        print(f"{contender.operator}, {contender.name}\n{card}\n", flush=True)
        statuses = {row.name: row.status for row in card.rows}
        found.append({"operator": contender.operator, "contender": contender.name, **statuses})
    if store:
        about = {"date": str(date.today()), "versions": versions, "cards": found}
        STORED.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    need(PEERS, "peers")
    main(store="--store" in sys.argv)
