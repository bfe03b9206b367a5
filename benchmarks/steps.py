"""What does the doctor cost on models of realistic size, beside anomaly mode and TorchLens?

    python benchmarks/steps.py             about ten minutes, on a machine that does nothing else
    python benchmarks/steps.py --only GPT  cases with this in their name

The ways take turns in one process, on one thread. Memory is measured in a process for each way:
the highest resident memory, less what the model alone takes. It runs on Linux and needs the
packages of the group `real`. benchmarks/README.md says what is measured, and holds the last result.
"""
# ruff: noqa: E402  this folder is no package, and tests/ is not on the path

import argparse
import gc
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools import library_imports  # noqa: F401  comes before torchvision

# isort: split

import torch
from installed import installed, left_out, need

from autograd_surprises.doctor import trace, watch

TURNS = 9
LIBRARIES = ["timm", "torchlens", "torchvision", "transformers"]
PLAIN, ANOMALY, DOCTOR, LENS = "plain", "anomaly mode", "trace + explain", "TorchLens, forward"
OTHERS = [ANOMALY, DOCTOR, LENS]
TRAINED, WATCHED = "with SGD", "watched, not examined"


def images(model, size, batch):
    return model, (torch.randn(batch, 3, size, size),)


def tokens(model, length, batch):
    return model, (torch.randint(model.config.vocab_size, (batch, length)),)


def resnet18():
    import torchvision

    return torchvision.models.resnet18(num_classes=10)


def vit_tiny():
    import timm

    return timm.create_model("vit_tiny_patch16_224")


def gpt2_small():
    import transformers

    return transformers.AutoModelForCausalLM.from_config(transformers.GPT2Config())


def llama_50m():
    import transformers

    sizes = {"hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 8}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 24000}
    config = transformers.LlamaConfig(**sizes, **heads)
    return transformers.AutoModelForCausalLM.from_config(config)


CASES = {
    "ResNet18, 64²": lambda: images(resnet18(), 64, 32),
    "ResNet18, 224²": lambda: images(resnet18(), 224, 8),
    "ViT tiny, 224²": lambda: images(vit_tiny(), 224, 8),
    "GPT-2 small, 4 × 128": lambda: tokens(gpt2_small(), 128, 4),
    "Llama, 50 M, 4 × 128": lambda: tokens(llama_50m(), 128, 4),
}


def built(model_name):
    torch.manual_seed(0)
    model, inputs = CASES[model_name]()
    model.train()

    def loss():
        result = model(*inputs)
        return getattr(result, "logits", result).float().square().mean()

    return model, inputs, loss


def ways(model, inputs, loss):
    def plain():
        model.zero_grad()
        loss().backward()

    def anomaly():
        model.zero_grad()
        with torch.autograd.set_detect_anomaly(True):
            loss().backward()

    def doctor():
        with trace() as t:
            value = loss()
        t.explain(value, model)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    watching = watch(model, optimizer, steps=())

    def trained():
        plain()
        optimizer.step()

    def watched():
        with watching:
            trained()

    return {
        PLAIN: plain, ANOMALY: anomaly, DOCTOR: doctor, TRAINED: trained, WATCHED: watched,
        **way_of_torchlens(model, inputs),
    }  # fmt: skip


def way_of_torchlens(model, inputs):
    if not installed(["torchlens"]):
        return {}
    import torchlens

    return {LENS: lambda: torchlens.trace(model, inputs[0])}


def times(model_name, turns):
    """Median seconds of each way."""
    chosen = ways(*built(model_name))
    taken = {name: [] for name in chosen}
    for turn in range(turns + 1):
        for name in random.sample(list(chosen), len(chosen)):
            gc.collect()
            start = time.perf_counter()
            chosen[name]()
            if turn or turns == 1:  # the first one warms up
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def memory_of_a_process(model_name, way):
    """What memory() finds in a new process."""
    command = [sys.executable, __file__, "--memory", model_name, way]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def memory(model_name, way):
    """Mebibytes that three turns take at most, beyond the model and its gradients."""
    model, inputs, loss = built(model_name)
    turn = ways(model, inputs, loss)[way]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    torch.zeros(1000, 1000) @ torch.zeros(1000, 1000)  # the library for products is loaded
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest value so far
    before = highest_memory()
    for _ in range(3):
        turn()
    return (highest_memory() - before) / 1024


def highest_memory():
    """Of this process, in KiB; Linux only."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def main(arguments=None, turns=TURNS):
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--memory", nargs=2, metavar=("CASE", "WAY"))
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if asked.memory:
        return print(memory(*asked.memory))
    random.seed(0)
    versions = [f"{name} {version(name)}" for name in ["torch", *installed(LIBRARIES)]]
    print(f"{date.today()}, Python {platform.python_version()}, {', '.join(versions)}, 1 thread, "
          f"{os.cpu_count()} cores{left_out(LIBRARIES)}\n")  # fmt: skip
    others = [name for name in OTHERS if name != LENS or installed(["torchlens"])]
    heads = ["plain step", *others, WATCHED, "memory, plain", *others]
    print("| |", " | ".join(heads), "|\n|---" + "|---" * len(heads) + "|")
    for model_name in CASES:
        if asked.only in model_name:
            row(model_name, times(model_name, turns), others)


def row(model_name, taken, others):
    used = {name: memory_of_a_process(model_name, name) for name in (PLAIN, *others)}
    cells = [f"{1000 * taken[PLAIN]:.0f} ms"]
    cells += [f"{taken[name] / taken[PLAIN]:.2f} ×" for name in others]
    cells += [f"{taken[WATCHED] / taken[TRAINED]:.2f} ×", f"{used[PLAIN]:.0f} MiB"]
    cells += [f"{used[name] / used[PLAIN]:.2f} ×" for name in others]
    print(f"| {model_name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    need(LIBRARIES, "real")
    main()
