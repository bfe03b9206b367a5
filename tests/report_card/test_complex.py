"""Complex numbers: torch's convention for their gradient, checked as that of two real numbers."""

import pytest
import torch
from torch.autograd import Function, gradcheck, gradgradcheck

from autograd_surprises import report_card

generator = torch.Generator().manual_seed(0)
Z = torch.randn(4, dtype=torch.complex64, generator=generator)
A = torch.randn(3, 4, dtype=torch.complex64, generator=generator)
R = torch.rand(4, generator=generator) + 0.5
each = pytest.mark.parametrize
RIGHT = {
    "abs": (torch.abs, Z),
    "angle": (torch.angle, Z),
    "exp": (torch.exp, Z),
    "square": (torch.square, Z),
    "conj": (torch.conj, Z),
    "in place": (lambda z: z.mul_(2), Z),
    "of one number": (torch.exp, Z[0]),
    "matmul": (torch.matmul, A, Z),
    "transpose": (lambda a: a.T, A),
    "fft": (torch.fft.fft, Z),
    "to real": (torch.fft.irfft, Z),
    "from real": (torch.fft.rfft, R),
    "from two real": (torch.polar, R, R),
    "real times complex": (torch.mul, R, Z),
    "beside a complex constant": (lambda r, z: (r * z).imag, R.clone().requires_grad_(), Z),
}


class Square(Function):
    """z², with everything but a rule for forward mode over forward mode."""

    generate_vmap_rule = True
    forward = staticmethod(lambda z: z * z)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0].conj() * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0] * tangent


class WithoutConjugate(Square):
    backward = Square.jvp


class OnlyRealPart(Square):
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0].real * grad_output


class OnlyImaginaryPartIsWrong(Square):
    @staticmethod
    def backward(ctx, grad_output):
        right = 2 * ctx.saved_tensors[0].conj() * grad_output
        return torch.complex(right.real, 2 * right.imag)


class HalfOfIt(Square):
    """∂L/∂conj(z), as in most books: half of what torch calls the gradient."""

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.saved_tensors[0].conj() * grad_output


class ConjugatesGradOutput(Square):
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0].conj() * grad_output.conj()


class JvpConjugated(Square):
    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0].conj() * tangent


class ConstantSlope(Square):
    """Backward takes for a constant what forward computed."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(2 * inputs[0].detach())
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.saved_tensors[0].conj() * grad_output


class IgnoresStrides(Square):
    @staticmethod
    def forward(z):
        return (w := z.contiguous().view(-1).as_strided(z.shape, z.stride())) * w


FAULTS = {
    WithoutConjugate: {"slope"},
    OnlyRealPart: {"slope"},
    HalfOfIt: {"slope"},
    ConjugatesGradOutput: {"slope"},
    JvpConjugated: {"jvp"},
    ConstantSlope: {"double backward"},
}


def bad_rows(card):
    return {row.name for row in card.rows if not row.fine}


@each("name", RIGHT)
def test_what_is_right_passes(name):
    card = report_card(*RIGHT[name])
    assert bad_rows(card) == set(), str(card)
    assert card["slope"].status == card["float32"].status == "works"
    narrow = {card[row].status for row in ("bfloat16", "float16", "autocast", "large x", "empty")}
    assert narrow == {"not applicable"}


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_what_is_right_passes_when_compiled():
    assert report_card(*RIGHT["matmul"], compile=True).passed


def test_a_right_function_lacks_what_torch_lacks():
    card = report_card(Square.apply, Z)
    assert bad_rows(card) == {"jacfwd(jacfwd)"}, str(card)


@each("function", FAULTS)
def test_a_fault_is_found_as_gradcheck_finds_it(function):
    card = report_card(function.apply, Z)
    assert bad_rows(card) - {"jacfwd(jacfwd)"} >= FAULTS[function], str(card)
    given = Z.to(torch.complex128).requires_grad_()
    first = gradcheck(function.apply, given, check_forward_ad=True, raise_exception=False)
    assert not (first and gradgradcheck(function.apply, given, raise_exception=False))


def test_the_place_is_a_part_of_a_complex_number():
    row = report_card(WithoutConjugate.apply, Z)["slope"]
    assert "part of input 0[0]" in row.message and "conj(∂f/∂z)" in row.remedy
    row = report_card(JvpConjugated.apply, Z)["jvp"]
    assert "part of output[0]" in row.message and "conjugate" in row.remedy
    row = report_card(lambda r, z: WithoutConjugate.apply(z) * r, R, Z)["slope"]
    assert "part of input 1[0]" in row.message  # the gradient of r is right

    row = report_card(OnlyImaginaryPartIsWrong.apply, Z)["slope"]
    assert "at the imaginary part of input 0[0]" in row.message


def test_strides_reach_the_function():
    card = report_card(IgnoresStrides.apply, A)
    assert "non-contiguous" in bad_rows(card), str(card)


def test_another_gradient_may_be_meant():
    """A gradient for descent on both parts of a rounded number."""

    def rounded(z):
        return z + (torch.complex(z.real.round(), z.imag.round()) - z).detach()

    assert "slope" in bad_rows(report_card(rounded, Z))
    assert report_card(rounded, Z, like=lambda z: z)["slope"].status == "works"
