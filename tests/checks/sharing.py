"""Test that lines far apart, blocks of a long line, and words beside each other share nothing.

The program rewrites equal lines, up to 65,536 apart in a file, and equal blocks of a long line, up
to 256 apart.  Lines or blocks that share their random numbers have the same words; others have them
by chance, so seldom that a program which shares nothing is refuted with probability below 1e-10.

The draw of a word may not depend on the words beside it either: lines of vocabulary words are
written again with another second word, and under the same key all other words must stay (exact).

A mechanism whose distribution is not known, or that draws the words of a line together, is not
judged, nor one of which two draws agree so often that lines would have to be long.
"""

import math
from collections.abc import Iterator

import numpy as np

from checks import KEY, words_of
from dpsan.analysis.verify import base
from dpsan.analysis.verify.independence import Line, same, width_of
from dpsan.privacy.randomness import BLOCK, derive_key
from dpsan.sanitize.sanitizer import Sanitizer

_LONGEST = 400
"""Most words of a line."""
_FAR_LINES = (*range(64), 64, 128, 256, 1024, 4096, 8192, 32_767, 32_768, 65_535, 65_536)
"""Numbers of lines that are compared; those between are empty."""
_BLOCKS = (*range(64), 64, 65, 127, 128, 192, 255, 256)
"""Blocks of a long line that are compared."""
_ORDERS = 16
_BESIDE = 6
"""Random orders of words, and the words of a line of which the second is replaced."""


def sharing(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Compare far lines and blocks, and replace words beside others."""
    stated, gap = sanitizer.mechanism.prepare(sanitizer.space), base.between(sanitizer)
    if gap is None:
        return ""
    if wrong := _beside(sanitizer, gap, derive_key(key, "beside")):
        return wrong
    pmf = stated.probabilities(np.array([sanitizer.space.n]))
    strings = base.unknown_strings(sanitizer, 1)
    # Equal words of a unit share their draw where that is an option of the run.
    if pmf is None or not strings or sanitizer.spec.consistent is not None:
        return ""
    q = min(1.0, float(np.square(pmf).sum()) * (1 + 1e-6))
    width = width_of(q)
    if width > _LONGEST:
        return ""
    rows = [
        *_lines(sanitizer, [gap, *strings * width], derive_key(key, "lines")),
        *_blocks(sanitizer, [gap, *strings], width, derive_key(key, "blocks")),
    ]
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


def _beside(sanitizer: Sanitizer, gap: str, key: bytes) -> str:
    """Write lines again with another second word."""
    keys, single = sanitizer.embeddings.index_to_key, sanitizer.by_text()
    words = base.words_at_random(sanitizer, _ORDERS * _BESIDE, key).tolist()
    width = min(_BESIDE, len(words) // 2)
    if width < 2:
        return ""
    texts, others = [], []
    for number in range(_ORDERS):
        order = base.in_random_order(len(words), derive_key(key, "order", number)).tolist()
        mixed = [keys[words[at]] for at in order]
        lines = [mixed[at : at + width] for at in range(0, len(words) - width + 1, width)]
        texts += lines
        behind = [*lines[1:], lines[0]]
        others += [[a[0], b[1], *a[2:]] for a, b in zip(lines, behind, strict=True)]
    joined = [*map(gap.join, texts + others)]
    written = single.sanitize(joined, derive_key(key, "run"), 2 * [*range(len(texts))]).lines
    read = [words_of(line, [gap] * (width - 1)) for line in written]
    if None in read:
        return ""
    pairs = zip(read[: len(texts)], read[len(texts) :], strict=True)
    differ = sum(a[:1] + a[2:] != b[:1] + b[2:] for a, b in pairs)
    return (
        f"in {differ} of {len(texts)} lines a draw depends on the word beside it" if differ else ""
    )
