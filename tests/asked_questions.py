"""The questions of questions.toml."""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = Path(__file__).with_name("questions.toml").read_text(encoding="utf-8")
QUESTIONS = [
    {"cell": cell, "section": section, "thread": thread, "asked": asked}
    for cell, (section, thread, asked) in tomllib.loads(TEXT).items()
]
