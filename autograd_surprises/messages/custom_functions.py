"""Messages about torch.autograd.Function, and of gradcheck, which tests its backward."""

from autograd_surprises.messages.message import Cause, Message

CUSTOM_FUNCTIONS = (
    Message(
        "no-forward",
        {
            "You must implement the forward function for custom autograd.Function": """
                class Empty(Function):
                    pass
                Empty.apply(x)
            """,
        },
        "the Function has no forward",
        "write a static forward(ctx, x)",
        section="function.first",
    ),
    Message(
        "forward-arguments",
        {
            "forward() takes 1 positional argument but 2 were given": """
                class Double(Function):
                    @staticmethod
                    def forward(x):
                        return x * 2
                Double.apply(x)
            """,
            "forward() missing": """
                nn.ReLU()()
            """,
        },
        "forward was called with more or fewer arguments than it takes. The forward of a Function "
        "gets ctx first, unless the class has a setup_context",
        "for a Function, call MyFunction.apply(x) and write a static forward(ctx, x); for a "
        "Module, call module(x) and write forward(self, x)",
        section="function.first",
        variants=("forward() takes",),
    ),
    Message(
        "used-like-a-module",
        {
            "should not be instantiated": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                Double()
            """,
        },
        "a Function is used like a Module, but a Function is never instantiated",
        "call MyFunction.apply(x)",
        section="function.call",
    ),
    Message(
        "not-static",
        {
            "Legacy autograd function with non-static forward method": """
                class Double(Function):
                    def forward(self, x):
                        return x * 2
                Double()(x)
            """,
        },
        "forward and backward are not static, or an instance of the Function is called",
        "write @staticmethod above both, and call MyFunction.apply(x)",
        section="function.call",
        variants=("Legacy autograd function",),
    ),
    Message(
        "no-backward",
        {
            "You must implement either the backward or vjp method": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                Double.apply(x).sum().backward()
            """,
        },
        "the Function has no backward",
        "write a static backward(ctx, grad_output)",
        section="function.first",
        variants=("must implement the backward",),
    ),
    Message(
        "gradient-count",
        {
            "returned an incorrect number of gradients (expected 1,": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: (grad_output, grad_output))
                Double.apply(x).sum().backward()
            """,
        },
        "backward returns one value for each argument of forward after ctx, and forward has one",
        "return one gradient",
        in_function="return one gradient: one value for each input of forward, and forward has one",
        section="function.inputs",
    ),
    Message(
        "gradient-count",
        {
            "returned an incorrect number of gradients": """
                class Scale(Function):
                    forward = staticmethod(lambda ctx, x, factor: x * factor)
                    backward = staticmethod(lambda ctx, grad_output: grad_output)
                Scale.apply(x, 2.0).sum().backward()
            """,
        },
        "backward returns one value for each argument of forward after ctx",
        "return grad_x, None, ...: None for an argument that needs no gradient",
        in_function="return one value for each input of forward, and None for those that need "
        "no gradient",
        section="function.inputs",
    ),
    Message(
        "gradient-of-no-tensor",
        {
            "returned a gradient different than None at position": """
                class Scale(Function):
                    forward = staticmethod(lambda ctx, x, factor: x * factor)
                    backward = staticmethod(lambda ctx, grad_output: (grad_output, grad_output))
                Scale.apply(x, 2.0).sum().backward()
            """,
        },
        "backward returned a gradient for an argument of forward that is not a tensor",
        "return None at that position",
        in_function="return None at that position: the input there is not a tensor that requires a "
        "gradient",
        section="function.inputs",
    ),
    Message(
        "gradient-device",
        {
            "returned an invalid gradient at index … expected device": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: grad_output.to("meta"))
                Double.apply(x).sum().backward()
            """,
        },
        "the gradient that backward returned is on another device than the input",
        "make new tensors where the input is: torch.zeros_like(g), or device=g.device",
        in_function="return each gradient on the device of its input: make new tensors in backward "
        "with device=grad_output.device",
    ),
    Message(
        "gradient-layout",
        {
            "returned an invalid gradient at index … expected layout": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: grad_output.to_sparse_csr())
                Double.apply(x.expand(2, 2)).sum().backward()
            """,
        },
        "the gradient that backward returned is stored in another layout than the input, such as a "
        "compressed sparse one for a dense input",
        "return a dense gradient: g.to_dense()",
    ),
    Message(
        "gradient-shape",
        {
            "returned an invalid gradient at index … but expected shape": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: 2 * grad_output[:1])
                Double.apply(x).sum().backward()
            """,
        },
        "the gradient that backward returned does not have the shape of the input",
        "return a gradient of the input's shape: transpose back, undo broadcasting with "
        "g.sum_to_size(...)",
        in_function="give the gradient the shape of that input: sum where it was broadcast, and do "
        "not reduce elsewhere",
    ),
    Message(
        "complex-gradient",
        {
            "Expected isFloatingType(grad.scalar_type())": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: 2j * grad_output)
                Double.apply(x).sum().backward()
            """,
        },
        "backward returned a complex gradient for a real input",
        "return its real part: g.real",
    ),
    Message(
        "gradient-not-a-tensor",
        {
            "expected Variable or None (got": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: 2.0)
                Double.apply(x).sum().backward()
            """,
        },
        "backward returned a number, a list or an array where autograd needs a tensor",
        "return a tensor of the input's shape, such as 2.0 * g",
    ),
    Message(
        "no-setup-context",
        {
            "it must override the setup_context staticmethod": """
                class Double(Function):
                    forward = staticmethod(lambda ctx, x: x * 2)
                    backward = staticmethod(lambda ctx, grad_output: 2 * grad_output)
                torch.func.grad(lambda x: Double.apply(x).sum())(x)
            """,
        },
        "torch.func needs a Function whose forward does not take ctx",
        "split forward(ctx, ...) into forward(...) and setup_context(ctx, inputs, output)",
        section="function.saved",
        also=(
            Cause(
                "for vmap, and for a Hessian",
                "card.hessian",
            ),
        ),
    ),
    Message(
        "once-differentiable",
        {
            "trying to differentiate twice a function that was marked with "
            "@once_differentiable": """
                from torch.autograd.function import once_differentiable
                class Square(Function):
                    @staticmethod
                    def forward(ctx, x):
                        ctx.save_for_backward(x)
                        return x**2
                    @staticmethod
                    @once_differentiable
                    def backward(ctx, grad_output):
                        (x,) = ctx.saved_tensors
                        return 2 * x * grad_output
                loss = (Square.apply(x) ** 2).sum()
                (slope,) = torch.autograd.grad(loss, x, create_graph=True)
                slope.sum().backward()
            """,
        },
        "the backward of a Function is differentiated, but marked as not differentiable",
        "remove @once_differentiable and write backward in differentiable operations of torch",
        section="card.switches",
    ),
    Message(
        "gradcheck-mismatch",
        {
            "Jacobian mismatch for output … with respect to input": """
                class RoundSTE(Function):
                    forward = staticmethod(lambda ctx, x: x.round())
                    backward = staticmethod(lambda ctx, grad_output: grad_output)
                torch.autograd.gradcheck(RoundSTE.apply, x.double())
            """,
        },
        "the gradient is not the slope that gradcheck measures with finite differences",
        "a surrogate gradient fails on purpose; otherwise backward has an error, or the input is "
        "at a kink, or the function changes too much within a step of 1e-6",
        section="function.gradcheck",
    ),
    Message(
        "gradcheck-float32",
        {
            "is not a double precision floating point or complex": """
                torch.autograd.gradcheck(torch.square, x, raise_exception=False)
            """,
        },
        "in float32, finite differences are too coarse for gradcheck",
        "pass float64: x.double()",
        section="function.gradcheck",
    ),
    Message(
        "no-signature",
        {
            "no signature found": """
                import inspect
                inspect.signature(torch.round)  # as torch does where forward = torch.round
            """,
        },
        "forward is a builtin, and torch cannot read its signature",
        "write forward as a Python function",
        in_function="write forward as a Python function: torch cannot read the signature of this "
        "builtin",
    ),
)
