"""The index of symptoms: what it lists, in which order, and what its search finds."""

import re

import nbformat
import pytest
from pasted_texts import TYPED, UNKNOWN, pasted

from autograd_surprises.messages import MESSAGES
from lessons.plain_questions import QUESTIONS
from lessons.symptom_index import FREQUENT, OF_WEB_PAGES, SYMPTOMS, find_symptoms, words_in
from lessons.symptom_text import GROUPS, plain_index, whole_index
from tools.notebooks import headings, notebook_files

SECTIONS = sorted({cause.section for symptom in SYMPTOMS for cause in symptom.causes})


def names(text):
    return [symptom.name for symptom in find_symptoms(text)]


def test_every_message_and_every_question_is_a_symptom():
    assert len(SYMPTOMS) == len(MESSAGES) + len(QUESTIONS)
    assert {*FREQUENT, *OF_WEB_PAGES} <= {symptom.name for symptom in SYMPTOMS}
    asked = [question.name for question in QUESTIONS]
    assert len(set(asked)) == len(asked)
    assert not set(asked) & {message.cause for message in MESSAGES}


def test_the_index_lists_each_text_with_its_sections():
    plain = plain_index().splitlines()
    entries = re.split(r"^- ", whole_index(), flags=re.MULTILINE)[1:]
    listed = [symptom for symptom in SYMPTOMS if symptom.causes]
    for symptom, entry in zip(listed, entries, strict=True):
        assert all(text in entry and plain.count(text) == 1 for text in symptom.texts)
        links = re.findall(r"\]\((.*?)\)", entry)
        assert links == [section for _, section in symptom.causes]
        assert len(set(symptom.causes)) == len(links)
    for symptom in SYMPTOMS:
        assert symptom.causes or symptom.of_torch, "a question without a section is no help"


def test_a_cause_says_what_it_is_unless_it_is_the_only_one():
    for symptom in SYMPTOMS:
        assert all(what for what, _ in symptom.causes[1:]), symptom.name
        assert symptom.of_torch or all(what for what, _ in symptom.causes), symptom.name


def test_frequent_ones_come_first_and_slips_of_web_pages_last():
    assert [symptom.group for symptom in SYMPTOMS] == sorted(s.group for s in SYMPTOMS)
    often = [symptom.name for symptom in SYMPTOMS if symptom.group == 0]
    assert list(dict.fromkeys(often)) == list(FREQUENT)
    between = [s.causes[0].section[:2] for s in SYMPTOMS if s.group == 1 and s.causes]
    assert between == sorted(between)
    assert re.findall(r"^\*\*(.*)\*\*$", whole_index(), re.MULTILINE) == [*GROUPS]
    last = whole_index().rpartition("**")[2]
    assert last.count("\n- ") == len(OF_WEB_PAGES) and "`No module named 'pytorch'`" in last


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_a_heading_of_its_notebook(section):
    notebook, _, anchor = section.partition("#")
    (path,) = [path for path in notebook_files() if path.name == notebook]
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    found = [heading for text in texts for level, heading in headings(text) if level > 1]
    assert anchor in [heading.replace(" ", "-") for heading in found]


@pytest.mark.parametrize("name", ["grad-is-none", "not-connected", "gradient-is-zero"])
def test_several_causes_lead_to_several_notebooks(name):
    (symptom,) = [symptom for symptom in SYMPTOMS if symptom.name == name]
    notebooks = {cause.section[:2] for cause in symptom.causes}
    assert "08" in notebooks and len(notebooks) > 1 and len(symptom.causes) > 3


@pytest.mark.parametrize(
    "text, first",
    [
        ("Why is my gradient None?", "grad-is-none"),
        ("gradients are zero", "gradient-is-zero"),
        ("why do I get NaN in the gradient", "gradient-is-nan"),
        ("how can I print the gradient of a hidden layer", "inner-gradient"),
        ("what does retain_graph do", "retain-graph"),
        ("zero_grad", "gradient-grows"),
        ("my Function in torch.compile", "function-under-transforms"),
        ("x.cuda() has no gradient", "moved-tensor"),
        ("in-place operation", "leaf-in-place"),
        ("GRADIENTS incorrect", "gradient-count"),
        ("my loss does not go down", "which-line"),
        ("the loss stays the same", "gradient-is-zero"),
        ("parameters not updating", "weight-never-moves"),
        ("difference between Parameter and Variable", "kinds-of-tensors"),
        ("RuntimeError: element 0 of t", "not-connected"),  # being typed
    ],
)
def test_a_question_is_found_by_its_words(text, first):
    assert names(text)[0] == first


def test_a_name_counts_as_a_whole_and_by_its_parts():
    assert words_in("Call zero_grad() on x!") == {"call", "zero_grad", "zero", "grad"}
    assert names("retain_graph") != names("graph")


def test_a_part_of_several_messages_finds_them_all():
    assert set(names("does not require grad")) >= {"not-connected", "not-differentiable-input"}
    assert names("returned an incorrect number of gradients") == ["gradient-count"] * 2
    for text in ("does not require grad", "an in-place operation"):
        assert all(text in symptom.searched for symptom in find_symptoms(text))


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_found_where_nothing_is_known(text):
    assert find_symptoms(text) == []


def test_not_more_than_five_are_found_by_words():
    for text in TYPED:
        found = find_symptoms(text)
        assert len(found) <= 5 or all(text.lower() in each.searched for each in found), text


@pytest.mark.parametrize(
    "said, name",
    [
        ("Jacobian mismatch for output 0 with respect to input 1,", "gradcheck-mismatch"),
        ("cannot assign 'torch.cuda.FloatTensor' as parameter 'weight'", "assigned-parameter"),
        (
            "Using a target size (torch.Size([8])) that is different to the input size",
            "target-size",
        ),
    ],
)
def test_a_pasted_message_finds_its_entry_alone(said, name):
    for how, text in pasted(RuntimeError(said)).items():
        assert names(text) == [name], how
