"""Count the tokens of public text, write them down for training, and choose the words.

Memory is bounded: where there are too many different tokens, the rarest are forgotten; the text
itself is on disk.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import regex

from dpsan.text.batch import BoundedCache
from dpsan.text.tokens import TOKENIZERS, folded, is_token

_MOST: Final = 2_000_000
"""Different tokens that are counted at a time; about 300 bytes each."""
_CACHED: Final = 1 << 20
"""Tokens whose spelling is cached."""
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
        self._split = TOKENIZERS["unicode"].split
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
        seen: set[str] = set()
        for line in block:
            words = [self._spelling[token] for token in self._split(line)[1::2]]
            if words:
                self.running += len(words)
                self.tokens.update(words)
                seen.update(words)
                self._file.write(f"{' '.join(words)}\n".encode())
        self.blocks.update(seen)
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
