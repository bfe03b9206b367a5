"""What the report card finds in released libraries, and three lines that confirm each finding.

    python tools/library_cards.py            one minute
    python tools/library_cards.py --store    also writes docs/report_cards.md and notebook 14's data

It needs the packages of the group `real`, which `make cards` installs. Each finding is confirmed
without the report card: by torch.autograd.gradcheck or gradgradcheck in float64, or by printing the
numbers.
"""

import contextlib
import io
import json
import math
import re
import sys
import warnings
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import library_imports  # noqa: E402, F401  without it, torchvision cannot be imported
import torch  # noqa: E402
from library_functions import ENTRIES, Entry  # noqa: E402
from library_page import page_of  # noqa: E402

from autograd_surprises.report_card import CardRow, ReportCard, report_card  # noqa: E402

PAGE = ROOT / "docs" / "report_cards.md"
STORED = ROOT / "lessons" / "measured" / "library_cards.json"
GRAD = "torch.autograd.grad({f}(v).sum(), v)[0].item()"


@dataclass(frozen=True)
class Finding:
    """A silently wrong row, and three lines that show it without the report card."""

    row: CardRow
    lines: tuple[str, ...]
    printed: str
    confirmed: bool


def run(entry: Entry) -> tuple[ReportCard, list[Finding]]:
    """The card of an entry, and each silently wrong row with its confirmation."""
    names = {"torch": torch, "x": torch.linspace(-2, 2, 9)}
    exec(entry.imports, names)
    torch.manual_seed(0)
    inputs = eval(f"({entry.inputs},)", names)
    like = eval(entry.like, names) if entry.like else None
    card = report_card(eval(entry.fn, names), *inputs, like=like)
    wrong = [row for row in card.rows if row.status == "silently wrong"]
    wrong += [row for row in card.rows[:1] if row.status == "refused"]
    return card, [confirm(entry, row) for row in wrong]


def confirm(entry: Entry, row: CardRow) -> Finding:
    """Run three lines that show this row without the report card."""
    lines, holds = check_of(entry, row)
    text = io.StringIO()
    torch.manual_seed(0)
    with contextlib.redirect_stdout(text):
        try:
            exec("\n".join(lines), {"torch": torch})
        except Exception as error:
            print(type(error).__name__, error)
    printed = text.getvalue().strip()
    return Finding(row, lines, printed, holds(printed))


def check_of(entry: Entry, row: CardRow):
    """Three lines, and what their output needs to be for the finding to hold."""
    name, text = row.name, row.message
    place = re.search(r"at x = ([-\w.+]+)", text)
    at = str(float(place.group(1))).replace("inf", "torch.inf") if place else "0.5"
    upstream = re.search(r"for grad_output = (-?inf)", text)
    f = f"({entry.fn})" if entry.fn.startswith("lambda") else entry.fn
    if row.status == "refused":
        check = f"{f}(v).sum().backward()"
        return with_point(entry, "0.5", "float32", check), lambda out: "Error" in out
    if name == "output dtype":
        given = re.search(r"input of (\w+)", text).group(1)
        check = f"print({f}(v).dtype, 'for', v.dtype)"
        return with_point(entry, "0.5", given, check), lambda out: len(set(out.split(" for "))) == 2
    if name == "0-d":
        check = f"print(tuple({f}(v).shape), 'for', tuple(v.shape))"
        lines = entry.imports, "v = torch.tensor(0.5)", check
        return lines, lambda out: len(set(out.split(" for "))) == 2
    if upstream:
        at_infinity = upstream.group(1).replace("inf", "torch.inf")
        grads = f"torch.autograd.grad({f}(v), v, torch.tensor([g]))[0].item()"
        check = f"print([{grads} for g in (1.0, {at_infinity})])"
        lines = with_point(entry, at, "float32", check)
        return lines, lambda out: out in ("[0.0, nan]", "[-0.0, nan]")
    if name == "linear in grad_output" or entry.is_picture:
        grads = f"torch.autograd.grad({f}(v), v, torch.tensor([g]))[0].item()"
        check = f"print([{grads} for g in (1.0, -1.0)])"
        return with_point(entry, "0.5", "float32", check), lambda out: sum(map(abs, eval(out))) == 1
    if name == "double backward":
        return gradcheck(entry, "gradgradcheck", at if place else ""), lambda out: out == "False"
    if name == "slope" and not entry.like and "only at kinks" not in text:
        return gradcheck(entry, "gradcheck", at if place else ""), lambda out: out == "False"
    if name == "float16" and not place and "gradient" not in text:
        at_example = f"v = torch.as_tensor({entry.inputs})"
        halves = f"[{f}(v.to(d)).isnan().any().item() for d in (torch.float16, torch.float32)]"
        return (entry.imports, at_example, f"print({halves})"), lambda out: out == "[True, False]"
    # the rest are about one number: compare with float64, or with the documented gradient
    dtype = (re.search(r"\((\w+)\)$", text) or [None, name])[1]
    dtype = dtype if dtype in ("float16", "bfloat16", "float32") else "float64"
    grad = GRAD.format(f=f)
    if entry.like:
        other = f"({entry.like})" if entry.like.startswith("lambda") else entry.like
        check = f"print({grad}, 'and', {GRAD.format(f=other)})"
    elif "gradient" in text or name == "slope":
        check = f"print({grad}, 'where the value is', {f}(v).item())"
    else:
        check = f"print({f}(v).item(), 'and', {f}(v.double()).item())"
    return with_point(entry, at, dtype, check), differs


def with_point(entry, at, dtype, check):
    point = f"torch.tensor([{at}], dtype=torch.{dtype}, requires_grad=True)"
    return entry.imports, f"v = {point}", check


def gradcheck(entry, which, at):
    """torch's own check in float64, at the example or at one number."""
    f = f"({entry.fn})" if entry.fn.startswith("lambda") else entry.fn
    given = f"torch.tensor([{at}])" if at else entry.inputs.replace(".requires_grad_()", "")
    given = given if given != "x" else "torch.linspace(-2, 2, 9)"
    whole = f"torch.autograd.{which}({f}, v, raise_exception=False)"
    if entry.package == "snntorch":  # which returns float32
        whole = f"torch.autograd.{which}(lambda x: {f}(x).double(), v, raise_exception=False)"
    make = "t.double().requires_grad_() if t.is_floating_point() else t"
    if ".requires_grad_()" in entry.inputs:
        make = "t.double().requires_grad_(i == 0)"
        return entry.imports, f"v = [{make} for i, t in enumerate(({given},))]", f"print({whole})"
    return entry.imports, f"v = [{make} for t in ({given},)]", f"print({whole})"


def differs(printed: str) -> bool:
    """Is only one of two numbers NaN, or are they not the same?"""
    if "Error" in printed:
        return False
    yours, expected = map(float, re.split(" and | where the value is ", printed))
    if "where the value is" in printed or math.isnan(yours) or math.isnan(expected):
        return math.isnan(yours) and not math.isnan(expected)
    return abs(yours - expected) > 1e-3 * abs(expected)


def main():
    warnings.simplefilter("ignore")
    found = []
    for entry in ENTRIES:
        card, findings = run(entry)
        for finding in findings:
            verdict = "confirmed" if finding.confirmed else "NOT CONFIRMED"
            print(f"{entry.package} {entry.name}: {finding.row.name}: {verdict}", flush=True)
            if not finding.confirmed:
                print(*finding.lines, f"# {finding.printed}", sep="\n")
        found.append((entry, card, findings))
    if "--store" in sys.argv:
        PAGE.write_text(page_of(found), encoding="utf-8")
        STORED.write_text(json.dumps(data(found), indent=2) + "\n", encoding="utf-8")


def data(found):
    """What notebook 14 shows: nothing in `found` that was not confirmed."""
    return {
        "date": str(date.today()),
        "torch": torch.__version__,
        "cards": [
            {
                "package": entry.package,
                "version": version(entry.package),
                "name": entry.name,
                "meant": entry.intent,
                "works": sum(row.status == "works" for row in card.rows),
                "refused": sum(row.status == "refused" for row in card.rows),
                "found": [finding.row.name for finding in findings],
            }
            for entry, card, findings in found
        ],
    }


if __name__ == "__main__":
    main()
