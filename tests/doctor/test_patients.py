"""Each patient has its symptom in plain torch, and the doctor names its cause and its line."""

from dataclasses import replace

import pytest
import torch

from autograd_surprises.facts.graph import leaf_of, nodes
from cases.case import case as register
from cases.case import cured_source
from cases.claims import seed
from cases.judge import HARMLESS, SYMPTOMS, complaints, names_a_guilty_line, right
from cases.rule_ids import IS_PINNED, ids, stored, told_to_patient, visits
from cases.small import CURED, HEALTHY, PATIENTS

# What the patients are warned about by torch.
pytestmark = [
    pytest.mark.filterwarnings("ignore:To copy construct from a tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad:UserWarning"),
    pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:std.*degrees of freedom is <= 0:UserWarning"),
]


def run(function):
    seed()
    return function()


def each(*statuses):
    chosen = [p for p in PATIENTS.values() if not statuses or p.status in statuses]
    return pytest.mark.parametrize("patient", chosen, ids=[p.name for p in chosen])


# ---- The patients themselves


@each(*SYMPTOMS)
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_a_patient_has_its_symptom(patient):
    visit = run(patient.build)
    visit.backward()
    for tensor in visit.tensors():
        assert SYMPTOMS[patient.status](tensor.grad), tensor.grad


@each("error")
def test_a_patient_raises(patient):
    with pytest.raises((RuntimeError, TypeError, ValueError)):  # a NotImplementedError is the first
        run(patient.build).backward()


@each("wrong")
def test_a_patient_has_another_gradient_than_its_twin(patient):
    sick, healthy = run(patient.build), run(CURED[patient.name])
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
    assert untrained(run(patient.build))
    assert not untrained(run(CURED[patient.name]))


@each()
def test_a_cured_twin_has_gradients(patient):
    visit = run(CURED[patient.name])
    visit.backward()
    for tensor in visit.tensors():
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()


def test_each_patient_has_a_twin_a_title_of_its_own_and_a_guilty_line():
    assert set(CURED) == set(PATIENTS)
    assert len({patient.title for patient in PATIENTS.values()}) == len(PATIENTS)
    assert all(patient.guilty or patient.missed_line for patient in PATIENTS.values())


# ---- The doctor


@each()
def test_with_a_trace_the_doctor_is_right(patient):
    said = visits(patient.name)["recorded"]
    assert not list(complaints(said, patient)), said.text


@each()
def test_without_a_trace_the_doctor_names_the_cause(patient):
    said = visits(patient.name)["alone"]
    found = {finding.cause for finding in said.findings}.intersection(patient.causes)
    assert bool(found) != bool(patient.missed_alone), said.text


RAISED_ELSEWHERE = {"inference_tensor", "attack_under_no_grad"}  # only a trace knows the line


def test_without_a_trace_a_line_is_named_only_if_it_is_guilty():
    named = {}
    for name, patient in PATIENTS.items():
        for found in right(visits(name)["alone"].findings, patient):
            if found.where:
                named[name] = names_a_guilty_line(found, patient)
    assert {name for name, guilty in named.items() if not guilty} == RAISED_ELSEWHERE
    assert len(named) > 15


@each()
def test_a_cured_twin_is_healthy(patient):
    said = visits(patient.name)["cured"]
    assert {f.status for f in said.findings} <= HARMLESS, said.text


@each("error")
def test_an_error_that_leaves_the_trace_takes_the_finding_along(patient):
    said = visits(patient.name)["recorded"]
    assert said.notes is None or all(str(found) in said.notes for found in said.findings)


@each()
def test_it_is_told_what_stands_in_rule_ids_json(patient):
    now, before = told_to_patient(patient.name), stored()["patients"].get(patient.name)
    if not IS_PINNED:
        now, before = ({kind: ids(told) for kind, told in each.items()} for each in (now, before))
    assert now == before, "is that right? Then: python -m cases.rule_ids"


def test_no_case_of_rule_ids_json_is_gone():
    assert set(stored()["patients"]) == set(PATIENTS)
    assert set(stored()["healthy steps"]) == set(HEALTHY)


@pytest.mark.parametrize("threads, least", [(False, (0.95, 0.95, 0.66)), (True, (0.9, 0.9, 0.5))])
def test_the_doctor_finds_most(threads, least):
    chosen = [p for p in PATIENTS.values() if p.file.name.startswith("threads_") == threads]
    for share, missed in zip(least, ("missed", "missed_line", "missed_alone"), strict=True):
        found = [patient for patient in chosen if not getattr(patient, missed)]
        assert len(found) >= share * len(chosen), missed


# ---- The judge itself


@pytest.mark.parametrize(
    "other, complaint",
    [
        ({"causes": ("data",)}, "the cause is not named"),
        ({"said": "zero"}, "the cause is not named"),
        ({"guilty": frozenset({1})}, "the line is not named"),
        ({"missed_line": "nobody knows"}, "the line is found now"),
        ({"also": ("frozen",)}, "beside the cause"),
    ],
)
def test_the_judge_complains(other, complaint):
    said, patient = visits("detach")["recorded"], PATIENTS["detach"]
    assert not list(complaints(said, patient))
    assert complaint in "\n".join(complaints(said, replace(patient, **other)))
    about_another = replace(said, asked=frozenset({"bias"}))
    assert "not about" in "\n".join(complaints(about_another, patient))


def test_a_cure_is_put_in_place_of_its_line_or_of_what_is_behind_the_equals_sign():
    sick = "  y = x.detach()  #! x * 2\n  return y.data  #! y\n  f(y)  #! -\n  z += 1  #! z = 2"
    assert cured_source(sick) == "  y = x * 2\n  return y\n  pass\n  z = 2"
    assert cured_source("    y = x.sign()  #!") == "    y = x.sign()  #!", "it has a twin"


def test_two_patients_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two cases"):
        register("again", cause="detach")(PATIENTS["detach"].build)
