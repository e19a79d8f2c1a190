"""Check that words, lines, files, copies, runs and worker processes share no random numbers.

The program rewrites equal lines: many lines of a file, many copies of a line, and files with random
numbers.  Every two lines and every two positions of a line are compared.  Lines that share their
random numbers have the same words.

Other lines agree by chance, with the probability q that two draws of an input are equal.  It is
known (the sum of squared probabilities) or bounded from draws under different keys.  Chernoff's
bound times the number of pairs refutes a program that shares nothing with probability at most
ERROR.  Lines are so long that full agreement is below ERROR.

There are lines of out-of-vocabulary words and of one vocabulary word (of a few the one whose draws
agree least): a program may share the random numbers of one kind only.

Lines and blocks far apart, and words beside a drawn one, are tested in a clone (tests/checks).
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dpsan.analysis.verify import base
from dpsan.analysis.verify.base import Agreement, Check, Rows, closest
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.intervals import share_at_most
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.run.workers import Workers
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

ERROR: Final = 1e-10
"""Probability that a program which shares nothing is refuted."""
_RUNS: Final = 2
_LINES: Final = 64
"""Number of lines of a file and copies of a line; all are compared."""
_FEW_LINES: Final = 8
"""Number of lines and copies where a line takes hundreds of words."""
_FILES: Final = (1, 2, 3, 5, 64)
"""Numbers of files that are always compared, besides as many random ones."""
_LAST_FILE: Final = 10_000
_KEYS: Final = 48
"""Number of keys under which lines are drawn to bound q where it is not known."""
_FAMILIES: Final = 12
"""Most bounds of a run: of lines and positions in two shapes for OOV words and one vocabulary word,
and on q of OOV words and of the words from which that one is chosen."""
_CANDIDATES: Final = 3
"""Number of words from which one is chosen for comparison."""
_WORDS: Final = 40
_LONGEST: Final = 200
"""Least and largest number of words of a line; they fit into one block."""
_MANY: Final = 1000
"""Words of the vocabulary that worker processes draw too."""
_WIDEST: Final = 3000
"""Most words of a line where draws agree often: some seconds for as many lines."""


class _UnreadableError(Exception):
    """The output cannot be split into its words."""


class _RefutedError(Exception):
    """Equal words or worker processes are written wrongly; the text is the check's sentence."""


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
        fits: False if another check found that draws have another distribution than ``stated``.
        noise_tested: the noise was tested itself, in case its outputs show nothing.
    """
    name, unit = "independence", sanitizer.spec.consistent
    gap, n = base.between(sanitizer), sanitizer.space.n
    # All are ⊥; they must differ only where equal words share their draw.
    many = _WIDEST + 1
    different = 1 if unit is None else many
    strings = base.unknown_strings(sanitizer, different) * (many // different)
    if gap is None or not strings:
        return Check(name, None, "no string is known whose draws could be compared")
    q = _agreement(stated, n, derive_key(key, "pilot"), exact=True)
    if not fits:  # the draws have another distribution, which alone is no sharing
        real = _agreement(sanitizer.sampler, n, derive_key(key, "real"), exact=False)
        q = max(q, real) if real < 0.5 else q
    figures: dict[str, float] = {"agreement_by_chance": q}
    if width_of(q) > _WIDEST:
        sentence = f"two draws of an OOV word agree with probability {q:.3f}, too often to compare"
        sentence += "; the noise of two words is independent" * noise_tested
        return Check(name, noise_tested or None, sentence, figures)
    kinds, alone = [(strings, q)], ""
    if unit is None and fits:
        word, q = _known(sanitizer, stated, gap, derive_key(key, "known"))
        figures["agreement_of_a_word"] = q
        if width_of(q) <= _WIDEST:
            kinds.append(([word] * many, q))
        else:
            agree = f"vocabulary words agree with probability {q:.3f} or more"
            alone = f"; only OOV words were compared, for two draws of any of {_CANDIDATES} {agree}"
    figures |= {"lines": 0, "words": width_of(kinds[0][1]), "pairs": 0}
    figures |= {"lines_of_a_file": 0, "copies": 0, "files": 0}
    comparison = _Comparison(sanitizer, stated, gap, workers, figures)
    try:
        for at, (string, q) in enumerate(kinds):
            comparison.add(string, q, derive_key(key, "strings", at))
    except _UnreadableError:
        return Check(name, None, "the outputs could not be read", figures)
    except _RefutedError as error:
        return Check(name, False, str(error), figures)
    # Lines that share also share at all positions: the first refuted family names the cause.
    limit = math.log(ERROR) - math.log(_FAMILIES)
    least = min(comparison.found, key=lambda string: string.log_tail)
    worst = next((string for string in comparison.found if string.log_tail <= limit), least)
    log = worst.log_tail + math.log(_FAMILIES)
    figures["pairs"] = sum(string.pairs for string in comparison.found)
    figures["log10_probability"] = base.log10(log)
    if log > math.log(ERROR):
        return Check(name, True, f"{comparison} share no random numbers{alone}", figures)
    agreement = (
        f"{worst.agree} of {worst.of} draws agree, where a share of {worst.q:.2g} does by chance"
    )
    sentence = f"two {worst.what} share random numbers: {agreement}: {base.probability(log)}"
    return Check(name, False, sentence, figures)


def width_of(q: float) -> int:
    """Return the words of a line where two draws agree with probability q, so many that
    full agreement of two lines is far below the error.
    """
    needed = 1.5 * math.log(_FAMILIES * _LONGEST**2 / ERROR)
    return max(_WORDS, math.ceil(needed / -math.log(q))) if q < 1 else _WIDEST + 1


def _known(sanitizer: Sanitizer, stated: Sampler, gap: str, key: bytes) -> tuple[str, float]:
    """Return the word of some whose draws agree least, and an upper bound of q; 1 without a word.

    Public words are no protected input, and may be written unchanged.
    """
    keys = sanitizer.embeddings.index_to_key
    rows = base.words_at_random(sanitizer, _CANDIDATES, key).tolist()
    words = [
        (_agreement(stated, row, derive_key(key, "pilot", row), exact=True), keys[row])
        for row in rows
        if row not in sanitizer.public and gap not in keys[row]
    ]
    q, word = min(words, default=(1.0, ""))
    return word, q


def _drawn(sampler: Sampler, ids: Ids, key: bytes, part: str | int) -> Ids:
    """Draw words in a record of their own, like the lines that are compared."""
    return sampler.sample(ids, streams_for(derive_key(key, part), [0], [len(ids)]))


def _agreement(sampler: Sampler, row: int, key: bytes, *, exact: bool) -> float:
    """Return the probability q that two draws of an input agree, or an upper bound."""
    pmf = sampler.probabilities(np.array([row])) if exact else None
    if pmf is not None:
        return min(1.0, float(np.square(pmf).sum()) * (1 + 1e-6))
    ids = np.full(_WORDS + 2, row)
    drawn = [_drawn(sampler, ids, key, number) for number in range(_KEYS)]
    hits = sum(int((a == b).sum()) for a, b in zip(drawn[::2], drawn[1::2], strict=True))
    return share_at_most(hits, _KEYS // 2 * len(ids), math.log(ERROR / _FAMILIES))


@dataclass
class _Comparison:
    """Outputs of equal lines, and the rows of outputs that agree most."""

    sanitizer: Sanitizer
    stated: Sampler
    gap: str
    workers: Workers | None
    figures: dict[str, float]
    found: list[Agreement] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Words of outputs, numbered."""

    def __str__(self) -> str:
        """Name what was compared."""
        named = {
            "words of a line": "words",
            "lines of a file": "lines_of_a_file",
            "copies of a line": "copies",
            "lines of worker processes": "lines_of_workers",
        }
        figures = self.figures
        many = [f"{figures[key]:,.0f} {what}" for what, key in named.items() if figures.get(key)]
        many.append(f"{figures['files']:.0f} files of up to {_LAST_FILE:,} and {_RUNS} runs")
        return f"{', '.join(many)} ({figures['pairs']:,.0f} pairs)"

    def add(self, strings: list[str], q: float, key: bytes) -> None:
        """Compare lines, and positions of lines, that are made of these strings.

        Raises:
            _UnreadableError: the output cannot be split into its words.
            _RefutedError: equal words of a unit have different draws, or workers write other words.
        """
        width = width_of(q)
        # Where draws agree so often that lines must be long, many lines would take too long: a few
        # are compared, and the positions of many short ones.
        short = (min(width, _WORDS), max(_LINES, math.ceil(width / _RUNS)))
        shapes = [(width, _LINES)] if width <= _LONGEST else [(width, _FEW_LINES), short]
        for shape, (words, lines) in enumerate(shapes):
            # The first word has the capital of a sentence, the last is the second once more.
            line = [strings[0], *strings[1 : words + 1], strings[1]]
            rows = self._rows(line, lines, derive_key(key, "shape", shape))
            self.found.append(closest(rows, q))
            columns = Rows(names=("positions of a line",))
            for position, column in enumerate(zip(*rows.outputs, strict=True)):
                columns.add(list(column), position)
            self.found.append(closest(columns, q))
            self.figures["lines"] += len(rows.outputs)

    def _largest(self, **values: int) -> None:
        for name, value in values.items():
            self.figures[name] = max(self.figures[name], value)

    def _read(self, line: str, many: int) -> list[int]:
        """Return the words of an output line as numbers, equal for equal words."""
        words = line.split(self.gap)
        if len(words) != many:
            raise _UnreadableError
        return [self.numbers.setdefault(word.lower(), len(self.numbers)) for word in words]

    def _rows(self, line: list[str], lines: int, key: bytes) -> Rows:
        """Return the lines of runs, files, copies and workers, one of each unit of equal words."""
        rows, same, unit = Rows(), True, self.sanitizer.spec.consistent
        written = f"{self.gap.join(line)}\n".encode()
        chance = streams_for(derive_key(key, "files"), [0], [len(_FILES)]).bits("files")[:, 0]
        numbers = sorted({*_FILES, *(1 + chance % np.uint64(_LAST_FILE)).tolist()})
        copied = min(lines, _LINES)
        # A file of many lines, a line in many copies, and a line in each of some files.
        first, second, *rest = numbers
        parts = [([first], lines, 1), ([second], 1, copied), (rest, 1, 1)]
        for run in range(_RUNS):
            units: dict[tuple[int, ...], list[int]] = {}
            for files, many, copies in parts:
                documents, subkey = [written * many] * len(files), derive_key(key, "run", run)
                outputs_of_files = base.rewritten(
                    self.sanitizer, documents, subkey, copies=copies, files=files
                )
                for file, output in zip(files, outputs_of_files, strict=True):
                    for at, text in enumerate(output.decode().split("\n")[:-1]):
                        words = self._read(text, len(line))
                        position = run, file, at % copies, at // copies
                        same &= unit is None or words[1] == words[-1]
                        shared = {Unit.FILE: (run, file, at % copies), Unit.RUN: (run, at % copies)}
                        whole = shared.get(unit or Unit.RECORD, position)
                        if whole in units:
                            same &= units[whole] == words[1:-1]
                            continue
                        units[whole] = words[1:-1]
                        rows.add(words[1:-1], *position)
        self._largest(lines_of_a_file=lines, copies=copied, files=len(numbers))
        if self.workers is not None:
            self._add_workers(rows, written * copied, len(line), derive_key(key, "workers"))
        if not same:
            raise _RefutedError("equal words of a unit have different draws")
        return rows

    def _add_workers(self, rows: Rows, document: bytes, words: int, key: bytes) -> None:
        """Add the lines of worker processes, which must be those of one process."""
        before = len(rows.outputs)
        keys = self.sanitizer.embeddings.index_to_key
        chosen = base.words_at_random(self.sanitizer, _MANY, derive_key(key, "words")).tolist()
        document += self.gap.join(keys[row] for row in chosen).encode()
        (alone,) = base.rewritten(self.sanitizer, [document], key)
        (shared,) = base.rewritten(self.sanitizer, [document], key, workers=self.workers, batch=2)
        lines = shared.decode().split("\n")[:-1]  # the last one has many words
        shared_draws = self.sanitizer.spec.consistent in (Unit.FILE, Unit.RUN)
        for at, line in enumerate(lines[:1] if shared_draws else lines):
            with suppress(_UnreadableError):
                rows.add(self._read(line, words)[1:-1], -1, 0, 0, at)
        self.figures["lines_of_workers"] = len(rows.outputs) - before
        if alone != shared:
            sentence = "worker processes write other words than one process under the same key"
            raise _RefutedError(sentence)
