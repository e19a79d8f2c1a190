"""Test that lines far apart and blocks of a long line share nothing.

The program rewrites equal lines, up to 65,536 apart in a file, and equal blocks of a long line, up
to 256 apart.  Lines or blocks that share their random numbers have the same words; others agree by
chance, so that a program which shares nothing is refuted with probability at most ERROR.

A mechanism whose distribution is not known, or that draws the words of a line together, is not
judged, nor one of which two draws agree so often that lines would have to be long.
"""

import math

import numpy as np

from checks import KEY
from dpsan.analysis.verify import base
from dpsan.analysis.verify.independence import width_of
from dpsan.privacy.randomness import BLOCK, derive_key
from dpsan.sanitize.sanitizer import Sanitizer

ERROR = 1e-10
_LONGEST = 400
"""Most words of a line."""
_FAR_LINES = (*range(64), 64, 128, 256, 1024, 4096, 8192, 32_767, 32_768, 65_535, 65_536)
"""Numbers of lines that are compared; those between are empty."""
_BLOCKS = (*range(64), 64, 65, 127, 128, 192, 255, 256)
"""Blocks of a long line that are compared."""


def sharing(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Compare far lines and blocks."""
    stated, gap = sanitizer.mechanism.prepare(sanitizer.space), base.between(sanitizer)
    if gap is None:
        return ""
    pmf = stated.probabilities(np.array([sanitizer.space.n]))
    strings = base.unknown_strings(sanitizer, 1)
    # Equal words of a unit share their draw where that is an option of the run.
    if pmf is None or not strings or sanitizer.spec.consistent is not None:
        return ""
    q = min(1.0, float(np.square(pmf).sum()) * (1 + 1e-6))
    width = width_of(q)
    if width > _LONGEST:
        return ""
    for what, rows in (
        ("lines of a file", _lines(sanitizer, [gap, *strings * width], derive_key(key, "lines"))),
        ("blocks of a line", _blocks(sanitizer, [gap, *strings], width, derive_key(key, "blocks"))),
    ):
        found = base.closest(rows, q)
        if found.log_tail <= math.log(ERROR / 2):
            return f"two {what} share random numbers: {found.agree} of {found.of} draws agree"
    return ""


def _rewritten(sanitizer: Sanitizer, document: str, key: bytes) -> list[str]:
    (written,) = base.rewritten(sanitizer, [document.encode()], key)
    return written.decode().lower().split("\n")


def _words(line: str, gap: str) -> list[int]:
    """Return numbers that are equal for equal words; the first word has a capital of its own."""
    return [hash(word) for word in line.split(gap)[1:]]


def _lines(sanitizer: Sanitizer, parts: list[str], key: bytes) -> base.Rows:
    gap, *strings = parts
    line, document, empty = gap.join([strings[0], *strings]), "", 0
    for number in _FAR_LINES:
        document += "\n" * (number - empty) + f"{line}\n"
        empty = number + 1
    rows, lines = base.Rows(names=("lines of a file",)), _rewritten(sanitizer, document, key)
    for number in _FAR_LINES:
        rows.add(_words(lines[number], gap), number)
    return rows


def _blocks(sanitizer: Sanitizer, parts: list[str], width: int, key: bytes) -> base.Rows:
    """Return the outputs of some long lines by the blocks of their streams."""
    gap, string = parts
    line = gap.join([string] * ((_BLOCKS[-1] + 1) * BLOCK + 1))
    times = math.ceil(width / BLOCK)
    lines = _rewritten(sanitizer, "\n".join([line] * times), key)
    written = [_words(each, gap) for each in lines]
    rows = base.Rows(names=("blocks of a line",))
    for block in _BLOCKS:
        ends = slice(block * BLOCK, (block + 1) * BLOCK - 1)
        rows.add([word for each in written for word in each[ends]], block)
    return rows
