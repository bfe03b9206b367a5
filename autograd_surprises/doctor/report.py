"""What was found, as text and as a table."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.recording.history import History
from autograd_surprises.show.findings import grouped, listed
from autograd_surprises.symptoms.finding import Finding

ORDER = ("error", "none", "nan", "inf", "zero", "tiny", "wrong", "not trained", "not examined",
         "partial", "ok")  # fmt: skip


@dataclass(frozen=True)
class Report:
    """The findings for one loss. Shows itself: a table in a notebook, text elsewhere.

    loss               a description of it
    findings           in the order in which they were asked for
    backward, history  what was watched and recorded; names of tensors by id

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain((x * 3).sum(), {"x": x}).healthy
    True
    """

    loss: str
    findings: tuple[Finding, ...]
    backward: Backward | None = field(repr=False, compare=False)
    history: History = field(repr=False, compare=False)
    names: dict[int, str] = field(repr=False, compare=False)

    @property
    def healthy(self) -> bool:
        """Is there nothing to repair?

        Each gradient is there, finite and not all 0, and each parameter is trained, except where
        that is normal: frozen on purpose, or multiplied by a parameter that starts at 0.
        """
        return not any(found.alarming for found in self.findings)

    def __getitem__(self, name: str) -> Finding:
        """The worst finding about this tensor."""
        found = [finding for finding in self.findings if finding.name == name]
        if not found:
            raise KeyError(f"no finding about {name!r}, only {[f.name for f in self.findings]}")
        return min(found, key=lambda finding: ORDER.index(finding.status))

    def __str__(self):
        return "\n".join([*map(str, merged(self.findings)), f"loss: {self.loss}"])

    __repr__ = __str__

    def _repr_html_(self):
        found = [finding._repr_html_() for finding in merged(self.findings)]
        return "\n".join([*found, f"<p>loss: {html.escape(self.loss)}</p>"])


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of one cause, merged into one: what to repair first, and the worst first of that."""

    def key(found):
        where = [(label, at.file, at.line) for label, at in found.places if found.alarming]
        return found.status, found.cause, found.rule or found.sentence, found.alarming, *where

    worst = sorted(findings, key=lambda f: (not f.alarming, ORDER.index(f.status)))
    return [_merged_group([_short(found) for found in group]) for group in grouped(worst, key)]


def _short(found):
    """What is normal takes a few lines, not a screen; report[name] has the rest."""
    if found.alarming or found.status in ("ok", "partial"):
        return found
    return replace(found, places=(), node="", also=())


def _merged_group(group):
    """One finding for all. A sentence that holds for the first alone says so."""
    first = group[0]
    if len(group) == 1:
        return first
    names = listed([found.name for found in group], most=6 if first.alarming else 2)

    def same(part):
        return all(part(found) == part(first) for found in group)

    of_one = "" if same(lambda f: f.sentence) else " (for the first one)"
    return replace(
        first,
        name=names,
        sentence=first.sentence + of_one,
        places=first.places if same(lambda f: f.where) else (),
        node=first.node if first.cause and same(lambda f: f.node) else "",
        also=first.also if same(lambda f: f.also) else (),
    )
