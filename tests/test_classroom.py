"""Sheets are handed out without answers, and scored when they return, whatever they do."""

import io
import itertools
import json
import locale
import re
import signal
import subprocess
import sys
import threading
import time

import nbformat
import psutil
import pytest
from returned_sheets import (
    RIGHT,
    STUB,
    WRONG,
    copied,
    no_sheets,
    score_folder,
    sheet,
    sheets,
    slow_to_read,
)

from lessons.exercises import CHECKS
from tools.classroom import __main__ as command
from tools.classroom import sandbox
from tools.classroom.handing_out import write_sheets
from tools.classroom.returned import Unreadable, learner_of, read_sheet
from tools.classroom.sandbox import Ending, Limits, Program, why_unprotected
from tools.classroom.scoring import Score, find_files, score_file, score_files, write_table
from tools.notebooks import OUTPUTS_HIDDEN, ROOT, is_folded, is_solution, notebook_files, task_of

LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """{name: (our notebook, the sheet)}, and the folder."""
    folder = tmp_path_factory.mktemp("class")
    written = {path.name: nbformat.read(path, as_version=4) for path in write_sheets(folder)}
    ours = {path.name: nbformat.read(path, as_version=4) for path in notebook_files()}
    assert list(written) == list(ours)
    return {name: (ours[name], written[name]) for name in ours}, folder


def test_a_sheet_has_every_cell_but_the_solutions_and_no_output(handed_out):
    pairs, _ = handed_out
    for name, (ours, written) in pairs.items():
        assert [c.id for c in written.cells] == [c.id for c in ours.cells if not is_solution(c)], (
            name
        )
        code = [cell for cell in written.cells if cell.cell_type == "code"]
        assert not any(cell.outputs or cell.execution_count for cell in code)
        assert not any(is_folded(cell, OUTPUTS_HIDDEN) for cell in code)
        assert [c.source for c in code] == [
            c.source for c in ours.cells if c.cell_type == "code" and not is_solution(c)
        ]


def test_a_sheet_shows_task_and_hints_before_a_cell_runs(handed_out):
    pairs, _ = handed_out
    numbers = []
    for ours, written in pairs.values():
        texts = {cell.source for cell in written.cells if cell.cell_type == "markdown"}
        for cell in ours.cells:
            if task := task_of(cell):
                assert cell.source in texts, task.number
                numbers.append(task.number)
    assert numbers == [*CHECKS]


def test_a_sheet_does_not_offer_a_solution(handed_out):
    pairs, _ = handed_out
    for name, (ours, written) in pairs.items():
        before, text = ("\n".join(c.source for c in each.cells) for each in (ours, written))
        assert not re.search(r"# Solution|folded solution|solution is folded", text), name
        for beside in ("read what `check` says.", "<span", "</span>"):
            assert text.count(beside) == before.count(beside), (name, beside)


def test_links_between_sheets_arrive(handed_out):
    """To a file; its headings are those of our notebooks, whose links are tested."""
    pairs, folder = handed_out
    targets = [
        target
        for _, written in pairs.values()
        for cell in written.cells
        if cell.cell_type == "markdown"
        for target in LINK.findall(cell.source)
    ]
    assert len(targets) > 50
    assert [each for each in targets if not (folder / "notebooks" / each).is_file()] == []


NAME = "04_override_backward"
SOLUTION_12 = """\
from autograd_surprises import watch
def first_bad_step(model, optimizer, train):
    with watch(model, optimizer) as w:
        train(model, optimizer)
    return next((report.step for report in w.reports if not report.healthy), None)"""


def test_the_name_of_a_learner(tmp_path):
    names = {
        f"{NAME}-ada.ipynb": "ada",
        f"Ada Lovelace_{NAME}.ipynb": "Ada Lovelace",
        f"ada/{NAME}.ipynb": "ada",
        f"ada/{NAME} (1).ipynb": "ada",
        f"ada/{NAME}-Copy2.ipynb": "ada",
        "Ada Lovelace_1234_assignsubmission_file/04.ipynb": "04",
    }
    assert {path: learner_of(tmp_path / path) for path in names} == names


def test_only_what_an_answer_needs_is_run(tmp_path):
    """The first cells, and each section that has an exercise or was changed; no solution.

    It is the same if the learner has deleted the solutions.
    """
    (path,) = (path for path in notebook_files() if path.stem == NAME)
    notebook = nbformat.read(path, as_version=4)
    number = {cell.id: i for i, cell in enumerate(notebook.cells, 1)}
    changed = next(cell for cell in notebook.cells if cell.id == "gradcheck-at-kink")
    changed.source += "\nmine = 1"
    nbformat.write(notebook, tmp_path / "mine.ipynb")
    sheet = read_sheet(tmp_path / "mine.ipynb")
    run = [position for position, _ in sheet.cells]
    assert sheet.exercises[number[changed.id]] == "", "it belongs to no exercise"
    assert {number[name] for name in ("setup", "gradcheck-cube", "exercise-3-answer")} <= {*run}
    assert not {number[cell.id] for cell in notebook.cells if is_solution(cell)} & {*run}
    assert len(run) < sum(cell.cell_type == "code" for cell in notebook.cells) / 2
    notebook.cells = [cell for cell in notebook.cells if not is_solution(cell)]
    nbformat.write(notebook, tmp_path / "mine.ipynb")
    without = read_sheet(tmp_path / "mine.ipynb")
    assert without.answers == sheet.answers
    assert [source for _, source in without.cells] == [source for _, source in sheet.cells]
    assert [*without.exercises.values()] == [*sheet.exercises.values()]


def test_our_solution_as_an_answer_is_run_and_said(tmp_path):
    nbformat.write(copied(), tmp_path / "mine.ipynb")
    sheet = read_sheet(tmp_path / "mine.ipynb")
    assert {"04.1", "04.2", "04.3"} <= {*sheet.exercises.values()}
    assert len(sheet.remarks) == 2


def test_each_exercise_is_found_in_its_sheet(handed_out):
    _, folder = handed_out
    found = [read_sheet(path) for path in sorted((folder / "notebooks").iterdir())]
    assert sorted(number for each in found for number in each.answers) == sorted(CHECKS)
    for each in found:
        assert {number for number in each.exercises.values() if number} == {*each.answers}
        assert all(each.answers.values()), "the stub's check gets a name"


def test_a_file_that_is_no_sheet_says_why(tmp_path):
    for content, why in no_sheets().values():
        (tmp_path / "sheet.ipynb").write_bytes(content)
        with pytest.raises(Unreadable, match=re.escape(why)):
            read_sheet(tmp_path / "sheet.ipynb")


@pytest.mark.slow
def test_no_sheet_takes_long_to_read(tmp_path):
    (tmp_path / "sheet.ipynb").write_text(json.dumps(slow_to_read()))
    read = "import sys, pathlib; from tools.classroom.returned import read_sheet; "
    read += "print(len(read_sheet(pathlib.Path(sys.argv[1])).cells))"
    command = [sys.executable, "-c", read, tmp_path / "sheet.ipynb"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert int(done.stdout) > 1000, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(bool(why_unprotected()), reason=why_unprotected())
def test_each_sheet_is_a_row_whatever_it_does(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", "the secret")
    rows, odd = score_folder(tmp_path)
    assert odd == {}
    assert {*rows} == {*sheets("", 0), *no_sheets()}
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".ipynb") == [
        "secret.txt"
    ]


# What a process does once its clock runs. None lasts: a watch that sleeps is told from its answer.
HANGS = "time.sleep(60)"
TAKES_MEMORY = """\
for _ in range(2):
    if not os.fork():
        kept = b"x" * 60_000_000
        time.sleep(20)
time.sleep(20)"""
FORKS = """\
for _ in range(4):
    if not os.fork():
        time.sleep(20)
time.sleep(20)"""


@pytest.mark.skipif("sys.platform == 'win32'", reason="scoring needs Linux or macOS")
@pytest.mark.parametrize(
    "does, limits, why",
    [
        (HANGS, Limits(seconds=1), "stopped after 1 s"),
        (TAKES_MEMORY, Limits(memory=100_000_000), "used more than 0.1 GB"),
        (FORKS, Limits(processes=4), "started more than 4 processes"),
    ],
    ids=["time", "memory", "processes"],
)
def test_a_process_that_takes_too_much_is_stopped(tmp_path, monkeypatch, does, limits, why):
    """Without the limits that the process gives itself: a child may have others."""
    begin = "import os, sys, time\nos.write(int(sys.argv[1]), b'ready\\n')\n"
    (tmp_path / "greedy.py").write_text(begin + does)
    monkeypatch.setattr(sandbox, "ROOT", tmp_path)  # where it is imported from
    began = time.monotonic()
    assert sandbox.run(Program("greedy", b""), limits, protected=False) == Ending(why, ["ready"])
    assert time.monotonic() - began < 40, "the clock did not start with the first line"


def test_who_does_not_tell_its_memory_is_counted_in_full():
    class Hidden(psutil.Process):
        def memory_full_info(self):
            raise psutil.AccessDenied

    assert sandbox._memory(Hidden()) > 10_000_000
    assert sandbox._memory(psutil.Process()) > 10_000_000


@pytest.fixture
def reported(monkeypatch):
    """Replaces the sandbox by a function of a sheet's code, which returns lines of a report."""

    def reported(lines):
        def run(judge, limits, protected, partner):
            code = "\n".join(source for _, source in json.loads(partner.task)["cells"])
            token = json.loads(judge.task)["token"]
            return Ending("", [json.dumps([token, *line]) for line in lines(code)])

        monkeypatch.setattr(sandbox, "run", run)

    return reported


def test_a_report_that_a_sheet_has_made_up_does_no_harm(tmp_path, reported):
    """It has found the token."""
    lines = [["cell"], ["cell", []], ["error", 3], ["error", 999, "odd"], ["error", [], "odd"]]
    lines += [
        ["verdict", "04.1", []],
        ["verdict", {}, "✗", ""],
        ["replaced", 1],
        ["odd"],
        [[]],
        ["end"],
    ]
    reported(lambda code: [*lines, ["end"]])
    nbformat.write(sheet(), tmp_path / "ada.ipynb")
    score = score_file(tmp_path / "ada.ipynb", Limits(), protected=True)
    assert score.results == dict.fromkeys(["04.1", "04.2", "04.3"], "not tried")


@pytest.mark.parametrize(
    "error, why",
    [
        ("MemoryError", "used more than 2 GB in cell 3"),
        (
            "BlockingIOError: [Errno 11] Resource tempor…",
            "started more than 50 processes in cell 3",
        ),
        ("RuntimeError: can't start new thread", "started more than 50 processes in cell 3"),
        ("ValueError: [Errno 11]", "error in cell 3: ValueError: [Errno 11]"),
    ],
)
def test_what_a_limit_has_refused_is_said_in_its_words(tmp_path, reported, error, why):
    reported(lambda code: [["error", 3, error], ["end"]])
    nbformat.write(sheet(f"raise {error!r}"), tmp_path / "ada.ipynb")
    assert why in score_file(tmp_path / "ada.ipynb", Limits(), True).results.values()


@pytest.mark.parametrize("signs", ["✓✗", "✗✓", "✓…", "✗✓✗"])
def test_an_exercise_that_passed_once_has_passed(tmp_path, reported, signs):
    reported(lambda code: [*(["verdict", "04.1", sign, "why"] for sign in signs), ["end"]])
    nbformat.write(sheet(), tmp_path / "ada.ipynb")
    assert score_file(tmp_path / "ada.ipynb", Limits(), True).results["04.1"] == "passed"


def test_where_a_cell_ends_python_the_others_run_again(tmp_path, reported):
    def lines(code):
        if "_exit" in code:
            return [["cell", 3]]
        return [["verdict", "04.2", "✓", ""], ["verdict", "04.3", "✗", "too small"], ["end"]]

    reported(lines)
    nbformat.write(sheet("import os\nos._exit(0)"), tmp_path / "ada.ipynb")
    assert score_file(tmp_path / "ada.ipynb", Limits(), True).results == {
        "04.1": "ended Python in cell 3",
        "04.2": "passed",
        "04.3": "wrong: too small",
    }


def test_each_learner_gets_their_own_results(tmp_path, reported):
    """Though the first sheet is the last one to end."""

    def lines(code):
        learner = re.search("of (ada|ben|eve)", code)[1]
        time.sleep(0.3 * (learner == "ada"))
        return [["verdict", "04.1", "✗", f"said to {learner}"], ["end"]]

    reported(lines)
    for learner in ("eve", "ben", "ada"):
        answer = f"{WRONG}  # of {learner}"
        nbformat.write(sheet(answer), tmp_path / f"{NAME}-{learner}.ipynb")
    scores = score_files(find_files([str(tmp_path)]), Limits(), True, lambda known: None)
    assert [line.split(",")[:2] for line in table(*scores)[1:]] == [
        [learner, f"wrong: said to {learner}"] for learner in ("ada", "ben", "eve")
    ]


def table(*scores):
    file = io.StringIO()
    write_table(list(scores), file)
    return file.getvalue().splitlines()


def test_a_learner_is_a_row_and_an_exercise_a_column(tmp_path):
    assert table(
        Score(tmp_path / "b", "Ben", "05", {"05.1": "passed"}, ["odd in cell 2"]),
        Score(tmp_path / "a", "Ada", "04", {"04.1": "wrong: yours 0, expected 3"}),
        Score(tmp_path / "c", "Ben", "04", {"04.1": "passed"}),
        Score(tmp_path / "d", "=1+1", remarks=["d is empty"]),
    ) == [
        "learner,04.1,05.1,passed,remarks",
        "'=1+1,no sheet,no sheet,0,d is empty",
        'Ada,"wrong: yours 0, expected 3",no sheet,0,',
        "Ben,passed,passed,2,odd in cell 2",
    ]


@pytest.mark.parametrize("mark, separator", [(".", ","), (",", ";")])
def test_a_spreadsheet_finds_the_cells_and_no_formula(monkeypatch, mark, separator):
    """Whichever separator it expects."""
    monkeypatch.setattr(locale, "localeconv", lambda: {"decimal_point": mark})
    why = '=1+1; =2,"=3;\t@4|-5 and a-b=c; -x'
    header, row = table(Score("a", "+Ada", "04", {"04.1": why}, ["x;=1"]))
    assert header.split(separator) == ["learner", "04.1", "passed", "remarks"]
    assert not re.search(r"""(^|[;,\t|])[\s"]*[=+@-]""", row), row
    assert "a-b=c" in row


def test_a_sheet_that_came_twice_has_two_rows():
    lines = table(
        Score("old/ada.ipynb", "Ada", "04", {"04.1": "not tried"}),
        Score("new/ada.ipynb", "Ada", "04", {"04.1": "passed"}),
    )
    assert lines[1:] == ["new/ada.ipynb,passed,1,", "old/ada.ipynb,not tried,0,"]


def test_files_and_folders_are_found(tmp_path):
    for name in ("b.ipynb", "ada/a.ipynb", "ada/.ipynb_checkpoints/a.ipynb", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = find_files([str(tmp_path)])
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["ada/a.ipynb", "b.ipynb"]
    for nothing in ([], [str(tmp_path / "missing.ipynb")]):
        with pytest.raises(FileNotFoundError, match="make score FILES="):
            find_files(nothing)


def test_without_bubblewrap_nothing_is_run_unasked(tmp_path, monkeypatch, capsys):
    nbformat.write(sheet(WRONG, *RIGHT[1:]), tmp_path / "ada.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "why_unprotected", lambda: "bubblewrap is not installed")
    assert command.main(["score", "ada.ipynb"]) == 1
    assert "bubblewrap is not installed" in capsys.readouterr().err
    assert not (tmp_path / "scores.csv").exists()


@pytest.mark.slow
@pytest.mark.skipif("sys.platform == 'win32'", reason="scoring needs Linux or macOS")
@pytest.mark.parametrize(
    "before, result",
    [("", "wrong: train was not called"), ("torch.isclose = lambda *args: True", "not counted: ")],
)
def test_an_answer_that_is_judged_in_the_sheet_s_own_process(tmp_path, before, result):
    (path,) = (path for path in notebook_files() if path.stem.startswith("12"))
    (task,) = (c for c in nbformat.read(path, as_version=4).cells if task_of(c))
    right = SOLUTION_12 if before else "first_bad_step = lambda *args: None"
    code = (
        f'import torch\nfrom lessons import check\n{before}\n{right}\ncheck("12.1", first_bad_step)'
    )
    cells = [task, nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "ada.ipynb")
    score = score_file(tmp_path / "ada.ipynb", Limits(), protected=not why_unprotected())
    assert score.results["12.1"].startswith(result)


@pytest.mark.slow
@pytest.mark.skipif("sys.platform == 'win32'", reason="scoring needs Linux or macOS")
def test_with_leave_the_limits_alone_protect(tmp_path, monkeypatch):
    answers = "raise ValueError('\\ud800')", RIGHT[1], STUB
    nbformat.write(sheet(*answers), tmp_path / "ada.ipynb")
    monkeypatch.chdir(tmp_path)
    assert command.main(["score", "--unprotected", "ada.ipynb"]) == 0
    (_, row) = (tmp_path / "scores.csv").read_text(encoding="utf-8-sig").splitlines()
    assert row == r"ada,error in cell 3: ValueError: \ud800,passed,not tried,1,"


@pytest.mark.skipif("sys.platform == 'win32'", reason="scoring needs Linux or macOS")
def test_ctrl_c_keeps_what_is_known_and_ends_what_runs(tmp_path, monkeypatch, capsys):
    """The row of the first sheet is written before the second, which hangs, is interrupted."""
    monkeypatch.chdir(tmp_path)
    for name in ("ada", "ben"):
        nbformat.write(sheet(), tmp_path / f"{name}.ipynb")
    calls = itertools.count()

    def run(judge, limits, protected, partner):
        """As the sandbox: the second hangs. Ctrl-C comes once the first one's row is there."""
        if not next(calls):
            return Ending("wrote too much into its report", [])
        while not (tmp_path / "scores.csv").exists():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert sandbox.interrupted.wait(60)
        raise sandbox.Interrupted

    monkeypatch.setattr(sandbox, "run", run)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
    try:
        assert command.main(["score", "--unprotected", "ada.ipynb", "ben.ipynb"]) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    printed = capsys.readouterr()
    assert "1 of 2 files" in printed.err and "in 1 files" in printed.out
    (_, row) = (tmp_path / "scores.csv").read_text(encoding="utf-8-sig").splitlines()
    assert "wrote too much" in row
    assert not sandbox.interrupted.is_set(), "the next scoring can begin"


@pytest.mark.slow
@pytest.mark.skipif("sys.platform == 'win32'", reason="scoring needs Linux or macOS")
def test_an_interrupted_sandbox_kills_its_process(tmp_path, monkeypatch):
    (tmp_path / "greedy.py").write_text(
        "import os, sys, time\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "os.write(int(sys.argv[1]), b'ready\\n')\n"
        "time.sleep(600)"
    )
    monkeypatch.setattr(sandbox, "ROOT", tmp_path)
    monkeypatch.setattr(sandbox, "interrupted", threading.Event())
    pid = tmp_path / "pid"

    def interrupt():
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.05)
        sandbox.interrupted.set()

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(sandbox.Interrupted):
        sandbox.run(Program("greedy", b""), Limits(seconds=600), protected=False)
    assert not psutil.pid_exists(int(pid.read_text()))


def test_the_page_on_tests_counts_the_sheets_that_were_tried():
    (count,) = re.findall(
        r"(\d+) files, 4 of them honest sheets", (ROOT / "docs/installing.md").read_text()
    )
    assert int(count) == len({**sheets("", 0), **no_sheets()})
