"""The digits, and how well networks of few bits learn to read them."""

import functools
import math
from dataclasses import replace

import pytest
import torch

from lessons.digits import (
    HELD_OUT,
    IMAGES,
    LABELS,
    TRAINING,
    WAYS,
    accuracy,
    network,
    rounded_afterwards,
    train,
)
from lessons.digits.autoencoder import VQVAE, codes_in_use, squared_error, train_vqvae
from lessons.digits.epochs import epochs
from lessons.digits.figure import show_codebook
from lessons.digits.learning import batches, show_losses
from lessons.digits.networks import initial_scale


def test_each_image_is_for_training_or_held_out():
    both = torch.cat([TRAINING, HELD_OUT]).sort().values
    assert torch.equal(both, torch.arange(1797))
    assert (len(TRAINING), len(HELD_OUT)) == (1297, 500)
    assert len(IMAGES.unique(dim=0)) == 1797  # so none is in both parts in disguise
    assert LABELS.bincount().tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (IMAGES.min(), IMAGES.max()) == (0, 1)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("way", ["default gradient", "straight-through", "learned step"])
def test_weights_and_inputs_have_no_more_values_than_their_bits(way, bits):
    layer = network(replace(WAYS[way], bits=bits), torch.Generator().manual_seed(1))[0]
    weight = layer.run.quantize(3 * layer.weight, layer.weight_scale, *layer.weight_range)
    inputs = layer.run.quantize(3 * IMAGES, layer.input_scale, *layer.input_range)
    assert len(weight.unique()) <= 2**bits and len(inputs.unique()) <= 2**bits
    assert weight.min() < 0 <= inputs.min()
    assert not torch.equal(weight, 3 * layer.weight)


trained = functools.cache(train)  # for those who change nothing


def test_the_default_gradient_moves_the_last_bias_only():
    run = WAYS["default gradient"]
    before = network(run, torch.Generator().manual_seed(run.seed))
    trained = zip(train(run).named_parameters(), before.parameters(), strict=True)
    assert [name for (name, new), old in trained if not torch.equal(new, old)] == ["4.bias"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "way, start, low, high",
    [
        ("floating point", 1.0, 95, 100),
        ("default gradient", 1.0, 0, 20),
        ("straight-through", 1.0, 90, 100),
        ("learned step", 1.0, 90, 100),
        ("straight-through", 0.25, 10, 65),
        ("learned step", 0.25, 85, 100),
    ],
)
def test_accuracy_in_2_bits(way, start, low, high):
    assert low < accuracy(trained(replace(WAYS[way], scale_factor=start))) < high


def test_accuracy_counts_the_held_out_digits():
    half = LABELS.clone()
    half[HELD_OUT[:250]] += 1
    assert accuracy(lambda images: torch.nn.functional.one_hot(half[HELD_OUT], 11)) == 50


@pytest.mark.slow
def test_rounding_afterwards_costs_more_than_training_in_2_bits():
    floating = trained(WAYS["floating point"])
    rounded = rounded_afterwards(floating, 8)
    assert rounded[0].weight_scale == initial_scale(floating[0].weight, high=127).item()
    assert accuracy(rounded) > 95
    assert accuracy(rounded_afterwards(floating, 2)) < 90 < accuracy(trained(WAYS["learned step"]))


def test_one_bit_is_too_few():
    with pytest.raises(ValueError, match="2 bits or more, got 1"):
        replace(WAYS["straight-through"], bits=1)


def test_an_epoch_shows_each_digit_for_training_once():
    seen = []
    weight = torch.zeros(1, requires_grad=True)

    def loss_of(rows):
        seen.append(rows)
        return weight.sum()

    trained = epochs(loss_of, torch.optim.SGD([weight]), torch.Generator().manual_seed(0))
    orders = {}
    for epoch in trained:
        orders[epoch] = torch.cat(seen)
        seen.clear()
    assert list(orders) == [*range(1, 16)]
    for order in orders.values():
        assert torch.equal(order.sort().values, TRAINING.sort().values)
    assert not torch.equal(orders[1], orders[2])
    steps = 15 * 21  # one for each batch of each epoch
    assert weight.item() == pytest.approx(-1e-3 * steps, rel=1e-4)


@pytest.mark.slow
def test_an_autoencoder_draws_with_the_codes_in_use():
    torch.manual_seed(0)
    model = VQVAE(torch.tensor([[0.0, 0.0], [99.0, 99.0]]))
    image, z, q, index = model(IMAGES[:20])
    assert not index.any() and torch.equal(q, torch.zeros(20, 2)) and codes_in_use(model) == 1
    assert len(image.unique(dim=0)) == 1
    before = squared_error(model)
    calls = []
    train_vqvae(model, seed=0, after_epoch=calls.append)
    assert squared_error(model) < before and len(calls) == 12
    assert torch.equal(model.codes[1], torch.tensor([99.0, 99.0])) and model.codes[0].any()


def test_codes_in_use_are_squares():
    codes = torch.tensor([[0.0, 0.0], [9.0, 9.0]])
    lines = show_codebook({"at first": (codes[:1], codes)}).axes[0].lines
    assert {line.get_marker(): line.get_xdata()[0] for line in lines} == {".": 0, "s": 0, "X": 9}


def test_batches_are_the_same_at_each_call_and_take_turns():
    once, again = list(batches(13)), list(batches(13))
    for (images, labels), (same_images, same_labels) in zip(once, again, strict=True):
        assert images.shape == (100, 64) and len(labels) == 100
        assert torch.equal(images, same_images) and torch.equal(labels, same_labels)
    assert torch.equal(once[0][0], once[12][0]) and not torch.equal(once[0][0], once[11][0])
    seen = torch.cat([images for images, _ in once[:12]])
    assert len(seen.unique(dim=0)) == len(IMAGES[TRAINING[:1200]].unique(dim=0))


def test_a_loss_is_drawn_beside_that_of_a_guess():
    (axes,) = show_losses([2.5, 1.0, 0.5]).axes
    guess, losses = (line.get_ydata() for line in axes.lines)
    assert set(guess) == {math.log(10)} and list(losses) == [2.5, 1.0, 0.5]
    assert axes.get_title() == "Reading digits: loss 2.50 to 0.50"
