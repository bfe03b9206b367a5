"""Each check is isolated, and torch's state is restored: after an error, too."""

import logging
import random
import warnings
from contextlib import contextmanager

import faulty
import pytest
import torch

from autograd_surprises.report_card import report_card
from autograd_surprises.report_card.questions import isolated

x = torch.linspace(-2, 2, 9)
CPU = torch.device("cpu")


def state():
    return {
        "gradients": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "default dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "torch's random numbers": torch.get_rng_state().tolist(),
        "Python's random numbers": random.getstate(),
        "warnings": warnings.filters[:],
        "log": logging.root.manager.disable,
    }


@contextmanager
def unusual(surroundings):
    """A state in which whatever is not restored is another: the tests run with one thread."""
    threads, dtype, numbers = (
        torch.get_num_threads(),
        torch.get_default_dtype(),
        torch.get_rng_state(),
    )
    torch.set_num_threads(3)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(5)
    try:
        with surroundings(), warnings.catch_warnings():
            warnings.simplefilter("once")
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_rng_state(numbers)


def meddle(x):
    """Twice x, which leaves no global setting alone."""
    y = x * 2
    torch.rand(3)
    torch.set_grad_enabled(False)
    torch.set_autocast_enabled("cpu", True)
    torch.set_default_dtype(torch.bfloat16)
    torch.set_num_threads(2)
    warnings.simplefilter("error")
    return y


SURROUNDINGS = [
    torch.enable_grad,
    torch.no_grad,
    torch.inference_mode,
    lambda: torch.autocast("cpu", torch.bfloat16),
]
each = pytest.mark.parametrize


@each("surroundings", SURROUNDINGS)
@each("error", [False, True])
def test_the_state_is_restored_whatever_happens_inside(surroundings, error):
    with unusual(surroundings):
        before = state()
        try:
            with isolated(CPU):
                meddle(x)
                if error:
                    raise KeyError
        except KeyError:
            pass
        assert state() == before


@each("surroundings", SURROUNDINGS)
def test_inside_the_state_is_always_the_same(surroundings):
    inside = []
    for outside in (unusual(surroundings), unusual(torch.enable_grad)):
        with outside:
            torch.rand(1 + len(inside))
            with isolated(CPU):
                inside.append(state())
    assert inside[0] == inside[1]
    names = ("gradients", "inference mode", "autocast", "threads")
    assert [inside[0][name] for name in names] == [True, False, False, 1]
    assert inside[0]["warnings"][0][0] == "ignore" and inside[0]["log"] == logging.CRITICAL


@each("function", [meddle, faulty.TooManyGradients.apply])
def test_a_card_leaves_the_state_as_it_was(function):
    with unusual(torch.enable_grad):
        before = state()
        report_card(function, x)
        assert state() == before
