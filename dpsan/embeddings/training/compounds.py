"""What a token trains as: itself, or the words that it is looked up as.

Knows the tokenizer's rules.  Must not know how words are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpsan.text.lately import Lately
from dpsan.text.tokens import folded, subwords


class LookupSpelling(Lately[str]):
    """The spelling under which each token is looked up at last."""

    MOST = 1 << 20
    """Tokens that are remembered."""

    def __init__(self) -> None:
        super().__init__(folded, self.MOST)


def in_pieces(token: str, kept: frozenset[str]) -> list[str]:
    """The words a token trains as: itself if kept or indivisible, else its pieces, likewise."""
    if token in kept:
        return [token]
    pieces = subwords(token)
    if pieces is None:
        return [token]
    words = (piece for piece in pieces[1::2] if piece)
    return [word for piece in words for word in in_pieces(piece, kept)]


def pieces_of_compounds(tokens: Iterable[str], kept: frozenset[str]) -> dict[str, str]:
    """The splits to make in the training text: token -> its pieces, separated by spaces."""
    return {
        token: " ".join(words) for token in tokens if (words := in_pieces(token, kept)) != [token]
    }
