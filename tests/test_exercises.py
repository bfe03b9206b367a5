"""Every exercise accepts its solution and rejects each wrong answer with a message of its own."""

import nbformat
import pytest
import torch
from torch import nn
from torch.autograd import Function

from helpers.exercises import EXERCISES
from helpers.lessons import check
from tools.notebooks import notebook_files, sections


def said(capsys, number, answer):
    check(number, answer)
    (line,) = capsys.readouterr().out.splitlines()
    return line


# ---- 01.1: two parameters and a buffer


class Line(nn.Module):
    """The right answer; each wrong one changes one thing."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        return (self.weight * x + self.bias) * self.scale


class PlainTensors(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight = torch.ones(1, requires_grad=True)
        self.bias = torch.zeros(1, requires_grad=True)
        self.register_buffer("scale", torch.ones(1))


class ScaleIsAParameter(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.scale = nn.Parameter(torch.ones(1), requires_grad=False)


class ScaleIsAPlainTensor(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.scale = torch.ones(1)


class ScaleIsNotSaved(Line):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(1), persistent=False)


class NoSuperInit(Line):
    def __init__(self):
        self.weight = nn.Parameter(torch.ones(1))


class NothingInInit(Line):
    def __init__(self):
        pass


class TwoNumbersEach(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))
        self.register_buffer("scale", torch.ones(1))


class NoForward(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))


class NoReturn(Line):
    def forward(self, x):
        super().forward(x)


class BiasNotScaled(Line):
    def forward(self, x):
        return self.weight * x * self.scale + self.bias


class BiasFrozen(Line):
    def __init__(self):
        super().__init__()
        self.bias.requires_grad_(False)


class GraphCut(Line):
    def forward(self, x):
        return super().forward(x).detach()


class BiasCut(Line):
    def forward(self, x):
        return (self.weight * x + self.bias.detach()) * self.scale


# ---- 01.2: the gradient in the middle


def through_x(x):
    (x.exp() ** 2).sum().backward()
    return x.grad


def without_retain_grad(x):
    y = x.exp()
    (y**2).sum().backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        return y.grad


def value_of_y(x):
    return x.exp()


def tuple_of_grads(x):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y)


def loss_without_square(x):
    y = x.exp()
    return torch.autograd.grad(y.sum(), y)[0]


def no_sum(x):
    y = x.exp()
    return torch.autograd.grad(y**2, y)[0]


# ---- 04: Functions, made from a backward


def function(forward, backward):
    """A Function whose inputs are all saved, as a plain function."""

    class Made(Function):
        @staticmethod
        def forward(*inputs):
            return forward(*inputs)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad_output):
            return backward(grad_output, *ctx.saved_tensors)

    return Made.apply


def clamped(x):
    return x.clamp(0, 1)


def inside(x):
    return (x >= 0) & (x <= 1)


def like_the_page(g, x):
    grad = g.clone()
    grad[x < 0] = 0
    grad[x > 1] = 1
    return grad


def in_place(g, x):
    g[~inside(x)] *= 0.1
    return g


def rounded_times(x, weight):
    return x.round() * weight


def squared(x):
    return x**2


WRONG = {
    "01.1": {
        "not a Module": (lambda: torch.ones(1), "the class needs to derive from nn.Module"),
        "plain tensors": (PlainTensors, "parameters: yours none, expected bias, weight"),
        "scale is a parameter": (ScaleIsAParameter, "parameters: yours bias, scale, weight"),
        "scale is a plain tensor": (ScaleIsAPlainTensor, "buffers: yours none, expected scale"),
        "scale is not saved": (ScaleIsNotSaved, "state_dict: yours lacks scale"),
        "no super().__init__()": (NoSuperInit, "cannot assign parameters before Module.__init__"),
        "nothing in __init__": (NothingInInit, "super().__init__() before anything else"),
        "two numbers each": (TwoNumbersEach, "weight: yours has shape (2,), expected one number"),
        "no forward": (NoForward, "forward is missing"),
        "no return": (NoReturn, "returned None"),
        "bias is not scaled": (BiasNotScaled, "at x = [1, -2] [0]: yours 2.5, expected 2"),
        "bias frozen": (BiasFrozen, "bias: yours has requires_grad=False"),
        "graph cut": (GraphCut, "something in forward cuts the graph"),
        "bias cut": (BiasCut, "bias.grad: yours None, expected 1.0"),
    },
    "01.2": {
        "the gradient of x": (through_x, "yours is the gradient of x"),
        "no retain_grad": (without_retain_grad, "y is not a leaf, so y.grad stays empty"),
        "the value of y": (value_of_y, "it has the values of y itself"),
        "the tuple": (tuple_of_grads, "yours is a tuple with a gradient in it: take [0]"),
        "another loss": (loss_without_square, "at x = [0, 1] [0]: yours 1, expected 2"),
        "no sum": (no_sum, "your code raised RuntimeError: grad can be implicitly created only"),
        "called instead of handed over": (None, "needs the function itself, got NoneType"),
    },
    "03.1": {
        "round has gradient 1": ([1, 1, 0, 0, 0], "round at 0.3: yours 1, expected 0: a step"),
        "frac is a staircase": ([0, 0, 0, 0, 0], "frac at 0.3: yours 0, expected 1"),
        "relu takes the middle": ([0, 1, 0.5, 0, 0], "relu at 0: yours 0.5, expected 0"),
        "abs takes the right slope": ([0, 1, 0, 1, 0], "abs at 0: yours 1, expected 0"),
        "hardtanh takes the inner slope": ([0, 1, 0, 0, 1], "hardtanh at 1: yours 1, expected 0"),
        "four numbers": ([0, 1, 0, 0], "needs a list of 5 numbers"),
        "words": (["0", 1, 0, 0, 0], "needs a number, got '0'"),
        "truth values": ([False, True, False, False, False], "needs a number, got False"),
    },
    "03.2": {
        "the lower bound": (0.0, "at x = 0, at the lower bound, both gradients are 0"),
        "inside": (0.5, "at x = 0.5, inside the range, both gradients are 1"),
        "outside": (2, "at x = 2, outside the range, both gradients are 0"),
        "nan": (float("nan"), "needs a number, got nan"),
        "a list": ([1.0], "needs a number, got [1.0]"),
    },
    "04.1": {
        "like the page": (function(clamped, like_the_page), "Outside, yours is a constant"),
        "ignores grad_output": (
            function(clamped, lambda g, x: torch.where(inside(x), 1.0, 0.1)),
            "backward ignores grad_output",
        ),
        "bounds count as outside": (
            function(clamped, lambda g, x: torch.where((x > 0) & (x < 1), g, 0.1 * g)),
            "The two bounds count as inside",
        ),
        "torch's own clamp": (lambda x: x.clamp(0, 1), "is it torch's own gradient?"),
        "straight through": (function(clamped, lambda g, x: g * 1), "a tenth is asked for"),
        "branches swapped": (
            function(clamped, lambda g, x: torch.where(inside(x), 0.1 * g, g)),
            "[0]: yours 3, expected 0.3",
        ),
        "the value leaks": (
            function(lambda x: torch.where(inside(x), x, 0.1 * x), lambda g, x: g),
            "Only the gradient leaks",
        ),
        "writes into grad_output": (function(clamped, in_place), "writes into grad_output"),
        "forgets to return": (function(clamped, lambda g, x: None), "yours is None"),
        "the class itself": (Function, "needs a function, got the class: pass Function.apply"),
        "a wider range": (
            function(clamped, lambda g, x: torch.where((x >= 0) & (x <= 1.5), g, 0.1 * g)),
            "[5]: yours 7, expected 0.7",
        ),
        "writes into its input": (
            lambda x: function(lambda x: x.data.clamp_(0, 1).clone(), lambda g, x: g)(x),
            "forward writes into its input",
        ),
        "no Function": (lambda x: x.detach().clamp(0, 1), "the result has no grad_fn"),
    },
    "04.2": {
        "swapped": (
            function(rounded_times, lambda g, x, w: (g * x.round(), g * w)),
            "the two gradients are swapped",
        ),
        "weight forgotten": (
            function(rounded_times, lambda g, x, w: (g * w, None)),
            "gradient of weight: yours None",
        ),
        "x instead of round(x)": (
            function(rounded_times, lambda g, x, w: (g * w, g * x)),
            "yours uses x, but weight was multiplied by round(x)",
        ),
        "factor forgotten": (
            function(rounded_times, lambda g, x, w: (g * 1, g * x.round())),
            "gradient of x: yours lacks the factor weight",
        ),
        "round's own gradient": (rounded_times, "yours 0, round's own gradient"),
        "ignores grad_output": (
            function(rounded_times, lambda g, x, w: (w * 1, x.round())),
            "gradient of x: yours ignores grad_output",
        ),
        "ignores grad_output for weight": (
            function(rounded_times, lambda g, x, w: (g * w, x.round())),
            "gradient of weight: yours ignores grad_output",
        ),
        "one gradient": (
            function(rounded_times, lambda g, x, w: g * w),
            "returned an incorrect number of gradients (expected 2, got 1)",
        ),
    },
    "04.3": {
        "still ignores": (function(squared, lambda g, x: 2 * x), "backward ignores grad_output"),
        "hands it on": (function(squared, lambda g, x: g * 1), "The factor 2 * x is lost"),
        "two forgotten": (function(squared, lambda g, x: x * g), "The factor 2 is lost"),
        "two upstream only": (function(squared, lambda g, x: 2 * g), "[0]: yours 6, expected -6"),
        "detached": (
            function(squared, lambda g, x: 2 * x.detach() * g),
            "the second derivative is wrong",
        ),
    },
}  # fmt: skip
CASES = [(number, name) for number, answers in WRONG.items() for name in answers]


@pytest.mark.parametrize("number, name", CASES, ids=[f"{n}-{name}" for n, name in CASES])
def test_a_wrong_answer_is_rejected_with_its_reason(number, name, capsys):
    answer, message = WRONG[number][name]
    line = said(capsys, number, answer)
    assert line.startswith(f"✗ {number} ")
    assert message in line


@pytest.mark.parametrize("number", EXERCISES)
def test_each_exercise_has_at_least_three_wrong_answers_told_apart(number):
    messages = [message for _, message in WRONG[number].values()]
    assert len(messages) >= 3
    assert len(set(messages)) == len(messages)


def exercise_cells(path):
    """The setup cell and the code cells of the section on exercises."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    section = dict(sections(notebook)).get("Exercises", [])
    return [code[0], *(cell for cell in section if cell.cell_type == "code")]


SOLVED = [path for path in notebook_files() if len(exercise_cells(path)) > 1]


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_solutions_are_accepted_and_stubs_are_not_done(path, capsys):
    names, verdicts = {}, {}
    for cell in exercise_cells(path):
        exec(cell.source, names)
        verdicts[cell.id] = capsys.readouterr().out
    numbers = [number for number in EXERCISES if number.startswith(path.name[:2])]
    for i, number in enumerate(numbers, 1):
        assert verdicts[f"exercise-{i}-solution"].startswith(f"✓ {number} ")
        assert verdicts[f"exercise-{i}-answer"].startswith(f"… {number} is not done yet")


def test_every_exercise_is_in_its_notebook():
    text = {path.name[:2]: path.read_text(encoding="utf-8") for path in notebook_files()}
    for number in EXERCISES:
        assert f'exercise(\\"{number}\\")' in text[number[:2]]


@pytest.mark.parametrize("number", EXERCISES)
def test_a_card_says_what_a_learner_needs(number):
    card = EXERCISES[number]
    assert card.number == number and card.minutes >= 2 and len(card.hints) >= 2 and card.praise
    text = card._repr_markdown_()
    assert text.count("<details>") == len(card.hints)
    assert card.statement in text and f"about {card.minutes} minutes" in text
