"""Preview one's own text at several levels of protection, to choose epsilon.

It draws, reads back, concludes and says so.  Only this package may hold sanitized sentences in a
result; it holds no original one.  Must not know command lines.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.pages import WORDING, Part, Prose, Section, Shown, by_name, plain_meaning
from dpsan.embeddings.store import Store
from dpsan.embeddings.word_lists import SENSITIVE, only_classes, word_classes
from dpsan.embeddings.words import Embeddings
from dpsan.errors import InputError, UsageError, counted, number, percent, printable
from dpsan.outcomes.decoding import guesses, tables_for
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.ngrams import Ngrams, gap_kinds, model_for
from dpsan.outcomes.text_likelihood import CANDIDATES, LONGEST, likeliest_inputs
from dpsan.privacy import randomness
from dpsan.sanitize.classes import class_rows
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.result import AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

EPSILONS: Final = (4.0, 6.0, 8.0, 10.0, 12.0)
SENTENCES: Final = 3
TESTS: Final = ("singling out", "linkability", "inference")
_WORDS: Final = 1000
"""Words of the file that are measured, about."""
FEW: Final = 20
"""Words below which no share is printed."""
_ENOUGH: Final = 300
"""Words below which a test that does not fail says nothing."""
_TEXTS: Final = 4000
"""Most records that are held; half of them at least in a longer file."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST: Final = 2000
"""Characters of a sentence of a long record."""
_SHORT, _LONG = 5, 16
"""Words of a sentence that is shown."""
_BY: Final = 12.0
"""Epsilon beside classes of words."""


@dataclass(frozen=True)
class Level:
    """One level of protection, and what it does to the text."""

    options: str
    """Options of ``rewrite``."""
    epsilon_ldp: float
    """LDP epsilon of any one word; of words of a class where only these are drawn."""
    meaning: str
    sentences: tuple[str, ...] = field(repr=False, metadata={"shown": True})
    unchanged: Share
    read_back: Share
    """Words that an attacker reads back."""
    classes_read_back: Share
    """Words of classes, such as names and places, that are read back."""
    linked_words: int | None
    """Words that find a text among 1,000; 0: more than 64; None: words that pass unchanged find
    it."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """All levels, and what they were measured on."""

    file: str
    lengths: Ids = field(repr=False)
    """Words of each record, (r,)."""
    records: int
    words_measured: int
    language_model: bool
    """True if the attacker has a language model."""
    guessed_without_output: Share
    """Words that are the most frequent word: right without any output."""
    levels: tuple[Level, ...]
    left_out: str | None = field(repr=False)
    """Reason why there are no levels of classes."""

    def tests(self) -> dict[str, list[dict[str, Any]]]:
        """Return the three tests of the European regulators' opinion on anonymization.

        Returns:
            For each level whether it fails a test and by which figure.  Article 29 Working Party,
            Opinion 05/2014 (WP216), section 3: singling out, linkability, inference.
        """
        rows = [self._tests_of(level) for level in self.levels]
        return {
            name: [{"fails": fails, "figure": figure} for fails, figure in cells]
            for name, cells in zip(TESTS, zip(*rows, strict=True), strict=True)
        }

    def _tests_of(self, level: Level) -> tuple[tuple[bool, str], ...]:
        # More words are read back than are right without an output.
        low = level.read_back.interval[0] if level.read_back.total else 0.0
        fails = low > (self.guessed_without_output.value or 0.0)
        read = percent(level.read_back.value or 0.0)
        if level.read_back.total < FEW:
            read = f"{number(level.read_back.hits)} of {counted(level.read_back.total, 'word')}"
        inferred = fails, f"{read} read"
        if level.linked_words is None:
            return (True, "by words that pass"), (True, "all records"), inferred
        # A record is told apart, or matched with the same text elsewhere, if it has enough words.
        share = float((self.lengths >= (level.linked_words or LONGEST + 1)).mean())
        by = f"by {counted(level.linked_words, 'word')}"
        singled = by if level.linked_words else f"over {LONGEST} words"
        matched = "no record" if not share else f"{percent(share)} of records"
        return (share > 0, singled), (share > 0, matched), inferred

    def conclusion(self) -> str:
        """Return the sentence that the page begins with."""
        passing = [
            level.options
            for level in self.levels
            if not any(fails for fails, _ in self._tests_of(level))
        ]
        if passing and self.words_measured < _ENOUGH:
            many = f"{counted(self.words_measured, 'word')} of {number(_ENOUGH)}"
            return f"Too little text to judge: {many}. No level is shown to be anonymous."
        if not passing:
            return "Not anonymous by these tests at any level that is shown."
        many = counted(self.words_measured, "word")
        levels = ", ".join(passing)
        return f"No test fails at {levels} on {many}; all other levels are not anonymous."

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        said = {"tests": self.tests(), "conclusion": self.conclusion()}
        return {**by_name(self), **said, "left_out": self.left_out}


def preview(
    path: Path,
    inputs: Inputs,
    opened: tuple[Embeddings, MetricSpace],
    store: Store,
    epsilons: Sequence[float] = EPSILONS,
    progress: Callable[[str, float], None] = lambda _, __: None,
) -> Preview:
    """Sanitize parts of a file at several levels, and measure what an attacker reads back.

    Args:
        path: of a container that ``rewrite`` reads.
        inputs: how it is read.
        opened: the vocabulary and its space.
        epsilons: of every word.
        progress: called with the options of each level, and the share of the work that is done.

    Raises:
        InputError: the file cannot be read, or holds no word.
    """
    embeddings, _ = opened
    vocabulary = Vocabulary(embeddings, "unicode")
    texts, lengths = _read(path, inputs, vocabulary)
    measured = _Measured(texts, vocabulary)
    model, _ = model_for(embeddings) or (None, "")
    specs = [(f"-e {number(epsilon)}", Settings(epsilon=epsilon)) for epsilon in epsilons]
    left_out, classes = None, word_classes(SENSITIVE)
    try:
        class_rows(classes, embeddings)
    except UsageError as error:
        left_out = f"no levels of classes: {error}"
    else:
        only = only_classes(SENSITIVE)
        replacing = Settings(epsilon=None, only=only, consistent=Unit.RECORD)
        both = Settings(epsilon=_BY, classes=classes)
        specs = [("--only sensitive", replacing), (f"-e {_BY:g} --class sensitive", both), *specs]
    shown = _sentences(texts, vocabulary)
    levels = []
    for at, (options, spec) in enumerate(specs):
        progress(options, at / len(specs))
        sanitizer = Sanitizer.from_spec(spec, store, None, opened=lambda: opened)
        levels.append(_level(options, sanitizer, measured, shown, model))
    return Preview(
        file=printable(path.name),
        lengths=np.array(lengths),
        records=len(lengths),
        words_measured=len(measured.inputs),
        language_model=model is not None,
        guessed_without_output=Share.of(measured.fold[measured.inputs] == measured.fold[0]),
        levels=tuple(levels),
        left_out=left_out,
    )


def _read(path: Path, inputs: Inputs, vocabulary: Vocabulary) -> tuple[list[str], list[int]]:
    """Return the texts that are measured, and the words of each record that was looked at.

    Both are spread evenly over the whole file.

    Raises:
        InputError: the file cannot be read, or holds no word.
    """
    parts: list[tuple[int, list[str]]] = []
    step = 1
    for at, record in enumerate(records(path, inputs)):
        if at % step == 0:
            parts.append(_parts(record.texts, vocabulary))
        if len(parts) > _TEXTS:
            parts, step = parts[::2], 2 * step
    lengths = [words for words, _ in parts]
    words = sum(min(length, _WORDS) for length in lengths)
    if not words:
        hint = "is it the right --field?" if inputs.options.fields else ""
        raise InputError(path, "no words, so there is nothing to show", hint)
    spoken = [texts for words_of, texts in parts if words_of]
    return [*chain(*spoken[:: max(1, round(words / _WORDS))])], lengths


def _parts(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[int, list[str]]:
    """Return the words of a record, and its texts; of a long one sentences, spread evenly."""
    words = sum(len(vocabulary.split(text)) // 2 for text in texts)
    if words <= 2 * _WORDS:
        return words, [*texts]
    sentences = [*chain.from_iterable(map(_SENTENCE.split, texts))]
    return words, [sentence[:_LONGEST] for sentence in sentences[:: max(1, round(words / _WORDS))]]


def _sentences(texts: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Return sentences that fit a line, those with words of classes first, of different texts."""
    split_texts = [[part.split() for part in _SENTENCE.split(text)] for text in texts]
    fitting = [[words for words in parts if _SHORT <= len(words) <= _LONG] for parts in split_texts]

    def plain(sentence: list[str]) -> bool:
        return not any(vocabulary.of_classes(" ".join(sentence)))

    best = [sorted(parts, key=plain) for parts in fitting if parts]
    first = sorted((parts[0] for parts in best), key=plain)
    shown = [*first, *chain(*best), *(words[:_LONG] for words in chain(*split_texts) if words)]
    return [*dict.fromkeys(map(" ".join, shown))][:SENTENCES]


class _Measured:
    """The texts that are measured, as an attacker is judged by them."""

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        batch = vocabulary.lookup.batch(texts)
        self.texts, self.fold = texts, vocabulary.fold
        self.inputs, self.kinds = batch.codes, gap_kinds(batch)
        self.listed = np.array([*chain.from_iterable(map(vocabulary.of_classes, texts))])


def _level(
    options: str,
    sanitizer: Sanitizer,
    measured: _Measured,
    shown: Sequence[str],
    model: Ngrams | None,
) -> Level:
    """Sanitize, and read back."""
    table = sanitizer.sanitize(measured.texts, randomness.new_key(), audit=True).records
    assert table is not None  # noqa: S101 - it was asked for
    same = np.array([a == b for a, b in zip(table.originals, table.outputs, strict=True)])
    if table.reasons is not None:  # what passes is read, and nothing of the others
        right, listed = same, np.array([reason is not None for reason in table.reasons])
        epsilon, linked = 0.0, None
    else:
        same, right = _read_back(table, same, measured, sanitizer, model)
        epsilon, half = sanitizer.guarantee.epsilon_ldp, sanitizer.half_linked
        listed, linked = measured.listed, None if half is None else half.words or 0
    sentences = tuple(" ".join(sentence.split()) for sentence in sanitizer.rewrite(shown))
    shares = Share.of(same), Share.of(right), Share.of(right[listed])
    return Level(options, epsilon, _meaning(sanitizer, epsilon), sentences, *shares, linked)


def _read_back(
    table: AuditTable,
    same: NDArray[np.bool_],
    measured: _Measured,
    sanitizer: Sanitizer,
    model: Ngrams | None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which words are unchanged but for case, and which an attacker reads, (m,) each."""
    n, fold, inputs = sanitizer.space.n, measured.fold, measured.inputs
    rows, word = np.where(table.output_ids >= 0, table.output_ids, ~n), inputs < n
    passed = (table.input_ids < 0) & word
    rows[passed] = ~inputs[passed]
    same = same | (word & (fold[inputs] == fold[np.where(rows >= 0, rows, n)]))
    right = word & (fold[_guessed(rows, measured, sanitizer, model)] == fold[inputs])
    return same, np.where(table.input_ids < 0, same, right)


def _guessed(rows: Ids, measured: _Measured, sanitizer: Sanitizer, model: Ngrams | None) -> Ids:
    """Return the attacker's guess of each word, (m,); -1 for none."""
    mechanism, space = sanitizer.mechanism, sanitizer.space
    if model is not None:
        none = np.zeros(0, dtype=np.int64)
        epsilon = sanitizer.guarantee.epsilon_ldp
        return guesses(rows, measured.kinds, tables_for(mechanism, space, model, epsilon, none))
    likeliest = likeliest_inputs(mechanism, space)
    best = np.full(space.n, -1, dtype=np.int64)
    best[likeliest["outputs"]] = likeliest["inputs"][:, 0]
    return np.where(rows >= 0, best[np.maximum(rows, 0)], -1)


def _meaning(sanitizer: Sanitizer, epsilon: float) -> str:
    """Say in a sentence or two what a level bounds."""
    if sanitizer.spec.only:
        told = "Which word of its group stood at a replaced word is hidden completely."
        return f"{told} Every other word stands there as it was, but for a and an."
    told = plain_meaning(epsilon)
    if sanitizer.spec.classes:
        told += " It says nothing about which of two words of one group, such as two names, it was."
    return told


# Sentences and tables about a preview, for the terminal and a page.


def _about(result: Preview) -> str:
    attacker = "with a public language model" if result.language_model else "who reads single words"
    figures = f"figures from {number(result.words_measured)} words, once drawn"
    records = counted(result.records, "record")
    return f"{result.file}: {records}; {figures}; an attacker {attacker}."


def figures(result: Preview) -> Section:
    """Return a row for each level."""
    rows = []
    for level in result.levels:
        shares = level.unchanged, level.read_back, level.classes_read_back
        found = f"over {LONGEST} words"
        if level.linked_words != 0:
            words = level.linked_words
            found = "words that pass" if words is None else counted(words, "word")
        rows.append((level.options, *map(_share, shares), found))
    notes = [
        "classes: names, places and other words of the lists of --only sensitive",
        f"{round(100 * CONFIDENCE)} % intervals; too few: below {FEW} words",
        *filter(None, [result.left_out]),
    ]
    columns = ("options of rewrite", "unchanged", "read back", "classes read back", "text found by")
    return Section(columns, rows, notes)


def _share(share: Share) -> str:
    """Return a share in per cent with its interval, or that it is of too few words."""
    if share.value is None or share.total < FEW:
        return "too few" if share.total else "-"
    low, high = share.interval
    return f"{percent(share.value)} ({100 * low:.0f}-{100 * high:.0f})"


def tests(result: Preview) -> Section:
    """Return the closing box: three tests, yes or no with a figure for each level."""
    results, guessed = result.tests(), _share(result.guessed_without_output)
    rows = [
        (level.options, *(f"{'yes' if x['fails'] else 'no'}, {x['figure']}" for x in cells))
        for level, *cells in zip(result.levels, *results.values(), strict=True)
    ]
    notes = [
        "yes: not anonymous by this test",
        f"Singling out: words that tell a text from {CANDIDATES:,} candidates.",
        "Linkability: records long enough to be matched with the same text elsewhere.",
        f"Inference: words read back; right without any output: {guessed}.",
    ]
    return Section(("test (WP216)", *results), rows, notes)


def shown(result: Preview) -> Shown:
    """Return the figures of all levels, samples, and three tests."""
    samples = [Prose(level.options, level.meaning, level.sentences) for level in result.levels]
    parts: list[Part] = [figures(result), *samples, tests(result)]
    return Shown(_about(result), parts, result.conclusion(), warnings=[WORDING["samples"]])
