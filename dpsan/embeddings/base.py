"""The words and their vectors, as every loader returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_OFFSET = 2.7
"""Mandelbrot's: the first ranks of a text are less frequent than Zipf's 1/rank says."""


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings:
    """A vocabulary of n words with vectors of d dimensions, in frequency order.

    The names follow gensim's ``KeyedVectors``.
    """

    index_to_key: list[str]
    """The words, all different."""
    vectors: NDArray[np.float32]
    """Shape (n, d), C order, finite, no zero row."""
    source: str
    """The file's name, or ``bundled:en``; for messages."""
    digest: str
    """SHA-256 (hex) of the file's bytes and the options that change what is read from them."""
    counts: NDArray[np.int64] | None = None
    """Public corpus counts, shape (n,), where the file has them; else rank order is all we know."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of the file left out, by reason (duplicate, non-finite, zero, empty, ...)."""
    spellings: list[str] | None = None
    """Usual spelling of each word (Paris), shape (n,); None if unknown."""
    english: bool = False
    """True if the words are known to be English, so that *a* and *an* are articles."""
    classes: NDArray[np.int8] | None = None
    """Public class of each word, shape (n,), where that is known: see ``word_classes``."""

    def __repr__(self) -> str:
        return f"<{self.n} words of {self.d} dimensions from {self.source!r}>"

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """Return row number of each word."""
        return dict(zip(self.index_to_key, range(self.n), strict=True))

    @cached_property
    def n(self) -> int:
        """Number of words."""
        return len(self.index_to_key)

    @cached_property
    def d(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])


def word_frequencies(n: int, counts: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Public frequencies of n words, shape (n,); they sum to 1.

    Args:
        counts: corpus counts (n,), where the embedding file has them; otherwise Zipf's law by row
            number, since files list their words by falling frequency.
    """
    weights = 1 / (np.arange(n) + _OFFSET) if counts is None else np.maximum(counts, 1) * 1.0
    return np.asarray(weights / weights.sum())


Progress = Callable[[float], None]
"""Called with the share of a work that is done, 0 ... 1."""
Watch = Callable[[str], AbstractContextManager[Progress]]
"""Shows progress: takes a description, and its body gets a function of the share that is done."""
T = TypeVar("T")


def no_progress(share: float) -> None:
    """Show nothing."""


def unseen(what: str) -> AbstractContextManager[Progress]:
    """Show nothing."""
    return nullcontext(no_progress)


def shown(watch: Watch, what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items of a work, and show the share of them that is done."""
    with watch(what) as progress:
        for done, item in enumerate(items, 1):
            yield item
            progress(done / len(items))
