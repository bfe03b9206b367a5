"""The nodes behind a result."""

import re

import pytest
import torch

from autograd_surprises.facts.graph import leaf_of, nodes, only_way, reachable, readable


def residual(blocks):
    x = torch.ones(2, requires_grad=True)
    h = x
    for _ in range(blocks):
        h = h + torch.relu(h)
    return x, h.sum()


def test_each_node_comes_once_and_after_those_that_lead_to_it():
    _, loss = residual(3)
    found = nodes(loss.grad_fn)
    assert len(found) == len(set(found)) == 1 + 2 * 3 + 1
    for i, node in enumerate(found):
        assert all(after in found[i + 1 :] for after, _ in node.next_functions)


def test_a_graph_of_many_ways_takes_no_longer():
    """40 blocks have 2**40 ways from the loss to the leaf."""
    x, loss = residual(40)
    graph = nodes(loss.grad_fn)
    assert len(graph) == 1 + 2 * 40 + 1
    assert [leaf_of(node) for node in graph[:-1]] == [None] * 81 and leaf_of(graph[-1]) is x


def test_what_is_reachable_from_several_results_comes_once_the_nearest_first():
    x, loss = residual(40)
    other = x.exp()
    found = list(reachable([loss.grad_fn, None, other.grad_fn]))
    assert found[:2] == [loss.grad_fn, other.grad_fn]
    assert len(found) == len(set(found)) == 1 + 2 * 40 + 2
    assert [leaf_of(node) is x for node in found].count(True) == 1


def test_the_only_way_ends_where_ways_part_and_passes_constants():
    w, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    *_, last = only_way((2 - w).exp().grad_fn)
    assert leaf_of(last) is w
    *_, last = only_way((w + b).exp().grad_fn)
    assert last.name() == "AddBackward0"
    assert list(only_way(None)) == []


def test_the_only_way_of_a_tensor_that_is_used_twice_ends_where_it_is_used():
    x = torch.ones(2, requires_grad=True)
    square = (x * x).grad_fn
    assert list(only_way(square)) == [square]


NAMES = (
    "max_pool2d_with_indices avg_pool3d nll_loss2d smooth_l1_loss log1p atan2 reflection_pad1d "
    "upsample_bicubic2d_aa log_softmax im2col linalg_lu_factor_ex"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_a_kind_of_node_is_spelled_as_in_python(name):
    words = re.sub(r"(?<=\d)[a-z]", lambda letter: letter[0].upper(), name).split("_")
    assert readable("".join(word[0].upper() + word[1:] for word in words)) == name
