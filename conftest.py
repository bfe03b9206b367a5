"""What all tests share: how notebooks run, and the browser."""

import ast
import base64
import gc
import importlib.metadata
import io
import os
import re
import shutil
import sys
from pathlib import Path

import nbval.kernel
import pytest
from forked_kernels import ForkedKernel, wait_for_ready
from jupyter_client import BlockingKernelClient
from jupyter_client.provisioning import local_provisioner
from notebook_stamps import Stamps, not_reached
from xdist.scheduler import LoadFileScheduling

from tools.notebooks import ROOT

NO_CHROMIUM = (
    "no Chromium found: apt install chromium-headless-shell (Debian), or "
    "python -m playwright install chromium, or set CHROMIUM=/path/to/chromium"
)

CHROMIUMS = [
    "chromium-headless-shell",  # Chromium without windows, which is quicker
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]
CONSTRAINTS = Path(__file__).with_name("constraints.txt")
JUPYTERLAB = "_in_jupyterlab"  # files whose tests share one JupyterLab, and so one worker
# files whose tests share the moved explorers, and so one worker
PICTURES = re.compile("browser/test_(true_pictures|website)|test_notebook_sections")
# Long files come first; otherwise one worker would work alone at the end.
LONGEST = [JUPYTERLAB, "test_true_pictures", "test_notebook_sections", "16_train_through_rounding"]

# Of the cases of these tests, which have much in common, `make test` runs one in so many.
ONE_IN = {
    "test_alone_it_finds_a_healthy_step_healthy_and_changes_nothing": 3,
    "test_the_model_may_be_built_inside_the_trace": 3,
    "test_a_whole_step_may_be_traced": 3,
    "test_what_others_record_and_warn_of_is_as_without_the_doctor": 2,
    "test_the_repaired_example_shows_something_and_torch_says_nothing": 4,
    "test_the_example_of_a_question_shows_something": 4,
    "test_the_code_of_a_cause_shows_it_and_that_it_is_repaired": 4,
    "test_a_thousandth_more_is_wrong": 3,
    "test_an_answer_for_the_first_size_alone_is_refused": 3,
    "test_an_answer_with_a_fixed_argument_is_refused": 3,
    "test_a_check_never_blames_the_answer_for_its_own_error": 3,
    "test_what_a_drawing_says_and_draws_at_first_at_both_ends_and_where_it_turns": 2,
    "test_what_differs_in_one_respect_is_drawn_so_beside_the_other_and_after_it": 2,
    "test_its_row_finds_the_fault": 2,
    "test_known_gradients": 3,
    "test_forward_mode": 3,
}
# Several tests run at a time, and threads that wait for each other are slow. Not
# torch.set_num_threads: the browser tests need no torch, and it takes seconds to import.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["XDG_STATE_HOME"] = os.devnull  # what somebody has solved changes no output
if sys.platform == "linux":  # elsewhere, a process may not be able to fork after such imports
    local_provisioner.launch_kernel = ForkedKernel
    BlockingKernelClient.wait_for_ready = wait_for_ready

nbval.kernel.pformat = str  # for a line at the level DEBUG: laid out, it takes 1 ms a message

gc.disable()  # with the collector on, imports take a third longer


class Together(LoadFileScheduling):
    """A file's tests stay on one worker, and with them those of files that share what is slow.

    Marks with xdist_group would do the same, but xdist 3.8 loses them under pytest 9.2.
    """

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        if PICTURES.search(file):
            return PICTURES.pattern
        return JUPYTERLAB if JUPYTERLAB in file else file


@pytest.hookimpl(optionalhook=True)  # some tests run pytest without xdist
def pytest_xdist_make_scheduler(config, log):
    if config.option.dist == "loadfile":
        return Together(config, log)


def pytest_configure(config):
    # of what each setup cell prints
    config.option.nbval_sanitize_with = str(ROOT / "tests" / "versions.cfg")
    if hasattr(config, "workerinput"):  # without pytest's cache, none has a stamp
        config.unchanged = config.workerinput.get("unchanged", ())
    elif hasattr(config, "cache"):
        stamps = Stamps(config)
        config.pluginmanager.register(stamps)
        config.unchanged = stamps.unchanged


def pytest_ignore_collect(collection_path, config):
    return collection_path.name in getattr(config, "unchanged", ()) or None


@pytest.hookimpl(tryfirst=True)  # -m looks at the marks
def pytest_collection_modifyitems(items):
    for name, every in ONE_IN.items():
        cases = [item for item in items if getattr(item, "originalname", "") == name]
        for case in {*cases} - {*cases[::every]}:
            case.add_marker(pytest.mark.slow)

    def place(item):
        return next((n for n, name in enumerate(LONGEST) if name in item.path.stem), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish():
    """Whatever tests import stays, so the collector need not look through it."""
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item):
    if hasattr(item, "output_timeout"):  # a notebook cell
        item.output_timeout = 600  # nbval's 5 s have no option and are too short on a busy machine


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Where slow tests run, each cell runs twice: a reader may, and has to see the same again."""
    yield
    if not hasattr(item, "output_timeout"):  # no notebook cell
        return
    look_at_outputs(item)
    if "not slow" not in item.config.option.markexpr:
        try:
            item.runtest()
            look_at_outputs(item)
        except Exception as error:
            raise AssertionError(f"in its second run, and not in its first: {error}") from error
        if item.cell is [cell for cell in item.parent.nb.cells if cell.cell_type == "code"][-1]:
            missed = not_reached(item.path, imported(item.parent.kernel))
            assert not missed, f"tests/notebook_stamps.py does not see that it imports {missed}"


def imported(kernel):
    """The files of the modules that a kernel has imported."""
    files = "'\\n'.join(getattr(m, '__file__', None) or '' for m in sys.modules.values())"
    asked = {"user_expressions": {"files": files}, "reply": True, "timeout": 60}
    reply = kernel.kc.execute("import sys", **asked)["content"]["user_expressions"]
    return map(Path, ast.literal_eval(reply["files"]["data"]["text/plain"]).split("\n"))


def look_at_outputs(item):
    """A cell that prints to stderr fails, even with nbval-ignore-output; another picture, too."""
    outputs = getattr(item, "test_outputs", None) or []
    said = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not said, f"printed to stderr: {said}"
    if outputs and not any(map(is_ignored, section_of(item))):
        pairs = zip(pictures(outputs), pictures(item.cell.outputs), strict=True)
        assert all(same_picture(*pair) for pair in pairs), "another picture than the stored one"


def is_ignored(cell):
    return "nbval-ignore-output" in cell.metadata.get("tags", ())


def section_of(item):
    """The cells of its `##` section. If one of them trains, so may what another one draws."""
    section = []
    for cell in item.parent.nb.cells:
        if cell.cell_type == "markdown" and re.search("^## ", cell.source, re.MULTILINE):
            if any(each is item.cell for each in section):
                break
            section = []
        section.append(cell)
    return section


def pictures(outputs):
    return [each.data["image/png"] for each in outputs if "image/png" in each.get("data", ())]


def same_picture(now, stored):
    """Do all but a few pixels agree? nbval compares texts, and a title may not be among them.

    Another matplotlib draws other pixels, another torch other last digits: then nobody can tell.
    Python 3.10 has an older matplotlib than the one that drew the stored pictures.
    """
    lines = CONSTRAINTS.read_text().splitlines()
    pins = {line.split(" ")[0] for line in lines if "python_full_version <" not in line}
    for name in ("matplotlib", "torch"):
        if f"{name}=={importlib.metadata.version(name).partition('+')[0]}" not in pins:
            return True
    from PIL import Image, ImageChops

    both = [Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA") for png in (now, stored)]
    if both[0].size != both[1].size:
        return False
    grey = [Image.alpha_composite(Image.new("RGBA", b.size, "white"), b).convert("L") for b in both]
    return sum(ImageChops.difference(*grey).histogram()[64:]) < 10


def find_chromium() -> str:
    """Path of a Chromium. Without one, the path where playwright would install its own."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if not path:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            path = playwright.chromium.executable_path
    return path


@pytest.fixture(scope="session")
def chromium():
    """Path of a Chromium. Without one, tests are skipped, or fail where REQUIRE_BROWSER is set."""
    path = find_chromium()
    if Path(path).exists():
        return path
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(NO_CHROMIUM)
    pytest.skip(NO_CHROMIUM)
