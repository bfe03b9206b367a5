"""The reports in docs/your_own_code.md are what the code above them prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "your_own_code.md"
UPGRADE = ["-m", "autograd_surprises", "upgrade", "--from", "2.13", "--to", "2.15", "train.py"]


def blocks(heading):
    """(language, text) of each block of code below a heading."""
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall("^```([a-z]*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def words(report):
    """However it is wrapped; the size of rounding errors is another one on another processor."""
    return re.sub(r"\S+e-\d+", "1e-07", report).split()


@pytest.mark.parametrize(
    ("heading", "file", "command"),
    [
        ("Before you upgrade torch", "train.py", UPGRADE),
        ("Compare two runs", "doc.py", ["doc.py"]),
    ],
)
def test_a_report_on_the_page_is_what_its_code_prints(heading, file, command, tmp_path):
    found = blocks(heading)
    (code, *_) = (text for language, text in found if language == "python")
    (pasted,) = (text for language, text in found if language == "")
    shown = " ".join(text for language, text in found if language == "sh")
    assert "-m" not in command or f"python {' '.join(command)}\n" in shown
    (tmp_path / file).write_text(code)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert words(done.stdout + done.stderr) == words(pasted)
