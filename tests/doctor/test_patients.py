"""Each patient has its symptom in plain torch, and the doctor names its cause and its line."""

from pathlib import Path

import pytest
import torch
from patients import CURED, PATIENTS

from autograd_surprises.doctor import explain, explain_error, trace
from autograd_surprises.graph import leaf_of, nodes

# What the patients are warned about by torch.
pytestmark = [
    pytest.mark.filterwarnings("ignore:To copy construct from a tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad:UserWarning"),
    pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:std.*degrees of freedom is <= 0:UserWarning"),
]

REFUSALS = (RuntimeError, TypeError, ValueError)  # NotImplementedError is a RuntimeError


def run(function):
    torch.manual_seed(0)
    return function()


HEALTHY = {"ok", "partial"}

THREADS = {name for name, p in PATIENTS.items() if Path(p.file).name.startswith("threads_")}
PORTED = set(PATIENTS) - THREADS


def diagnose(explain, visit):
    report = explain(
        visit.loss,
        visit.wrt,
        model=visit.model,
        optimizer=visit.optimizer,
        grad_outputs=visit.grad_outputs,
    )
    return report.findings


def traced(function):
    try:
        with trace() as recording:
            visit = run(function)
    except REFUSALS:
        return (recording.error,)
    return diagnose(recording.explain, visit)


def alone(function):
    try:
        visit = run(function)
    except REFUSALS as error:
        return (explain_error(error),)
    return diagnose(explain, visit)


def right(findings, patient):
    return [f for f in findings if f.status == patient.said and f.cause in patient.causes]


def lines(findings):
    return [(Path(f.where.file).resolve(), f.where.line) for f in findings if f.where]


def compare(found, why_missed, findings):
    """Fail where a patient is missed, or is found although it says why it is missed."""
    if why_missed:
        assert not found, f"found now, so it is not missed: {why_missed}"
    else:
        assert found, "\n".join(map(str, findings))


def each(*statuses, patients=PATIENTS):
    chosen = [p for p in patients.values() if not statuses or p.status in statuses]
    return pytest.mark.parametrize("patient", chosen, ids=[p.name for p in chosen])


# ---- The patients themselves

SYMPTOMS = {
    "none": lambda grad: grad is None,
    "zero": lambda grad: not grad.any(),
    "partial": lambda grad: grad.any() and not grad.all(),
    "tiny": lambda grad: 0 < grad.abs().max() < 1e-20,
    "nan": lambda grad: grad.isnan().any(),
    "inf": lambda grad: grad.isinf().any() and not grad.isnan().any(),
}


@each(*SYMPTOMS)
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_a_patient_has_its_symptom(patient):
    visit = run(patient.function)
    visit.backward()
    for tensor in visit.tensors():
        assert SYMPTOMS[patient.status](tensor.grad), tensor.grad


@each("error")
def test_a_patient_raises(patient):
    with pytest.raises(REFUSALS):
        run(patient.function).backward()


@each("wrong")
def test_a_patient_has_another_gradient_than_its_twin(patient):
    sick, healthy = run(patient.function), run(CURED[patient.name])
    for visit in (sick, healthy):
        visit.backward()
    for wrong, true in zip(sick.tensors(), healthy.tensors(), strict=True):
        assert wrong.grad.isfinite().all()
        assert not torch.allclose(wrong.grad, true.grad)


def untrained(visit):
    """Leaves of the graph that have a gradient and stay where they are in a step."""
    leaves = [leaf for leaf in map(leaf_of, nodes(visit.loss.grad_fn)) if leaf is not None]
    before = [leaf.clone() for leaf in leaves]
    visit.backward()
    (visit.optimizer or torch.optim.SGD(visit.model.parameters(), lr=0.1)).step()
    return [
        leaf
        for leaf, old in zip(leaves, before, strict=True)
        if leaf.grad.any() and torch.equal(leaf, old)
    ]


@each("not trained")
def test_a_step_does_not_move_a_patient(patient):
    assert untrained(run(patient.function))
    assert not untrained(run(CURED[patient.name]))


@each()
def test_a_cured_twin_has_gradients(patient):
    visit = run(CURED[patient.name])
    visit.backward()
    for tensor in visit.tensors():
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()


def test_each_patient_has_a_twin_a_title_of_its_own_and_a_guilty_line():
    assert len(PORTED) >= 90
    assert len(THREADS) >= 40
    assert set(CURED) == set(PATIENTS)
    assert len({patient.title for patient in PATIENTS.values()}) == len(PATIENTS)
    assert all(patient.guilty or patient.missed_line for patient in PATIENTS.values())


# ---- The doctor

ACCUSED = {name: patient for name, patient in PATIENTS.items() if patient.guilty}
FOUND = {name: patient for name, patient in PATIENTS.items() if not patient.missed}


@each()
def test_with_a_trace_the_doctor_names_the_cause(patient):
    findings = traced(patient.function)
    compare(right(findings, patient), patient.missed, findings)


@each(patients=ACCUSED)
def test_with_a_trace_the_doctor_names_the_line(patient):
    findings = traced(patient.function)
    guilty = {(Path(patient.file).resolve(), line) for line in patient.guilty}
    found = guilty.intersection(lines(right(findings, patient)))
    compare(found, patient.missed_line, findings)


@each()
def test_without_a_trace_the_doctor_names_the_cause(patient):
    findings = alone(patient.function)
    found = {finding.cause for finding in findings}.intersection(patient.causes)
    compare(found, patient.missed_alone, findings)


@each(*SYMPTOMS, patients=FOUND)
def test_the_finding_is_about_the_tensor(patient):
    findings = right(traced(patient.function), patient)
    asked = set(run(patient.function).wrt)
    assert asked <= {finding.name for finding in findings} <= asked | {"loss"}


@each()
def test_the_doctor_says_nothing_else(patient):
    findings = [f for f in traced(patient.function) if f.status not in HEALTHY]
    others = {finding.cause for finding in findings}.difference(patient.causes)
    assert others == set(patient.also), "\n".join(map(str, findings))


@each()
def test_a_finding_says_what_to_do(patient):
    for finding in right(traced(patient.function), patient):
        assert finding.sentence and finding.fix
        if finding.where:
            assert finding.places[0][1] == finding.where
            assert "#!" in finding.where.source or patient.missed_line


@each("error")
def test_an_error_that_leaves_the_trace_takes_the_finding_along(patient):
    try:
        with trace() as recording:
            run(patient.function)
    except REFUSALS as error:
        assert str(recording.error) in "".join(getattr(error, "__notes__", [str(recording.error)]))
    else:
        assert recording.error is None


@each()
def test_a_cured_twin_is_healthy(patient):
    findings = traced(CURED[patient.name])
    assert {f.status for f in findings} <= HEALTHY, "\n".join(map(str, findings))


@pytest.mark.parametrize("names, least", [(PORTED, (0.95, 0.95, 0.66)), (THREADS, (0.9, 0.9, 0.5))])
def test_the_doctor_finds_most(names, least):
    patients = [PATIENTS[name] for name in names]
    for share, missed in zip(least, ("missed", "missed_line", "missed_alone"), strict=True):
        found = [patient for patient in patients if not getattr(patient, missed)]
        assert len(found) >= share * len(patients), missed
