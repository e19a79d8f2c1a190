"""Check that words, lines, files, copies, runs and worker processes share no random numbers.

Equal lines are rewritten: many lines of a file, many copies of a line, files whose numbers are
chosen at random, and many blocks of a long line.  Every two lines, every two places of a line and
every two blocks are compared.  Lines that share their random numbers have the same words.  Others
agree by chance, as often as two draws of an input do: with a probability q that is known (the sum
of squared probabilities) or bounded from draws under different keys.  Chernoff's bound times the
number of pairs refutes a program that shares nothing with probability at most ERROR; lines are long
enough that full agreement is below it.

The lines are of unknown words, of one word of the vocabulary (of 16 the one whose draws agree
least), and of numbers where they are drawn by value: a program may keep one kind apart and not the
others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dpsan.analysis.verify import base
from dpsan.analysis.verify.agreement import Found, Rows, closest
from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.numbers import agreement, number_strings
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.intervals import share_at_most
from dpsan.privacy.randomness import BLOCK, derive_key, streams_for
from dpsan.run.workers import Workers
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.numbers_by_value import NumberPolicy
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

ERROR: Final = 1e-10
"""Probability that a program which shares nothing is refuted."""
_RUNS: Final = 2
_LINES: Final = 64
"""Lines of a file, copies of a line, and blocks of a long line: all are compared."""
_FEW_LINES: Final = 8
"""As many lines or copies as are compared where a line takes hundreds of words."""
_FILES: Final = (1, 2, 3, 5, 64)
"""Numbers of files that are always compared, besides as many that are chosen at random."""
_LAST_FILE: Final = 10_000
_FEW_BLOCKS: Final = 3
"""Blocks where equal words share their draw: then no block has a stream."""
_KEYS: Final = 48
"""Under which lines are drawn to bound q where it is not known."""
_FAMILIES: Final = 18
"""Bounds of a run, at most: of lines and places in two shapes, of blocks, and on q; of unknown
words, of one word and of numbers by value."""
_CANDIDATES: Final = 16
"""Words of which one is compared with itself."""
_WORDS: Final = 40
_LONGEST: Final = 200
"""Words of a line, at least and at most: they fit into one block."""
_WIDEST: Final = 3000
"""Words of a line where draws agree often: some seconds for as many lines as are compared."""


class _Strings(NamedTuple):
    """What lines are made of."""

    each: list[str]
    q: float
    """Probability that two draws of one agree, or a bound on it."""
    width: int
    """Words of a line: full agreement of two lines is far below the error."""


class _UnreadableError(Exception):
    """The lines that were written cannot be read."""


class _RefutedError(Exception):
    """What equal words or worker processes write; its text is the sentence."""


def independence(
    sanitizer: Sanitizer,
    stated: Sampler,
    *,
    key: bytes,
    workers: Workers | None = None,
    fits: bool = True,
    noise_tested: bool = False,
) -> Check:
    """Compare the outputs of equal lines of public strings, through the whole program.

    Args:
        sanitizer: the program under test.
        stated: the mechanism's sampler, for q alone.
        key: fresh.
        workers: processes whose draws are compared too.
        fits: nothing has shown so far that draws have another distribution than ``stated``.
        noise_tested: the noise was tested itself, should its outputs say nothing.
    """
    name, unit = "independence", sanitizer.spec.consistent
    gap, n = base.between(sanitizer), sanitizer.space.n
    # All are ⊥; they must differ only where equal words share their draw.
    blocks = _LINES if unit is None else _FEW_BLOCKS
    many = max(blocks * BLOCK, _WIDEST) + 1
    different = 1 if unit is None else many
    strings = base.unknown_strings(sanitizer, different) * (many // different)
    if gap is None or not strings:
        return Check(name, None, "no string is known whose draws could be compared")
    q = _agreement(stated, n, derive_key(key, "pilot"), exact=True)
    if not fits:  # what is drawn has another distribution: that alone is no sharing
        real = _agreement(sanitizer.sampler, n, derive_key(key, "real"), exact=False)
        q = max(q, real) if real < 0.5 else q
    figures: dict[str, float] = {"agreement_by_chance": q}
    # Where the words of a line are drawn together, q is known for lines of that length alone.
    widest = _WORDS if stated.whole_records else _WIDEST
    if _width(q) > widest:
        sentence = f"two draws of an unknown word agree with probability {q:.3f}: too often to see"
        if noise_tested:
            return Check(name, True, f"{sentence}; the noise of two words is independent", figures)
        return Check(name, None, sentence, figures)
    made = [_Strings(strings, q, _width(q))]
    alone = ""
    if unit is None and fits:
        word, q = _known(sanitizer, stated, gap, derive_key(key, "known"))
        figures["agreement_of_a_word"] = q
        if _width(q) <= widest:
            made.append(_Strings([word] * many, q, _width(q)))
        else:
            alone = (
                f"; of unknown words alone, for two draws of any of {_CANDIDATES} others agree "
                f"with probability {q:.3f}: too often to see"
            )
    if sanitizer.spec.numbers == NumberPolicy.VALUE:
        some = number_strings(sanitizer, different) * (many // different)
        if not some:
            return Check(name, None, "no number is known whose draws could be compared")
        q = agreement(sanitizer, some[0])
        figures["agreement_of_a_number"] = q
        made.append(_Strings(some, q, _width(q)))
    found: list[Found] = []
    figures |= {"lines": 0, "words": made[0].width, "pairs": 0}
    figures |= {"lines_of_a_file": 0, "copies": 0, "files": 0, "blocks": 0}
    try:
        for at, each in enumerate(made):
            own = derive_key(key, "strings", at)
            found += _compared(sanitizer, stated, each, gap, own, workers, figures)
    except _UnreadableError:
        return Check(name, None, "the lines that were written could not be read", figures)
    except _RefutedError as error:
        return Check(name, False, str(error), figures)
    # Where lines share, so do their places: the first family that is refuted names the cause.
    limit = math.log(ERROR) - math.log(_FAMILIES)
    least = min(found, key=lambda each: each.log_tail)
    worst = next((each for each in found if each.log_tail <= limit), least)
    log = worst.log_tail + math.log(_FAMILIES)
    figures |= {
        "pairs": sum(each.pairs for each in found),
        "log10_probability": base.log10(log),
    }
    if log > math.log(ERROR):
        sentence = f"{_compared_units(figures)} share no random numbers{alone}"
        return Check(name, True, sentence, figures)
    sentence = (
        f"two {worst.what} share random numbers: {worst.agree} of {worst.of} draws agree, where "
        f"a share of {worst.q:.2g} does by chance: {base.probability(log)}"
    )
    return Check(name, False, sentence, figures)


def _compared_units(figures: Mapping[str, float]) -> str:
    """Name what was compared."""
    named = {
        "words of a line": "words",
        "blocks of a line": "blocks",
        "lines of a file": "lines_of_a_file",
        "copies of a line": "copies",
        "lines of worker processes": "lines_of_workers",
    }
    told = [f"{figures[key]:,.0f} {what}" for what, key in named.items() if figures.get(key)]
    files = f"{figures['files']:.0f} files of up to {_LAST_FILE:,}"
    return f"{', '.join(told)}, {files} and {_RUNS} runs ({figures['pairs']:,.0f} pairs)"


def _width(q: float) -> int:
    """Words of a line such that full agreement of two, or of two places, is far below the error."""
    needed = 1.5 * math.log(_FAMILIES * _LONGEST**2 / ERROR)
    return max(_WORDS, math.ceil(needed / -math.log(q))) if q < 1 else _WIDEST + 1


def _known(sanitizer: Sanitizer, stated: Sampler, gap: str, key: bytes) -> tuple[str, float]:
    """The word of some whose draws agree least, and how often they do at most; 1 if there is none.

    Public words are no protected input, and may be written as they are.
    """
    keys = sanitizer.embeddings.index_to_key
    rows = base.words_at_random(sanitizer, _CANDIDATES, key)
    rows = np.array([w for w in rows.tolist() if w not in sanitizer.public and gap not in keys[w]])
    if not len(rows):
        return "", 1.0
    law = stated.probabilities(rows)
    if law is None:
        once, twice = (_drawn(stated, np.repeat(rows, 2), key, each) for each in ("one", "two"))
        agree = (once == twice).reshape(-1, 2).mean(axis=1)
    else:
        agree = np.square(law).sum(axis=1)
    row = int(rows[int(np.argmin(agree))])
    return keys[row], _agreement(stated, row, derive_key(key, "pilot"), exact=True)


def _compared(
    sanitizer: Sanitizer,
    stated: Sampler,
    strings: _Strings,
    gap: str,
    key: bytes,
    workers: Workers | None,
    figures: dict[str, float],
) -> list[Found]:
    """The lines, places and blocks that agree most, of lines of these strings.

    Raises:
        _UnreadableError: the lines that were written cannot be read.
        _RefutedError: equal words of a unit have not the same draw, or workers write other words.
    """
    width = strings.width
    number: dict[str, int] = {}

    def read(line: str, many: int) -> list[int]:
        words = base.words_of(line, [gap] * (many - 1))
        if words is None or any(gap in word for word in words):
            raise _UnreadableError
        return [number.setdefault(word.lower(), len(number)) for word in words]

    found: list[Found] = []
    # Where draws agree so often that long lines are needed, many of them would take too long: a few
    # are compared, and the places of many short ones.
    short = [(min(width, _WORDS), max(_LINES, math.ceil(width / _RUNS)))]
    shapes = [(width, _LINES)] if width <= _LONGEST else [(width, _FEW_LINES), *short]
    for shape, (words, lines) in enumerate(shapes):
        part = derive_key(key, "shape", shape)
        # The first word has the capital of a sentence, the last is the second once more.
        line = [strings.each[0], *strings.each[1 : words + 1], strings.each[1]]
        texts = _Texts(f"{gap.join(line)}\n".encode(), lines, len(line), read)
        rows = Rows()
        same = _written(sanitizer, texts, rows, part, figures)
        if workers is not None:
            before = len(rows.outputs)
            both = _by_workers(sanitizer, texts, rows, derive_key(part, "workers"), workers)
            figures["lines_of_workers"] = len(rows.outputs) - before
            if not both:
                raise _RefutedError(
                    "worker processes write other words than one process under the same key"
                )
        if not same:
            raise _RefutedError("equal words of a unit have not the same draw")
        found.append(closest(rows, strings.q))
        columns = Rows(names=("places of a line",))
        for place, column in enumerate(zip(*rows.outputs, strict=True)):
            columns.add(list(column), place)
        found.append(closest(columns, strings.q))
        figures["lines"] += len(rows.outputs)
    if not stated.whole_records:  # a longer line has another distribution there
        times = math.ceil(width / (BLOCK - 1))
        blocks = _blocks(sanitizer, strings.each, gap, read, times, derive_key(key, "blocks"))
        figures["blocks"] = max(figures["blocks"], len(blocks.outputs))
        found.append(closest(blocks, strings.q))
    return found


def _blocks(
    sanitizer: Sanitizer,
    strings: list[str],
    gap: str,
    read: Callable[[str, int], list[int]],
    times: int,
    key: bytes,
) -> Rows:
    """The outputs of so many long lines by the blocks of their streams."""
    many = _LINES if sanitizer.spec.consistent is None else _FEW_BLOCKS
    long = strings[: many * BLOCK + 1]
    (written,) = base.rewritten(sanitizer, ["\n".join([gap.join(long)] * times).encode()], key)
    outputs: list[list[int]] = [[] for _ in range(many)]
    for line in written.decode().split("\n"):
        words = read(line, len(long))
        for block in range(many):  # the first word has the capital of a sentence
            first = block * BLOCK + 1
            outputs[block] += words[first : first + BLOCK - 1]
    rows = Rows(names=("blocks of a line",))
    for block, each in enumerate(outputs):
        rows.add(each, block)
    return rows


@dataclass(frozen=True)
class _Texts:
    line: bytes
    lines: int
    """Of a file."""
    words: int
    """Of each line."""
    read: Callable[[str, int], list[int]]


def _drawn(sampler: Sampler, ids: Ids, key: bytes, part: str | int) -> Ids:
    """Draws of words in a record of their own, like the lines that are compared."""
    return sampler.sample(ids, streams_for(derive_key(key, part), [0], [len(ids)]))


def _agreement(sampler: Sampler, row: int, key: bytes, *, exact: bool) -> float:
    """Probability that two draws of an input agree, or an upper bound that errs rarely."""
    law = sampler.probabilities(np.array([row])) if exact else None
    if law is not None:
        return min(1.0, float(np.square(law).sum()) * (1 + 1e-6))
    ids = np.full(_WORDS + 2, row)
    drawn = [_drawn(sampler, ids, key, each) for each in range(_KEYS)]
    hits = sum(int((a == b).sum()) for a, b in zip(drawn[::2], drawn[1::2], strict=True))
    return share_at_most(hits, _KEYS // 2 * len(ids), math.log(ERROR / _FAMILIES))


def _written(
    sanitizer: Sanitizer, texts: _Texts, rows: Rows, key: bytes, figures: dict[str, float]
) -> bool:
    """Add the lines of runs, files and copies, one of each unit of equal words.

    Returns:
        Whether equal words of a unit have the same draw.
    """
    same, unit = True, sanitizer.spec.consistent
    lines = texts.lines
    chance = streams_for(derive_key(key, "files"), [0], [len(_FILES)]).bits("files")[:, 0]
    others = 1 + chance % np.uint64(_LAST_FILE)
    numbers = sorted({*_FILES, *others.tolist()})
    copied = min(lines, _LINES)
    # A file of many lines, a line in many copies, and a line in each of some files.
    first, second, *rest = numbers
    parts = [([first], lines, 1), ([second], 1, copied), (rest, 1, 1)]
    for run in range(_RUNS):
        units: dict[tuple[int, ...], list[int]] = {}
        for files, many, copies in parts:
            documents = [texts.line * many] * len(files)
            own = derive_key(key, "run", run)
            found = base.rewritten(sanitizer, documents, own, copies=copies, files=files)
            for file, document in zip(files, found, strict=True):
                for at, line in enumerate(document.decode().split("\n")[:-1]):
                    words = texts.read(line, texts.words)
                    copy, place = at % copies, (run, file, at % copies, at // copies)
                    same &= unit is None or words[1] == words[-1]
                    whole = {Unit.FILE: (run, file, copy), Unit.RUN: (run, copy)}.get(
                        unit or Unit.RECORD, place
                    )
                    if whole in units:
                        same &= units[whole] == words[1:-1]
                        continue
                    units[whole] = words[1:-1]
                    rows.add(words[1:-1], *place)
    done = {"lines_of_a_file": lines, "copies": copied, "files": len(numbers)}
    figures |= {name: max(figures[name], value) for name, value in done.items()}
    return same


def _by_workers(
    sanitizer: Sanitizer, texts: _Texts, rows: Rows, key: bytes, workers: Workers
) -> bool:
    """Add the lines of worker processes; whether one process writes the same under this key."""
    document = texts.line * min(texts.lines, _LINES)
    (alone,) = base.rewritten(sanitizer, [document], key)
    (shared,) = base.rewritten(sanitizer, [document], key, workers=workers, batch=2)
    lines = shared.decode().split("\n")[:-1]
    shared_draws = sanitizer.spec.consistent in (Unit.FILE, Unit.RUN)
    for at, line in enumerate(lines[:1] if shared_draws else lines):
        with suppress(_UnreadableError):
            rows.add(texts.read(line, texts.words)[1:-1], -1, 0, 0, at)
    return alone == shared
