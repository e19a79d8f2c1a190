"""An identity for tests: every word is masked on the real path and then put back, so bytes must
come out as they went in."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpsan.embeddings.words import Embeddings
from dpsan.files.atomic_files import Sink
from dpsan.files.source import FileSource
from dpsan.formats.base import ReadOptions
from dpsan.run.plan import Plan
from dpsan.run.stream import Work, rewrite_stream
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.shape import INVISIBLE
from dpsan.text.tokens import TOKENIZERS

WORDS = ["qqxzvjkwqzxj", "zzqxjvkqwjxz"]


class Identity(Sanitizer):
    """Hands back the texts it was given, after a look at what the real path made of them.

    No sanitizer writes what is invisible, or two words without anything between them; nothing else
    may differ.
    """

    def sanitize(self, texts, key=b"", records=None, **how):
        done = super().sanitize(texts, key, records, **how)
        for before, after in zip(texts, done.lines, strict=True):
            assert squeezed(_masked(before)) == squeezed(after)
        return replace(done, lines=list(texts))


def squeezed(text: str) -> str:
    return INVISIBLE.sub("", text).replace(" ", "").replace("S", "s")


def _masked(text: str) -> str:
    pieces = TOKENIZERS["unicode"](text)
    pieces[1::2] = ["<unk>"] * (len(pieces) // 2)
    return "".join(pieces)


def _made(kind):
    vectors = np.array([[0, 9], [9, 0]], dtype=np.float32)
    embeddings = Embeddings(WORDS, vectors, "identity", "identity")
    return kind(mechanism="laplace", epsilon=1.0, embeddings=embeddings, unknown="mask")


def identity() -> Sanitizer:
    return _made(Identity)


def marker() -> Sanitizer:
    """Every word becomes <unk>."""
    return _made(Sanitizer)


class Lettered(Sanitizer):
    """Writes W for each masked word, nothing that a container has to escape, or another string."""

    letter = "W"

    def sanitize(self, texts, key=b"", records=None, *, audit=False, spans=None):
        done = super().sanitize(texts, key, records, audit=audit, spans=spans)
        return replace(done, lines=[line.replace("<unk>", self.letter) for line in done.lines])


def lettered(letter: str = "W") -> Sanitizer:
    """Every word becomes W, or another string."""
    made = _made(Lettered)
    made.letter = letter
    return made


class Pieces:
    """A source that hands out bytes in given pieces, idle between them now and then."""

    def __init__(self, data: bytes, size: int, name: str = "test") -> None:
        self.name, self._data, self._size, self._at = name, data, size, 0
        self.bytes_read = 0
        self.sha256 = ""

    def descriptor(self):
        return None

    def check_unchanged(self) -> None:
        """Nobody writes to bytes in memory."""

    def read(self) -> bytes:
        out = self._data[self._at : self._at + self._size]
        self._at += len(out)
        self.bytes_read = self._at
        return out

    def idle(self) -> bool:
        return self._at % 3 == 1


class Collected(Sink):
    """A sink in memory."""

    def __init__(self) -> None:
        super().__init__("collected", -1)
        self.data = b""

    def _send(self, data: bytes) -> None:
        self.data += data


def through(
    sanitizer,
    data,
    kind,
    *,
    size=1 << 18,
    key=b"k" * 32,
    batch=1 << 14,
    copies=1,
    spans=None,
    sink=None,
    **options,
):
    """What comes out of a container, and the outcome."""
    sink = sink or Collected()
    plan = Plan(kind, ReadOptions(**options), batch=batch, copies=copies, spans=spans)
    outcome = rewrite_stream(Pieces(data, size), sink, Work(sanitizer, plan, key))
    return sink.data, outcome


def through_file(sanitizer: Sanitizer, path: Path, kind: str = "auto", **options):
    """The same from a real file, for formats that need one."""
    sink = Collected()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        source = FileSource(str(path), descriptor)
        plan = Plan(kind, ReadOptions(**options))
        outcome = rewrite_stream(source, sink, Work(sanitizer, plan, b"k" * 32))
    finally:
        os.close(descriptor)
    return sink.data, outcome
