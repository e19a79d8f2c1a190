"""Find the usual spelling of each word of the vocabulary: Paris, IBM, I, McDonald, iPhone.

A capital says something of a word only where nothing else asks for one.  Not counted: the first
word of a line or sentence, what follows a colon, a quotation mark or a bracket, headings, and lines
in capitals or without any.  A capital beside another (*Grand Central Station*) may be that of a
name made of common words, so it counts for less than one among small letters.  A word keeps its
small letters (*may*, *mark*, *us*) unless capitals clearly prevail.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dpsan.text.batch import BoundedCache
from dpsan.text.tokens import TOKENIZERS, lookup_keys

_FEWEST_WORDS: Final = 6
"""Smallest number of words of a line that is not a heading."""
_MOST_CAPITALS: Final = 0.5
"""Share of capitalised words beyond which a line is a heading or a list of names."""
_BESIDE: Final = 0.25
"""Weight of an occurrence beside a capital; an occurrence among small letters counts 1."""
_LEAST: Final = 0.8
"""Share of occurrences with a capital that makes it the usual spelling."""
_CACHED: Final = 1 << 20
"""Tokens, and gaps, whose reading is cached."""
_PIECE: Final = re.compile(r"[^\W_]+")
_BEGINS: Final = frozenset(".!?…:;\n\"“”‘`'([{<|*=•–—-/#_")
"""In a gap, what a capital may be due to."""


@dataclass(slots=True)
class Spellings:
    """Counts of each spelling, in positions where capitals carry information."""

    alone: Counter[str] = field(default_factory=Counter)
    """No word beside it has a capital."""
    beside: Counter[str] = field(default_factory=Counter)
    """A word beside it has one."""


class SpellingReader:
    """Finds the spellings of known words in lines."""

    def __init__(self, words: Iterable[str]) -> None:
        self._known = frozenset(words)
        self._split = TOKENIZERS["unicode"].split
        self._form = BoundedCache(self._form_of, _CACHED)
        self._plain = BoundedCache(_BEGINS.isdisjoint, _CACHED)
        self._begins = {piece for word in self._known for piece in _PIECE.findall(word)[:1]}

    def read(self, line: str, found: Spellings) -> None:
        """Count the spellings of a line."""
        # Quick where few words are wanted: most lines have none of them.
        if self._begins.isdisjoint(_PIECE.findall(line.lower())):
            return
        pieces = self._split(line)
        gaps, words = pieces[::2], pieces[1::2]
        capital = [word != word.lower() for word in words]
        if len(words) < _FEWEST_WORDS or not 0 < sum(capital) <= _MOST_CAPITALS * len(words):
            return
        # The capital of a sentence's first word is none of its own.
        plain = [self._plain[gap] for gap in gaps]
        plain[0] = False
        own = [*(has and follows for has, follows in zip(capital, plain, strict=False)), False]
        alone: list[str] = []
        beside: list[str] = []
        for at, word in enumerate(words):
            if plain[at]:
                near = own[at - 1] or own[at + 1]  # own[-1] of the first word is False
                (beside if near else alone).append(self._form[word])
        found.alone.update(filter(None, alone))
        found.beside.update(filter(None, beside))

    def _form_of(self, token: str) -> str:
        """Return a known word as the token writes it, or an empty string."""
        *others, small = lookup_keys(token)
        if small not in self._known:
            return ""
        return others[-1] if others and others[-1].lower() == small else small


def usual_spellings(found: Iterable[tuple[Spellings, float]], words: Sequence[str]) -> list[str]:
    """Return the usual spelling of each word, from what was found in texts, each with its
    weight.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for one, weight in found:
        total = one.alone.total() + one.beside.total()
        for counts, share in ((one.alone, weight), (one.beside, _BESIDE * weight)):
            for form, number in counts.items():
                weights[form] += share * number / total
    forms: dict[str, list[str]] = {}
    for form in sorted(weights):
        forms.setdefault(form.lower(), []).append(form)
    return [_usual(word, forms.get(word, ()), weights) for word in words]


def _usual(word: str, forms: Iterable[str], weights: Mapping[str, float]) -> str:
    capitals = [form for form in forms if form != word]
    share = sum(weights[form] for form in capitals)
    if not capitals or share < _LEAST * (share + weights.get(word, 0.0)):
        return word
    return max(capitals, key=lambda form: weights[form])
