"""A folder with the Makefile, and stand-ins for the programs that it starts."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAKE = shutil.which("make")

# A Python that writes down what it is asked and does as little as possible.
PYTHON = """#!/bin/sh
case "$*" in
*version_info*) echo VERSION ;;
*ensurepip*) exit ENSUREPIP ;;
*samefile*) test ! "$MOVED" && echo True ;;
"-c ") test ! "$BROKEN" ;;
*"pip config list") ;;
*--runtime-dir) echo "${RUNTIME-$PWD}" ;;
*)
  echo "$*" >>"$LOG"
  case "$*" in
  *"$FAIL"*) exit 1 ;;
  "-m venv "*)
    for folder; do :; done
    mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python" ;;
  esac ;;
esac
"""
UV = """#!/bin/sh
echo "uv $*" >>"$LOG"
case "$*" in *"$FAIL"*) exit 1 ;; esac
"""
INSTALL = "uv pip install --python .venv/bin/python -c constraints.txt -e ."
BY_PIP = "-m pip install --disable-pip-version-check"
BUILD = ["-m venv .venv", f"{INSTALL}[lab]"]
FIRST = "/lab/tree/notebooks/00_start_here.ipynb"
LAB = (
    f"-m jupyterlab --ServerApp.root_dir=. --LabApp.default_url={FIRST}"
    " --LabApp.extra_labextensions_path=tools/lab_extensions"
    " --LabApp.app_settings_dir=tools/lab_settings"
)


FILES = ["Makefile", "tools/environment.sh", "pyproject.toml", "constraints.txt", "tests/colab.txt"]
PACKAGES = ["autograd_surprises", "helpers", "lessons"]
PROGRAMS = [
    *("awk", "cat", "cp", "env", "find", "grep", "ls"),
    *("mkdir", "mv", "rm", "sed", "sh", "touch"),
]


class Checkout:
    """A folder with the Makefile, on a machine whose programs are those in `bin`."""

    def __init__(self, folder):
        self.folder, self.bin, self.log = folder / "a checkout", folder / "bin", folder / "log"
        self.bin.mkdir()
        for name in FILES:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        for name in [*PACKAGES, "notebooks"]:
            (self.folder / name).mkdir()
        (self.folder / "notebooks" / "00_start_here.ipynb").touch()
        for name in PROGRAMS:
            (self.bin / name).symlink_to(shutil.which(name))
        self.program("id", "#!/bin/sh\necho 1000\n")
        self.program("uv", UV)
        self.venv = self.folder / ".venv"
        self.ready = self.venv / "ready"

    def program(self, name, text):
        path = self.bin / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def python(self, name="python3", version="3.11", ensurepip=0):
        return self.program(
            name, PYTHON.replace("VERSION", version).replace("ENSUREPIP", str(ensurepip))
        )

    def make(self, *arguments, **environment):
        """The finished `make`, and what it asked of Python."""
        self.log.write_text("")
        environment = {"FAIL": "nothing", **environment, "PATH": self.bin, "LOG": self.log}
        done = subprocess.run(
            [MAKE, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        return done, self.log.read_text().splitlines()
