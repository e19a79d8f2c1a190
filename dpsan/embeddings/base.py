"""The words and their vectors, as every loader returns them.

Knows names, rows and counts.  Must not know files or mechanisms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embeddings", "Parts", "StoredEmbeddings"]


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

    def __repr__(self) -> str:
        return f"<{self.n} words of {self.d} dimensions from {self.source!r}>"

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """Row number of each word."""
        return dict(zip(self.index_to_key, range(self.n), strict=True))

    @property
    def n(self) -> int:
        """Number of words."""
        return len(self.index_to_key)

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    def begin(self, *, vectors: bool) -> None:
        """Begin to read what is not in memory yet: words, and vectors if they will be needed."""


class Parts(Protocol):
    """Words and vectors that are not in memory yet."""

    def words(self) -> tuple[list[str], dict[str, int]]:
        """All words, and the row number of each."""
        ...

    def vectors(self) -> NDArray[np.float32]:
        """Shape (n, d), C order."""
        ...

    def begin(self, *, vectors: bool) -> None:
        """Begin to read the words, and the vectors if they will be needed, while others work."""
        ...


class StoredEmbeddings(Embeddings):
    """The same, of a vocabulary whose words and vectors are read when they are first asked for."""

    _shape: tuple[int, int]
    _parts: Parts

    def __init__(
        self,
        shape: tuple[int, int],
        parts: Parts,
        *,
        source: str,
        digest: str,
        counts: NDArray[np.int64] | None,
        dropped: Mapping[str, int],
    ) -> None:
        about = {"source": source, "digest": digest, "counts": counts, "dropped": dropped}
        self.__dict__.update(about, _shape=shape, _parts=parts)  # the base is frozen

    # No cached_property: in Python 3.11 that holds a lock while it reads, also for forked children.
    @property
    def index_to_key(self) -> list[str]:
        """The words."""
        return self._parts.words()[0]

    @property
    def key_to_index(self) -> dict[str, int]:
        """Row number of each word."""
        return self._parts.words()[1]

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors."""
        return self._parts.vectors()

    @property
    def n(self) -> int:
        """Number of words."""
        return self._shape[0]

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return self._shape[1]

    def begin(self, *, vectors: bool) -> None:
        """See :class:`Embeddings`."""
        self._parts.begin(vectors=vectors)

    def __reduce__(self) -> tuple[object, ...]:
        values = (self.index_to_key, self.vectors, self.source, self.digest, self.counts)
        return Embeddings, (*values, self.dropped)
