"""A trigram model of a vocabulary's words: its probabilities, and the file that holds it.

    p(w|u,v) = p3 of the trigram if it is stored, else b(u,v)·p(w|v)
    p(w|v)   = p2 of the bigram if it is stored, else b(v)·p(w)

The file (``.npz``) has the bigrams ascending by their symbols, each by how far it is above the one
before, and the trigrams likewise below their bigrams.  Logarithms are whole multiples of 1/12 (of
the weights b: 1/24).  vocab/language.py makes it from text.

Symbols are the words of a vocabulary, ⊥ and four kinds of gaps.  A text is ``LINE word [gap] word
... LINE``.  A gap of spaces alone is no symbol.  After LINE and END a model forgets what was
before, so the words between two of them are a *unit*: it is read without its neighbours.
"""

import hashlib
import io
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.loading import bundled_digest, bundled_language_model
from dpsan.embeddings.words import Embeddings
from dpsan.space.arrays import Array, Floats32, Ids, Ints, Mask
from dpsan.text.batch import BoundedCache, Layout

FORMAT: Final = 2
STEP: Final = 12
"""Steps of a logarithm that is stored."""
WEIGHT: Final = (24, 2.0)
"""The same of a weight b, and the largest one that can be stored."""
_LOGS: Final = -np.arange(256, dtype=np.float32) / np.float32(STEP)
_WEIGHTS: Final = WEIGHT[1] - np.arange(256, dtype=np.float32) / np.float32(WEIGHT[0])
"""The logarithm that each number of steps stands for."""
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_FILTER_BITS: Final = 24
_AT_ONCE: Final = 1 << 17
"""Keys that are hashed at once: memory that is let go is not all given back."""

Logs = Floats32
Stored = NDArray[np.float16] | NDArray[np.uint8]
"""Logarithms that are many: exact to 1/100, or steps as in the file."""


class _Keys:
    """Finds integers >= 0 among some.

    Many are not among them, and a table of one bit for each hash tells so soonest.

    Args:
        keys: ascending, distinct.
    """

    def __init__(self, keys: Ids) -> None:
        self._keys = keys
        bits = min(max(12, int(np.ceil(np.log2(16 * len(keys) + 1)))), _FILTER_BITS)
        self._shift = np.uint64(64 - bits)
        self._filter = np.zeros(1 << bits - 3, dtype=np.uint8)
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE].astype(np.int64)
            np.bitwise_or.at(self._filter, *self._bits(part))

    def _bits(self, keys: Ids) -> tuple[Ids, NDArray[np.uint8]]:
        """Return the byte of the filter for each key, and its bit there."""
        at = (keys.view(np.uint64) * _FACTOR) >> self._shift
        bit = np.left_shift(np.uint8(1), at.astype(np.uint8) & np.uint8(7))
        return (at >> np.uint64(3)).view(np.int64), bit

    def find(self, keys: Ids) -> tuple[Ids, Ids]:
        """Return which of some keys, shape (k,), are there: their positions, and their indices."""
        byte, bit = self._bits(keys)
        there = np.flatnonzero(self._filter.take(byte) & bit)
        keys = keys[there].astype(self._keys.dtype)
        at = np.searchsorted(self._keys, keys)
        real = np.flatnonzero(self._keys.take(at, mode="clip") == keys) if len(self._keys) else at
        return there[real], at[real]


@dataclass(frozen=True, eq=False)
class Ngrams:
    """A trigram model; S = n + 5 symbols."""

    n: int
    """Words of the vocabulary."""
    words: int
    """Running words of its text."""
    unigrams: Logs
    """ln p(w), shape (S,)."""
    weights: Logs
    """ln b(v), shape (S,)."""
    bigrams: Ids
    """``v·S + w``, ascending, shape (b,)."""
    log_bigrams: Stored
    """ln p(w|v), shape (b,)."""
    bigram_weights: Stored
    """ln b(v,w), shape (b,)."""
    trigrams: Ids
    """``index of the bigram·S + w``, ascending, shape (t,)."""
    log_trigrams: Stored
    """ln p(w|u,v), shape (t,)."""

    @property
    def size(self) -> int:
        """Number of symbols."""
        return len(self.unigrams)

    @cached_property
    def _pairs(self) -> _Keys:
        return _Keys(self.bigrams)

    @cached_property
    def _triples(self) -> _Keys:
        return _Keys(self.trigrams)

    @cached_property
    def _begins(self) -> Mask:
        """True for bigrams that begin a stored trigram."""
        out = np.zeros(len(self.bigrams) + 1, dtype=np.bool_)
        out[self.trigrams // self.size] = True
        return out

    def pairs(self, first: Ids, second: Ids) -> tuple[Logs, Ints]:
        """Return ln p(second|first), broadcast, and the index of each stored bigram, else -1.

        The first axes are equally long.  Symbols of -1 are none, and what is returned for them
        means nothing.
        """
        out = self.weights[first] + self.unigrams[second]
        index = np.full(out.shape, -1, dtype=np.int32)
        step = max(1, _AT_ONCE * len(out) // max(1, out.size))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            left, right = first[part], second[part]
            wanted = np.flatnonzero((left >= 0) & (right >= 0))
            at, indices = self._pairs.find((left * self.size + right).ravel().take(wanted))
            at = wanted.take(at)
            out[part].ravel()[at] = _logs(self.log_bigrams.take(indices))
            index[part].ravel()[at] = indices
        return out, index

    def triples(self, bigram: Ints, third: Ids, below: Logs) -> Logs:
        """Return ln p(third|u,v), broadcast.

        Args:
            bigram: index of (u, v), -1 where it is not stored.
            third: -1 for none.
            below: ln p(third|v).
        """
        stored = bigram >= 0
        weights = self.bigram_weights if len(self.bigrams) else np.zeros(1, dtype=np.float16)
        out = below + np.where(stored, _logs(weights[bigram], _WEIGHTS), np.float32(0))
        begins = stored & self._begins[bigram]
        if begins.any():
            wanted = np.flatnonzero(np.broadcast_to(begins & (third >= 0), out.shape))
            keys = (bigram.astype(np.int64) * self.size + third).ravel().take(wanted)
            at, indices = self._triples.find(keys)
            out.ravel()[wanted.take(at)] = _logs(self.log_trigrams.take(indices))
        return out

    def neighbours(self, count: int) -> tuple[Ints, Ints]:
        """Return the likeliest words after and before each symbol, (S, count) each; -1: none."""
        first, second = np.divmod(self.bigrams, self.size)
        words = first < self.n
        logs = _logs(self.log_bigrams)
        joint = logs + self.unigrams[first]
        after = _best(first, second, logs, second < self.n, self.size, count)
        return after, _best(second, first, joint, words, self.size, count)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Ngrams":
        """Return a model from a file whose hash was checked: what it says is not checked again."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            _, n, words = stored["format"].tolist()
            # What is kept comes first, and each part of the file is let go when it is read: freed
            # memory between arrays that stay is not given back.
            unigrams, weights = _LOGS[stored["unigrams"]], _WEIGHTS[stored["weights"]]
            log_bigrams, log_trigrams = stored["log_bigrams"], stored["log_trigrams"]
            bigram_weights, size = stored["bigram_weights"], n + KINDS
            bigrams = _keys(stored["bigrams"], size**2)
            trigrams = _keys(stored["trigrams"], size * len(bigrams))
        below = (bigrams, log_bigrams, bigram_weights, trigrams, log_trigrams)
        return cls(n, words, unigrams, weights, *below)


def model_for(embeddings: Embeddings) -> tuple[Ngrams, str] | None:
    """Return the model of the bundled vocabulary, and the digest of its file.

    None for another vocabulary.

    Raises:
        EmbeddingError: its file is missing or damaged.
    """
    data = bundled_language_model() if embeddings.digest == bundled_digest() else None
    if data is None:
        return None
    return Ngrams.from_bytes(data), hashlib.sha256(data).hexdigest()


def _best(of: Ids, what: Ids, score: Logs, keep: Mask, size: int, count: int) -> Ints:
    """Return the ``count`` of largest score of each, shape (size, count)."""
    out = np.full((size, count), -1, dtype=np.int32)
    of, what, score = of[keep], what[keep], score[keep]
    order = np.lexsort((what, -score, of))
    of, what = of[order], what[order]
    rank = np.arange(len(of)) - np.searchsorted(of, of, side="left")
    top = rank < count
    out[of[top], rank[top]] = what[top]
    return out


def _logs(stored: Array, table: Logs = _LOGS) -> Logs:
    """Return logarithms; a table has those of steps."""
    return table.take(stored) if stored.dtype == np.uint8 else stored.astype(np.float32)


def _keys(rises: NDArray[np.uint8], limit: int) -> Ids:
    """Return the keys, all below a limit, of how far each is above the one before."""
    steps = np.ascontiguousarray(rises.T).view(f"<u{len(rises)}")[:, 0]
    kind = np.int32 if limit <= 1 << 31 else np.int64
    return np.cumsum(steps, dtype=np.int64).astype(kind)


class Gap(IntEnum):
    """Kind of the characters between two words; its symbol is n + kind."""

    SPACE = 0
    """White space within a line: no symbol."""
    LINE = 1
    """A line break, or where a text begins or ends."""
    END = 2
    """With a full stop or another mark that ends a sentence."""
    CLAUSE = 3
    """With a comma, colon or semicolon."""
    OTHER = 4
    """Brackets, quotes, hyphens, a possessive ending, or nothing."""


KINDS: Final = len(Gap)
DECODER: Final = 3
"""Version of these kinds and of the decoder: outputs that a memo holds depend on them."""
_MANY: Final = 50_000
_ENDS: Final = frozenset(".!?…")
_CLAUSES: Final = frozenset(",;:")
_BREAKS: Final = frozenset("\n\v\f\r\x85\u2028\u2029")


def gap_kind(gap: str) -> Gap:
    """Return the kind of the characters between two words."""
    for kind, marks in ((Gap.LINE, _BREAKS), (Gap.END, _ENDS), (Gap.CLAUSE, _CLAUSES)):
        if not marks.isdisjoint(gap):
            return kind
    return Gap.SPACE if gap.isspace() else Gap.OTHER


_kinds = BoundedCache(gap_kind, _MANY)


def gap_kinds(layout: Layout) -> Ids:
    """Return the kinds of the gaps of some texts, shape (words + 1,); LINE between two texts."""
    out = np.zeros(len(layout.gaps), dtype=np.int64)
    gaps, seam = layout.gaps, layout.seam
    for at in layout.odd.tolist():
        gap = gaps[at]
        out[at] = Gap.LINE if seam in gap else _kinds[gap]
    out[[0, -1]] = Gap.LINE
    return out


def symbols_of(codes: Ids, kinds: Ids, n: int) -> Ids:
    """Return the symbols of texts, shape (s,), from codes (words,) and kinds of gaps (words + 1,).

    Args:
        codes: rows of the vocabulary, n for every other word.
    """
    out = np.full(2 * len(codes) + 1, -1, dtype=np.int64)
    out[1::2] = codes
    out[::2] = np.where(kinds > 0, n + kinds, -1)
    return out[out >= 0]
