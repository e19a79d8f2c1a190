"""Whether words, lines, files, copies, runs and worker processes share random numbers.

Knows outputs of the whole program.  Must not know how random numbers are made.

Equal lines are rewritten.  Two of them that share their random numbers have the same words; two
that do not agree in as many as two draws of an input do by chance, whose probability q is known
(the sum of squared probabilities) or bounded from draws under different keys.  Every two lines are
compared, whatever lies between them, and so are every two places of a line and every two blocks of
one stream.  A program that shares nothing is refuted with probability at most ERROR in a run:
Chernoff's bound for the agreements of two lines, times the number of pairs.  One that shares is
found with certainty: the number of words is such that full agreement is below that bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.verify.check import Check
from dpsan.analysis.verify.engine import between, rewritten, words_of
from dpsan.analysis.verify.goodness_of_fit import Share, probability
from dpsan.analysis.verify.inputs import unknown_strings
from dpsan.mechanisms.sampling.samplers import Sampler
from dpsan.outcomes.tail_bounds import log_tail_of_share, share_at_most
from dpsan.privacy.randomness import BLOCK, derive_key, streams_for
from dpsan.run.workers import Workers
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer

Ids = NDArray[np.int64]

ERROR: Final = 1e-10
"""Probability that a program which shares nothing is refuted."""
_LINES: Final = 8
_FILES: Final = 2
_COPIES: Final = 2
_BLOCKS: Final = 3
_KEYS: Final = 48
"""Under which lines are drawn to bound q where it is not known."""
_FAMILIES: Final = 6
"""Bounds of a run, at most: of lines and places in two shapes, of blocks, and on q."""
_WORDS: Final = 40
_LONGEST: Final = 200
"""Words of a line, at least and at most: they fit into one block."""
_WIDEST: Final = 3000
"""Words of a line where draws agree often: some seconds for as many lines as are compared."""
_RUNS: Final = {None: 2, Unit.RECORD: 2, Unit.FILE: 8, Unit.RUN: 16}
"""Where lines of a file or run share their draws there are fewer to compare in each."""


@dataclass
class _Rows:
    """Lines of equal input: their outputs as numbers, and where each was written."""

    outputs: list[list[int]] = field(default_factory=list)
    places: list[tuple[int, ...]] = field(default_factory=list)
    """Run, file, copy, line or the number of a block."""
    names: tuple[str, ...] = ("runs", "files", "copies of a line", "lines of a file")

    def add(self, outputs: list[int], *place: int) -> None:
        self.outputs.append(outputs)
        self.places.append(place)


@dataclass(frozen=True)
class _Found:
    """The two that agree most."""

    log_tail: float
    """Bound on ln P, of all pairs together."""
    agree: int
    of: int
    pairs: int
    what: str


def independence(
    sanitizer: Sanitizer,
    stated: Sampler,
    *,
    key: bytes,
    workers: Workers | None = None,
    fits: bool = True,
    noise_tested: bool = False,
    progress: Share = lambda _: None,
) -> Check:
    """Compare the outputs of equal lines of public strings, through the whole program.

    Args:
        sanitizer: the program under test.
        stated: the mechanism's sampler, for q alone.
        key: fresh.
        workers: processes whose draws are compared too.
        fits: nothing has shown so far that draws have another distribution than ``stated``.
        noise_tested: the noise was tested itself, should its outputs say nothing.
        progress: called with the share done.
    """
    name, unit = "independence", sanitizer.spec.consistent
    gap, n = between(sanitizer), sanitizer.space.n
    # All are ⊥; they must differ only where equal words share their draw.
    many = max(_BLOCKS * BLOCK, _WIDEST) + 1
    strings = (
        unknown_strings(sanitizer, 1) * many if unit is None else unknown_strings(sanitizer, many)
    )
    if gap is None or not strings:
        return Check(name, None, "no string is known whose draws could be compared")
    q = _agreement(stated, n, derive_key(key, "pilot"), exact=True)
    if not fits:  # what is drawn has another distribution: that alone is no sharing
        real = _agreement(sanitizer.sampler, n, derive_key(key, "real"), exact=False)
        q = max(q, real) if real < 0.5 else q
    figures: dict[str, float] = {"agreement_by_chance": q}
    # Full agreement of two lines, or of two places, must be far below the error.
    needed = 1.5 * math.log(_FAMILIES * _LONGEST**2 / ERROR)
    width = max(_WORDS, math.ceil(needed / -math.log(q)) if q < 1 else _WIDEST + 1)
    # Where the words of a line are drawn together, q is known for lines of that length alone.
    if width > (_WORDS if stated.whole_records else _WIDEST):
        sentence = f"two draws of an unknown word agree with probability {q:.3f}: too often to see"
        if noise_tested:
            return Check(name, True, f"{sentence}; the noise of two words is independent", figures)
        return Check(name, None, sentence, figures)
    number: dict[str, int] = {}

    def read(line: str, many: int) -> list[int] | None:
        words = words_of(line, [gap] * (many - 1))
        if words is None or any(gap in word for word in words):
            return None
        return [number.setdefault(word.lower(), len(number)) for word in words]

    found: list[_Found] = []
    # Where draws agree so often that long lines are needed, as many of them would take too long:
    # a few of them are compared, and the places of many short ones.
    tall = max(_LINES, math.ceil(width / (_RUNS[None] * _FILES * _COPIES)))
    shapes = [(width, tall)] if width <= _LONGEST else [(width, _LINES), (_WORDS, tall)]
    lines_compared = 0
    for shape, (words, lines) in enumerate(shapes):
        part = derive_key(key, "shape", shape)
        # The first word has the capital of a sentence, the last is the second once more.
        line = [strings[0], *strings[1 : words + 1], strings[1]]
        texts = _Texts(gap.join(line), len(line), lines, read)
        rows = _Rows()
        same = _written(
            sanitizer,
            texts,
            rows,
            part,
            unit,
            _share_of(progress, 0.8 * shape / len(shapes), 0.8 / len(shapes)),
        )
        if same is None:
            return Check(name, None, "the lines that were written could not be read", figures)
        if workers is not None:
            before = len(rows.outputs)
            both = _by_workers(sanitizer, texts, rows, derive_key(part, "workers"), unit, workers)
            figures["lines_of_workers"] = len(rows.outputs) - before
            if not both:
                sentence = "worker processes write other words than one process under the same key"
                return Check(name, False, sentence, figures)
        if not same:
            sentence = "equal words of a unit have not the same draw"
            return Check(name, False, sentence, figures)
        found.append(_closest(rows, q))
        columns = _Rows(names=("places of a line",))
        for place, column in enumerate(zip(*rows.outputs, strict=True)):
            columns.add(list(column), place)
        found.append(_closest(columns, q))
        lines_compared += len(rows.outputs)
    if not stated.whole_records:  # a longer line has another distribution there
        times = math.ceil(width / (BLOCK - 1))
        blocks = _blocks(sanitizer, strings, gap, read, times, derive_key(key, "blocks"))
        if blocks is None:
            return Check(name, None, "the lines that were written could not be read", figures)
        found.append(_closest(blocks, q))
    progress(1.0)
    worst = min(found, key=lambda each: each.log_tail)
    log = worst.log_tail + math.log(_FAMILIES)
    figures |= {
        "lines": lines_compared,
        "words": width,
        "pairs": sum(each.pairs for each in found),
        "log10_probability": max(-1e6, min(log, 0.0) / math.log(10)),
    }
    if log > math.log(ERROR):
        shared = "" if workers is None else ", worker processes"
        sentence = (
            f"words, blocks, lines, files, copies{shared} and runs share no random numbers: "
            f"{figures['pairs']:,.0f} pairs were compared"
        )
        return Check(name, True, sentence, figures)
    sentence = (
        f"two {worst.what} share random numbers: {worst.agree} of {worst.of} draws agree, where "
        f"a share of {q:.2g} does by chance: {probability(log)}"
    )
    return Check(name, False, sentence, figures)


def _share_of(progress: Share, done: float, rest: float) -> Share:
    return lambda share: progress(done + rest * share)


def _blocks(
    sanitizer: Sanitizer,
    strings: list[str],
    gap: str,
    read: Callable[[str, int], list[int] | None],
    times: int,
    key: bytes,
) -> _Rows | None:
    """The outputs of so many long lines by the blocks of their streams; None if unreadable."""
    long = strings[: _BLOCKS * BLOCK + 1]
    (written,) = rewritten(sanitizer, ["\n".join([gap.join(long)] * times).encode()], key)
    outputs: list[list[int]] = [[] for _ in range(_BLOCKS)]
    for line in written.decode().split("\n"):
        words = read(line, len(long))
        if words is None:
            return None
        for block in range(_BLOCKS):  # the first word has the capital of a sentence
            first = block * BLOCK + 1
            outputs[block] += words[first : first + BLOCK - 1]
    rows = _Rows(names=("blocks of a line",))
    for block, each in enumerate(outputs):
        rows.add(each, block)
    return rows


@dataclass(frozen=True)
class _Texts:
    line: str
    words: int
    lines: int
    read: Callable[[str, int], list[int] | None]

    def document(self) -> bytes:
        return "".join(f"{self.line}\n" for _ in range(self.lines)).encode()


def _agreement(sampler: Sampler, unknown: int, key: bytes, *, exact: bool) -> float:
    """Probability that two independent draws of ⊥ agree, or an upper bound that errs rarely."""
    law = sampler.probabilities(np.array([unknown])) if exact else None
    if law is not None:
        return min(1.0, float(np.square(law).sum()) * (1 + 1e-6))
    draws = _WORDS + 2  # in a record of their own, like the lines that are compared
    ids = np.full(draws, unknown)
    drawn = [
        sampler.sample(ids, streams_for(derive_key(key, each), [0], [draws]))
        for each in range(_KEYS)
    ]
    hits = sum(int((a == b).sum()) for a, b in zip(drawn[::2], drawn[1::2], strict=True))
    return share_at_most(hits, _KEYS // 2 * draws, math.log(ERROR / _FAMILIES))


def _written(
    sanitizer: Sanitizer, texts: _Texts, rows: _Rows, key: bytes, unit: Unit | None, progress: Share
) -> bool | None:
    """Add the lines of runs, files and copies, one of each unit of equal words.

    Returns:
        Whether equal words of a unit have the same draw; None if a line cannot be read.
    """
    same = True
    runs = _RUNS[unit]
    for run in range(runs):
        found = rewritten(
            sanitizer, [texts.document()] * _FILES, derive_key(key, "run", run), copies=_COPIES
        )
        units: dict[tuple[int, ...], list[int]] = {}
        for file, document in enumerate(found):
            for at, line in enumerate(document.decode().split("\n")[:-1]):
                words = texts.read(line, texts.words)
                if words is None:
                    return None
                copy, place = at % _COPIES, (run, file, at % _COPIES, at // _COPIES)
                same &= unit is None or words[1] == words[-1]
                whole = {Unit.FILE: (run, file, copy), Unit.RUN: (run, copy)}.get(
                    unit or Unit.RECORD, place
                )
                if whole in units:
                    same &= units[whole] == words[1:-1]
                    continue
                units[whole] = words[1:-1]
                rows.add(words[1:-1], *place)
        progress(0.6 * (run + 1) / runs)
    return same


def _by_workers(
    sanitizer: Sanitizer,
    texts: _Texts,
    rows: _Rows,
    key: bytes,
    unit: Unit | None,
    workers: Workers,
) -> bool:
    """Add the lines of worker processes; whether one process writes the same under this key."""
    (alone,) = rewritten(sanitizer, [texts.document()], key)
    (shared,) = rewritten(sanitizer, [texts.document()], key, workers=workers, batch=2)
    lines = shared.decode().split("\n")[:-1]
    for at, line in enumerate(lines[: 1 if unit in (Unit.FILE, Unit.RUN) else None]):
        words = texts.read(line, texts.words)
        if words is not None:
            rows.add(words[1:-1], -1, 0, 0, at)
    return alone == shared


def _closest(rows: _Rows, q: float) -> _Found:
    """The two rows that agree most, and a bound on the probability that any two agree so much."""
    outputs = np.array(rows.outputs)
    many, width = outputs.shape
    agree = np.array([(outputs == row).sum(axis=1) for row in outputs])
    agree[np.tril_indices(many)] = -1
    x, y = np.unravel_index(int(np.argmax(agree)), agree.shape)
    most, pairs = int(agree[x, y]), many * (many - 1) // 2
    one = float(log_tail_of_share(np.array([most]), width, np.array([q]))[0])
    log = one + math.log(pairs) if most > q * width else 0.0
    first, second = rows.places[x], rows.places[y]
    differ = next(at for at, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
    workers = differ == 3 and first[0] == -1
    what = "lines of worker processes" if workers else rows.names[differ]
    return _Found(log, most, width, pairs, what)
