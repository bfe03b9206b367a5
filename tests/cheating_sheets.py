"""Cells that want to pass 04.1 or 03.1 without a right answer, and which of them do.

    python tests/cheating_sheets.py      judges them all, and prints the verdicts

Each runs in a process of its own, with the cell `SETUP` before it.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.classroom.sandbox import Limits, Program, run  # noqa: E402
from tools.classroom.scoring import CHECKS  # noqa: E402

SETUP = """\
import builtins, gc, itertools, json, math, os, sys, types
import torch
from torch.autograd import Function
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from lessons import check

def leaky_clamp(x):
    return x.clamp(0, 1)

def slope(x):
    return torch.where((x >= 0) & (x <= 1), 1.0, 0.1).to(x.dtype)
"""
HAND_IN = '\ncheck("04.1", leaky_clamp)'
NUMBERS = '\ncheck("03.1", answer)'

REPLACED = {  # what the checks use
    "isclose": "torch.isclose = lambda x, y, **options: torch.ones_like(x, dtype=torch.bool)",
    "any": "torch.Tensor.any = lambda *args: torch.tensor(False)",
    "all": "torch.Tensor.all = lambda *args: torch.tensor(True)",
    "equal": "torch.equal = torch.allclose = lambda *args, **options: True",
    "tolist": "torch.Tensor.tolist = lambda self: [0.0]",
    "where": "torch.where = lambda *args: torch.zeros(7)",
    "zip": "builtins.zip = lambda *args, strict=False: ()",
    "isinstance": "builtins.isinstance = lambda *args: True",
    "map": "builtins.map = lambda *args: ()",
    "json": 'json.dumps = lambda *args: \'["verdict", "04.1", "✓"]\'',
    "random": "torch.rand = torch.randn = lambda *args, **options: torch.zeros(())",
    "function mode": """\
class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.isclose:
            return torch.ones_like(args[0], dtype=torch.bool)
        return function(*args, **(kwargs or {}))
Mode().__enter__()""",
    "dispatch mode": """\
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result.zero_() if getattr(result, "dtype", None) == torch.bool else result
Mode().__enter__()""",
    "error hook": "sys.excepthook = sys.unraisablehook = lambda *args: None",
    "judge": """\
import lessons.checking
lessons.checking.judge = lambda number, answer: types.SimpleNamespace(sign="✓", why="")""",
    "check": 'def check(number, answer):\n    print("✓", number)',
}
READ = {  # the checks or the solutions
    "import of the right one": "from lessons.exercises.notebook_04 import _leaky as leaky_clamp",
    "constants of the check": """\
from lessons.exercises import notebook_04
notebook_04.X = torch.zeros(0)""",
    "zip of a module": """\
import lessons.exercises.pointwise as pointwise
pointwise.zip = lambda *args, **options: ()""",
    "run of the check": """\
from lessons.exercises import CHECKS
object.__setattr__(CHECKS["04.1"], "run", lambda answer: None)""",
    "file of the check": """\
import lessons
names = {}
exec(open(lessons.__path__[0] + "/exercises/notebook_04.py").read(), names)
leaky_clamp = names["_leaky"]""",
    "file of the notebook": """\
import lessons
cells = json.load(open(lessons.__path__[0] + "/../notebooks/04_override_backward.ipynb"))["cells"]
(cell,) = (each for each in cells if each["id"] == "exercise-1-solution")
exec("".join(cell["source"]).partition("check(")[0])
leaky_clamp = LeakyClamp.apply""",
    "frames": """\
def leaky_clamp(x):
    frame = sys._getframe()
    while frame:
        for name, value in frame.f_locals.items():
            if name in ("expected", "right", "slope", "_leaky"):
                return value(x) if callable(value) else value
        frame = frame.f_back
    return x.clamp(0, 1)""",
    "gc": """\
found = [each for each in gc.get_objects() if getattr(each, "__name__", "") == "_leaky"]
leaky_clamp = found[0]""",
    "memory of the judge": """\
others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
seen = [open(f"/proc/{name}/cmdline").read() for name in others]
assert any("judging" in each or "in_turn" in each for each in seen if "bwrap" not in each)
leaky_clamp = lambda x: x.clamp(0, 1)""",
}
RETURNED = {  # instead of a tensor
    "subclass": """\
class Same(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.isclose, torch.Tensor.isclose):
            return torch.ones(7, dtype=torch.bool)
        return super().__torch_function__(function, types, args, kwargs or {})
leaky_clamp = lambda x: x.clamp(0, 1).as_subclass(Same)""",
    "an object equal to all": """\
class Equal:
    shape, dtype = torch.Size([7]), torch.float32
    __eq__ = lambda self, other: True
    __getattr__ = lambda self, name: lambda *args: self
leaky_clamp = lambda x: Equal()""",
    "nan": "leaky_clamp = lambda x: x.clamp(0, 1) * torch.nan",
    "nothing": "leaky_clamp = lambda x: x.clamp(0, 1)[:0]",
    "a table": """\
values = {-1.0: 0, -0.1: 0, 0.0: 0, 0.5: 0.5, 1.0: 1, 1.1: 1, 2.0: 1}
slopes = {0.0: 1, 0.5: 1, 1.0: 1}
def look_up(table, x, other):
    found = [table.get(round(each, 3), other) for each in x.flatten().tolist()]
    return torch.tensor(found).to(x).reshape(x.shape)
class Table(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return look_up(values, x, 0.0)
    @staticmethod
    def backward(ctx, upstream):
        return look_up(slopes, *ctx.saved_tensors, 0.1) * upstream
leaky_clamp = Table.apply""",
    "deep": "deep = []\nfor _ in range(900):\n    deep = [deep]\nleaky_clamp = lambda x: deep",
    "an endless list": "endless = []\nendless.append(endless)\nleaky_clamp = lambda x: endless",
    "a large view": "leaky_clamp = lambda x: torch.zeros(()).expand(10**6)",
}
SENT = {  # lines of their own
    "verdicts": """\
lines = '["verdict", "04.1", "✓", ""]', '["x", "verdict", "04.1", "✓", ""]', '["end", null, []]'
for line in lines:
    for descriptor in range(3, 50):
        try:
            os.write(descriptor, (line + "\\n").encode())
        except OSError:
            pass""",
    "odd replies": """\
from tools.classroom.remote import Answering
odd = itertools.cycle([None, [], {}, 1, {"value": 1}, {"value": {"tensor": 9}, "tensors": []}])
Answering._call = lambda self, content: next(odd)""",
    "odd tensors": """\
import tools.classroom.remote as remote
sound = remote.pack_tensor
odd = [{"shape": [-1]}, {"shape": [10**30, 0]}, {"dtype": "object"}, {"numbers": "x"}]
odd = itertools.cycle(odd)
remote.pack_tensor = lambda tensor: {**sound(tensor), **next(odd)}""",
    "odd errors": """\
import tools.classroom.remote as remote
odd = [None, {}, {"kind": "exit", "message": 1, "where": 5}, {"kind": "SystemExit"}]
odd = itertools.cycle(odd)
remote.pack_error = lambda error: next(odd)
def leaky_clamp(x):
    raise ValueError""",
    "an error that means not done": "def leaky_clamp(x):\n    raise NotImplementedError",
    "gradients of the judge": """\
from tools.classroom.remote import Answering
def leaky_clamp(x):
    (session,) = (each for each in gc.get_objects() if isinstance(each, Answering))
    content = {"held": 1, "upstream": {}, "create": False, "keep": True, "anomaly": False}
    session.request("gradient", content)
    return x.clamp(0, 1)""",
}
LIED = {  # its own process says what autograd is said to have computed
    "grad replaced": """\
torch_grad = torch.autograd.grad
def grad(output, inputs, upstream=None, **options):
    if len(inputs) == 1 and upstream is not None and upstream.shape == inputs[0].shape:
        return (slope(inputs[0]) * upstream,)
    return torch_grad(output, inputs, upstream, **options)
torch.autograd.grad = grad""",
    "protocol replaced": """\
from tools.classroom.remote import Answering, pack_tensor
def _gradient(self, content):
    from tools.classroom.remote import unpack_tensor
    (x,), y = self._held[content["held"]]
    gradient = slope(x) * unpack_tensor(content["upstream"])
    return {"gradients": [{**pack_tensor(gradient), "requires_grad": False}], "upstream": None}
Answering._gradient = _gradient""",
}
CHOSEN = {  # numbers for 03.1
    "equal to all": """\
class Equal(float):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = float.__hash__
answer = [Equal(7)] * 5""",
    "numbers that change": """\
class Changing:
    def __init__(self):
        self.values = itertools.cycle([0.0, 1.0])
    def __float__(self):
        return next(self.values)
answer = [Changing()] * 5""",
    "a list that knows": """\
class Knows(list):
    def __iter__(self):
        return iter(sys._getframe(1).f_locals.get("expected", [9.0] * 5))
answer = Knows([9.0] * 5)""",
    "points of the check": """\
from lessons.exercises.notebook_03 import FIVE_POINTS, gradient_at
answer = [gradient_at(fn, x) for _, fn, x, _ in FIVE_POINTS]""",
    "every combination": """\
for answer in itertools.product((0.5, 1.0, -1.0, 0.0), repeat=5):
    check("03.1", list(answer))""",
    "float replaced": "builtins.float = lambda value: 0.0\nanswer = [5, 5, 5, 5, 5]",
    "a tensor that changes": """\
class Changes(torch.Tensor):
    def tolist(self):
        return [0.0] * 5
answer = torch.full((5,), 9.0).as_subclass(Changes)""",
}
COPIED = {
    "copied": """\
class Leaky(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(0, 1)
    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return slope(x) * upstream
leaky_clamp = Leaky.apply""",
}
ON_04 = {**REPLACED, **READ, **RETURNED, **SENT, **LIED, **COPIED}
CHEATS = {name: code + HAND_IN for name, code in ON_04.items()}
CHEATS |= {name: code + NUMBERS for name, code in CHOSEN.items()}
# They pass all the same: docs/classroom.md names them.
PASS = {"grad replaced", "protocol replaced", "copied"}


def verdicts() -> dict[str, list[str]]:
    """cheat -> the signs of its verdicts; one sandbox for all, in which each has its process."""
    shown = ("tests/cheats_in_turn.py",)
    answers = {"04.1": "leaky_clamp", "03.1": "answer"}
    task = {"answers": answers, "notebooks": ["03_round_and_clamp", "04_override_backward"]}
    work = {"setup": SETUP, "cheats": CHEATS}
    judge = Program("tests.cheats_in_turn", json.dumps(task).encode(), shown=("notebooks", *shown))
    sheets = Program("tests.cheats_in_turn", json.dumps(work).encode(), (CHECKS,), shown)
    ending = run(judge, Limits(seconds=300), protected=True, partner=sheets)
    lines = [json.loads(line) for line in ending.lines]
    assert not ending.why, ending.why
    return {name: signs for kind, name, signs in lines if kind == "judged"}


if __name__ == "__main__":
    for name, signs in verdicts().items():
        print("".join(signs) or "no verdict", name, sep=" | ")
