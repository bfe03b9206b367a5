"""Every cause that the doctor knows: what happened, in a sentence, and what helps."""

from __future__ import annotations

RECORD = "record the forward pass: with trace() as t: loss = ...; then t.explain(loss, ...)"
STRAIGHT_THROUGH = (
    "to train anyway, a straight-through estimator: x + (f(x) - x).detach(), or a Function of yours"
)
EDGE = "keep the input away from that edge: add a small eps, or clamp it"
BUILD_LAST = "build the optimizer last, from model.parameters()"

# {…} is filled in with the names of the case. What stands after a colon tells two stories apart.
# fmt: off
CAUSES = {
    # The history was lost in the forward pass.
    "detach": (
        ".detach() returns the same numbers without their history",
        "leave out .detach(), or detach only the copy that you log"),
    "data": (
        ".data returns the same numbers without their history, and what is written there is not "
        "seen by autograd",
        "use the tensor itself; for an update by hand, torch.no_grad()"),
    "copy": (
        "{operation}() copies the numbers into a new tensor, without their history",
        "torch.stack or torch.cat to join tensors, .clone() to copy one"),
    "escape": (
        "{operation}() takes the numbers out of torch, where autograd cannot follow them",
        "compute with torch's functions; take numbers out for logging only"),
    "branch": (
        "it only decides which way the program goes, and a decision has no slope",
        "torch.where, or a soft weight, instead of the if"),
    "no-grad": (
        "computed while recording was off",
        "move the computation out of the part where recording is off"),
    "no-grad: sample": (
        "a sample is drawn while recording is off",
        "rsample(), which lets the gradient pass; without it, a score-function estimator"),
    "inference-mode": (
        "computed in torch.inference_mode(), where nothing is recorded",
        "move it out of inference_mode, or use what it gives as a constant"),
    "integer": (
        "{operation}() gives {dtype}, and integers and yes/no answers have no slope",
        "a soft form: softmax weights for argmax, a sigmoid for a comparison"),
    "no-derivative": (
        "{operation}() has no derivative in PyTorch",
        "a differentiable relative: softmax weights for argmax, / for //, a soft histogram"),
    "no-create-graph": (
        "torch.autograd.grad() without create_graph=True returns a gradient without history",
        "torch.autograd.grad(..., create_graph=True)"),
    "constant-gradient": (
        "this gradient has no history in spite of create_graph=True. Either the function is linear "
        "there, or a Function on the way is once_differentiable or keeps tensors outside ctx",
        "write the backward of that Function in differentiable operations, with save_for_backward"),
    "new-parameter": (
        "nn.Parameter(...) makes a new leaf of these numbers, without their history",
        "create the Parameter once, in __init__, and compute with it in forward"),
    "deepcopy": (
        "copy.deepcopy() makes an independent tensor: what the copy does never reaches the "
        "original",
        "train the copy (build the optimizer from it); to compute with other weights, "
        "torch.func.functional_call"),
    "inside-function": (
        "computed in {function}.forward, where recording is off, and nothing that was handed to "
        "{function}.apply requires a gradient",
        "hand what needs a gradient to .apply(); for checkpoint(...), use_reentrant=False"),
    "unknown-cut": (
        "no way leads to it from the loss. Why cannot be known afterwards: detach, .data, .item(), "
        "no_grad or argmax leave no mark in the graph, and what was never used looks the same",
        RECORD),
    "detach: afterwards": (
        "{step} took its numbers as a constant, so a .detach(), .data or no_grad copy was used in "
        "place of the tensor itself",
        "use the tensor itself. Which line? " + RECORD),
    # It has no gradient for another reason.
    "not-a-leaf": (
        "it is no leaf but a result, and autograd fills .grad of leaves only",
        "{name}.retain_grad() before backward(), or torch.autograd.grad(loss, {name}); to train "
        "it, compute first, then .requires_grad_()"),
    "frozen": (
        "requires_grad is False, so autograd does not track it{more}",
        "call .requires_grad_() on it, before the forward pass"),
    "frozen: a buffer": (
        "it is a buffer: autograd does not track it, and no optimizer gets it",
        "nn.Parameter(...) in place of register_buffer(...), if it is to be trained"),
    "unused": (
        "the forward pass never used this tensor",
        "use it in forward, or drop it. If you do use it: is it the same object, and not an old "
        "one or a copy?"),
    "dead-branch": (
        "it is used, but nothing made of it is part of this loss",
        "let the result of that line take part in the loss"),
    "returned-none": (
        "{step} got a gradient and returned None for this input",
        "a backward returns a gradient for every input that needs one"),
    "no-history": (
        "the loss has no history, so backward() raises: {more}", "repair the cut{record}"),
    "loss-is-leaf": (
        "the loss is a leaf: requires_grad_() on it lets backward() run, but that reaches nothing. "
        "The history was cut before", "take the requires_grad_() away, and repair the cut"),
    "vector-loss": (
        "the loss has the shape {shape} and is not one number, so backward() raises",
        "loss.mean() or loss.sum(), or backward(v) and explain(..., grad_outputs=v)"),
    # A gradient of zero, or nearly.
    "staircase": ("{operation} is a staircase: its slope is 0 everywhere", STRAIGHT_THROUGH),
    "outside-range": (
        "{operation} is flat there, so the gradient is exactly 0",
        "keep the inputs inside, use a soft limit such as tanh or sigmoid, or let the gradient "
        "pass with a Function of your own"),
    "dead-relu": (
        "{operation} is flat there, its gradient is 0",
        "if it is so for all samples: LeakyReLU or GELU, another bias or initialisation, a smaller "
        "learning rate"),
    "saturated": (
        "{operation} is nearly flat there, its slope is too small for a float",
        "smaller inputs: scale, normalise, another initialisation; as a loss, the form with logits "
        "(cross_entropy, binary_cross_entropy_with_logits)"),
    "softmax-of-one": (
        "a softmax over a dimension of size 1 is always 1",
        "softmax over the dimension that holds the classes; sigmoid for a single output"),
    "constant-sum": (
        "a softmax sums to 1, and the arriving gradient is the same for all its entries: the loss "
        "sees only that constant sum",
        "a loss that tells the classes apart, such as cross_entropy"),
    "normalised": (
        "normalised values have a fixed mean and size, and probably the loss sees only these",
        "another loss than the sum or mean (or mean square) of normalised values"),
    "other-branch": (
        "the condition or mask of {operation} covers every element that has a gradient",
        "check the condition"),
    "dropout": ("dropout dropped every element that has a gradient", "a lower p"),
    "stationary": (
        "the input sits exactly where {operation} has the slope 0, or has none and PyTorch uses 0",
        "nothing, if this is the minimum that you want; else start from other values"),
    "overwritten-values": (
        "{operation} replaced the values, and what was replaced gets no gradient",
        "keep the old values out of the way, or write only where they are not needed"),
    "part-is-zero": (
        "{operation} joined this tensor with others, and for its part only zeros came back; why is "
        "not known here",
        "ask about what the joined tensor is taken apart into, and look at each part"),
    "unknown-zero": (
        "{operation} let no gradient through; why is not known here",
        "look at the values that enter this operation"),
    "small-factor": (
        "the gradient is multiplied by a small factor in {operation}",
        "look at the size of what enters this operation: scale it, or the loss"),
    "not-picked": (
        "only the elements that {operation} picked get a gradient",
        "nothing, if that is meant; else a soft form such as logsumexp or a mean"),
    "empty-selection": (
        "{operation} got an empty selection: no element, no gradient; a mean of nothing is NaN",
        "leave the term out when nothing is selected"),
    "compiled": (
        "it stops inside a block of torch.compile, which is one opaque node of the graph",
        "record the forward pass with trace(): there the block runs eagerly and can be read"),
    "zero-factor": (
        "the gradient is multiplied by the other factor of {operation}, which is {more}",
        "look where those zeros come from: initialisation, a mask, an input, relu"),
    "cancel": (
        "the contributions cancel when they are added: probably adding a constant here changes "
        "nothing, as for a bias before BatchNorm or softmax",
        "if it is such a bias, leave it out; otherwise look for a constant or symmetric loss"),
    "hook": (
        "a hook replaced the gradient by {more}",
        "look for register_hook() and module hooks on the way, and for clipping to 0"),
    "own-backward": (
        "the backward that you wrote in {own} returned it",
        "compare it with torch.autograd.gradcheck, in float64"),
    "zero-start": (
        "the gradient that enters the graph is zero already",
        "check grad_outputs, and what the loss is multiplied by"),
    "underflow": (
        "the gradient is too small for the type of this tensor, so it is 0",
        "scale the loss (torch.amp.GradScaler), or bfloat16"),
    "shrinks": (
        "it shrinks a little in each of many steps: {more}",
        "ReLU-like activations, residual connections, normalisation, another initialisation"),
    # Inf and NaN.
    "masked-too-late": (
        "0 times an infinite slope is NaN: a gradient of 0 arrived at {operation}, probably "
        "because its result is masked, or multiplied by 0, afterwards",
        "make the INPUT safe first, then mask: torch.where(ok, f(torch.where(ok, x, 1.0)), 0.0)"),
    "infinite-slope": ("{more}", EDGE),
    "infinite-slope: forward": (
        "{operation} gave inf or NaN in the forward pass: its input lies on, or beyond, the edge "
        "where it is defined",
        "keep the input inside, or use a form made for the edge: xlogy, entr, log_softmax"),
    "division-by-zero": (
        "the divisor is 0, or so small that the quotient overflows",
        "divide by a safe number: torch.where(d == 0, 1.0, d)"),
    "empty-softmax": (
        "probably a whole row is -inf, all of it masked: a softmax over nothing is 0/0",
        "leave out empty rows, or mask with a large negative number: torch.finfo(dtype).min"),
    "overflow": (
        "{operation} gives more than its type can hold",
        "the ready-made function (sigmoid, softmax, logsumexp, cross_entropy), or another scale; a "
        "wider type moves the edge"),
    "overflow: forward": (
        "{operation} gave more than its type can hold, in the forward pass",
        "the ready-made function (sigmoid, softmax, logsumexp, cross_entropy), or another scale; a "
        "wider type moves the edge"),
    "forward-nonfinite": (
        "the forward pass computed with inf or NaN{more}",
        "torch.isfinite(x).all() on the data and on the parameters, before the forward pass"),
    "unknown-nonfinite": (
        "a finite gradient went in and one that is not finite came out",
        "look at the values that enter this operation"),
    # A number, but the wrong one.
    "accumulated": (
        ".grad already holds {more} times this gradient, and backward() adds to it: probably "
        "zero_grad() was forgotten",
        "optimizer.zero_grad(), or .grad = None, before each backward()"),
    "changed-gradient": (
        "its backward changed the gradient that it got in place: whoever else uses that gradient "
        "gets wrong numbers", "return a new tensor: g * 2, not g.mul_(2)"),
    "broadcast": (
        "probably unwanted: {operation} of the shapes {more}, so each element of one meets each of "
        "the other",
        "bring both to one shape: squeeze(1), or unsqueeze(1) for the other"),
    "double-softmax": (
        "a softmax or sigmoid goes into log_softmax, which cross_entropy contains: that flattens "
        "the gradient", "hand the raw scores (logits) to cross_entropy"),
    "own-function": (
        "a backward of your own: whether it is the derivative, explain does not check",
        "torch.autograd.gradcheck, in float64"),
    # A gradient, but no training.
    "unregistered": (
        "it gets a gradient but is not in model.parameters(), so no optimizer moves it: nn.Module "
        "does not look into plain lists, dicts and attributes",
        "nn.ParameterList or nn.ModuleList, or self.w = nn.Parameter(...), in __init__"),
    "new-parameter: in forward": (
        "it gets a gradient but is not in model.parameters(), so no optimizer moves it: it is "
        "made anew in each forward", "create the Parameter once, in __init__"),
    "stale-optimizer": (
        "it holds {more} tensors that are no parameters of the model: probably they were replaced "
        "after it was built",
        BUILD_LAST),
    "not-in-optimizer": (
        "it is a parameter of the model, but the optimizer does not hold it",
        "build the optimizer when the model is complete, and hand it every parameter"),
}
# fmt: on


def words(cause: str, **names: str) -> tuple[str, str]:
    """The sentence and the fix of a cause, with names filled in.

    >>> words("copy", operation="torch.tensor")[0]
    'torch.tensor() copies the numbers into a new tensor, without their history'
    """
    sentence, fix = CAUSES[cause]
    return sentence.format(**names), fix.format(**names)
