"""Test that lines far apart and blocks of a long line share nothing.

The program rewrites equal lines, up to 65,536 apart in a file, and equal blocks of a long line, up
to 256 apart.  Lines or blocks that share their random numbers have the same words; others have them
by chance, so seldom that a program which shares nothing is refuted with probability below 1e-10.

A mechanism whose distribution is not known, or that draws the words of a line together, is not
judged, nor one of which two draws agree so often that lines would have to be long.
"""

import math
from collections.abc import Iterator

import numpy as np

from checks import KEY
from dpsan.analysis.verify import checks as base
from dpsan.analysis.verify.independence import Line, same, width_of
from dpsan.privacy.randomness import BLOCK, derive_key
from dpsan.sanitize.sanitizer import Sanitizer

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
    rows = [*_lines(sanitizer, [gap, *strings * width], derive_key(key, "lines"))]
    rows += _blocks(sanitizer, [gap, *strings], width, derive_key(key, "blocks"))
    what = same(rows, ("lines of a file", "blocks of a line"))
    return f"two {what} share random numbers: they have the same draws throughout" if what else ""


def _rewritten(sanitizer: Sanitizer, document: str, key: bytes) -> list[str]:
    (written,) = base.rewritten(sanitizer, [document.encode()], key)
    return written.decode().lower().split("\n")


def _lines(sanitizer: Sanitizer, parts: list[str], key: bytes) -> Iterator[Line]:
    gap, *strings = parts
    line, document, empty = gap.join([strings[0], *strings]), "", 0
    for number in _FAR_LINES:
        document += "\n" * (number - empty) + f"{line}\n"
        empty = number + 1
    lines = _rewritten(sanitizer, document, key)
    for number in _FAR_LINES:  # the first word has a capital of its own
        yield (number, 0), tuple(lines[number].split(gap)[1:])


def _blocks(sanitizer: Sanitizer, parts: list[str], width: int, key: bytes) -> Iterator[Line]:
    """Yield the outputs of some long lines by the blocks of their streams."""
    gap, string = parts
    line = gap.join([string] * ((_BLOCKS[-1] + 1) * BLOCK + 1))
    times = math.ceil(width / BLOCK)
    lines = _rewritten(sanitizer, "\n".join([line] * times), key)
    written = [each.split(gap)[1:] for each in lines]
    for block in _BLOCKS:
        ends = slice(block * BLOCK, (block + 1) * BLOCK - 1)
        yield (-1, block), tuple(word for each in written for word in each[ends])
