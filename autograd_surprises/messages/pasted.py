"""Find messages in a text that somebody pastes: a whole traceback, or a line of a log.

The box on the website uses the same expressions in JavaScript. They avoid \\s, \\w and \\b, which
match more characters in Python than in JavaScript. ^ and $ are the ends of a line.
"""

import re

from autograd_surprises.messages.catalogue import all_messages, known_message
from autograd_surprises.messages.entries import Message
from autograd_surprises.messages.words import names_in

# (what may surround a message, its replacement)
AROUND = (
    # colours, even if a web page has dropped or spelt out the escape character
    (r"(?:\x1b|\\x1b|\\u001b|\^\[|␛)?\[[0-9][0-9;]*m|\x1b\[m", ""),
    (r"\r\n?", "\n"),
    (r"\xa0", " "),
    # > of a quotation, | of a group of exceptions, [rank0]: of torchrun
    (r"^(?:[ \t]*(?:>|\||│|\[rank[0-9]+\]:) ?)+", ""),
    # lines of code, which may contain anything: below a file's name, or with a number
    (r'^([ \t]*)File "[^\n]*(?:\n\1[ \t]+[^\n]*)*', ""),
    (r"^(?:-+> ?|[ \t]+)[0-9]+[ \t][^\n]*", ""),
)
# The name of an error or a warning, which comes before its message. A name with a dot may have any
# ending: torch._dynamo.exc.Unsupported.
NAME = (
    r"(?<![A-Za-z0-9_.])(?<!except )[A-Za-z0-9_.]*(?:Error|Exception|Warning):(?= |$)"
    r"|^[ \t]*[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z0-9_.]*[A-Za-z0-9_]:(?= |$)"
)
# Where a message ends at the latest: an empty line, or what comes before the next traceback.
END = r"\n[ \t]*\n|^[ \t]*(?:Traceback \(most recent|-----|```)"
RAISED = r"^.*\braise \w+\(.*$"  # a traceback that ends before its message
# A frame of an installed package, down to the next frame, the error or an empty line.
LIBRARY = (
    r"^[ \t]*File [^\n]*(?:site|dist)-packages[^\n]*\n"
    r"(?:(?![ \t]*File |[\w.]+(?:Error|Exception|Warning):|\n).*\n)*"
)
TRACEBACK = r"^[ \t]*Traceback \(most recent"


def errors_in(text: str) -> list[str]:
    """The messages of all errors and warnings that are named in a text, without their names.

    >>> errors_in("  File 'a.py', line 1\\nValueError: too high\\n\\nHow do I repair this?")
    ['too high']
    """
    text = _without_what_is_around(text)
    names = list(re.finditer(NAME, text, re.MULTILINE))
    ends = [*(name.start() for name in names), len(text)][1:]
    return [
        _one_line(_before(END, text[name.end() : end].lstrip()))
        for name, end in zip(names, ends, strict=True)
    ]


def messages_in(text: str) -> list[Message]:
    """The known messages that a text contains, the last one first.

    The last error of a traceback is the one that stopped the program. A text that names no error
    may still contain a message: one of several words, because one word may be there by chance.

    >>> messages_in("Traceback (most recent call last):\\nRuntimeError: mine")
    []
    >>> messages_in("ImportError: No module named 'pytorch'")[0].fix
    'import torch'
    """
    if errors := errors_in(text):
        known = [known_message(error) for error in reversed(errors)]
    else:
        raised = "\n".join(re.findall(RAISED, text, re.MULTILINE))
        known = [known_message(each, having=" ") for each in (without_frames(text), raised)]
    return [message for message in dict.fromkeys(known) if message]


def nearest_message(text: str) -> tuple[Message | None, float]:
    """The message of whose wording a text has the most words, and the share that it has.

    None if the text has no more than half of any wording.

    >>> message, share = nearest_message("element 0 tensors doesn't require grad, has no grad_fn")
    >>> message.id, round(share, 2)
    ('not-connected', 0.67)
    """
    said = _words_of(text)
    most, nearest = (0, 0), (None, 0.0)
    for message in all_messages():
        for words in map(_words_of, message.wordings):
            there = len(words & said)
            if (2 * there - len(words), there) > most:
                most, nearest = (2 * there - len(words), there), (message, there / len(words))
    return nearest


def _words_of(text):
    return {name.removeprefix(".").lower() for name in names_in(text)}


def without_libraries(text: str) -> str:
    """A text without the frames of installed packages, whose code nobody asked about.

    >>> without_libraries('File "a.py", line 1\\n  File "/site-packages/b.py", line 2\\n    b()\\n')
    'File "a.py", line 1\\n'
    """
    return re.sub(LIBRARY, "", text, flags=re.MULTILINE)


def without_frames(text: str) -> str:
    """What somebody wrote above a traceback, in one line.

    >>> without_frames("why\\nthis?\\nTraceback (most recent call last):\\n  ...")
    'why this?'
    """
    return _one_line(_before(TRACEBACK, _without_what_is_around(text)))


def _without_what_is_around(text):
    for around, instead in AROUND:
        text = re.sub(around, instead, text, flags=re.MULTILINE)
    return text


def _before(expression, text):
    return re.split(expression, text, maxsplit=1, flags=re.MULTILINE)[0]


def _one_line(text):
    return re.sub("[ \t\n]+", " ", text).strip()
