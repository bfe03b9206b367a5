"""Bytes that a computation moves through memory, counted for each operation of torch."""

import json
import os
import tempfile
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

os.environ["KINETO_LOG_LEVEL"] = "99"  # the profiler keeps silent

OVERWRITE = {"aten::copy_", "aten::fill_", "aten::zero_"}  # whatever was there before


def traffic(run) -> dict[str, int]:
    """Count the bytes that run() moves at least, and those of the fresh memory that it takes.

    Each operation reads each tensor that it is given once, and writes what it returns or changes.
    Of a tensor that it makes and frees inside, only the fresh memory is seen: that counts as
    written once and read once. What a cache holds counts like the rest.
    """
    run()  # what it makes only once does not count
    with _Operations() as seen:
        run()
    fresh = _fresh(run)
    return {"moved": seen.moved + 2 * max(0, fresh - seen.fresh), "fresh": fresh}


class _Operations(TorchDispatchMode):
    """Sees each operation below autograd, forward and backward."""

    def __init__(self):
        super().__init__()
        self.moved = self.fresh = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        schema = operation._schema
        only_allocates = "empty" in schema.name
        reads = not (only_allocates or schema.name.endswith("_like") or "::new_" in schema.name)
        names = [argument.name for argument in schema.arguments]
        given = {**dict(zip(names, args, strict=False)), **(kwargs or {})}
        old = set()
        for argument in schema.arguments:
            tensors = _tensors(given.get(argument.name))
            old |= {tensor.untyped_storage().data_ptr() for tensor in tensors}
            if argument.alias_info and not argument.alias_info.is_write:
                return result  # a view of the same memory
            if argument.alias_info:
                self.moved += _bytes(tensors)
                if argument.is_out or schema.name in OVERWRITE:
                    continue
            if reads:
                self.moved += _bytes(tensors)
        new = [made for made in _tensors(result) if made.untyped_storage().data_ptr() not in old]
        self.fresh += _bytes(new)
        self.moved += 0 if only_allocates else _bytes(new)
        return result


def _tensors(value):
    values = value if isinstance(value, (list, tuple)) else [value]
    return [value for value in values if isinstance(value, torch.Tensor)]


def _bytes(tensors):
    """An expanded tensor is small in memory."""
    return sum(min(tensor.nbytes, tensor.untyped_storage().nbytes()) for tensor in tensors)


def _fresh(run):
    """Bytes that torch allocates in run(), inside of its operations, too."""
    cpu = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[cpu], profile_memory=True, acc_events=True) as profile:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    changes = [event["args"]["Bytes"] for event in events if event["name"] == "[memory]"]
    return sum(change for change in changes if change > 0)
