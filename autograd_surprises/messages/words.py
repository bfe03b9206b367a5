"""The words of a text, as the search compares them."""

import re
from functools import cache

from autograd_surprises.facts.toml_data import read_toml

COMMON = frozenset(read_toml("messages/common_words.toml")["words"].split())
# Other spellings and endings, replaced in this order; at least three letters stay.
ENDINGS = (
    ("is(?:ations?|ed|es|ing|e)$|iz(?:ations?|ed|es|ing|e)$", "iz"),
    ("ours?$", "or"),
    ("ies$", "y"),
    ("(?<![sui])s$", ""),
    ("(?:ing|ed|er)$", ""),
    (r"([bcdfgklmnprtvz])(?=\1$)", ""),
    ("e$", ""),
)
# Each of them counts as "not".
NEGATION = r"n['’]t(?![a-z])|(?<![a-z])(?:cannot|without|never|no|not)(?![a-z_])"
# A name with underscores, after a dot if it is a member; and the words that a name is made of.
NAME = "[.]?[A-Za-z0-9_]+"
PARTS = "[A-Z]+(?![a-z])|[A-Z]?[a-z]+"


def terms(text: str) -> list[str]:
    """The words of a text that may say something about a gradient, each without its ending.

    >>> terms("zero_grad() clears BatchNorm")
    ['zero_grad', 'zero', 'grad', 'clear', 'batchnorm', 'batch', 'norm']
    """
    return [term for name in names_in(text) for term in terms_of(name)]


def names_in(text: str) -> list[str]:
    """Its words and names as they stand there, with "not" for each negation."""
    return re.findall(NAME, re.sub(NEGATION, " not ", text, flags=re.IGNORECASE))


def terms_of(name: str) -> list[str]:
    """The terms of one name: first itself, then its parts.

    A member, such as torch.where, counts though its word is common.
    """
    is_member, name = name.startswith("."), name.removeprefix(".")
    parts = [part for part in re.findall(PARTS, name) if len(part) > 1]
    joined = [] if "_" in name or len(parts) < 2 else ["".join(parts)]
    words = dict.fromkeys(word.lower() for word in (name, *joined, *parts))
    return [
        stem(word)
        for word in words
        if len(word) > 1
        and not word.isdigit()
        and (word not in COMMON or (is_member and word == name))
    ]


@cache
def stem(word: str) -> str:
    """A word in lower case without its ending, in one spelling.

    >>> [stem(word) for word in ("clipped", "clipping", "nans", "quantisation", "quantized")]
    ['clip', 'clip', 'nan', 'quantiz', 'quantiz']
    """
    if not word.isalpha():  # a name such as fp16 or zero_grad
        return word
    for ending, instead in ENDINGS:
        shorter = re.sub(ending, instead, word)
        word = shorter if len(shorter) > 2 else word
    return word
