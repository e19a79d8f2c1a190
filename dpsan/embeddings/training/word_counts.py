"""The tokens of public text: counted, and written down for training.

Knows tokens.  Must not know which of them become words.  Memory is bounded: where there are too
many different tokens, the rarest are forgotten; the text itself is on disk.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.text.bounded_cache import BoundedCache
from dpsan.text.tokens import TOKENIZERS, folded

_MOST: Final = 2_000_000
"""Different tokens that are counted at a time; about 300 bytes each."""
# gensim cuts a sentence at 10,000 words; paragraphs are far shorter, this is a fuse.
_LONGEST_LINE: Final = 5_000


class LookupSpelling(BoundedCache[str]):
    """Return the spelling under which a token is looked up at last."""

    MOST = 1 << 20
    """Tokens that are cached."""

    def __init__(self) -> None:
        super().__init__(folded, self.MOST)


class TokenText:
    """The tokens of a text in a file, in blocks that can be read in any order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._ends = array("q", [0])
        self._split = TOKENIZERS["unicode"].split
        self._spelling = LookupSpelling()
        self._rarest = 0
        self.running = 0
        """Tokens in all."""
        self.tokens: Counter[str] = Counter()
        """How often each occurs."""
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
            self._forget()

    def _forget(self) -> None:
        while len(self.tokens) > _MOST // 2:
            self._rarest += 1
            self.tokens = Counter({w: c for w, c in self.tokens.items() if c > self._rarest})
        self.blocks = Counter({w: c for w, c in self.blocks.items() if w in self.tokens})

    def finish(self) -> None:
        """Nothing more is added."""
        self._file.close()

    def write_training_text(
        self,
        out: Path,
        keep: Callable[[str], bool],
        rng: np.random.Generator,
    ) -> None:
        """Write every block in random order, one line of words a line.

        The order matters: the learning rate falls along the file, so texts must be mixed.
        """
        with out.open("w", encoding="utf-8") as file, self._path.open("rb") as tokens:
            for at in rng.permutation(len(self._ends) - 1):
                begin, end = self._ends[at : at + 2]
                block = os.pread(tokens.fileno(), end - begin, begin).decode()
                for line in _lines(block, keep):
                    file.write(line)


def _lines(block: str, keep: Callable[[str], bool]) -> Iterator[str]:
    for line in block.split("\n"):
        words = list(filter(keep, line.split()))
        for start in range(0, len(words), _LONGEST_LINE):
            yield f"{' '.join(words[start : start + _LONGEST_LINE])}\n"
