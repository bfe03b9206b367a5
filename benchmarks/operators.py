"""One straight-through round as a Function, as an operator of torch.library and as one in C++.

    python benchmarks/operators.py           a minute or two, half of it for the C++ compiler
    python benchmarks/operators.py --store   store it under this torch's version, for the lesson

What their report cards say, and what a call costs. C++ needs a compiler and ninja; without them,
it is left out.
"""

import json
import shutil
import sys
import tempfile
import warnings
from datetime import date
from pathlib import Path
from timeit import repeat

import torch
from torch.autograd import Function

import lessons
from autograd_surprises.report_card import report_card

STORED = Path(lessons.__path__[0], "measured", "operators.json")
X = torch.tensor([0.3, -1.7, 2.2])
ROWS = (
    "double backward",
    "vmap",
    "vmap(grad)",
    "jvp",
    "hessian",
    "compile(aot_eager)",
    "compile(grad)",
    "compile(jvp)",
)
CALLS = {100: 2000, 100_000: 200}  # numbers in a tensor: calls in a row
SOURCE = """
#include <torch/extension.h>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor round_cpu(const torch::Tensor& x) { return x.round(); }
torch::Tensor round_meta(const torch::Tensor& x) { return torch::empty_like(x); }

struct RoundSTE : torch::autograd::Function<RoundSTE> {
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    at::AutoDispatchBelowADInplaceOrView below;
    static auto round = torch::Dispatcher::singleton()
        .findSchemaOrThrow("benchmark_cpp::round_ste", "")
        .typed<torch::Tensor(const torch::Tensor&)>();
    return round.call(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    return gradients;
  }
};

torch::Tensor round_autograd(const torch::Tensor& x) { return RoundSTE::apply(x); }

TORCH_LIBRARY(benchmark_cpp, m) { m.def("round_ste(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(benchmark_cpp, CPU, m) { m.impl("round_ste", &round_cpu); }
TORCH_LIBRARY_IMPL(benchmark_cpp, Meta, m) { m.impl("round_ste", &round_meta); }
TORCH_LIBRARY_IMPL(benchmark_cpp, Autograd, m) { m.impl("round_ste", &round_autograd); }
"""


class RoundSTE(Function):
    generate_vmap_rule = True
    forward = staticmethod(lambda x: x.round())
    setup_context = staticmethod(lambda ctx, inputs, output: None)
    backward = staticmethod(lambda ctx, grad_output: grad_output)


class RoundSTEWithJvp(RoundSTE):
    jvp = staticmethod(lambda ctx, tangent: tangent)


@torch.library.custom_op("benchmark::round_ste", mutates_args=())
def round_ste(x: torch.Tensor) -> torch.Tensor:
    return x.round()


round_ste.register_autograd(lambda ctx, grad_output: grad_output)
round_ste.register_fake(torch.empty_like)
round_ste.register_vmap(lambda info, in_dims, x: (round_ste(x), in_dims[0]))


def ways(cpp=True):
    """name -> a function that rounds, and whose gradient is that of the identity."""
    found = {
        "Function": RoundSTE.apply,
        "Function with jvp": RoundSTEWithJvp.apply,
        "custom_op": round_ste,
    }
    if cpp and shutil.which("ninja") and (shutil.which("c++") or shutil.which("g++")):
        found["C++"] = compiled_operator()
    return found


def compiled_operator():
    """The operator of SOURCE. Compiling takes about half a minute."""
    from torch.utils.cpp_extension import load_inline

    with tempfile.TemporaryDirectory() as folder:
        load_inline("benchmark_cpp", SOURCE, build_directory=folder, is_python_module=False)
    return torch.ops.benchmark_cpp.round_ste


def microseconds(function, numbers, calls):
    """The fastest of five rounds: one forward and backward pass of so many numbers."""
    x, upstream = torch.randn(numbers, requires_grad=True), torch.ones(numbers)

    def step():
        torch.autograd.grad(function(x), x, upstream)

    step()
    return 1e6 * min(repeat(step, number=calls, repeat=5)) / calls


def main(store=False, cpp=True, calls=CALLS):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cards, found = {}, ways(cpp)
    for name, function in found.items():
        card = report_card(function, X, like=lambda x: x, compile=True)
        cards[name] = {row: card[row].status for row in ROWS}
    costs = {
        str(numbers): {
            name: round(microseconds(function, numbers, times), 1)
            for name, function in {"x.clone()": torch.clone, **found}.items()
        }
        for numbers, times in calls.items()
    }
    measured = {"date": str(date.today()), "cards": cards, "microseconds": costs}
    print(json.dumps(measured, indent=1))
    if store:
        stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
        stored[torch.__version__.partition("+")[0]] = measured
        text = json.dumps(dict(sorted(stored.items(), key=_number)), indent=1)
        STORED.write_text(text + "\n", encoding="utf-8")


def _number(item):
    return [int(part) for part in item[0].split(".")]


if __name__ == "__main__":
    main(store="--store" in sys.argv)
