"""Check that words, lines, files, copies, runs and worker processes share no random numbers.

The program rewrites equal lines: many lines of a file, many copies of a line, and files with random
numbers.  No two lines, and no two positions of a line, may have the same words throughout: those
that share their random numbers do.

Others have them by chance with probability q^words, where q is the probability that two draws of an
input are equal.  It is known (the sum of squared probabilities) or bounded from draws under
different keys.  Lines have so many words that a program which shares nothing, and has its
distribution, is refuted with probability at most ERROR.

There are lines of out-of-vocabulary words and of one vocabulary word (of a few the one whose draws
agree least): a program may share the random numbers of one kind only.

Lines and blocks far apart, and words beside a drawn one, are tested in a clone (tests/checks).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.analysis.verify import checks
from dpsan.analysis.verify.checks import Check
from dpsan.mechanisms.tables import Sampler
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.run.workers import Workers
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer

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


Line = tuple[tuple[int, ...], tuple[str, ...]]
"""Run, file, copy and line, or other numbers of a position, and the words that were written."""


class _JudgedError(Exception):
    """End the comparison with the sentence of the check, and with whether the program held."""

    def __init__(self, sentence: str, held: bool | None = False) -> None:
        super().__init__(sentence)
        self.held = held


def independence(
    sanitizer: Sanitizer,
    stated: Sampler,
    *,
    key: bytes,
    workers: Workers | None = None,
    noise_tested: bool = False,
) -> Check:
    """Compare the outputs of equal lines of public strings, through the whole program.

    Args:
        sanitizer: the program under test.
        stated: the mechanism's sampler, for q alone.
        key: fresh.
        workers: processes whose draws are compared too.
        noise_tested: the noise was tested itself, in case its outputs show nothing.
    """
    name, unit = "independence", sanitizer.spec.consistent
    gap = checks.between(sanitizer)
    # All are ⊥; they must differ only where equal words share their draw.
    many = _WIDEST + 1
    different = 1 if unit is None else many
    strings = checks.unknown_strings(sanitizer, different) * (many // different)
    if gap is None or not strings:
        return Check(name, None, "no string is known whose draws could be compared")
    q = _agreement(stated, sanitizer.space.n, derive_key(key, "pilot"))
    figures: dict[str, float] = {"agreement_by_chance": q}
    if width_of(q) > _WIDEST:
        sentence = f"two draws of an OOV word agree with probability {q:.3f}, too often to compare"
        sentence += "; the noise of two words is independent" * noise_tested
        return Check(name, noise_tested or None, sentence, figures)
    figures["words"] = width_of(q)
    kinds, alone = [(strings, q)], ""
    if unit is None:
        word, q = _known(sanitizer, stated, gap, derive_key(key, "known"))
        figures["agreement_of_a_word"] = q
        if width_of(q) <= _WIDEST:
            kinds.append(([word] * many, q))
        else:
            agree = f"vocabulary words agree with probability {q:.3f} or more"
            alone = f"; only OOV words were compared, for two draws of any of {_CANDIDATES} {agree}"
    comparison = _Comparison(sanitizer, gap, workers, figures)
    try:
        for at, (string, q) in enumerate(kinds):
            comparison.compare(string, q, derive_key(key, "strings", at))
    except _JudgedError as judged:
        return Check(name, judged.held, str(judged), figures)
    return Check(name, True, f"{comparison} share no random numbers{alone}", figures)


def same(lines: Iterable[Line], names: tuple[str, ...]) -> str | None:
    """Return what two lines of the same words are, such as files; None without such lines.

    Args:
        names: of the numbers of a position.
    """
    first: dict[tuple[str, ...], tuple[int, ...]] = {}
    for position, words in lines:
        if (other := first.setdefault(words, position)) != position:
            pairs = zip(names, other, position, strict=True)
            return next(what for what, a, b in pairs if a != b)
    return None


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
    rows = checks.words_at_random(sanitizer, _CANDIDATES, key).tolist()
    words = [
        (_agreement(stated, row, derive_key(key, "pilot", row)), keys[row])
        for row in rows
        if row not in sanitizer.public and gap not in keys[row]
    ]
    q, word = min(words, default=(1.0, ""))
    return word, q


def _agreement(sampler: Sampler, row: int, key: bytes) -> float:
    """Return the probability q that two draws of an input agree, or an upper bound."""
    pmf = sampler.probabilities(np.array([row]))
    if pmf is not None:
        return min(1.0, float(np.square(pmf).sum()) * (1 + 1e-6))
    ids = np.full(_WORDS + 2, row)
    keys = (derive_key(key, number) for number in range(_KEYS))
    # Words of one record, like the lines that are compared.
    drawn = [sampler.sample(ids, streams_for(subkey, [0], [len(ids)])) for subkey in keys]
    hits = sum(int((a == b).sum()) for a, b in zip(drawn[::2], drawn[1::2], strict=True))
    return clopper_pearson(hits, _KEYS // 2 * len(ids), ERROR / _FAMILIES)[1]


@dataclass
class _Comparison:
    """Outputs of equal lines, none of which may be the same."""

    sanitizer: Sanitizer
    gap: str
    workers: Workers | None
    figures: dict[str, float]

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
        return ", ".join(many)

    def compare(self, strings: list[str], q: float, key: bytes) -> None:
        """Compare lines, and positions of lines, that are made of these strings.

        Raises:
            _JudgedError: two of them share random numbers, equal words of a unit have different
                draws, workers write other words, or the output cannot be split into its words.
        """
        width = width_of(q)
        # Where draws agree so often that lines must be long, many lines would take too long: a few
        # are compared, and the positions of many short ones.
        short = (min(width, _WORDS), max(_LINES, math.ceil(width / _RUNS)))
        shapes = [(width, _LINES)] if width <= _LONGEST else [(width, _FEW_LINES), short]
        for shape, (words, lines) in enumerate(shapes):
            # The first word has the capital of a sentence, the last is the second once more.
            line = [strings[0], *strings[1 : words + 1], strings[1]]
            written = [*self._lines(line, lines, derive_key(key, "shape", shape))]
            columns = zip(*(outputs for _, outputs in written), strict=True)
            positions = (((at,), column) for at, column in enumerate(columns))
            # Lines of few words, and positions of few lines, are equal by chance.
            by_lines = ("runs", "files", "copies of a line", "lines of a file")
            what = same(written, by_lines) if words >= width else None
            if not what and len(written) >= width:
                what = same(positions, ("positions of a line",))
            if what:
                chance = checks.probability(math.log(ERROR))
                agree = "they have the same draws throughout"
                raise _JudgedError(f"two {what} share random numbers: {agree}: {chance} by chance")

    def _read(self, line: str, many: int) -> tuple[str, ...]:
        """Return the words of an output line, without letter case."""
        words = line.lower().split(self.gap)
        if len(words) != many:
            raise _JudgedError("the outputs could not be read", None)
        return tuple(words)

    def _lines(self, line: list[str], lines: int, key: bytes) -> Iterator[Line]:
        """Yield the lines of runs, files and copies, one of each unit of equal words."""
        unit, written = self.sanitizer.spec.consistent, f"{self.gap.join(line)}\n".encode()
        chance = streams_for(derive_key(key, "files"), [0], [len(_FILES)]).bits("files")[:, 0]
        numbers = sorted({*_FILES, *(1 + chance % np.uint64(_LAST_FILE)).tolist()})
        copied = min(lines, _LINES)
        # A file of many lines, a line in many copies, and a line in each of some files.
        first, second, *rest = numbers
        parts = [([first], lines, 1), ([second], 1, copied), (rest, 1, 1)]
        for run in range(_RUNS):
            units: dict[tuple[int, ...], tuple[str, ...]] = {}
            for files, many, copies in parts:
                documents, subkey = [written * many] * len(files), derive_key(key, "run", run)
                outputs_of_files = checks.rewritten(
                    self.sanitizer, documents, subkey, copies=copies, files=files
                )
                for file, output in zip(files, outputs_of_files, strict=True):
                    for at, text in enumerate(output.decode().split("\n")[:-1]):
                        words = self._read(text, len(line))
                        position = run, file, at % copies, at // copies
                        shared = {Unit.FILE: (run, file, at % copies), Unit.RUN: (run, at % copies)}
                        whole = shared.get(unit or Unit.RECORD, position)
                        body, new = words[1:-1], whole not in units
                        same_draws = unit is None or words[1] == words[-1]
                        if not same_draws or units.setdefault(whole, body) != body:
                            raise _JudgedError("equal words of a unit have different draws")
                        if new:
                            yield position, body
        self.figures |= {"lines_of_a_file": lines, "copies": copied, "files": len(numbers)}
        if self.workers is not None:
            self._compare_workers(written * copied, derive_key(key, "workers"))

    def _compare_workers(self, document: bytes, key: bytes) -> None:
        """Compare the lines of worker processes with those of one process."""
        keys = self.sanitizer.embeddings.index_to_key
        chosen = checks.words_at_random(self.sanitizer, _MANY, derive_key(key, "words")).tolist()
        document += self.gap.join(keys[row] for row in chosen).encode()
        self.figures["lines_of_workers"] = document.count(b"\n")
        (alone,) = checks.rewritten(self.sanitizer, [document], key)
        (shared,) = checks.rewritten(self.sanitizer, [document], key, workers=self.workers, batch=2)
        if alone != shared:
            sentence = "worker processes write other words than one process under the same key"
            raise _JudgedError(sentence)
