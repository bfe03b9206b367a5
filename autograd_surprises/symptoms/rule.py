"""A rule: all that the doctor knows about one cause, or about one variant of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.operations import is_one_of
from autograd_surprises.facts.sections import address
from autograd_surprises.symptoms.finding import Finding


def always(facts) -> bool:
    """The condition of a rule that always fits."""
    return True


def nothing(facts) -> str:
    """The detail of a rule that counts nothing."""
    return ""


def facts_show(facts) -> tuple:
    """The places and the node of a rule that has none of its own."""
    return facts.shown


@dataclass(frozen=True)
class Rule:
    """When a cause applies, what happened, what helps, and where it is taught.

    id        a slug; the variants of one cause are rules of one family: "zero-factor/number"
    sentence  what happened; {names} in it, and in the fix, are facts, or attributes of the facts
    fix       what helps
    section   the id of a section, or "" if no notebook teaches it
    when      does it fit these facts?
    detail    the text of {detail} in the sentence: usually a count
    alarm     is there something to repair? If not, it is normal
    shown     the places of the finding, and what the graph node did

    >>> rule = Rule("dead-relu", "{detail}relu is flat there", "other inputs",
    ...             detail=lambda values: f"{sum(v <= 0 for v in values)} inputs are 0 or less; ")
    >>> rule.finding([-1.0, -2.0, 3.0]).sentence
    '2 inputs are 0 or less; relu is flat there'
    """

    id: str
    sentence: str
    fix: str
    section: str = ""
    when: Callable[..., bool] = always
    detail: Callable[..., str] = nothing
    alarm: bool = True
    shown: Callable[..., tuple] = facts_show

    @property
    def cause(self) -> str:
        """Its family."""
        return self.id.partition("/")[0]

    def fits(self, facts) -> bool:
        return self.when(facts)

    def finding(self, facts=None, **named) -> Finding:
        """The finding for these facts, or for facts that are named one by one.

        `.about(name, ...)` adds which tensor it concerns.
        """
        text = self.sentence + self.fix
        names = {name for _, name, _, _ in Formatter().parse(text) if name} - {"detail"} - {*named}
        names = {name: getattr(facts, name) for name in names} | named
        names["detail"] = self.detail(facts)
        sentence, fix = self.sentence.format(**names), self.fix.format(**names)
        section = address(self.section)
        return Finding(
            "", "", self.cause, sentence, fix=fix, section=section, alarm=self.alarm, rule=self.id
        )


@dataclass(frozen=True, kw_only=True)
class StepRule(Rule):
    """A rule about a step of backward.

    on  which steps it is about -> when it fits these. "staircase Prod" is about those with this
        trait in operations.py and those of this kind, "" about all
    """

    on: Mapping[str, Callable[[BackwardStep], bool]]

    def fits(self, facts: BackwardStep) -> bool:
        return any(
            (not names or is_one_of(facts.kind, names)) and when(facts)
            for names, when in self.on.items()
        )


class Rulebook(list):
    """Rules about one kind of facts, in the order in which they are tried.

    >>> book = Rulebook()
    >>> even = book.add("even", "{real} is even", "", when=lambda number: number % 2 == 0)
    >>> odd = book.add("odd", "{real} is odd", "")
    >>> book.first(3).finding(3).sentence
    '3 is odd'
    """

    def add(self, *args, **kwargs) -> Rule:
        """Make a rule, about steps of backward if it says `on` which, and append it."""
        self.append((StepRule if "on" in kwargs else Rule)(*args, **kwargs))
        return self[-1]

    def first(self, facts) -> Rule | None:
        """The first rule that fits."""
        return next((rule for rule in self if rule.fits(facts)), None)
