"""Find the usual spelling of each word of the vocabulary: Paris, IBM, I, McDonald, iPhone.

A capital says something of a word only where nothing else asks for one.  Not counted: the first
word of a line or sentence, what follows a colon, a quotation mark or a bracket, headings, and lines
in capitals or without any.  A capital beside another (*Grand Central Station*) may be that of a
name made of common words, so it counts for less than one among small letters.  A word keeps its
small letters (*may*, *mark*, *us*) unless capitals clearly prevail.
"""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import regex

from dpsan.text.batch import BoundedCache
from dpsan.text.tokens import TOKENIZERS, folded, is_token, lookup_keys

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
        self._split = TOKENIZERS["unicode"]
        self._form = BoundedCache(self._form_of, _CACHED)
        self._plain = BoundedCache(_BEGINS.isdisjoint, _CACHED)
        self._begins = {piece for word in self._known for piece in _PIECE.findall(word)[:1]}

    def read(self, line: str, spellings: Spellings) -> None:
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
        between = [*(has and follows for has, follows in zip(capital, plain, strict=False)), False]
        alone: list[str] = []
        beside: list[str] = []
        for at, word in enumerate(words):
            if plain[at]:
                near = between[at - 1] or between[at + 1]  # own[-1] of the first word is False
                (beside if near else alone).append(self._form[word])
        spellings.alone.update(filter(None, alone))
        spellings.beside.update(filter(None, beside))

    def _form_of(self, token: str) -> str:
        """Return a known word as the token writes it, or an empty string."""
        *others, small = lookup_keys(token)
        if small not in self._known:
            return ""
        return others[-1] if others and others[-1].lower() == small else small


def usual_spellings(texts: Iterable[tuple[Spellings, float]], words: Sequence[str]) -> list[str]:
    """Return the usual spelling of each word, from what was found in texts, each with its
    weight.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for spellings, weight in texts:
        total = spellings.alone.total() + spellings.beside.total()
        for counts, share in ((spellings.alone, weight), (spellings.beside, _BESIDE * weight)):
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


# Count the tokens of public text, write them down for training, and choose the words.
#
# Memory is bounded: where there are too many different tokens, the rarest are forgotten; the text
# itself is on disk.

_MOST: Final = 2_000_000
"""Different tokens that are counted at a time; about 300 bytes each."""
# gensim cuts a sentence at 10,000 words; paragraphs are far shorter, this is a fuse.
_LONGEST_LINE: Final = 5_000
_WORD: Final = regex.compile(r"\p{L}[\p{L}\p{M}]{0,29}(?:['·-][\p{L}\p{M}]{1,20}){0,3}")
_NUMBER: Final = regex.compile(r"\d{1,4}|\d{1,2}[.,]\d|\d{1,3}[.,]000")


class TokenText:
    """The tokens of a text in a file, in blocks that can be read in any order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._ends = array("q", [0])
        self._split = TOKENIZERS["unicode"]
        self._spelling = BoundedCache(folded, _CACHED)
        self._rarest = 0
        self.running = 0
        """Tokens in all."""
        self.tokens: Counter[str] = Counter()
        """Count of each token."""
        self.blocks: Counter[str] = Counter()
        """In how many blocks."""

    def add(self, block: list[str]) -> None:
        """Take in lines that belong together."""
        different: set[str] = set()
        for line in block:
            words = [self._spelling[token] for token in self._split(line)[1::2]]
            if words:
                self.running += len(words)
                self.tokens.update(words)
                different.update(words)
                self._file.write(f"{' '.join(words)}\n".encode())
        self.blocks.update(different)
        self._ends.append(self._file.tell())
        if len(self.tokens) > _MOST:
            while len(self.tokens) > _MOST // 2:
                self._rarest += 1
                self.tokens = Counter({w: c for w, c in self.tokens.items() if c > self._rarest})
            self.blocks = Counter({w: c for w, c in self.blocks.items() if w in self.tokens})

    def finish(self) -> None:
        """Nothing more is added."""
        self._file.close()

    def write_training_text(
        self, out: Path, keep: Callable[[str], bool], rng: np.random.Generator
    ) -> None:
        """Write every block in random order, one line of words a line.

        The order matters: the learning rate falls along the file, so texts must be mixed.
        """
        with out.open("w", encoding="utf-8") as file, self._path.open("rb") as tokens:
            for at in rng.permutation(len(self._ends) - 1):
                begin, end = self._ends[at : at + 2]
                block = os.pread(tokens.fileno(), end - begin, begin).decode()
                for line in block.split("\n"):
                    words = list(filter(keep, line.split()))
                    for start in range(0, len(words), _LONGEST_LINE):
                        file.write(f"{' '.join(words[start : start + _LONGEST_LINE])}\n")


def admissible(word: str) -> bool:
    """Return whether a string can be a word of any language: no address, no long number."""
    return bool(_NUMBER.fullmatch(word) or _WORD.fullmatch(word)) and is_token(word, "unicode")


def handicap(word: str) -> float:
    """Return by how much a word must be more used than a plain word to be preferred to it.

    317 says little that 300 does not.
    """
    plain = len(word) < 3 or word.endswith("00") or not word.isdigit()
    return 1.0 if plain or 1700 <= int(word) <= 2030 else 2.0


def most_used(
    width: Mapping[str, float], total: Counter[str], size: int, least: int
) -> frozenset[str]:
    """Return the ``size`` most widely used admissible words.

    Args:
        width: how widely each token is used.
        total: occurrences of each token.
        least: occurrences of a word.
    """
    fit = (word for word in width if total[word] >= least and admissible(word))
    ranked = sorted(fit, key=lambda word: (-width[word] / handicap(word), word))
    return frozenset(ranked[:size])
