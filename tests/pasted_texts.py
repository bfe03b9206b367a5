"""The examples of the catalogue, and the forms in which people paste what torch prints."""

import re
import textwrap
import traceback

from autograd_surprises.messages.catalogue import all_messages
from autograd_surprises.messages.words import COMMON

EXAMPLES = [(m, text, code) for m in all_messages() for text, code in m.examples.items()]


FRAME = """Traceback (most recent call last):
  File "/home/me/train.py", line 8, in <module>
    loss.backward()  # NotImplementedError: not in-place, no data-dependent control flow
    ^^^^^^^^^^^^^^^
"""
# As IPython 9 colours it, shortened; <31> stands for an escape sequence.
JUPYTER = re.sub(
    "<([0-9;]+)>",
    "\x1b[\\1m",
    """<31>---------------------------------------------------------------------------<39>
<31>{kind}<39>                              Traceback (most recent call last)
<36>Cell<39><36> <39><32>In[3]<39><32>, line 2<39>
<32>      1<39> <38;5;28;01>import<39;00> <34;01>torch<39;00>
<32>----> <39><32>2<39> loss.backward()  <38;5;66;03># ValueError: in-place<39;00>

<36>File <39><32>/lib/torch/_tensor.py:648<39>, in <36>Tensor.backward<39>(self)
<32>    647<39>     )
<32>--> <39><32>648<39> torch.autograd.backward(

<31>{kind}<39>: {message}""",
)
HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
OTHER = FRAME + "KeyError: 'lr'\n"


def pasted(error):
    """{how: what people paste} for an error or a warning."""
    last = "".join(traceback.format_exception_only(error))
    whole = FRAME + last
    kind, _, message = last.rstrip().partition(": ")
    return {
        "alone": message,
        "last line": last,
        "traceback": whole,
        "its lower half": whole.partition("\n")[2],
        "warning": f"/home/me/train.py:8: {last}",
        "log": f"[rank0]: {'[rank0]: '.join(whole.splitlines(True))}",
        "log of one line": f"2026-11-23 07:00:00,000 - ERROR - step 3: {last}",
        "Jupyter": JUPYTER.format(kind=kind, message=message),
        "Jupyter, escape characters lost": JUPYTER.format(kind=kind, message=message).replace(
            "\x1b", ""
        ),
        "pytest": "".join(f"E       {line}" for line in last.splitlines(True)),
        "in a forum": f"Hello,\n\n> {'> '.join(whole.splitlines(True))}\n\nIs it x += 1, in-place?",
        "Windows": whole.replace("\n", "\r\n"),
        "indented": textwrap.indent(whole, "    "),
        "wrapped": FRAME + kind + ": " + message.replace(" ", "\n", 3).replace("\xa0", " "),
        "below an empty line": f"{FRAME}{kind}:\n\n    {message}",
        "after another": OTHER + HANDLING + whole,
        "the cause of another": whole + CAUSE + OTHER,
    }


def retyped(message):
    """The error without one small word, for each of them, and with "doesn't" for "does not"."""
    words = message.split()
    small = [k for k, word in enumerate(words) if word in {*COMMON, "no", "not"}]
    shorter = [" ".join(words[:k] + words[k + 1 :]) for k in small]
    apostrophe = re.sub(r"([a-z]) not\b", r"\1n't", message.replace("cannot", "can not"))
    whole = message.replace("n't ", " not ")
    changed = dict.fromkeys([*shorter, apostrophe, whole])
    return [f"RuntimeError: {text}" for text in changed if text != message]


UNKNOWN = {
    "another error": FRAME + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
    "no last line": FRAME,
    "an error without words": FRAME + "AssertionError",
    "words of other things": "how do I bake bread",
    "nothing": "",
    "spaces": " \r\n\t",
    "regular expression": "(.*[",
}
TYPED = (
    "Why is my gradient None?", "x.grad is zero everywhere", "zero_grad", "why zero_grad()?",
    "How do I get the gradient of a hidden layer of my model?", "hessian, vmap", "torch.where NaN",
    "does it still work after .to(device)",
    "x y z hessian", "a __dunder__ name", "İt is Ⓐ gradient",
    "in-place", "grad_fn", "does not require grad", "retain_graph", "retain_graph=True", "DETACH",
    "returned an incorrect number of gradients", "graph a second", "`nn.init.uniform`", "nan",
    "same dtype", "float", "forward", "RuntimeError: element 0 of t", "RuntimeError:",
    "KeyError: 'lr'\n\nRuntimeError: element 0 of t", "x", "ſ",
    "İ", "…", "an in-place operation has overwritten it", "data-dependent",
    "Found dtype Long but expected Float",
    "derivative for aten::floor_divide is not implemented",
)  # fmt: skip
TWO = "ImportError: No module named 'pytorch'\n\nRuntimeError: forward() takes 1 argument"
