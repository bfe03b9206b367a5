"""One of two processes that train by hand, and are watched as scripts: for test_several_processes.

python diverged.py RANK FOLDER watches each kind of training; with a KIND, it is the script.
"""

import os
import sys
from contextlib import redirect_stderr
from io import StringIO

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from two_ranks import hand_in, meet

from autograd_surprises.command.parser import main

KINDS = ["averaged", "wrapped", "others", "apart", "beside"]


def train(rank, folder, kind):
    dist.init_process_group("gloo", f"file://{folder}/{kind}", rank=rank, world_size=2)
    torch.manual_seed(rank if kind == "others" else 0)
    model = nn.Linear(4, 1)
    parallel = DistributedDataParallel(model) if kind in ("beside", "wrapped") else model
    forward = model if kind == "beside" else parallel
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(6):
        loss = forward(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters() if kind == "averaged" else ():
            dist.all_reduce(p.grad)
            p.grad /= 2
        optimizer.step()
        dist.barrier()
    dist.destroy_process_group()


def watched(rank, folder, kind):
    """What is said of this kind of training."""
    report = ["--json", f"{folder}/{kind}.json"]
    with redirect_stderr(StringIO()) as said:
        main([*report, __file__, str(rank), folder, kind])
    return said.getvalue()


if __name__ == "__main__":
    rank, folder, *kind = int(sys.argv[1]), *sys.argv[2:]
    if kind:
        train(rank, folder, *kind)
    else:
        os.environ |= {"WORLD_SIZE": "2", "RANK": str(rank)}
        meet(rank, folder)
        dist.destroy_process_group()
        said = {kind: watched(rank, folder, kind) for kind in KINDS}
        meet(rank, folder, "end")
        hand_in(said, rank, folder)
