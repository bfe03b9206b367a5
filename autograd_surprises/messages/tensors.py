"""Messages about making a tensor, changing it in place, and reading its gradient."""

from autograd_surprises.messages.message import Cause, Message

TENSORS = (
    Message(
        "no-module-pytorch",
        {"No module named 'pytorch'": "import pytorch"},
        "PyTorch's package is called torch",
        "import torch",
        section="parameter.layer",
    ),
    Message(
        "shape-for-values",
        {"tensor() takes 1 positional argument but 2 were given": "torch.tensor(3, 3)"},
        "torch.tensor takes the values of the new tensor, not its shape",
        "torch.empty(3, 3), torch.zeros(3, 3) or torch.rand(3, 3) take a shape",
        section="parameter.layer",
    ),
    Message(
        "renamed-initializer",
        {
            "`nn.init.uniform` is now deprecated in favor of `nn.init.uniform_`": """
                nn.init.uniform(torch.empty(3), 0, 1)
            """,
        },
        "nn.init changes its tensor in place, so its functions now have names that end in _",
        "nn.init.uniform_(tensor, 0, 1)",
        section="parameter.layer",
        variants=("`nn.init.… is now deprecated in favor of",),
    ),
    Message(
        "integer-requires-grad",
        {
            "Only Tensors of floating point and complex dtype can require gradients": """
                torch.tensor([1, 2], requires_grad=True)
            """,
            "only Tensors of floating point dtype can require gradients": """
                torch.tensor([1, 2]).requires_grad_()
            """,
        },
        "a function of integers has no slope",
        "use floating-point numbers: torch.tensor([1.0, 2.0]) or .float()",
        section="leaf.which",
    ),
    Message(
        "float-index",
        {
            "tensors used as indices must be long, int, byte or bool tensors": "x[x]",
            "one_hot is only applicable to index tensor": "nn.functional.one_hot(x)",
            "Expected tensor for argument #1 'indices' to have one of the following": """
                nn.functional.embedding(x, torch.ones(3, 2))
            """,
        },
        "an index is an integer, and this tensor has real numbers",
        "use .long() for indices that are data; one that the network computes has no gradient: "
        "weigh what it chooses instead, as in one_hot @ codes",
        section="codebook.index",
    ),
    Message(
        "not-a-leaf",
        {
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed": """
                y = x * 2
                y.grad
            """,
        },
        "by default backward() stores .grad in leaves only, and this tensor is the result of an "
        "operation",
        "read the .grad of the leaf, or call .retain_grad() on this tensor before backward()",
        section="leaf.which",
        also=(
            Cause(".to(), .cuda() or .double()", "leaf.moved"),
            Cause(
                "multiplied after requires_grad=True",
                "none.non-leaf",
            ),
        ),
    ),
    Message(
        "untracked-tensor",
        {
            "can't retain_grad on Tensor that has requires_grad=False": """
                torch.ones(2).retain_grad()
            """,
            "cannot register a hook on a tensor that doesn't require gradient": """
                torch.ones(2).register_hook(print)
            """,
        },
        "the tensor does not require a gradient, so there is none to keep or to pass to a hook",
        "call requires_grad_() on it before the forward pass, or repair the cut in its history",
    ),
    Message(
        "leaf-in-place",
        {"a leaf Variable that requires grad is being used in an in-place operation": "x += 1"},
        "an in-place operation changes a leaf that requires a gradient, which cannot be recorded",
        "update a weight inside torch.no_grad(); elsewhere change a clone: x = x.clone()",
        in_function="do not write into a tensor that you receive: make a new one",
        section="leaf.variable",
        also=(Cause("a step of gradient descent by hand", "error.other"),),
        variants=("leaf Variable that requires grad",),
    ),
    Message(
        "flag-of-result",
        {
            "you can only change requires_grad flags of leaf variables": """
                y = x * 2
                y.requires_grad = False
            """,
        },
        "this tensor is the result of an operation; whether it requires a gradient follows from "
        "its inputs",
        "use y.detach() for the same numbers without history, or freeze the inputs",
        section="leaf.which",
    ),
    Message(
        "numpy-of-tracked",
        {"Can't call numpy() on Tensor that requires grad": "x.numpy()"},
        "NumPy cannot carry a gradient",
        "use torch's own functions in the forward pass; .detach().numpy() for logs and plots only",
        section="none.left-torch",
    ),
    Message(
        "deepcopy-of-result",
        {
            "support the deepcopy protocol": """
                import copy
                copy.deepcopy([x * 2])
            """,
        },
        "the copied object contains a tensor with a history, and such a tensor cannot be copied",
        "do not keep a result of forward as an attribute: use a local name, or store it with "
        ".detach()",
    ),
    Message(
        "inference-tensor",
        {
            "Inference tensors cannot be saved for backward": """
                with torch.inference_mode():
                    constant = torch.ones(2)
                x * constant
            """,
            "Inplace update to inference tensor outside InferenceMode": """
                with torch.inference_mode():
                    constant = torch.ones(2)
                constant += 1
            """,
        },
        "a tensor made in torch.inference_mode() would have to be saved for backward, or is "
        "changed in place outside that mode",
        "clone it outside inference mode, or make it under torch.no_grad() instead",
        section="freezing.inference",
    ),
    Message(
        "hooked-in-place",
        {
            "BackwardHookFunction is a view and is being modified inplace": """
                model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
                model[0].register_full_backward_hook(lambda *_: None)
                model(x)
            """,
        },
        "a module with a full backward hook returns views, and an operation changes one in place: "
        "the next module, or this one itself",
        "nn.ReLU(inplace=False), or x = x + y instead of x += y, in and after a module with a hook",
        section="hooks.in-place",
        variants=("BackwardHookFunctionBackward is a view and is being modified inplace",),
    ),
    Message(
        "view-in-place",
        {
            "is a view and is being modified inplace": """
                first, second = (x * 2).unbind()
                first += 1
            """,
            "is a view and its base or another view of its base has been modified inplace": """
                y = x * 2
                first, second = y.unbind()
                y += 1
                first.backward()
            """,
        },
        "an in-place operation changes one of several views of a tensor, from unbind, split or a "
        "Function, or the tensor that they are views of",
        "write x = x + 1 instead of x += 1, or call .clone() first",
    ),
    Message(
        "overlapping-memory",
        {
            "more than one element of the written-to tensor refers to a single memory location": """
                torch.zeros(1).expand(3).add_(1.0)
            """,
        },
        "an in-place operation writes into an expanded tensor. In a backward, that is often "
        "grad_output, which a backward must not change",
        "return a new tensor: g * 2, not g.mul_(2); elsewhere, call .clone() before you write",
        in_function="do not write into a tensor that you receive: make a new one",
        section="wrong.changed",
    ),
    Message(
        "overwritten",
        {
            "has been modified by an inplace operation": """
                y = x.exp()
                y += 1
                y.sum().backward()
            """,
        },
        "backward needs a value of the forward pass, and an in-place operation has overwritten it "
        "(+=, x[...] = ..., relu_, optimizer.step())",
        "write x = x + 1 instead of x += 1, call .clone() before you write, or call step() only "
        "after backward()",
        section="error.in-place",
        also=(
            Cause(
                "read by hand: versions, anomaly mode",
                "error.by-hand",
            ),
            Cause(
                "an input of your own Function",
                "function.saved",
            ),
        ),
    ),
    Message(
        "scattered-view",
        {
            "view size is not compatible with input tensor's size and stride": """
                torch.ones(2, 3).T.view(6)
            """,
        },
        "view() can join only dimensions whose numbers lie one after the other in memory",
        "use reshape() instead of view(), or call contiguous() first",
        variants=("view() cannot", "Use .reshape"),
    ),
    Message(
        "dtype",
        {
            "expected m1 and m2 to have the same dtype, but got": """
                torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)
            """,
            "must have the same dtype": """
                nn.Linear(2, 1)(torch.ones(1, 2, dtype=torch.float64))
            """,
            "Found dtype … but expected": """
                target = torch.ones(2, dtype=torch.float64)
                nn.functional.binary_cross_entropy(x.sigmoid(), target)
            """,
            "expected scalar type": """
                torch.ones(1, 2, 2).bmm(torch.ones(1, 2, 2, dtype=torch.float64))
            """,
            "expected dtype": """
                torch.lerp(x, torch.ones(2, dtype=torch.float64), 0.5)
            """,
        },
        "two tensors have different dtypes: often float64 from NumPy and float32 from torch, or "
        "bfloat16 under autocast",
        "convert the data as soon as it is loaded: .float()",
        in_function="convert what is combined to one dtype: constants, and in backward saved "
        "tensors and grad_output",
        section="card.mixed-precision",
        variants=("same dtype",),
    ),
    Message(
        "no-kernel",
        {
            "not implemented for '": "torch.ones(2).to(torch.float8_e4m3fn) + 1",
            "Low precision dtypes not supported": "torch.linalg.inv(torch.eye(2).half())",
        },
        "on this device, torch does not implement this operation for this dtype",
        "compute in float32 and convert back: op(x.float()).to(x.dtype)",
    ),
)
