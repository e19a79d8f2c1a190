"""Where the tokens of a view stand, and the hashes by which they are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsan.only.view import Ints


@dataclass(frozen=True, eq=False)
class Places:
    """Where the tokens of a view stand in its block."""

    block: str
    start: Ints
    end: Ints
    """Before the possessive."""
    after: Ints
    """Behind the possessive."""
    hashes: NDArray[np.uint64]
    """Hash of the folded word of each token: it makes equal words of a unit equal."""
    stems: NDArray[np.uint64]
    """The same without a plural s, of a nation that of its country."""
    pieces: dict[int, tuple[int, ...]]
    """By the token of an e-mail address the hash of each piece of letters, 0 of others."""

    def words(self, at: NDArray[np.int64]) -> list[str]:
        """Return the text of some tokens, without possessives."""
        spans = zip(self.start[at].tolist(), self.end[at].tolist(), strict=True)
        return [self.block[start:end] for start, end in spans]
