"""A user's code, for tests/test_wheel.py, which checks it with strict mypy.

It is never run. The annotation of a variable is the type that the call on its right has to have.
"""

import torch
from torch import Tensor

from autograd_surprises import explain, explain_error, report_card, trace, watch
from autograd_surprises.doctor import Finding, Report
from autograd_surprises.report_card import ReportCard
from autograd_surprises.show.picture import Picture
from helpers import functions
from helpers.curves import GradientCurve, gradient_curve, plot_gallery, plot_gradient_curve
from helpers.explore import Explorer, Playable, explore, freeze
from helpers.functions import round_ste
from lessons import check, expect_error, expect_warning, predict
from lessons.derivatives import derivatives, kind_of_point
from lessons.surrogate_gradients.operator_gallery import operators, plot_operators


def diagnose(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: Tensor) -> bool:
    with trace() as t:
        loss = model(x).sum()
    report: Report = t.explain(loss, model, optimizer=optimizer)
    finding: Finding = explain(loss, {"x": x})["x"]
    explain(loss, [x])
    explain(loss)
    try:
        loss.backward()
    except RuntimeError as error:
        finding = explain_error(error, t)
    with watch(model, optimizer, steps=(1, 100)) as w:
        loss.backward()
    card: ReportCard = report_card(round_ste, x, like=lambda x: x, compile=True)
    return report.healthy and finding.alarming and card.passed and w.healthy and bool(w.summary)


def rounded(x: Tensor) -> Tensor:
    x = functions.floor_ste(functions.ceil_ste(functions.trunc_ste(round_ste(x))))
    x = functions.clamp(functions.clamp_ste(x, -1, 1), max=2.0, bound_gradient=0.5)
    x = functions.sign_ste(x) + functions.step(x, "sigmoid", width=0.5)
    x = functions.scale_gradient(functions.reverse_gradient(x), 0.5)
    x = functions.scale_gradient(functions.fake_quantize(x, 0.1), 0.5)
    x = functions.lsq_quantize(x, torch.tensor(0.1, requires_grad=True), -8, 7)
    x = functions.value_with_gradient_of(x.sign(), x.tanh())
    return functions.apply_anywhere(functions.RoundSTE, x, proxy=lambda x: x)


def draw(x: Tensor) -> list[str]:
    curve: GradientCurve = gradient_curve(torch.clamp, (-2, 2), kinks=[-1, 1], min=-1, max=1)
    plot_gradient_curve(round_ste, x=(-2.0, 2.0)).savefig("round_ste.png")
    pictures: list[Picture] = [
        plot_gradient_curve(curve),
        plot_gallery({"round": torch.round, "curve": curve}),
        plot_operators(),
    ]
    names = [*operators(), kind_of_point(torch.relu, x)]
    slopes: list[Tensor] = derivatives(torch.sin, x)
    at: list[tuple[float, float]] = curve.disagreement()
    return [*names, *(picture.summary for picture in pictures), curve.describe(), f"{slopes} {at}"]


def slide() -> dict[str, object]:
    explorer: Explorer = explore(torch.nn.functional.elu, alpha=(0.0, 2.0))
    explore({"relu": torch.relu, "round": round_ste}, (-1, 1))
    explorer.set(alpha=0.5)
    curve: GradientCurve = explorer.curve
    summary: str = explorer.summary + curve.describe()
    return {**explorer.values, **freeze(explore(pow, n=Playable(1, 5))), "summary": summary}


def learn() -> None:
    predict("round_and_clamp.round", answer=2.3)
    with expect_error(RuntimeError, match="size"):
        torch.ones(2) @ torch.ones(3)
    with expect_warning(UserWarning, match="leaf"):
        pass
    check("override_backward.2", ...)
