"""A gradient arrives, but it is probably not the intended one."""

import dis
import inspect
import math
from types import CodeType

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.graph import kind_of, name_of, only_way
from autograd_surprises.facts.operations import ELEMENTWISE_LOSSES, traits_of
from autograd_surprises.recording.modules import named_parameters_in, parameters_in
from autograd_surprises.recording.places import Where, owner, where_defined
from autograd_surprises.recording.setup_lines import FLAG, stored_at
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.rule import Rule, Rulebook, StepRule

ACCUMULATED = Rule(
    "accumulated/held",
    ".grad already holds {times} times this gradient, and backward() adds to it: probably "
    "zero_grad() was forgotten",
    "optimizer.zero_grad(), or .grad = None, before each backward()",
    "wrong.accumulated",
)

CLIPPED_WHILE_SCALED = Rule(
    "clipped-while-scaled",
    "the gradients were clipped while they were {scale:g} times as large, because of the "
    "GradScaler: once unscaled, they are that much smaller than the limit",
    "scaler.unscale_(optimizer) before you clip",
    "half.unscale",
)

NO_GRADIENTS_YET = "when the gradients were clipped, all of them were still None or 0"
USED_UP = "the generator of the parameters to clip had been used up before"
CLIPPED_NOTHING = Rule(
    "clipped-nothing",
    "{why}: nothing was clipped, and the optimizer used the gradients of this step as they were",
    "clip between backward() and optimizer.step(), and pass model.parameters() itself, or a list",
)

USED_TWICE = Rule(
    "accumulated/used-twice",
    "backward() added to a gradient that the optimizer had used already, and the optimizer used "
    "the sum: probably zero_grad() was forgotten",
    "optimizer.zero_grad(), or .grad = None, before each backward()",
    "wrong.accumulated",
)

CHANGED_GRADIENT = StepRule(
    "changed-gradient",
    "its backward writes into the gradient that it receives, so whatever else uses that gradient "
    "gets wrong numbers",
    "return a new tensor: g * 2, not g.mul_(2)",
    "wrong.changed",
    on={"": lambda step: step.is_users and step.changed},
)


def _ignores_its_gradient(step: BackwardStep) -> bool:
    """Does its code never read what arrives, and is that not just a gradient of 1?"""
    if not step.is_users or not any(size.nonzero for size in step.leaving if size):
        return False
    code = inspect.unwrap(step.own.backward).__code__
    given = code.co_varnames[1 : code.co_argcount]
    takes_more = bool(code.co_flags & inspect.CO_VARARGS)
    is_one = all(size.l1 == size.total for size in step.arriving if size)
    return bool(given) and not (takes_more or is_one or any(_reads(code, n) for n in given))


def _reads(code, name):
    """Does this code, or code inside it, load something of this name, or the name itself?"""
    loads = (each.argval for each in dis.get_instructions(code) if each.opname.startswith("LOAD_"))
    inside = (each for each in code.co_consts if isinstance(each, CodeType))
    # From Python 3.13 on, one instruction may load two.
    own = any(name == loaded or (isinstance(loaded, tuple) and name in loaded) for loaded in loads)
    return own or any(_reads(each, name) for each in inside)


IGNORED_GRADIENT = StepRule(
    "ignored-gradient",
    "the backward of {whose} Function {own_name} does not use the gradient that arrives, which is "
    "not 1: whatever follows in the loss, such as a weight or a mean, has no effect on the result",
    "multiply by it: return grad_output * ...",
    "function.inputs",
    on={"": _ignores_its_gradient},
)

OWN_FUNCTION = StepRule(
    "own-function",
    "this backward is your own: explain does not check whether it is the derivative",
    "check it with torch.autograd.gradcheck, in float64",
    "function.gradcheck",
    on={"": lambda step: step.is_users and step.whose == "your own"},
)


def _probabilities_from(node):
    """The softmax or sigmoid whose results, as they are, this node passes on."""
    for maker in only_way(node):
        kind = kind_of(name_of(maker))
        traits = traits_of(kind)
        if traits.probabilities:
            return maker
        if not traits.arranges and not (kind in ("Mm", "Bmm") and _averages(maker)):
            return None
    return None


def _averages(node):
    """Does it multiply by a constant matrix whose rows sum to 1? Probabilities remain such."""
    matrix = getattr(node, "_saved_mat2", None)
    if node.next_functions[1][0] is not None or matrix is None or not bool((matrix >= 0).all()):
        return False
    return torch.allclose(matrix.sum(-1), torch.ones_like(matrix[..., 0]))


def _gets_probabilities(step: BackwardStep) -> bool:
    return step.own is None and _probabilities_from(step.node.next_functions[0][0]) is not None


def _are_probabilities(step: BackwardStep) -> bool:
    """Are they between 0 and 1, with a sum of 1 for each sample? Logarithms are negative."""
    values = step.tensors().get("self")
    if values is None or values.dim() < 2 or values.shape[1] < 2 or bool((values < 0).any()):
        return False
    return torch.allclose(values.sum(1), torch.ones_like(values[:, 0]), atol=1e-3)


# What goes into a loss is not what that loss expects.
EXPECTED = Rulebook()

EXPECTED.add(
    "double-softmax/cross-entropy",
    "a softmax or sigmoid goes into log_softmax, which cross_entropy contains: that flattens "
    "the gradient",
    "pass the raw scores (logits) to cross_entropy",
    on={"LogSoftmax": _gets_probabilities},
)

EXPECTED.add(
    "double-softmax/with-logits",
    "a sigmoid or softmax goes into binary_cross_entropy_with_logits, which contains a sigmoid: "
    "that flattens the gradient",
    "pass the raw scores (logits), or use binary_cross_entropy",
    on={"BinaryCrossEntropyWithLogits": _gets_probabilities},
)

EXPECTED.add(
    "nll-of-probabilities",
    "nll_loss gets probabilities: each row sums to 1. It expects their logarithms, so the loss is "
    "-p, not -log p, and a sample that is far off gets almost no gradient",
    "use log_softmax instead of softmax, or pass the raw scores to cross_entropy",
    on={"picks_targets": _are_probabilities},
)

EXPECTED.add(
    "kl-div-of-probabilities",
    "kl_div gets probabilities but expects their logarithms: the loss is not a divergence and may "
    "be negative",
    "use log_softmax instead of softmax, for the first argument",
    on={
        "Mul Sub": lambda step: (
            step.called == "kl_div" and any(_probabilities_from(node) for node, _ in step.edges)
        )
    },
)


def _softmax_before(node):
    """The softmax or log_softmax whose results this node passes on, at most arranged anew."""
    for maker in only_way(node):
        kind = kind_of(name_of(maker))
        if kind in ("Softmax", "LogSoftmax"):
            return maker
        traits = traits_of(kind)
        if not traits.arranges or traits.picks:
            return None
    return None


def _normalised_elsewhere(step: BackwardStep) -> bool:
    """Does it pick one entry of each row, where the rows of a softmax do not sum to 1?

    In a square matrix of similarities, both directions are meant.
    """
    maker, values = _softmax_before(step.node.next_functions[0][0]), step.tensors().get("self")
    dim, index = step.saved.get("dim", 1), step.saved.get("index")
    if maker is None or values is None or values.dim() < 2 or values.shape[0] == values.shape[dim]:
        return False
    if index is not None and (index.shape[dim] != 1 or index.shape[0] != values.shape[0]):
        return False
    is_log = kind_of(name_of(maker)) == "LogSoftmax"
    sums = (values.exp() if is_log else values).sum(dim)
    return bool(sums.isfinite().all()) and not torch.allclose(
        sums, torch.ones_like(sums), atol=0.05
    )


EXPECTED.add(
    "softmax-dimension",
    "{operation} picks one entry of each row, and the rows do not sum to 1: the softmax before it "
    "runs over another dimension, probably that of the batch, so the samples compete",
    "softmax over the dimension of the classes, softmax(dim=-1); or pass the raw scores to "
    "cross_entropy",
    on={"picks_targets Gather": _normalised_elsewhere},
)

MODULE_BACKWARD = Rule(
    "module-backward",
    "{name} is a module and defines backward(), which autograd never calls: the gradient is that "
    "of forward()",
    "write a torch.autograd.Function with this backward, and call its apply() in forward",
    "function.inputs",
)

MODULE_FLAG = Rule(
    "module-flag",
    "{name} is a module, and its requires_grad = False is an ordinary attribute, which autograd "
    "ignores: parameters of the module still get gradients",
    "call {name}.requires_grad_(False), which freezes all parameters of the module",
    "freezing.module",
)

MEANT = {"require_grad", "required_grad", "require_grads", "requires_grads", "requires_gradient"}

TENSOR_FLAG = Rule(
    "tensor-flag",
    "its attribute `{name}` = False means nothing to autograd: it still gets a gradient",
    "requires_grad = False: `requires` with an s, and `grad`",
)

BROADCAST = Rule(
    "broadcast",
    "{operation} broadcasts the shapes {first} and {second} to {result}, probably unintentionally: "
    "each element of one is combined with each of the other",
    "give both the same shape: squeeze(1), or unsqueeze(1) for the other",
    "wrong.broadcast",
)


def accumulated(exam: Examination, found: Finding, leaf: torch.Tensor) -> Finding:
    """The same, unless .grad, to which backward() adds, already holds this very gradient."""
    times = exam.backward.grads[id(leaf)].times_in_grad
    if times is None:
        return found
    calls = [call for call in exam.history.calls if call.name == "backward"]
    places = (("backward at", calls[-1].where),) if calls else ()
    wrong = ACCUMULATED.finding(times=times)
    return wrong.about(found.name, "wrong", places, found.node)


def probably_wrong(exam: Examination) -> list[Finding]:
    """Steps and calls whose gradient is probably not the intended one.

    >>> scores = torch.ones(1, 3, requires_grad=True)
    >>> loss = torch.nn.functional.cross_entropy(scores.softmax(1), torch.tensor([0]))
    >>> explain(loss, {"scores": scores})["loss"].cause
    'double-softmax'
    """
    found, own = [], {}
    for step in exam.backward.ran() if exam.backward else ():
        for rule in (CHANGED_GRADIENT, IGNORED_GRADIENT):
            if rule.fits(step):
                places = at(step, "applied at")
                found.append(rule.finding(step).about(step.own_name, "wrong", places))
        for rule in EXPECTED:
            if rule.fits(step):
                places = _of_probabilities(exam, step)
                found.append(rule.finding(step).about("loss", "wrong", places))
        if OWN_FUNCTION.fits(step):
            own.setdefault(step.own_name, step)
    for name, step in own.items():
        found.append(OWN_FUNCTION.finding(step).about(name, "ok", at(step, "applied at")))
    steps = exam.backward.steps.values() if exam.backward else ()
    names = {step.node._sequence_nr(): step.name for step in steps}
    for call in [call for call in exam.history.calls if call.shapes]:
        found += _broadcast(call, exam.history.is_loss(call, names))
    return (
        found
        + _used_twice(exam)
        + _never_called(exam)
        + _flags_of_modules(exam)
        + _flags_of_parameters(exam)
    )


def _broadcast(call, is_loss):
    """In a loss, (N, 1) and (N,) broadcast to (N, N), and one of the two comes from data.

    Elsewhere that is how all pairs are computed: distances, costs, masks.
    """
    tracked, first, second = call.shapes
    sizes = [[n for n in shape if n != 1] for shape in (first, second)]
    meets = (is_loss and tracked < 2) or (call.operation in ELEMENTWISE_LOSSES and tracked == 1)
    if not meets or not sizes[0] == sizes[1] != []:
        return []
    result = tuple(torch.broadcast_shapes(first, second))
    if math.prod(result) <= math.prod(first):
        return []
    found = BROADCAST.finding(operation=call.operation, first=first, second=second, result=result)
    return [found.about("loss", "wrong", (("at", call.where),))]


def _used_twice(exam):
    """Leaves whose gradients add up over several steps."""
    reused = exam.history.recorder.reused
    again = ((exam.name(leaf, i), reused.used_again(leaf)) for i, leaf in enumerate(exam.leaves))
    return [used_twice(name, places) for name, places in again if places is not None]


def used_twice(name: str, again: tuple[Where, Where]) -> Finding:
    """What is said of a tensor whose gradient was used again, from ReusedGradients."""
    places = zip(("backward at", "used at"), again, strict=True)
    return USED_TWICE.finding().about(name, "wrong", places)


def _of_probabilities(exam, step):
    """The line of the softmax, unless something else needs its result: then that of the loss."""
    entering = step.node.next_functions[0][0]
    made = _probabilities_from(entering) or _softmax_before(entering)
    made = exam.backward.steps.get(made)
    if made is None:
        return at(step)
    places = (*at(made, "probabilities made at"), *at(step))
    return places if len(exam.backward.into[made.node, 0]) == 1 else places[::-1]


def _never_called(exam):
    """The backward() of the user's modules that gets a gradient or a context, as a Function's."""
    found = []
    for kind in {type(m): None for m in (exam.model.modules() if exam.model is not None else ())}:
        code = getattr(getattr(kind, "backward", None), "__code__", None)
        if code is not None and owner(code) == "user" and _gets_gradient(code):
            places = (("at", where_defined(code)),)
            finding = MODULE_BACKWARD.finding(name=kind.__name__)
            found.append(finding.about(kind.__name__, "wrong", places))
    return found


def _flags_of_modules(exam):
    """Modules whose `requires_grad = False` froze nothing. A class may use it for its own ends."""
    found = []
    for name, module in exam.model.named_modules() if exam.model is not None else ():
        if (
            vars(module).get(FLAG) is False
            and not _reads_flag(type(module))
            and any(exam.trains(parameter) for parameter in parameters_in(module))
        ):
            name = name or type(module).__name__
            places = (("set at", stored_at(module, FLAG)),)
            found.append(MODULE_FLAG.finding(name=name).about(name, "wrong", places))
    return found


def _flags_of_parameters(exam):
    """Parameters that were to be frozen, with an attribute that does not exist."""
    found = []
    for name, parameter in named_parameters_in(exam.model) if exam.model is not None else ():
        flags = [flag for flag in MEANT if vars(parameter).get(flag) is False]
        if flags and exam.trains(parameter):
            found.append(TENSOR_FLAG.finding(name=flags[0]).about(name, "wrong"))
    return found


def _reads_flag(kind):
    """Does the user's own class, or one that it is derived from, read an attribute of this name?"""
    own = [each for each in kind.__mro__ if not each.__module__.startswith("torch.")]
    for member in (member for each in own for member in vars(each).values()):
        function = inspect.unwrap(getattr(member, "fget", member))
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and _reads(code, FLAG):
            return True
    return False


def _gets_gradient(code):
    """Not so the inverse of a flow, nor a method that calls loss.backward()."""
    arguments = code.co_varnames[: code.co_argcount]
    return any("grad" in name or name == "ctx" for name in arguments)
