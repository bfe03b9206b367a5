"""Imports point one way: each file imports only what its package's docstring lists above it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# from the lower to the upper package
PACKAGES = ("autograd_surprises", "helpers", "lessons")
FILES = sorted(file for name in PACKAGES for file in (ROOT / name).rglob("*.py"))


def listed(docstring):
    """The names that a package's docstring lists, lowest first: `name, name  what they are`."""
    lines = re.findall(r"^((?:[\w.]+, )*[\w.]+)  +\S", docstring, flags=re.MULTILINE)
    return [name.rpartition(".")[2] for line in lines for name in line.split(", ")]


def order_of(folder):
    """The modules of a package, lowest first."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    names = {file.stem for file in folder.glob("*.py")} - {"__init__", "__main__"}
    names |= {file.parent.name for file in folder.glob("*/__init__.py")}
    return [name for name in dict.fromkeys(listed(docstring or "")) if name in names], names


def imports(source):
    """[(line, module)] of every import, in functions too; names that are modules come with it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name of the module"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.partition(".")[0] in PACKAGES]


def module_parts(name, root=ROOT):
    """The part of a dotted name that is a module: without the function or class at its end."""
    parts = name.split(".")
    while parts and not (
        root.joinpath(*parts).is_dir() or root.joinpath(*parts).with_suffix(".py").is_file()
    ):
        parts.pop()
    return parts


def upward_imports(file, root=ROOT):
    """The lines of a file that import what is not listed below it, or import its own package."""
    own = list(file.relative_to(root).with_suffix("").parts)
    is_face = own[-1] in ("__init__", "__main__")
    own = own[:-1] if is_face else own
    complaints = []
    for line, name in imports(file.read_text(encoding="utf-8")):
        other = module_parts(name, root)
        shared = next(
            (i for i, pair in enumerate(zip(own, other, strict=False)) if pair[0] != pair[1]),
            min(len(own), len(other)),
        )
        if is_face and shared == len(own) and len(other) > shared:
            continue  # a package's face shows what is inside
        if shared == 0:
            down = PACKAGES.index(other[0]) < PACKAGES.index(own[0])
        elif shared in (len(own), len(other)):
            down = False  # a module and its own package
        else:
            order, _ = order_of(root.joinpath(*own[:shared]))
            down = order.index(other[shared]) < order.index(own[shared])
        if not down:
            complaints.append(f"{file.relative_to(root)}:{line}: imports {name}, which is above it")
    return complaints


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_point_down(file):
    assert upward_imports(file) == []


@pytest.mark.parametrize(
    "folder",
    sorted({file.parent for file in FILES if file.name == "__init__.py"}),
    ids=lambda folder: str(folder.relative_to(ROOT)),
)
def test_every_module_is_listed_in_the_docstring_of_its_package(folder):
    order, names = order_of(folder)
    assert set(order) == names


def test_no_two_modules_share_a_name():
    """Neither a file nor a folder, in both packages together."""
    modules = [file.parent if file.name == "__init__.py" else file for file in FILES]
    names = [module.stem for module in modules]
    twice = [module for module in modules if names.count(module.stem) > 1]
    assert twice == []


@pytest.mark.parametrize(
    ("file", "source", "line"),
    [
        ("helpers/low.py", "import torch\nfrom helpers.high import f", 2),
        ("helpers/low.py", "def f():\n    from helpers import high", 2),
        ("helpers/low.py", "import helpers.high.inner", 1),
        ("helpers/low.py", "from helpers import f", 1),
        ("helpers/high/inner.py", "from helpers.high import f", 1),
        ("helpers/high/inner.py", "from helpers.high.outer import f", 1),
        ("autograd_surprises/some.py", "from helpers.low import f", 1),
        ("helpers/high/outer.py", "from helpers.high.inner import f", None),
        ("helpers/high/inner.py", "from helpers.low import f", None),
        ("helpers/high/inner.py", "from autograd_surprises.some import f", None),
        ("helpers/high/__init__.py", "from helpers.high.outer import f", None),
        ("helpers/high/__init__.py", "from helpers.low import f", None),
    ],
)
def test_an_arrow_that_points_up_is_named(tmp_path, file, source, line):
    for name, text in (
        ("helpers/__init__.py", '"""Tools.\n\nlow   one thing\nhigh  another\n"""'),
        ("helpers/low.py", ""),
        ("helpers/high/__init__.py", '"""High.\n\ninner  one\nouter  two\n"""'),
        ("helpers/high/inner.py", ""),
        ("helpers/high/outer.py", ""),
        ("autograd_surprises/__init__.py", '"""Own.\n\nsome  thing\n"""'),
        ("autograd_surprises/some.py", ""),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = tmp_path / file
    path.write_text(path.read_text() + "\n" + source)
    found = upward_imports(path, tmp_path)
    if line is None:
        assert found == []
    else:
        (complaint,) = found
        shift = len(path.read_text().splitlines()) - len(source.splitlines())
        assert complaint.startswith(f"{file}:{line + shift}: ")


def test_the_first_import_loads_torch_and_nothing_heavier():
    """And no part of the package but the pictures brings a drawing library along."""
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in FILES
        if file.parts[len(ROOT.parts)] == "autograd_surprises"
        and file.name not in ("__main__.py", "stroke_recorder.py")
        and file.name not in ("live_picture.py", "picture.py")
    ]
    code = f"""
import importlib, sys
for name in {["autograd_surprises", *modules]}:
    importlib.import_module(name)
    print(name, [each for each in ("matplotlib", "PIL", "ipywidgets", "IPython", "helpers")
                 if each in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    expected = [f"{name} []" for name in ["autograd_surprises", *modules]]
    assert answer.stdout.splitlines() == expected, answer.stderr
