"""What happened to the gradient of one tensor, as text and as a row of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.more import more_about
from autograd_surprises.recording.places import Where
from autograd_surprises.show.colours import GREEN, GREY, OCHRE, PURPLE, RED
from autograd_surprises.show.findings import badge, finding_html, findings_text, with_breaks

STATUS_TEXTS = {"none": "None", "nan": "NaN", "error": "ERROR", "zero": "ZERO", "tiny": "TINY",
        "exploding": "EXPLODING", "wrong": "WRONG", "not trained": "NOT TRAINED",
        "not examined": "NOT EXAMINED"}  # fmt: skip
NORMAL = ("ok", "partial", "not examined")
# A part of the gradient is ochre, inf and NaN purple. The rest is red.
COLOURS = {"ok": GREEN, "partial": OCHRE, "not examined": GREY, "nan": PURPLE, "inf": PURPLE,
           "exploding": PURPLE}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What happened to the gradient of one tensor.

    name      of the tensor; "loss" or "backward()" for what concerns all of them
    status    ok, partial, none, zero, tiny, exploding, nan, inf, wrong, not trained, not
              examined or error
    cause     a slug such as "detach", or "" if there is nothing to say
    sentence  the cause in words
    places    (label, Where), the line to blame first
    fix       what helps
    node      what the graph node did: "died in RoundBackward0: 3 of 3 in, 0 of 3 out"
    also      more sentences
    section   where a notebook teaches it: "05_none.ipynb#A-heading", or ""
    alarm     is there something to repair? A zero may be normal; ok and partial always are
    rule      the id of the rule behind it: "zero-factor/number", or of the message of torch

    >>> print(Finding("w", "zero", "dropout", "dropout dropped every element", fix="a lower p"))
    ZERO  w
        cause: dropout dropped every element
        fix: a lower p
    """

    name: str
    status: str
    cause: str = ""
    sentence: str = ""
    places: tuple[tuple[str, Where], ...] = ()
    fix: str = ""
    node: str = ""
    also: tuple[str, ...] = ()
    section: str = ""
    alarm: bool = True
    rule: str = ""

    def about(
        self,
        name: str,
        status: str,
        places: Iterable[tuple[str, Where | None]] = (),
        node: str = "",
        also: Iterable[str] = (),
    ) -> Finding:
        """The same for this tensor; each place once, and none without a Where."""
        once: dict[Where, tuple[str, Where]] = {}
        for label, where in places:
            if where is not None:
                once.setdefault(where, (label, where))
        return replace(
            self, name=name, status=status, places=tuple(once.values()), node=node, also=tuple(also)
        )

    @property
    def where(self) -> Where | None:
        return self.places[0][1] if self.places else None

    @property
    def status_text(self) -> str:
        """The status in words, and whether it is normal.

        >>> Finding("w", "zero").status_text, Finding("w", "zero", alarm=False).status_text
        ('ZERO', 'ZERO (normal)')
        """
        return STATUS_TEXTS.get(self.status, self.status) + (" (normal)" if self._excused else "")

    @property
    def alarming(self) -> bool:
        return self.alarm and self.status not in NORMAL

    @property
    def badge(self) -> str:
        """The status on its colour, or on grey if it only looks bad."""
        return badge(self.status_text, GREY if self._excused else COLOURS.get(self.status, RED))

    @property
    def _excused(self):
        return not self.alarm and self.status not in NORMAL

    def lines(self) -> list[tuple[str, str]]:
        """(label, text) for everything that is known, the cause first, where to read more last."""
        rows = [("cause", self.sentence)]
        rows += [(label, str(where)) for label, where in self.places]
        rows += [("gradient", self.node), *(("also", text) for text in self.also)]
        rows.append(("fix", self.fix))
        if self.status == "error" and self.rule:
            rows.append(("more", more_about(self.rule)))
        return [(label, text) for label, text in rows if text]

    def __str__(self):
        return findings_text(f"{self.status_text}  {self.name}", self.lines())

    __repr__ = __str__

    def _repr_html_(self):
        return finding_html(self.badge, f"<code>{with_breaks(self.name)}</code>", self.lines())


def at(step: BackwardStep, label: str = "at") -> tuple:
    """The place of a step, if the forward pass was recorded."""
    return ((label, step.where),)


def in_and_out(step: BackwardStep) -> str:
    """What arrived at a step and what left it: "RoundBackward0: 2 of 3 in, 0 of 3 out"."""
    known = step.called.replace("_", "") in step.name.lower()
    part = "" if known else f", part of {step.called}()"
    arrived = ", ".join(size.in_words() for size in step.arriving if size)
    left = ", ".join(size.in_words() for size in step.leaving if size) or "nothing"
    return f"{step.name}{part}: {arrived} in, {left} out"
