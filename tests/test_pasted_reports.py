"""The reports in docs/your_own_code.md are what the code above them prints."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "your_own_code.md"


def blocks(heading):
    """(language, text) of each block of code below a heading."""
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall("^```([a-z]*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def words(report):
    """However it is wrapped; the size of rounding errors is another one on another processor."""
    return re.sub(r"\S+e-\d+", "1e-07", report).split()


def test_a_report_on_the_page_is_what_its_code_prints(tmp_path):
    found = blocks("Compare two runs")
    (code, *_) = (text for language, text in found if language == "python")
    (pasted,) = (text for language, text in found if language == "")
    (tmp_path / "doc.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "doc.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert words(done.stdout + done.stderr) == words(pasted)
