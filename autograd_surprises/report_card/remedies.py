"""What helps against torch's refusals: the first pattern that its message matches."""

from __future__ import annotations

import re

WITHOUT_FUNCTION = "spell it without a Function: y = proxy.clone(); y.detach().copy_(value)"
REMEDIES = (
    (
        "must override the setup_context",
        "split forward(ctx, ...) into forward(...) and setup_context(ctx, inputs, output)",
    ),
    (
        "does not have vmap support",
        "add generate_vmap_rule = True to the class, or write a vmap staticmethod",
    ),
    (
        "must implement the jvp function|flat_bdims must not be None",
        f"write a staticmethod jvp(ctx, *tangents), or {WITHOUT_FUNCTION}",
    ),
    (
        "custom jvp|User defind jvp",
        "torch.compile takes no Function with a jvp: take another path where "
        f"torch.compiler.is_compiling() is True, or {WITHOUT_FUNCTION}",
    ),
    (
        r"incorrect number of gradients \(expected 1,",
        "return one gradient: backward answers each input of forward, and forward has one",
    ),
    (
        "incorrect number of gradients",
        "return one answer for each input of forward, and None for those that need no gradient",
    ),
    (
        "gradient different than None at position",
        "return None at that position: the input there is no tensor that requires a gradient",
    ),
    (
        "invalid gradient at index",
        "bring the gradient to the shape of that input: sum where it was broadcast, do not "
        "reduce where it was not",
    ),
    (
        "once_differentiable",
        "remove @once_differentiable and write backward in differentiable operations of torch",
    ),
    (
        "does not require grad and does not have a grad_fn",
        "something cuts the graph: detach(), .data, item(), NumPy, a comparison, torch.no_grad() "
        "or an operation without a derivative",
    ),
    (
        "view size is not compatible|view\\(\\) cannot|Use .reshape",
        "use reshape instead of view, or call contiguous() first",
    ),
    (
        r"\.item\(\) on a Tensor|data-dependent control flow|[Dd]ata.dependent",
        "inside a transform a tensor has no single number: torch.where instead of if and item()",
    ),
    (
        "more than one element of the written-to tensor|inplace arithmetic|[iI]n-place",
        "do not write into what you are given: make a new tensor",
    ),
    (
        "not implemented for '(Half|BFloat16|Float8)|Low precision dtypes not supported",
        "compute in float32 and convert back: op(x.float()).to(x.dtype)",
    ),
    (
        "same dtype|expected scalar type|expected m1 and m2|expected dtype",
        "bring what meets to one dtype: constants, and in backward saved tensors and grad_output",
    ),
    (
        "no signature found",
        "write forward as a def of your own: a builtin tells nobody its arguments",
    ),
    (
        "forward AD with|[Dd]erivative for .* is not implemented",
        "an operation inside has no such derivative: write it with others",
    ),
)


def remedy_for(message: str) -> str:
    """What helps against this message of torch, or "".

    >>> remedy_for("no signature found for builtin")
    'write forward as a def of your own: a builtin tells nobody its arguments'
    """
    return next((remedy for pattern, remedy in REMEDIES if re.search(pattern, message)), "")
