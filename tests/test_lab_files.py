"""What JupyterLab reads and saves when `make lab` starts it: trust, files, widgets."""

import asyncio
import copy

import nbformat
import pytest
from nbformat.sign import MemorySignatureStore, NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from repository import changed, commit_all, git
from traitlets.config import Configurable

from tools.lab_files import Notebooks
from tools.notebooks import WIDGET_VIEW

NAME = "notebooks/lesson.ipynb"
VIEWS = ["alive", "dead"]


def shown(text, **data):
    return new_output("display_data", {"text/plain": text, **data})


def lesson():
    cells = [new_markdown_cell("# Lesson", id="a"), new_code_cell("show(1)", id="b")]
    cells[1].outputs = [shown("stored")]
    return new_notebook(cells=cells)


class Server(Configurable):
    """What the contents manager asks JupyterLab's server for: the running kernels."""

    def __init__(self):
        super().__init__()
        self.session_manager, self.running = self, []

    async def list_sessions(self):
        return self.running


class Reader:
    """Opens and saves the lesson as JupyterLab does."""

    def __init__(self, root):
        self.folder, self.file, self.server = root, root / NAME, Server()
        notary = NotebookNotary(store_factory=MemorySignatureStore, secret=b"secret")
        self.files = Notebooks(parent=self.server, root_dir=str(root), notary=notary)

    def start_kernel(self):
        self.server.running = [{"path": NAME, "kernel": {"id": "kernel"}}]

    def end_kernel(self):
        self.server.running = []

    def open(self):
        return asyncio.run(self.files.get(NAME, require_hash=True))["content"]

    def save(self, notebook):
        """Save it, and say whether JupyterLab would find that the file has changed."""
        plain = {"content": False, "require_hash": True}
        before = asyncio.run(self.files.get(NAME, **plain))
        model = {"type": "notebook", "content": copy.deepcopy(notebook)}
        saved = asyncio.run(self.files.save(model, NAME))
        after = asyncio.run(self.files.get(NAME, **plain))
        assert saved["last_modified"] == after["last_modified"]
        return before["hash"] != after["hash"]

    def run(self):
        """Run the lesson and save it. Has the file changed?"""
        notebook = self.open()
        notebook.cells[1].update(execution_count=7, outputs=[shown("seen")])
        return self.save(notebook)


def text_shown(notebook):
    return notebook.cells[1].outputs[0].data["text/plain"]


def is_trusted(notebook):
    return notebook.cells[1].metadata.trusted


@pytest.fixture
def folder(tmp_path):
    """A folder without git that has the lesson."""
    (tmp_path / NAME).parent.mkdir()
    nbformat.write(lesson(), tmp_path / NAME)
    return tmp_path


@pytest.fixture
def repository(folder):
    commit_all(folder)
    return folder


@pytest.fixture
def reader(repository):
    return Reader(repository)


def test_a_notebook_as_git_has_it_is_trusted(reader):
    assert is_trusted(reader.open())


def test_a_changed_notebook_is_not_trusted(reader):
    text = reader.file.read_text()
    reader.file.write_text(text.replace("stored", "<script>"))
    assert not is_trusted(reader.open())


def test_a_notebook_that_git_does_not_track_is_not_trusted(reader):
    git(reader.folder, "rm", "-q", "--cached", NAME)
    git(reader.folder, "commit", "-q", "-m", "No lesson")
    assert not is_trusted(reader.open())


def test_a_notebook_of_another_repository_is_not_trusted(reader):
    inner = reader.file.parent / "inner"
    inner.mkdir()
    nbformat.write(lesson(), inner / "lesson.ipynb")
    commit_all(inner)
    model = asyncio.run(reader.files.get("notebooks/inner/lesson.ipynb"))
    assert not is_trusted(model["content"])


def test_without_a_repository_nothing_is_trusted_and_all_is_saved(folder):
    reader = Reader(folder)
    assert not is_trusted(reader.open())
    assert reader.run()
    assert text_shown(reader.open()) == "seen"


def test_without_git_nothing_is_trusted_and_all_is_saved(reader, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert not is_trusted(reader.open())
    assert reader.run()
    assert text_shown(reader.open()) == "seen"


def test_what_was_run_is_shown_while_the_kernel_lives_and_the_file_stays(reader):
    reader.start_kernel()
    assert not reader.run(), "JupyterLab would say that the file has changed"
    assert text_shown(reader.open()) == "seen" and is_trusted(reader.open())
    assert changed(reader.folder) == []
    reader.end_kernel()
    assert text_shown(reader.open()) == "stored"
    reader.start_kernel()
    assert text_shown(reader.open()) == "stored", "another kernel has not shown this"


def test_what_nobody_trusted_is_not_trusted_when_it_was_run(reader):
    reader.start_kernel()
    notebook = reader.open()
    notebook.cells[1].metadata.trusted = False
    notebook.cells[1].outputs = [shown("<script>")]
    reader.save(notebook)
    assert text_shown(reader.open()) == "<script>" and not is_trusted(reader.open())


def swap(cells):
    cells.reverse()


def add(cells):
    cells.append(new_code_cell("", id="c"))


def turn(cells):
    cells[1] = new_markdown_cell("show(1)", id="b")


def answer(cells):
    cells[1].source = "show(2)"


@pytest.mark.parametrize("change", [answer, add, list.pop, swap, turn])
def test_a_change_of_cells_is_saved_in_the_file(reader, change):
    reader.start_kernel()
    reader.run()
    notebook = reader.open()
    change(notebook.cells)
    assert reader.save(notebook)
    in_file = nbformat.read(reader.file, as_version=4).cells
    seen = [(cell.cell_type, cell.source) for cell in notebook.cells]
    assert [(cell.cell_type, cell.source) for cell in in_file] == seen
    assert [(cell.cell_type, cell.source) for cell in reader.open().cells] == seen


def test_an_answer_taken_back_leaves_the_file_as_git_has_it(reader):
    reader.start_kernel()
    notebook = reader.open()
    answer(notebook.cells)
    assert reader.save(notebook)
    assert changed(reader.folder) == [NAME]
    notebook.cells[1].source = "show(1)"
    assert reader.save(notebook)
    assert changed(reader.folder) == []


def test_outputs_that_the_file_has_and_git_has_not_stay_in_it(reader):
    notebook = lesson()
    notebook.cells[1].outputs = [shown("stored anew")]
    nbformat.write(notebook, reader.file)
    assert not reader.run()
    assert "stored anew" in reader.file.read_text()


def test_after_a_pull_the_new_lesson_is_shown(reader):
    reader.start_kernel()
    reader.run()
    reader.file.write_text(reader.file.read_text().replace("show(1)", "show(3)"))
    commit_all(reader.folder)
    assert reader.open().cells[1].source == "show(3)"


def test_a_checkpoint_brings_the_file_back(reader):
    reader.start_kernel()
    reader.run()
    checkpoint = asyncio.run(reader.files.create_checkpoint(NAME))
    asyncio.run(reader.files.restore_checkpoint(checkpoint["id"], NAME))
    assert text_shown(reader.open()) == "stored"


def with_views(reader):
    """Save a notebook that shows two widgets, and open it: the ids of those that it still shows."""
    notebook = reader.open()
    views = [{WIDGET_VIEW: {"model_id": each}} for each in VIEWS]
    notebook.cells[1].outputs = [shown("picture", **view) for view in views]
    nbformat.write(notebook, reader.file)
    outputs = reader.open().cells[1].outputs
    assert [each.data["text/plain"] for each in outputs] == ["picture", "picture"]
    return [each.data[WIDGET_VIEW].model_id for each in outputs if WIDGET_VIEW in each.data]


def answering(answer):
    async def widgets_of(kernel):
        return answer

    return widgets_of


def test_without_a_kernel_no_widget_is_left(reader):
    assert with_views(reader) == []


@pytest.mark.parametrize(
    ("living", "left"), [(["alive"], ["alive"]), ([], []), (None, VIEWS)],
    ids=["one lives", "restarted", "no answer"],
)  # fmt: skip
def test_only_widgets_that_the_kernel_has_are_left(reader, monkeypatch, living, left):
    reader.start_kernel()
    monkeypatch.setattr(reader.files, "_widgets_of", answering(living))
    assert with_views(reader) == left
