"""What a reader has solved is remembered, and nothing else is."""

import types
from collections import Counter

import IPython
import pytest
from answers import CHECKS, solutions

from lessons import check
from lessons.asking import solved
from tools.notebooks import lesson_of, notebook_files

LESSONS = Counter(exercise.rpartition(".")[0] for exercise in CHECKS)
COUNTS = [str(LESSONS[each]) for each in map(lesson_of, notebook_files()) if each in LESSONS]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Check an answer in a cell with this source."""
    monkeypatch.setattr(solved, "FILE", tmp_path / "state" / "solved.json")

    def in_cell(source, answer):
        shell = types.SimpleNamespace(user_ns={"In": ["", source]})
        monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
        check("override_backward.3", answer)
        return dict(solved.progress().rows)["04 override backward"]

    return in_cell


def test_an_answer_counts_once_and_neither_a_wrong_one_nor_the_folded_solution(run):
    right = solutions()["override_backward.3"]
    assert run("# Solution (running it checks this code, not yours)\n…", right) == "0 of 3"
    assert run("…", lambda x: x) == "0 of 3"
    assert [run("…", right), run("…", right)] == ["1 of 3"] * 2
    assert solved.solved() == {"override_backward.3"}
    assert [text.split()[-1] for _, text in solved.progress().rows] == COUNTS
    solved.FILE.unlink()
    assert run("…", lambda x: x) == "0 of 3", "the file may be deleted"


def test_a_broken_file_or_none_that_can_be_written_stops_nobody(run):
    right = solutions()["override_backward.3"]
    solved.FILE.parent.write_text("a file where the folder should be")
    assert run("…", right) == "0 of 3"
    solved.FILE.parent.unlink()
    solved.FILE.parent.mkdir()
    solved.FILE.write_text("{")
    assert run("…", right) == "1 of 3"
