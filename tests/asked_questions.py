"""The questions of questions.toml."""

from pathlib import Path

from autograd_surprises.facts.toml_data import tomllib

TEXT = Path(__file__).with_name("questions.toml").read_text(encoding="utf-8")
QUESTIONS = [
    {"cell": cell, "section": section, "thread": thread, "asked": asked}
    for cell, (section, thread, asked) in tomllib.loads(TEXT).items()
]
