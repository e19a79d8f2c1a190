"""The only source of random draws for private text: cryptographic streams under a secret key.

A key is derived for each job, file and copy.  (Training a vocabulary on public text uses a seeded
NumPy generator instead, in ``embeddings/training.py``; a test keeps it from everything else.)

Every record (a line, a cell) has streams of its own, so a result does not depend on batches,
workers or order, and a retried record gets the same words.  A stream is SHAKE-256 of
``key ‖ label ‖ record ‖ block``; words of a record are grouped in blocks of :data:`BLOCK`, so a
record of any length can be processed piece by piece.  Where equal words are to have the same draw,
the position of a stream is the word instead of the record and block: see :func:`streams_by_word`.
"""

import hashlib
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats

KEY_BYTES: Final = 32
BLOCK: Final = 256
"""Words of one record that share a stream."""

_TWO_64: Final = 1 << 64


def new_key() -> bytes:
    """Return a fresh secret key from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def seeded_key(seed: str) -> bytes:
    """Return the key of a public seed: repeatable and NOT PRIVATE, for tests only."""
    return hashlib.shake_256(b"dpsan seed 1\0" + seed.encode("utf-8", "surrogatepass")).digest(
        KEY_BYTES
    )


def derive_key(key: bytes, *path: str | int) -> bytes:
    """Return the key of a part of a job (a file, a copy): independent for every different path."""
    state = hashlib.shake_256(b"dpsan derive 1\0" + key)
    for part in path:
        data = repr(part).encode("utf-8", "surrogatepass")
        state.update(struct.pack("<Q", len(data)) + data)
    return state.digest(KEY_BYTES)


@dataclass(frozen=True, slots=True)
class Streams:
    """The random streams of a batch of ``m`` words.

    ``blocks`` holds one ``(record, block, words)`` for each run of words that share a stream, in
    order; ``words <= BLOCK`` and only the last block of a record is shorter than ``BLOCK``.
    Drawing the same label twice gives the same bits: every draw of a mechanism has its own label.
    """

    key: bytes = field(repr=False)
    blocks: tuple[tuple[int, int, int], ...]
    skip: int = 0
    """Words of the first block that were drawn before: they count as its words, not as the
    batch's."""

    def __len__(self) -> int:
        """Number of words m."""
        return sum(words for _, _, words in self.blocks) - self.skip

    def bits(self, label: str, width: int = 1) -> NDArray[np.uint64]:
        """Uniform 64-bit integers, shape (m, width); independent between words and labels."""
        prefix = hashlib.shake_256(b"dpsan stream 1\0" + self.key)
        name = label.encode("ascii")
        prefix.update(struct.pack("<QQ", len(name), width) + name)
        parts = []
        pack = struct.Struct("<QQ").pack
        for record, block, words in self.blocks:
            state = prefix.copy()
            state.update(pack(record, block))
            parts.append(state.digest(8 * width * words))
        data = np.frombuffer(b"".join(parts), dtype="<u8")
        return data.reshape(-1, width)[self.skip :].astype(np.uint64, copy=False)

    def uniform(self, label: str, width: int = 1) -> Floats:
        """Uniform numbers in the open interval (0, 1) on a grid of 2^-52, shape (m, width)."""
        # 52 bits and a half: exact in float64, never 0 and never 1.
        out: Floats = (self.bits(label, width) >> np.uint64(12)).astype(np.float64)
        out += 0.5
        out *= 2.0**-52
        return out

    def integers(
        self, label: str, bounds: NDArray[np.uint64] | int, at: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """Exactly uniform integers in [0, bound) for each word, or for some, shape (m,).

        Args:
            bounds: one bound, or an array (m,) of bounds, each in 1 ... 2^63.
            at: indices of the words, ascending; None: all.  A word has the same integer with any.
        """
        m = len(self) if at is None else len(at)
        bound = np.broadcast_to(np.asarray(bounds, dtype=np.uint64), (m,))
        # Accept x < floor(2^64 / bound) * bound, so that x mod bound is exactly uniform.  The
        # largest accepted value is 2^64 - 1 - (2^64 mod bound); (2^64 mod b) = (-b mod 2^64) mod b.
        excess = (np.uint64(0) - bound) % bound
        largest = np.uint64(_TWO_64 - 1) - excess
        out = self.bits(label)[:, 0].copy() if at is None else self._bits_at(label, at)
        rejected = np.flatnonzero(out > largest)
        attempt = 0
        while len(rejected):
            attempt += 1
            out[rejected] = self._bits_at(
                f"{label}/{attempt}", rejected if at is None else at[rejected]
            )
            rejected = rejected[out[rejected] > largest[rejected]]
        return out % bound

    def _bits_at(self, label: str, at: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the bits of some words; those of blocks without such a word are not made."""
        if not len(at):
            return np.zeros(0, dtype=np.uint64)
        sizes = np.array([words for _, _, words in self.blocks], dtype=np.int64)
        sizes[0] -= self.skip
        ends = np.cumsum(sizes)
        owner = np.searchsorted(ends, at, side="right")
        first = np.diff(owner, prepend=-1) > 0
        used = owner[first]
        before = np.cumsum(sizes[used]) - sizes[used]
        moved = (ends - sizes)[used] - before
        blocks = tuple(self.blocks[block] for block in used.tolist())
        part = Streams(self.key, blocks, self.skip * int(not used[0]))
        bits = part.bits(label)[:, 0]
        return np.asarray(bits[at - moved[np.cumsum(first) - 1]])

    def normal(self, label: str, width: int) -> Floats:
        """Standard normal numbers, shape (m, width), by the inverse distribution function."""
        from scipy.special import ndtri  # heavy import

        out = self.uniform(label, width)
        return np.asarray(ndtri(out, out=out), dtype=np.float64)

    def chunks(self, size: int) -> "list[Streams]":
        """Return the same streams in pieces of at most max(size, BLOCK) words, cut between
        blocks.
        """
        out: list[Streams] = []
        part: list[tuple[int, int, int]] = []
        size_of_part = 0
        for block in self.blocks:
            if part and size_of_part + block[2] > size:
                out.append(Streams(self.key, tuple(part), 0 if out else self.skip))
                part, size_of_part = [], 0
            part.append(block)
            size_of_part += block[2]
        if part:
            out.append(Streams(self.key, tuple(part), 0 if out else self.skip))
        return out


def streams_for(
    key: bytes, records: Sequence[int], words: Sequence[int], *, before: int = 0
) -> Streams:
    """Return the streams of a batch of records.

    Args:
        key: key of the file (see :func:`derive_key`).
        records: numbers of the records within the file, each used once per key.
        before: words of the first record that were drawn before these.
    """
    if before:
        begun, skip = divmod(before, BLOCK)
        first = streams_for(key, records[:1], [skip + words[0]]).blocks if words[0] else ()
        others = streams_for(key, records[1:], words[1:]).blocks
        moved = ((record, block + begun, size) for record, block, size in first)
        return Streams(key, (*moved, *others), skip if first else 0)
    blocks: list[tuple[int, int, int]] = []
    for record, count in zip(records, words, strict=True):
        if count <= BLOCK:
            if count:
                blocks.append((record, 0, count))
        else:
            full, rest = divmod(count, BLOCK)
            blocks += [(record, block, BLOCK) for block in range(full)]
            if rest:
                blocks.append((record, full, rest))
    return Streams(key, tuple(blocks))


def string_positions(key: bytes, strings: Sequence[str]) -> list[tuple[int, int]]:
    """Return a stream position for each string: 126 bits of its keyed hash, no row number.

    Args:
        key: of the unit within which equal strings have the same draw.
        strings: what no row number stands for.
    """
    prefix = hashlib.shake_256(b"dpsan string 1\0" + key)
    out = []
    for string in strings:
        state = prefix.copy()
        state.update(string.encode("utf-8", "surrogatepass"))
        first, second = struct.unpack("<QQ", state.digest(16))
        out.append((first >> 1, second | 1 << 63))
    return out


def streams_by_word(key: bytes, rows: Sequence[int], strings: Sequence[tuple[int, int]]) -> Streams:
    """Return a stream for each word that depends on the word alone, whatever stands before it.

    Args:
        key: of the unit within which equal words have the same draw; no other streams have it.
        rows: row numbers, all different.
        strings: positions of strings that have no row, see :func:`string_positions`, all different.
    """
    listed = [(row, 0, 1) for row in rows]
    return Streams(key, (*listed, *((first, second, 1) for first, second in strings)))
