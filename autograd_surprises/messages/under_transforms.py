"""Messages of torch.func, forward mode and torch.compile."""

from autograd_surprises.messages.message import Cause, Message

WITHOUT_FUNCTION = "write it without a Function: y = proxy.clone(); y.detach().copy_(value)"

UNDER_TRANSFORMS = (
    Message(
        "no-vmap",
        {
            "but it does not have vmap support": """
                class Double(Function):
                    forward = staticmethod(lambda x: x * 2)
                    setup_context = staticmethod(lambda ctx, inputs, output: None)
                    backward = staticmethod(lambda ctx, grad_output: 2 * grad_output)
                torch.func.vmap(Double.apply)(x)
            """,
        },
        "vmap does not look inside a Function, so the Function has to define how it is mapped",
        "add generate_vmap_rule = True to the class, or write a vmap staticmethod",
        section="card.vmap",
    ),
    Message(
        "no-jvp",
        {
            "You must implement the jvp function for custom autograd.Function": """
                class Double(Function):
                    forward = staticmethod(lambda x: x * 2)
                    setup_context = staticmethod(lambda ctx, inputs, output: None)
                    backward = staticmethod(lambda ctx, grad_output: 2 * grad_output)
                torch.func.jvp(Double.apply, (x.detach(),), (x.detach(),))
            """,
        },
        "forward mode (jvp, jacfwd, hessian) needs a Function that defines how it passes tangents "
        "on",
        f"write a staticmethod jvp(ctx, *tangents), or {WITHOUT_FUNCTION}",
        section="card.forward-mode",
        also=(Cause("a Hessian", "card.hessian"),),
        variants=("flat_bdims must not be None",),
    ),
    Message(
        "compiled-jvp",
        {
            "Unsupported custom jvp": """
                class Double(Function):
                    forward = staticmethod(lambda x: x * 2)
                    setup_context = staticmethod(lambda ctx, inputs, output: None)
                    backward = staticmethod(lambda ctx, grad_output: 2 * grad_output)
                    jvp = staticmethod(lambda ctx, tangent: 2 * tangent)
                torch.compile(Double.apply, fullgraph=True, backend="eager")(x)
            """,
        },
        "torch.compile does not support a Function with a jvp",
        "take another path where torch.compiler.is_compiling() is True",
        in_function="torch.compile does not support a Function with a jvp: take another path where "
        f"torch.compiler.is_compiling() is True, or {WITHOUT_FUNCTION}",
        section="card.both-ways",
        variants=("User defind jvp",),
    ),
    Message(
        "no-forward-derivative",
        {
            "Trying to use forward AD with … that does not support it": """
                points = torch.ones(2, 2)
                torch.func.jvp(lambda p: torch.cdist(p, p), (points,), (points,))
            """,
        },
        "torch has no forward-mode derivative for this operation",
        "write it with other operations, or use reverse mode: torch.func.jacrev, backward()",
        in_function="an operation inside has no such derivative: use other operations",
    ),
    Message(
        "no-single-number",
        {
            ".item() on a Tensor": "torch.func.vmap(lambda v: v * v.item())(x)",
            "data-dependent control flow": "torch.func.vmap(lambda v: v if v > 0 else -v)(x)",
        },
        "under vmap a tensor stands for many values, so Python cannot branch on it",
        "use torch.where(condition, a, b) instead of if and item()",
        in_function="under vmap a tensor stands for many values: use torch.where instead of if and "
        "item()",
        variants=("data-dependent", "data dependent"),
    ),
    Message(
        "captured-in-place",
        {
            "that would mutate a captured Tensor": """
                total = torch.zeros(2)
                torch.func.grad(lambda v: total.add_(v).sum())(x)
            """,
            "is not possible because there exists a Tensor": """
                rows = torch.ones(3, 2)
                torch.func.vmap(lambda row: torch.ones(2).mul_(row))(rows)
            """,
        },
        "a function under torch.func changes, in place, a tensor that it must not change: one from "
        "outside, or one without the mapped dimension",
        "make a new tensor: total + v instead of total.add_(v)",
        in_function="do not write into a tensor that you receive: make a new one",
        variants=("in-place",),
    ),
)
