"""Where an activation function is flat, the doctor knows why no gradient comes back."""

import pytest
import torch
from torch import nn
from torch.nn.modules import activation

from autograd_surprises.doctor import explain, trace

FAR = 200.0
FLAT = {  # where the gradient is 0, and why
    "CELU": [(nn.CELU(), -FAR, "saturated"), (nn.CELU(0.5), -FAR, "saturated"),
             (nn.CELU(inplace=True), -FAR, "saturated")],
    "ELU": [(nn.ELU(), -FAR, "saturated"), (nn.ELU(inplace=True), -FAR, "saturated")],
    "GELU": [(nn.GELU(), -FAR, "saturated"), (nn.GELU("tanh"), -FAR, "saturated")],
    "GLU": [(nn.GLU(), -FAR, "saturated")],
    "Hardshrink": [(nn.Hardshrink(), 0.1, "outside-range")],
    "Hardsigmoid": [(nn.Hardsigmoid(), s * FAR, "outside-range") for s in (-1, 1)],
    "Hardswish": [(nn.Hardswish(), -FAR, "outside-range"), (nn.Hardswish(), -1.5, "stationary")],
    "Hardtanh": [(nn.Hardtanh(), s * FAR, "outside-range") for s in (-1, 1)],
    "LeakyReLU": [(nn.LeakyReLU(0.0), -FAR, "dead-relu"),
                  (nn.LeakyReLU(0.0, inplace=True), -FAR, "dead-relu")],
    "LogSigmoid": [(nn.LogSigmoid(), FAR, "saturated")],
    "LogSoftmax": [],  # only one entry of it is flat: its patients are in cases/small/
    "Mish": [(nn.Mish(), -FAR, "saturated")],
    "MultiheadAttention": [],  # not a function of its own
    "PReLU": [(nn.PReLU(init=0.0), -FAR, "dead-relu")],
    "RReLU": [(nn.RReLU(0.0, 0.0).eval(), -FAR, "dead-relu"),
              (nn.RReLU(0.0, 0.0), -FAR, "dead-relu")],
    "ReLU": [(nn.ReLU(), -FAR, "dead-relu")],
    "ReLU6": [(nn.ReLU6(), s * FAR, "outside-range") for s in (-1, 1)],
    "SELU": [(nn.SELU(), -FAR, "saturated")],
    "SiLU": [(nn.SiLU(), -FAR, "saturated")],
    "Sigmoid": [(nn.Sigmoid(), s * FAR, "saturated") for s in (-1, 1)],
    "Softmax": [(nn.Softmax(-1), (0.0, FAR, 2 * FAR, 3 * FAR), "saturated")],
    "Softmax2d": [(nn.Softmax2d(), (0.0, FAR, 2 * FAR, 3 * FAR), "saturated")],
    "Softmin": [(nn.Softmin(-1), (0.0, FAR, 2 * FAR, 3 * FAR), "saturated")],
    "Softplus": [(nn.Softplus(), -FAR, "saturated"), (nn.Softplus(3.0), -FAR, "saturated")],
    "Softshrink": [(nn.Softshrink(), 0.1, "outside-range")],
    "Softsign": [(nn.Softsign(), s * 1e30, "cancel") for s in (-1, 1)],  # x / (1 + |x|)
    "Tanh": [(nn.Tanh(), s * FAR, "saturated") for s in (-1, 1)],
    "Tanhshrink": [(nn.Tanhshrink(), 0.0, "cancel")],  # x - tanh(x)
    "Threshold": [(nn.Threshold(0.0, 0.0), -FAR, "outside-range")],
}  # fmt: skip
CASES = [case for cases in FLAT.values() for case in cases]


def test_every_activation_of_torch_is_looked_at():
    assert set(activation.__all__) <= set(FLAT)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("act, at, cause", CASES, ids=[str(act) for act, *_ in CASES])
def test_where_it_is_flat_the_cause_is_known(act, at, cause, recorded):
    x = torch.tensor(at).expand(4).reshape(1, 4)
    x = (x[..., None, None] if isinstance(act, nn.Softmax2d) else x).clone().requires_grad_()
    with trace() as t:
        y = act(x * 1.0)
        loss = (y * torch.arange(1.0, 1 + y.numel()).reshape(y.shape)).sum()
    (found,) = (t.explain if recorded else explain)(loss, {"x": x}).findings
    assert (found.status, found.cause) == ("zero", cause)


def test_a_gradient_that_a_slope_makes_too_small_is_not_called_dead():
    x = torch.full((4,), -1.0, requires_grad=True)
    found = explain((nn.functional.leaky_relu(x, 1e-30) * 1e-30).sum(), {"x": x})["x"]
    assert found.status == "zero" and found.cause != "dead-relu"
