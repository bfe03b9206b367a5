"""What has been removed is mentioned nowhere: such a sentence would send a reader astray."""

import re

import pytest

from tools.notebooks import ROOT, notebook_files

GONE = [
    "publish-as", "make score", "upgrade_report", "autograd_surprises upgrade", "LightningDoctor",
    "TransformersDoctor", "Playground", "Laboratory", "Quiz(", "lab_files", "jupyterhub_config",
    "tools/record", "tools.classroom", "bubblewrap", "benchmarks/arithmetic", "benchmarks/backward",
    "benchmarks/classroom", "benchmarks/steps", "benchmarks/website", "of_other_ranks",
    "compare --record", "compare_runs", "ranks.py", "tools/library_", "docs/training_scripts",
    "traffic.py", "MiniSearch", "processes=True", "--processes", "explorer.fit(", "--html",
    "plot_graph", "clip_gradient", "import compare", "site_search", "find.js",
]  # fmt: skip
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks/README.md"]
OTHERS = [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / ".ci/run", *notebook_files()]


@pytest.mark.parametrize("name", GONE)
def test_what_is_gone_is_not_mentioned(name):
    word = re.compile(rf"(?<!\w){re.escape(name)}")
    found = [f for f in [*PAGES, *OTHERS] if word.search(f.read_text(encoding="utf-8"))]
    assert found == []
