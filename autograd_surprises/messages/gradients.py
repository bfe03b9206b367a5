"""Messages of backward() and torch.autograd.grad."""

from autograd_surprises.messages.message import Cause, Message

DOUBLE = "second.history"

GRADIENTS = (
    Message(
        "not-connected",
        {
            "element 0 of tensors does not require grad and does not have a grad_fn": """
                torch.ones(2).sum().backward()
            """,
        },
        "the loss is not connected to any tensor that requires a gradient: no input requires one, "
        "or the history was cut (detach, .data, .item(), torch.tensor(...), no_grad, argmax, ...)",
        "find the cut. loss.requires_grad_() only hides this message: nothing is trained",
        in_function="something cuts the graph: detach(), .data, item(), NumPy, a comparison, "
        "torch.no_grad() or an operation without a derivative",
        section="leaf.which",
        also=(
            Cause(
                "losses joined with torch.tensor()",
                "none.copied",
            ),
            Cause(
                "argmax, a comparison, an integer",
                "none.argmax",
            ),
            Cause(
                "covered up with loss.requires_grad = True",
                "none.covered-up",
            ),
            Cause(
                "a gradient without create_graph=True",
                "second.history",
            ),
        ),
        variants=("does not require grad and does not have a grad_fn",),
    ),
    Message(
        "vector-backward",
        {
            "grad can be implicitly created only for real scalar outputs": """
                (x * 1j).sum().backward()
            """,
        },
        "the loss is complex, and backward() starts from one real number",
        "use loss.abs() or loss.real",
    ),
    Message(
        "vector-backward",
        {"grad can be implicitly created only for scalar outputs": "(x * 2).backward()"},
        "backward() needs a weight for each element; only a single number needs none",
        "use loss.mean() or loss.sum(), or backward(v) with a weight for each element",
        section="backward.number",
        also=(
            Cause("one loss for each sample", "error.vector-loss"),
            Cause(
                "a gradient that is differentiated again",
                "second.history",
            ),
        ),
    ),
    Message(
        "size-mismatch",
        {"size mismatch, got input … mat … vec": "torch.ones(3, 2) @ torch.ones(3)"},
        "a product of a matrix and a vector needs as many columns as the vector has numbers",
        "vector @ matrix, or matrix.T @ vector: the second is what backward(v) computes",
        section="backward.computes",
    ),
    Message(
        "wrong-vector-shape",
        {
            "Mismatch in shape: grad_output[0] has a shape of … and output[0] has a shape of": """
                (x * 2).backward(torch.ones(3))
            """,
        },
        "v in backward(v) holds a weight for each element of the output, so it needs the output's "
        "shape",
        "pass a v of the output's shape, such as torch.ones_like(output)",
        section="backward.shape",
        variants=("Mismatch in shape: grad_output[",),
    ),
    Message(
        "vector-not-a-tensor",
        {"gradients can be either Tensors or None, but got": "(x * 2).backward([1.0, 0.0])"},
        "v in backward(v) is a list or a number, but has to be a tensor",
        "torch.tensor(v)",
        section="backward.shape",
    ),
    Message(
        "second-backward",
        {
            "Trying to backward through the graph a second time": """
                loss = (x**2).sum()
                loss.backward()
                loss.backward()
            """,
        },
        "an earlier backward() freed what this graph had saved: backward() ran twice on one graph, "
        "or a tensor from an earlier step (a hidden state, a cache) brings the old graph along",
        "detach what you carry over, recompute the rest, or add the losses and call backward() "
        "once; use retain_graph=True only to run backward twice through one graph",
        section="backward.again",
        also=(
            Cause("two losses share a part", "error.twice"),
            Cause(
                "a hidden state is carried on",
                "error.state",
            ),
        ),
    ),
    Message(
        "unused-input",
        {
            "appears to not have been used in the graph": """
                unused = torch.ones(2, requires_grad=True)
                torch.autograd.grad(x.sum(), unused)
            """,
        },
        "the output does not depend on one of the tensors whose gradient was asked for: it is not "
        "used, its history was cut, or a copy was used instead",
        "find the cut; pass allow_unused=True where the tensor may be unused",
        section="backward.grad",
    ),
    Message(
        "not-differentiable-input",
        {
            "One of the differentiated Tensors does not require grad": """
                torch.autograd.grad(x.sum(), torch.ones(2))
            """,
        },
        "torch.autograd.grad was asked for the gradient of a tensor that does not require one",
        "call x.requires_grad_() before the forward pass",
    ),
    Message(
        "missing-outputs",
        {
            "grad() missing 1 required positional argument: 'outputs'": """
                torch.autograd.grad(inputs=x)
            """,
        },
        "torch.autograd.grad has to know which result to differentiate",
        "call torch.autograd.grad(y, x): first the result, then the inputs",
        section="second.history",
    ),
    Message(
        "no-such-function",
        {
            "module 'torch.autograd' has no attribute 'second_derivative'": """
                torch.autograd.second_derivative(x)
            """,
        },
        "torch has no such function: a second derivative is the gradient of a gradient",
        "torch.autograd.grad(y, x, create_graph=True), then grad of what it returns",
        section="second.history",
    ),
    Message(
        "graph-in-grad",
        {
            "create_graph=True will create a reference cycle between the parameter and its "
            "gradient": """
                (x**2).sum().backward(create_graph=True)
                x.grad = None
            """,
        },
        ".grad keeps the graph of the backward pass alive, and that graph keeps the parameter",
        "torch.autograd.grad(loss, x, create_graph=True) returns the gradient and stores nothing",
        section="second.history",
    ),
    Message(
        "no-double-backward-of-rnn",
        {},
        "cuDNN computes the gradient of an RNN, LSTM or GRU, but not the gradient of that gradient",
        "switch cuDNN off for the forward pass of this layer: "
        "with torch.backends.cudnn.flags(enabled=False): y = rnn(x)",
        section=DOUBLE,
        # torch says this on a GPU only
        variants=(
            "derivative for … cudnn_rnn_backward",
            "Double backwards is not supported for CuDNN RNNs",
            "CudnnRNN … is not differentiable twice",
        ),
    ),
    Message(
        "no-double-backward",
        {
            "derivative for … _backward is not implemented": """
                q = torch.ones(1, 1, 2, 2, requires_grad=True)
                y = nn.functional.scaled_dot_product_attention(q, q, q)
                (slope,) = torch.autograd.grad(y.sum(), q, create_graph=True)
                slope.sum().backward()
            """,
        },
        "this operation has a gradient, but torch cannot differentiate that gradient again",
        "compute it in another way: attention under sdpa_kernel(SDPBackend.MATH), a distance as "
        "(a - b).norm(dim=-1)",
        in_function="an operation inside backward has no derivative itself: use other operations",
        section=DOUBLE,
        variants=(
            "derivative for … _backward' is not implemented",  # cdist and pdist before torch 2.15
            "Double backward is unsupported",
            "double backward not implemented for",
            "is not differentiable twice",
        ),
    ),
    Message(
        "no-derivative",
        {
            "derivative for aten::floor_divide is not implemented": "(x // 1).sum().backward()",
            "derivative for aten::heaviside is not implemented": """
                torch.heaviside(x, torch.ones(2)).sum().backward()
            """,
        },
        "this operation makes steps, so torch gives it no derivative",
        "use a differentiable alternative: / for //, a sigmoid for a step",
        in_function="an operation inside has no such derivative: use other operations",
        section="round.no-derivative",
    ),
    Message(
        "no-derivative",
        {"derivative for … is not implemented": "torch.igamma(x, torch.ones(2)).sum().backward()"},
        "torch does not implement the derivative of this operation, or not for this argument",
        "write it with other operations, or detach() the argument if it needs no gradient",
        in_function="an operation inside has no such derivative: use other operations",
        section="round.no-derivative",
    ),
    Message(
        "nan-found",
        {
            "returned nan values in its …th output": """
                with torch.autograd.detect_anomaly():
                    ((x - x).sqrt() * 0).sum().backward()
            """,
        },
        "detect_anomaly found the first NaN of the backward pass",
        "explain(loss, ...) without detect_anomaly says which values led to it",
        section="nan.distance",
        also=(
            Cause("a value is NaN already", "nan.overflow"),
            Cause("torch.where", "nan.where"),
        ),
    ),
    Message(
        "reentrant-checkpoint",
        {
            "torch.utils.checkpoint is incompatible with .grad()": """
                from torch.utils.checkpoint import checkpoint
                y = checkpoint(torch.exp, x, use_reentrant=True)
                torch.autograd.grad(y.sum(), x)
            """,
        },
        "a reentrant checkpoint hides what is inside and works with a plain backward() only, not "
        "with torch.autograd.grad or backward(inputs=...)",
        "checkpoint(..., use_reentrant=False)",
        section="checkpoint.frozen",
        variants=("Checkpointing is not compatible with",),
    ),
    Message(
        "compiled-for-one-backward",
        {
            "compiled with non-empty donated buffers which requires": """
                fast = torch.compile(lambda v: v.sin().exp().sum(), backend="aot_eager")
                fast(x).backward()
                fast(x).backward(retain_graph=True)
            """,
        },
        "torch.compile compiled this backward to run once for each forward pass: it writes over "
        "what was saved (donated buffers), so it cannot run again, and explain cannot look into it",
        "to explain gradients, record the forward pass with trace(), which runs it eagerly; to run "
        "backward twice, set torch._functorch.config.donated_buffer = False before you compile",
    ),
)
