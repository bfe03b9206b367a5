"""Which rule each patient, twin, healthy step and bug gets: `python tests/doctor/rule_ids.py`.

The order of the rules is a part of their meaning. Run it after a change of the rules, and read the
difference: each line of rule_ids.json that changed is another answer for somebody.
"""

import importlib
import json
import pkgutil
import sys
import warnings
from pathlib import Path

import torch

FILE = Path(__file__).with_name("rule_ids.json")
sys.path[:0] = [str(FILE.parents[2]), str(FILE.parents[1])]  # pytest adds them by itself

import healthy_more  # noqa: E402, F401 (it adds to HEALTHY)
from healthy import HEALTHY  # noqa: E402
from patients import CURED, PATIENTS  # noqa: E402
from real import bugs  # noqa: E402
from real.scores import seeded  # noqa: E402
from real.step import BUGS  # noqa: E402

from autograd_surprises.doctor import explain, explain_error, trace  # noqa: E402

REFUSALS = (RuntimeError, TypeError, ValueError)


def ids_of(findings):
    """ "weight zero dead-relu", one text for each finding that has something to say."""
    return [f"{f.name} {f.status} {f.rule or f.cause}" for f in findings if f.cause]


def visited(build, recorded):
    torch.manual_seed(0)
    recording = trace()
    try:
        if recorded:
            with recording:
                visit = build()
        else:
            visit = build()
    except REFUSALS as error:
        return [recording.error if recorded else explain_error(error)]
    report = (recording.explain if recorded else explain)(
        visit.loss,
        visit.wrt,
        model=visit.model,
        optimizer=visit.optimizer,
        grad_outputs=visit.grad_outputs,
    )
    return report.findings


def stepped(build):
    torch.manual_seed(0)
    model, compute = build()
    with trace() as recording:
        loss = compute()
    return recording.explain(loss, model, optimizer=torch.optim.Adam(model.parameters())).findings


def reported(bug):
    recording = trace()
    try:
        with recording:
            step = seeded(bug.build)
            loss = step.compute()
    except Exception:
        return [recording.error] if recording.error else []
    return recording.explain(loss, step.model, optimizer=step.optimizer).findings


def frozen() -> dict[str, dict[str, list[str]]]:
    """What the doctor answers now, as it stands in the file."""
    for module in pkgutil.iter_modules(bugs.__path__):
        importlib.import_module(f"{bugs.__name__}.{module.name}")
    alone = [bug for bug in BUGS.values() if bug.library == "torch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "patients, recorded": {n: visited(p.function, True) for n, p in PATIENTS.items()},
            "patients": {n: visited(p.function, False) for n, p in PATIENTS.items()},
            "cured twins": {n: visited(build, True) for n, build in CURED.items()},
            "healthy steps": {n: stepped(build) for n, build in HEALTHY.items()},
            "reported bugs": {bug.name: reported(bug) for bug in alone},
        }
    return {
        group: {name: ids_of(findings) for name, findings in sorted(each.items())}
        for group, each in found.items()
    }


def text_of(answers) -> str:
    """One line for each, so that a change is a line of a diff."""
    parts = [
        f" {json.dumps(group)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(ids)}" for name, ids in each.items())
        + "\n }"
        for group, each in answers.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text_of(frozen()), encoding="utf-8")
