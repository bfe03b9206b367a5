"""The words of a text, as the search compares them."""

import re
from functools import cache

# Words that say nothing about a gradient.
COMMON = frozenset(
    "a about actually after again all already also always am an and another any anyone are as "  # noqa: SIM905
    "ask at be because been before being best both but by ca call called calling can come "
    "correct could did do does doing done dont during each either else even ever every example "
    "expected explain fail fails find first follow following for found from further general get "
    "gets getting give given gives giving go going good got had happen happens has have having "
    "he help her here how however i if im implement implementation implemented in inside "
    "instead into is issue it its itself just keep know let like line look made make makes "
    "making many may maybe me mean means might more most much must my need needed needs new now "
    "obtain of off on once one only or other our out over own people please possible problem "
    "proper properly pytorch question really right run running same save saved say see seem "
    "seems set should show simple since so some someone something still such suddenly take than "
    "that the their them then there these they thing things this those though through tips to "
    "together too torch tried try trying two under understand until up us use used user uses "
    "using very via want wanted was way we were what when where whether which while who why "
    "will with within wo work working works would write wrong yes yet you your".split()
)
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
