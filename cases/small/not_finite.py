"""The gradient is NaN or infinite."""

import torch

from cases.case import Visit, case


@case("`sqrt` at 0", "inf", "infinite-derivative")
def sqrt_at_zero():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    loss = x.sqrt().sum()  #! (x + 1e-8).sqrt().sum()
    return Visit(loss, {"x": x})


@case("two infinite slopes that cancel", "nan", "infinite-derivative")
def inf_minus_inf():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    loss = (x.sqrt() - x.sqrt()).sum()  #! (2 * (x + 1e-8).sqrt() - (x + 1e-8).sqrt()).sum()
    return Visit(loss, {"x": x})


@case("`torch.where` after the dangerous step", "nan", "masked-too-late")
def where_trap():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()  #! torch.where(x > 0, x, torch.ones(2)).sqrt()
    loss = torch.where(x > 0, root, torch.zeros(2)).sum()
    return Visit(loss, {"x": x})


@case("divide first, mask later", "nan", ("masked-too-late", "division-by-zero"))
def division_masked_later():
    x = torch.tensor([1.0, 1.0], requires_grad=True)
    divisor = torch.tensor([0.0, 2.0])
    ratio = x / divisor  #! x / torch.where(divisor == 0, torch.ones(2), divisor)
    loss = ratio[divisor != 0].sum() + (ratio * (divisor != 0)).nansum()
    return Visit(loss, {"x": x})


@case("the distance of two equal points", "nan", "infinite-derivative")
def distance_of_equal_points():
    point = torch.tensor([1.0, 2.0], requires_grad=True)  #: -
    #: point = torch.tensor([1.0, 2.5], requires_grad=True)
    distance = ((point - torch.tensor([1.0, 2.0])) ** 2).sum().sqrt()  #! -
    #: distance = (((point - torch.tensor([1.0, 2.0])) ** 2).sum() + 1e-8).sqrt()
    loss = distance * 3
    return Visit(loss, {"point": point})


# log(0) is -inf in the forward pass, its slope is infinite there, and 0 * inf is NaN: all true.
@case("`p * p.log()` at 0", "nan", ("infinite-derivative", "forward-nonfinite"))
def entropy_at_zero():
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = -(p * p.log()).sum()  #! -(p * p.clamp_min(1e-6).log()).sum()
    return Visit(loss, {"p": p})


@case("`x**0.3` at 0", "inf", "infinite-derivative")
def power_at_zero():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = (x**0.3).sum()  #! ((x + 1e-6) ** 0.3).sum()
    return Visit(loss, {"x": x})


@case("softmax over a row that is masked away", "nan", "empty-softmax")
def fully_masked_softmax():
    scores = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    mask = torch.tensor([[True, False, False], [True, True, True]])
    share = (scores + torch.zeros(2, 3).masked_fill(mask, -torch.inf)).softmax(-1)  #! -
    #: share = (scores + torch.zeros(2, 3).masked_fill(mask, -1e9)).softmax(-1)
    loss = torch.where(mask.all(-1, keepdim=True), torch.zeros(()), share).pow(2).sum()
    return Visit(loss, {"scores": scores})


@case("`acos` at 1", "inf", "infinite-derivative")
def acos_at_one():
    cosine = torch.tensor([1.0, 0.5], requires_grad=True)
    loss = torch.acos(cosine).sum()  #! torch.acos(cosine * 0.999).sum()
    return Visit(loss, {"cosine": cosine})


@case("`exp` overflows", "nan", ("overflow", "forward-nonfinite"))
def exp_overflow():
    x = torch.tensor([100.0, 1.0], requires_grad=True)
    power = x.exp()  #! -
    loss = (power / (1 + power)).sum()  #: torch.sigmoid(x).sum()
    return Visit(loss, {"x": x})


@case("the gradient is too large for float16", "inf", "overflow")
def half_precision_overflow():
    x = torch.tensor([6.0], dtype=torch.float16, requires_grad=True)  #: -
    #: x = torch.tensor([6.0], dtype=torch.bfloat16, requires_grad=True)
    loss = (x * 2).float().mul(1e5).sum()  #!
    return Visit(loss, {"x": x})


@case("an update by NaN, one step before", "nan", "nan-leaf")
def update_by_nan():
    weight, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.0, 1.0])
    (torch.where(x > 0, (weight * x).sqrt(), 0.0)).sum().backward()  #: -
    #: torch.where(x > 0, torch.where(x > 0, weight * x, 1.0).sqrt(), 0.0).sum().backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad  #!
    weight.grad = None
    loss = (weight * x).sum().exp()
    return Visit(loss, {"weight": weight})
