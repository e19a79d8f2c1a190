"""A sanitizer whose draws are known: every word of the vocabulary becomes the next one."""

from random import Random
from typing import Any

import numpy as np

from dpsan.embeddings.words import Embeddings
from dpsan.mechanisms.mechanism import Sampler
from dpsan.sanitize.sanitizer import Sanitizer

PLAIN = ["here", "there", "paris", "rome", "oslo", "bonn", "lima"]
AWKWARD = ['o"clock', "a,b", "x/y", "naïve", "back\\slash", "semi;colon", "tab\tword"]
"""Words that need quotes or escapes where they come out."""
WORDS = [word for pair in zip(PLAIN, AWKWARD, strict=True) for word in pair]
NEXT = dict(zip(WORDS, [*WORDS[1:], WORDS[0]], strict=True))

_SPACES = [" ", " ", "  ", "\t", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\xa0", "\r "]
_MARKS = [*',.!?;:()[]{}"\\/…—«»€+=', "''", '""']
_OTHERS = [
    "zzqx", "42", "1.10", "e\u0301te\u0301", "\u1112\u1161\u11ab", "한", "👩‍👩‍👧", "שלום", "\ue000",
    "a\u0301\u0302\u0303\u0304", "日本", "ﬁ",
]  # fmt: skip
_INVALID = [b"\xff", b"\xc3", b"\xe2\x82", b"\x80\x81", b"\xed\xa0\x80", b"\xf0\x9f"]
_KEPT = [*_OTHERS, "€42", "€1.10", "42€", "1.10€", *("\ufffd" * many for many in (1, 2, 3))]
_INVISIBLE = ["\u200b", "\u202e", "\u2066", "\x01", "\x1b", "\x7f", "\u2060", "\U000e0001"]


def shifting() -> Any:
    """The sanitizer; words that it does not know pass."""

    class Shift(Sampler):
        def sample(self, ids: Any, streams: Any) -> Any:
            assert len(streams) == len(ids)
            return (np.asarray(ids) + 1) % len(WORDS)

    angles = np.arange(len(WORDS)) * 0.4
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    options = {"embeddings": Embeddings(WORDS, vectors, "shift", "shift"), "epsilon": 1.0}
    sanitizer = Sanitizer("laplace", keep=_KEPT, case="vocabulary", **options)
    rewriter = sanitizer._rewriter
    rewriter.sampler, outputs = Shift(), rewriter._outputs

    def passing(words: Any, codes: Any, *more: Any) -> Any:
        drawn = outputs(words, codes, *more)
        rows = zip(words, codes, drawn, strict=True)
        return [word if code == len(WORDS) else output for word, code, output in rows]

    rewriter._outputs = passing
    return sanitizer


def text(generator: Random, *, lines: bool, invalid: bool, invisible: bool) -> tuple[bytes, str]:
    """A text and what must become of it."""
    raw, expected = [], []

    def add(piece: str | bytes, becomes: str) -> None:
        raw.append(piece if isinstance(piece, bytes) else piece.encode())
        expected.append(becomes)

    spaces = [*_SPACES, "\n", "\r\n"] if lines else _SPACES
    for _ in range(generator.choice([0, 1, 1, 2, 3, 5])):
        chance = generator.random()
        if chance < 0.6:
            word = generator.choice(PLAIN)
            add(word, NEXT[word])
        elif chance < 0.8:
            word = generator.choice(_OTHERS)
            add(word, word)
        elif invalid and chance < 0.9:
            piece = b" " + generator.choice(_INVALID)
            add(piece, piece.decode("utf-8", "replace"))
        elif invisible:
            add(" " + generator.choice(_INVISIBLE), " ")
        marks = "".join(generator.choices(_MARKS, k=generator.choice([0, 0, 1, 2])))
        gap = marks + generator.choice(spaces) + generator.choice(["", "", *_MARKS])
        if gap.endswith(("'", ".", ",", "/")):
            gap += " "
        add(gap, gap)
    return b"".join(raw), "".join(expected)
