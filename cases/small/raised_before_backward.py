"""An error before backward() of the loss: torch refuses a line of the forward pass."""

import torch
import torch.distributed as dist
from torch import nn

from cases.case import Visit, case


@case("`backward(v)` with a v of wrong shape", "error", "wrong-vector-shape")
def vector_of_wrong_shape():
    x = torch.ones(3, requires_grad=True)
    y = torch.stack([x.sum(), (x**2).sum()])
    y.backward(torch.ones(3))  #! return Visit(y, {"x": x}, grad_outputs=torch.ones(2))
    return Visit(y, {"x": x})


@case("a leaf is updated without `no_grad`", "error", "leaf-in-place")
def update_is_tracked():
    weight = torch.ones(3, requires_grad=True)
    (weight * 2).sum().backward()
    weight -= 0.1 * weight.grad  #! weight = torch.ones(3, requires_grad=True)
    return Visit(weight.sum(), {"weight": weight})


@case("`requires_grad` of integers", "error", "integer-requires-grad")
def integers():
    x = torch.tensor([1, 2, 3], requires_grad=True)  #! -
    #: x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return Visit(x.sum(), {"x": x})


@case("`requires_grad = False` of a result", "error", "flag-of-result")
def flag_of_a_result():
    x = torch.ones(3, requires_grad=True)
    hidden = x * 2
    hidden.requires_grad = False  #! hidden = x * 2
    return Visit(hidden.sum(), {"x": x})


@case("`autograd.grad` of an unused input", "error", "unused-input")
def unused_input():
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    torch.autograd.grad(loss, [x, y])  #! loss = (x * y).sum()
    return Visit(loss, {"y": y})


@case("`.numpy()` of a tracked tensor", "error", "numpy-of-tracked")
def numpy_of_tracked():
    x = torch.ones(3, requires_grad=True)
    values = (x * 2).numpy()  #! return Visit((x * 2).sum(), {"x": x})
    return Visit(torch.from_numpy(values).sum(), {"x": x})


@case("a result assigned to a parameter", "error", "assigned-parameter")
def parameter_assigned():
    layer = nn.Linear(2, 1)
    layer.weight = layer.weight * 2  #! doubled = layer.weight * 2
    return Visit(layer(torch.ones(1, 2)).sum(), layer)  #: -
    #: return Visit(nn.functional.linear(torch.ones(1, 2), doubled, layer.bias).sum(), layer)


@case("an optimizer of no parameters", "error", "no-parameters")
def no_parameters():
    class Unregistered(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = [nn.Parameter(torch.ones(2))]  #: -
            #: self.weights = nn.ParameterList([nn.Parameter(torch.ones(2))])

    model = Unregistered()
    torch.optim.SGD(model.parameters(), lr=0.1)  #!
    return Visit(model.weights[0].sum(), model)


@case("an optimizer of a result", "error", "optimizer-of-result")
def optimizer_of_a_result():
    weight = torch.ones(3, requires_grad=True) * 0.1
    torch.optim.SGD([weight], lr=0.1)  #! weight = (torch.ones(3) * 0.1).requires_grad_()
    return Visit(weight.sum(), {"weight": weight})


@case("an inference tensor in training", "error", "inference-tensor")
def inference_tensor():
    weight = torch.ones(3, requires_grad=True)
    with torch.inference_mode():  #! with torch.no_grad():
        constant = torch.ones(3) * 2
    loss = (weight * constant).sum()
    return Visit(loss, {"weight": weight})


@case("a Function called as an object", "error", "not-static")
def methods_not_static():
    class DoubleNotStatic(torch.autograd.Function):
        #: @staticmethod
        def forward(self, x):
            return x * 2

        #: @staticmethod
        def backward(self, grad_output):
            return grad_output * 2

    x = torch.ones(3, requires_grad=True)
    loss = DoubleNotStatic()(x).sum()  #! DoubleNotStatic.apply(x).sum()
    return Visit(loss, {"x": x})


@case("one of several views is changed in place", "error", "view-in-place")
def view_changed_in_place():
    x = torch.ones(2, 3, requires_grad=True)
    first, second = (x * 1).unbind(0)
    first += 1  #! first = first + 1
    return Visit((first + second).sum(), {"x": x})


def group_of_one():
    """Start a process group of this process alone; conftest.py ends it."""
    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class HalfUsed(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

    def forward(self, x):
        return self.used(x)


@case("DDP waits for an unused parameter", "error", "ddp-unused")
def ddp_unused_parameter():
    group_of_one()
    model = HalfUsed()
    parallel = nn.parallel.DistributedDataParallel(model)  #: -
    #: parallel = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
    parallel(torch.ones(1, 2)).sum().backward()
    loss = parallel(torch.ones(1, 2)).sum()  #!
    return Visit(loss, model)  #: -
    #: return Visit(loss, model.used, model=parallel)  # the loss alone would not keep DDP alive
