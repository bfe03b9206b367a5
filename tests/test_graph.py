"""The nodes behind a result, as data."""

import re

import pytest
import torch

from autograd_surprises.facts.graph import (
    autograd_graph,
    leaf_of,
    nodes,
    only_way,
    reachable,
    readable,
)


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
    graph = autograd_graph(loss)
    assert len(graph) == 1 + 2 * 40 + 1
    assert (graph[0].depth, graph[-1].depth) == (0, 1 + 2 * 40)
    assert graph[-1].leaf is x
    assert [node.leaf for node in graph[:-1]] == [None] * 81


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


def test_inputs_point_at_the_nodes_that_come_next_twice_if_they_are_used_twice():
    _, loss = residual(2)
    graph = autograd_graph(loss)
    for node in graph:
        after = [function for function, _ in node.function.next_functions]
        assert [graph[i].function for i in node.inputs] == after
        assert all(graph[i].depth > node.depth for i in node.inputs)
    x = torch.ones(2, requires_grad=True)
    square = autograd_graph(x * x)[0]
    assert square.inputs == (1, 1)
    assert list(only_way(square.function)) == [square.function]


def test_what_has_no_graph_is_refused():
    with pytest.raises(TypeError, match="needs a tensor, got float"):
        autograd_graph(1.0)
    with pytest.raises(ValueError, match="no grad_fn"):
        autograd_graph(torch.ones(2))


@pytest.mark.parametrize(
    "name",
    [
        "max_pool2d_with_indices",
        "avg_pool3d",
        "nll_loss2d",
        "smooth_l1_loss",
        "log1p",
        "atan2",
        "reflection_pad1d",
        "upsample_bicubic2d_aa",
        "log_softmax",
        "im2col",
        "linalg_lu_factor_ex",
    ],
)
def test_a_kind_of_node_is_spelled_as_in_python(name):
    words = re.sub(r"(?<=\d)[a-z]", lambda letter: letter[0].upper(), name).split("_")
    assert readable("".join(word[0].upper() + word[1:] for word in words)) == name
