"""Wrong answers to the exercise on two backwards through one graph."""

from torch.autograd import grad


def both(a, b, x):
    return grad(a, x, retain_graph=True)[0], grad(b, x)[0]


def both_by_backward(a, b, x):
    a.backward(retain_graph=True)
    of_a = x.grad.clone()
    b.backward()
    return of_a, x.grad.clone()


def both_in_emptied_grad(a, b, x):
    x.grad = None
    return both_by_backward(a, b, x)


def both_are_x_grad(a, b, x):
    a.backward(retain_graph=True)
    of_a = x.grad
    b.backward()
    return of_a, x.grad


RIGHT = {"backward_again.1": {"a list": lambda a, b, x: list(both(a, b, x))}}

WRONG = {
    "backward_again.1": {
        "nothing retained": (
            lambda a, b, x: (grad(a, x)[0], grad(b, x)[0]),
            "first call frees … retain_graph=True",
        ),
        "create_graph instead": (
            lambda a, b, x: (grad(a, x, create_graph=True)[0], grad(b, x)[0]),
            "create_graph=True … retain_graph=True is enough",
        ),
        "one call for both": (
            lambda a, b, x: grad((a, b), x),
            "got a tuple of a float64 tensor … their sum",
        ),
        "swapped": (lambda a, b, x: both(b, a, x), "yours 6, expected 3 … swapped"),
        "x.grad twice": (both_are_x_grad, "the two are one tensor, x.grad"),
        "the second contains the first": (both_in_emptied_grad, "The gradient of a is in it, too"),
        "retained twice": (
            lambda a, b, x: tuple(grad(loss, x, retain_graph=True)[0] for loss in (a, b)),
            "still alive, expected freed",
        ),
    }
}
