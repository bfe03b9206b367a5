"""What has to be done before some libraries can be imported here."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import torch

# Nothing is downloaded: every model starts from random weights.
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", WANDB_MODE="disabled")


def import_torchvision():
    """torchvision beside a torch without CUDA: its compiled operations do not load, so name them.

    torchvision registers shapes for its operations on import, and fails if they are unknown.
    """
    spec = importlib.util.find_spec("torchvision")
    if spec is None or _is_complete():
        return
    text = (Path(spec.origin).parent / "_meta_registrations.py").read_text()
    names = set(re.findall(r'"torchvision::(\w+)"', text))
    names |= set(re.findall(r'@register_meta\("(\w+)"\)', text))
    _library.extend([torch.library.Library("torchvision", "FRAGMENT")])
    for name in names:
        try:
            _library[0].define(f"{name}(Tensor x) -> Tensor")
        except RuntimeError:  # known already
            continue


def leave_out_torchaudio():
    """torchaudio beside a torch without CUDA cannot be imported, and transformers would try."""
    try:
        import torchaudio  # noqa: F401
    except (ImportError, OSError):
        sys.modules["torchaudio"] = None


def _is_complete():
    return hasattr(torch.ops.torchvision, "nms")


_library: list = []  # torch forgets the operations of a library object that is gone
import_torchvision()
leave_out_torchaudio()
