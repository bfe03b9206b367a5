"""What the doctor says of a patient or of a healthy step, and what is wrong with that."""

import re
from dataclasses import dataclass

from autograd_surprises.doctor import explain, explain_error, trace
from autograd_surprises.symptoms.finding import Finding
from cases.case import Step, Visit
from cases.claims import noting_blame, seed, untrue
from cases.unchanged import changed

HARMLESS = {"ok", "partial"}
SYMPTOMS = {
    "none": lambda grad: grad is None,
    "zero": lambda grad: not grad.any(),
    "partial": lambda grad: grad.any() and not grad.all(),
    "tiny": lambda grad: 0 < grad.abs().max() < 1e-20,
    "nan": lambda grad: grad.isnan().any(),
}


@dataclass(frozen=True)
class Said:
    findings: tuple[Finding, ...]
    text: str
    asked: frozenset[str] = frozenset()  # names of tensors, where they were given by name
    notes: str | None = None  # what an error that left the trace took along

    @property
    def told(self) -> list[list[str]]:
        """Of each finding with a cause: "weight zero dead-relu", what it says, the lines it names.

        Without numbers that may differ in their last digits, and with lines as they are written.
        """
        return [
            [f"{f.name} {f.status} {f.rule or f.cause}", *map(_without_digits, _words_of(f))]
            for f in self.findings
            if f.cause
        ]


def _words_of(found):
    places = [f"{label}: {where.source.partition('  #')[0]}" for label, where in found.places]
    words = [found.sentence, *places, *filter(None, [found.node]), *found.also]
    return [each for each in words if "that is rounding" not in each]  # elsewhere, it is exactly 0


def _without_digits(text):
    return re.sub(r"-?\d+\.\d+(e[-+]?\d+)?|\d+e[-+]\d+", "#", text)


def traced(build) -> Said:
    recording = trace()
    seed()
    try:
        with recording:
            brought = build()  # stays alive until the doctor has looked, as in a script
            visit = _visit_of(brought) if isinstance(brought, Step) else brought
    except Exception as error:
        found = (recording.error,) if recording.error else ()
        notes = "".join(getattr(error, "__notes__", map(str, found)))  # before Python 3.11: none
        return Said(found, f"{type(error).__name__}: {error}\n{recording.error}", notes=notes)
    return _said(recording.explain, visit)


def alone(build) -> Said:
    seed()
    try:
        visit = build()
    except Exception as error:
        found = explain_error(error)
        return Said((found,), str(found))
    return _said(explain, visit)


def _visit_of(step):
    return Visit(step.compute(), step.model, optimizer=step.optimizer)


def _said(explain, visit):
    report = explain(
        visit.loss,
        visit.wrt,
        model=visit.model,
        optimizer=visit.optimizer,
        grad_outputs=visit.grad_outputs,
    )
    asked = frozenset(visit.wrt if isinstance(visit.wrt, dict) else ())
    return Said(report.findings, str(report), asked)


# ---- Patients


def right(findings, patient) -> list[Finding]:
    """Those that name the cause, with the patient's status, if that is known."""
    return [
        found
        for found in findings
        if found.cause in patient.causes and patient.said in ("", found.status)
    ]


def names_a_guilty_line(found, patient, most=1) -> bool:
    return any(patient.is_guilty(where) for _, where in found.places[:most])


def complaints(said, patient):
    """What is wrong with what is said of a patient with a trace, as texts."""
    found = right(said.findings, patient)
    yield from _missed("the cause", found, patient.missed)
    if patient.guilty:
        named = [f for f in found if names_a_guilty_line(f, patient)]
        yield from _missed("the line", named, patient.missed_line)
    names = {f.name for f in found}
    about = said.asked <= names <= said.asked | {"loss"}
    if found and patient.status in SYMPTOMS and not about:
        yield f"it is about {names}, not about {said.asked}"
    alarms = {f.cause for f in said.findings if f.status not in HARMLESS}
    others = alarms.difference(patient.causes)
    if others != set(patient.also):
        yield f"beside the cause, it names {others}"
    for f in found:
        if not (f.sentence and f.fix):
            yield "it explains nothing, or does not help"
        if f.where and "#!" not in f.where.source and not patient.missed_line:
            yield f"it shows {f.where.source!r}"


def _missed(what, found, why):
    if why and found:
        yield f"{what} is found now, so it is not missed: {why}"
    if not why and not found:
        yield f"{what} is not named"


# ---- Healthy steps


@dataclass(frozen=True)
class Judged:
    """alarms   (status, cause) that the step should not get
    untrue   claims that plain torch refutes
    changed  what is not as it would be without the doctor
    """

    said: Said
    alarms: list[str]
    untrue: list[str]
    changed: list[str]


def judged(case) -> Judged:
    """A healthy step, examined with a trace."""
    seed()
    step = case.build()
    seed()  # the judge runs the same step again
    with noting_blame() as blamed, trace() as recording:
        loss = step.compute()
        report = recording.explain(loss, step.model, optimizer=step.optimizer)
    alarms = {(f.status, f.cause) for f in report.findings if f.alarming} - case.true
    return Judged(
        Said(report.findings, str(report)),
        sorted(f"{status} {cause}" for status, cause in alarms),
        untrue(report, loss, step, blamed),
        changed(case.build),
    )
