"""Which documents are about given terms: BM25+, computed as MiniSearch does on the website.

Lv and Zhai, Lower-Bounding Term Frequency Normalization, CIKM 2011;
https://github.com/lucaong/minisearch
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SATURATION, LENGTH, LOWEST = 1.2, 0.7, 0.5  # k, b and delta of BM25+


class Match(NamedTuple):
    """The number of a document, its score, and the terms that it shares with the query."""

    document: int
    score: float
    terms: frozenset[str]


class Ranking:
    """An index of documents, each a dict {field: its terms}.

    boosts   {field: how much a term in it counts}
    weights  how much each document counts
    """

    def __init__(
        self,
        documents: Sequence[Mapping[str, Sequence[str]]],
        boosts: Mapping[str, float],
        weights: Sequence[float],
    ):
        self._boosts, self._weights, self._count = boosts, weights, len(documents)
        self._lengths = {name: [len(set(each[name])) for each in documents] for name in boosts}
        self._places: dict[str, dict[str, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
        for number, document in enumerate(documents):
            for name in boosts:
                for term, count in Counter(document[name]).items():
                    self._places[term][name][number] = count

    def having(self, term: str) -> int:
        """How many documents have this term."""
        return len(set().union(*self._places[term].values())) if term in self._places else 0

    def known(self, beginning: str) -> list[str]:
        """All terms that begin so."""
        return [term for term in self._places if term.startswith(beginning)]

    def find(self, terms: Mapping[str, float]) -> list[Match]:
        """The documents with any of the terms, in no order; `terms` says how much each counts.

        >>> texts = [{"text": ["round"]}, {"text": ["clamp", "round"]}]
        >>> ranking = Ranking(texts, {"text": 1}, [1, 1])
        >>> max(ranking.find({"clamp": 1, "round": 1}), key=lambda match: match.score).document
        1
        """
        scores, shared = Counter(), defaultdict(set)
        for term, weight in terms.items():
            for name, boost in self._boosts.items():
                places = self._places[term][name] if term in self._places else {}
                for number, count in places.items():
                    shared[number].add(term)
                    counts = weight * boost * self._weights[number]
                    scores[number] += counts * self._relevance(name, number, count, places)
        return [Match(number, score, frozenset(shared[number])) for number, score in scores.items()]

    def _relevance(self, name, number, count, places):
        lengths = self._lengths[name]
        rare = math.log(1 + (self._count - len(places) + 0.5) / (len(places) + 0.5))
        long = lengths[number] / (sum(lengths) / self._count)
        saturated = count * (SATURATION + 1) / (count + SATURATION * (1 - LENGTH + LENGTH * long))
        return rare * (LOWEST + saturated)
