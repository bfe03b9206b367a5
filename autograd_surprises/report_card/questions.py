"""Every question of the card, by name: the check that answers it, given a Subject.

A check returns a remark, or "" for none; it raises NotApplicable, SilentlyWrong, or what torch
raises. Each runs alone.
"""

from __future__ import annotations

import torch

from autograd_surprises.report_card import (
    compiled,
    first_order,
    in_place,
    memory,
    precision,
    processes,
    second_order,
    shapes,
    slopes,
    transforms,
)

FIRST = "one gradient per input"
ALWAYS = {
    FIRST: first_order.one_gradient_per_input,
    "gradient shape and dtype": first_order.shape_and_dtype,
    "linear in grad_output": first_order.linear,
    "slope": slopes.gradient_is_slope,
    "input untouched": in_place.input_untouched,
    "grad_output untouched": in_place.grad_output_untouched,
    "in-place safety": in_place.in_place_safety,
    "inf upstream": first_order.infinite_upstream,
    "double backward": second_order.double_backward,
    "gradgradcheck": second_order.gradgradcheck,
    "vmap": transforms.vmap,
    "vmap(grad)": transforms.vmap_of_grad,
    "jacrev": transforms.jacrev,
    "jvp": transforms.jvp,
    "jacfwd": transforms.jacfwd,
    "hessian": second_order.hessian,
    "jacfwd(jacfwd)": second_order.forward_twice,
    "autocast": precision.autocast,
    "float64": precision.in_dtype(torch.float64),
    "float32": precision.in_dtype(torch.float32),
    "bfloat16": precision.in_dtype(torch.bfloat16),
    "float16": precision.in_dtype(torch.float16),
    "large x": precision.large_input,
    "inf, NaN and -0": precision.infinite_input,
    "empty": shapes.empty,
    "0-d": shapes.zero_dimensional,
    "non-contiguous": shapes.non_contiguous,
    "memory": memory.memory,
}
COMPILED = {
    "compile(aot_eager)": compiled.compiled_with("aot_eager"),
    "compile(inductor)": compiled.compiled_with("inductor"),
    "compile(grad)": compiled.compiled_grad,
    "compile(jvp)": compiled.compiled_jvp,
    "compile(vmap)": compiled.compiled_vmap,
}
PROCESSES = {"two processes": processes.two_processes}
