"""Hashes of words: polynomials of their folded code points, and tables of them.

The hash of a span is a difference of two prefix sums, so words, phrases and pieces of a block are
looked up without making a string of them.  Words are compared by their hashes alone: two words
are taken for equal with probability 2^-64, and an unlisted word for a listed one with probability
2^-50 for each listed word.  :data:`BASE` is public and fixed, so that lists can be stored; a
hostile author can therefore make up strings that collide.  Such strings get one replacement, or
pass as a listed word; they change nothing about words that others wrote.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dpsan.only.view import Codes, Ids, Indices, Ints, Points, Whole

Words64 = NDArray[np.uint64]
Rows = NDArray[np.int32]

BASE: Final = 0x9E3779B97F4A7C15
"""Base of the polynomial, modulo 2^64.  Stored lists depend on it."""
INVERSE: Final = pow(BASE, -1, 1 << 64)
MASK: Final = (1 << 64) - 1


def mixed(hashes: Words64) -> Words64:
    """Spread the bits of hashes: the upper ones tell the bucket, 32 lower ones are stored."""
    out = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(BASE)
    return out ^ (out >> np.uint64(32))


def salted(hashes: Words64, unit: Whole) -> Words64:
    """Return hashes that are equal for equal words of one unit alone; no power of the base."""
    return hashes + unit.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)


def hash_of(word: str) -> int:
    """Return the hash of one folded word."""
    total = 0
    for char in reversed(word):
        total = (total * BASE + ord(char) + 1) & MASK
    return total


def near_hashes(word: str) -> list[int]:
    """Return the hashes of a folded word and of all strings that lack one of its letters."""
    sums, power = [0], 1
    for char in word:
        sums.append((sums[-1] + (ord(char) + 1) * power) & MASK)
        power = power * BASE & MASK
    whole = sums[-1]
    cut = (sums[i] + (whole - sums[i + 1]) * INVERSE & MASK for i in range(len(word)))
    return [whole, *(value & MASK for value in cut)]


class Hashes:
    """Prefix sums of a block of folded code points (n)."""

    powers: Words64 = np.ones(1, np.uint64)
    inverses: Words64 = np.ones(1, np.uint64)

    def __init__(self, points: NDArray[np.unsignedinteger]) -> None:
        n = len(points)
        while (size := len(Hashes.powers)) <= n:
            Hashes.powers, Hashes.inverses = (
                np.append(values, values * np.uint64(pow(base, size, 1 << 64)))
                for values, base in ((Hashes.powers, BASE), (Hashes.inverses, INVERSE))
            )
        self.sums = np.zeros(n + 1, np.uint64)
        values = self.sums[1:]
        np.add(points, 1, out=values, casting="unsafe")
        values *= self.powers[:n]
        values.cumsum(out=values)

    @classmethod
    def of_words(cls, words: list[str]) -> Words64:
        """Return the hash of each word."""
        return cls.of_lines("\n".join(words)) if words else np.empty(0, np.uint64)

    @classmethod
    def of_lines(cls, text: str) -> Words64:
        """Return the hash of each line."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return cls(points).of(*lines(points))

    def of(self, start: Whole, end: Whole) -> Words64:
        """Return the hash of each span: (k,)."""
        out = self.sums.take(end)
        out -= self.sums.take(start)
        out *= self.inverses.take(start)
        return out

    def shortened(self, start: Whole, end: Whole) -> Words64:
        """Return the hashes of all spans that lack one of their code points."""
        sizes = end - start
        inside = start.repeat(sizes)
        left = np.arange(len(inside)) - np.repeat(sizes.cumsum() - sizes, sizes) + inside
        tail = self.sums[end.repeat(sizes)] - self.sums[left + 1]
        head = self.sums[left] - self.sums[inside]
        out: Words64 = (head + tail * np.uint64(INVERSE)) * self.inverses[inside]
        return out


def lines(points: NDArray[np.unsignedinteger]) -> tuple[Rows, Rows]:
    """Return where each line of a block of code points starts and ends."""
    end = np.append((points == ord("\n")).nonzero()[0], len(points)).astype(np.int32)
    return np.append(0, end[:-1] + 1).astype(np.int32), end


class Table:
    """Rows of listed words: the lower bits of their mixed hashes, in order of buckets.

    Args:
        tags: lower 32 bits of each mixed hash: (n,).
        counts: number of words in each bucket; the upper bits of a mixed hash tell its bucket.
    """

    def __init__(self, tags: Points, counts: Codes) -> None:
        self.tags, self.counts = tags, counts
        self.shift = 65 - len(counts).bit_length()
        self.first = np.zeros(len(counts) + 1, np.int32)
        counts.cumsum(out=self.first[1:])

    @classmethod
    def order(cls, hashes: Words64, bits: int) -> tuple[Indices, Self]:
        """Return the order in which a table of 2^bits buckets stores these words, and the table.

        Raises:
            ValueError: two words cannot be told apart.
        """
        spread = mixed(hashes)
        bucket, tags = (spread >> np.uint64(64 - bits)).astype(np.int64), spread.astype(np.uint32)
        order = np.lexsort((tags, bucket))
        pairs = np.stack([bucket[order], tags[order]], 1)
        if (pairs[1:] == pairs[:-1]).all(axis=1).any():
            raise ValueError("two listed words have one hash")
        counts = np.bincount(bucket, minlength=1 << bits)
        return order, cls(tags[order], counts.astype(np.uint8))

    def rows(self, hashes: Words64) -> Rows:
        """Return the row of each word, -1 where it is not listed: (k,)."""
        rows = np.full(len(hashes), -1, np.int32)
        spread = mixed(hashes)
        bucket = (spread >> np.uint64(self.shift)).astype(np.int64)
        tags = spread.astype(np.uint32)
        at = self.first.take(bucket)
        last = at + self.counts.take(bucket)
        left = (at < last).nonzero()[0]
        at, last, tags = at.take(left), last.take(left), tags.take(left)
        while len(left):
            same = self.tags.take(at) == tags
            hits = same.nonzero()[0]
            rows[left.take(hits)] = at.take(hits)
            at += 1
            more = (~same & (at < last)).nonzero()[0]
            left, at = left.take(more), at.take(more)
            last, tags = last.take(more), tags.take(more)
        return rows

    def row(self, word: str) -> int:
        """Return the row of one folded word, -1 where it is not listed."""
        value = hash_of(word)
        value = ((value ^ (value >> 31)) * BASE) & MASK
        value ^= value >> 32
        bucket, tag = value >> self.shift, value & 0xFFFFFFFF
        for at in range(self.first[bucket], self.first[bucket + 1]):
            if self.tags[at] == tag:
                return at
        return -1


# Where the tokens of a view stand, and the hashes by which they are equal.


@dataclass(frozen=True, eq=False)
class Places:
    """Where the tokens of a view stand in its block."""

    block: str
    start: Ints
    end: Ints
    """Before the possessive."""
    after: Ints
    """Behind the possessive."""
    hashes: Words64
    """Hash of the folded word of each token: it makes equal words of a unit equal."""
    stems: Words64
    """The same without a plural s, of a nation that of its country."""
    pieces: dict[int, tuple[int, ...]]
    """By the token of an e-mail address the hash of each piece of letters, 0 of others."""

    def words(self, at: Ids) -> list[str]:
        """Return the text of some tokens, without possessives."""
        spans = zip(self.start[at].tolist(), self.end[at].tolist(), strict=True)
        return [self.block[start:end] for start, end in spans]
