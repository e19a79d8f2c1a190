"""Estimates of what groups of texts said before they were sanitized: comparisons, words, counts.

Only sanitized texts are read, and the settings that wrote them: post-processing, at no cost in
privacy.  :mod:`dpsan.outcomes.estimate` does the maths.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate import accuracy, pairs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.pages import WORDING, Bar, Part, Prose, Section, Shown
from dpsan.embeddings.word_lists import row_of
from dpsan.embeddings.words import Embeddings
from dpsan.errors import InputError, number, printable, refuse
from dpsan.outcomes import distributions, estimate
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids
from dpsan.text.letter_case import LetterCase

_LEAST, _LEAST_TOP = 3000, 10_000
"""Words of a group, and for words that it uses more."""
_LONG, _REPEATED = 10, 0.02
"""Words of a text that is not drawn twice by chance; largest share of words of such repeats."""
_RARE: Final = 1e-6
"""Prior of ⊥ where unknown words are masked."""
Tell = Callable[[str, float], None]
Rows = list[dict[str, Any]]
"""As JSON and as a data frame takes them."""


class Estimate:
    """Estimates of how often words occurred in groups of texts, from the sanitized texts alone.

    Args:
        texts: sanitized; None is left out.
        by: group of each text.
        sanitizer: has the settings that wrote the texts; nothing is drawn.
        top: :meth:`top` will be called: refuse at once groups that are too small for it.
        progress: called with the step and the share of the work that is done.

    Raises:
        UsageError: settings, or texts, from which nothing can be estimated.
    """

    def __init__(
        self,
        texts: Iterable[str | None],
        by: Iterable[object],
        sanitizer: Sanitizer,
        *,
        top: bool = False,
        progress: Tell | None = None,
    ) -> None:
        spec, self._embeddings = sanitizer.spec.of_table(), sanitizer.embeddings
        read, tell = reader(sanitizer), progress or (lambda _, __: None)
        every = counts_by_group(texts, by, read, self._embeddings.n + 1)
        distributions.check_outputs(sanitizer.sampler, np.sum([*every.values()], axis=0)[:-1])
        readings = [*map(read, self._embeddings.index_to_key)]
        channel = estimate.Channel.of(sanitizer.sampler, sanitizer.space, readings)
        if spec.unknown == "mask":
            channel.prior[-1] = _RARE
        self._groups = [counts[channel.outputs].astype(np.float64) for counts in every.values()]
        sizes = [int(counts.sum()) for counts in self._groups]
        self.groups = dict(zip(every, sizes, strict=True))
        """Words of each group."""
        self._refuse_small(_LEAST_TOP if top else _LEAST)
        first = estimate.fit(channel, np.sum(self._groups, axis=0))
        self.misfit = first.misfit
        """Mean deviance of the counts of outputs."""
        wrong = self.misfit > estimate.most_misfit(sum(sizes))
        refuse(wrong, distributions.OTHER_SETTINGS, f"misfit {self.misfit:.1f}")
        self._whole = estimate.best_fit(first, lambda share: tell("all groups", 0.5 * share))

    @cached_property
    def _beside(self) -> list[estimate.Fit]:
        return estimate.beside(self._whole, self._groups)

    def _refuse_small(self, least: int) -> None:
        small = sum(words < least for words in self.groups.values())
        what = f"{small} of {len(self.groups)} groups have fewer than {number(least)} words"
        needs = f"--list needs {number(_LEAST)} of each group, --top {number(_LEAST_TOP)}"
        refuse(small, f"cannot estimate: {what}", needs)

    def counts(self, lists: Mapping[str, Iterable[str]]) -> Rows:
        """Return occurrences of each list of words in each group.

        Returns:
            Rows of ``list``, ``group``, ``low`` and ``high``; ``low`` is None where there is only
            an upper bound.
        """
        matrix = matrix_of(lists, self._embeddings)
        bounds = [estimate.bounds(self._whole, counts, matrix) for counts in self._groups]
        return [
            {"list": name, "group": label, "low": low, "high": high}
            for name, *ends in zip(lists, *bounds, strict=True)
            for label, (low, high) in zip(self.groups, ends, strict=True)
        ]

    def comparisons(self, lists: Mapping[str, Iterable[str]]) -> Rows:
        """Return what is called: a list that one group uses at least so many times as often.

        No call is no evidence of equality.

        Returns:
            Rows of ``list``, ``more`` and ``less`` (groups) and ``times``, per word.
        """
        return self._called(lists, 0)[0]

    def top(self, most: int = 20) -> Rows:
        """Return the words that each group uses more than all groups, the clearest first.

        Returns:
            Rows of ``group`` and ``word``.
        """
        return self._called({}, most)[1]

    def _called(self, lists: Mapping[str, Iterable[str]], most: int) -> tuple[Rows, Rows]:
        """Return :meth:`comparisons` and :meth:`top`, which share the longest step."""
        if most:
            self._refuse_small(_LEAST_TOP)
        matrix, names, labels = matrix_of(lists, self._embeddings), [*lists], [*self.groups]
        found, top = list[Any](), Rows()
        for label, group in zip(labels, self._beside, strict=True):
            factor = group.factor()
            found += [group.of_lists(matrix, factor)] if lists else []
            rows = estimate.over_represented(self._whole, group, factor)[:most] if most else ()
            top += [{"group": label, "word": self._embeddings.index_to_key[row]} for row in rows]
        ratios: Any = estimate.least_ratios(found, [*self.groups.values()]) if lists else ()
        comparisons = [
            {"list": names[k], "more": labels[a], "less": labels[b], "times": float(times)}
            for (k, a, b), times in np.ndenumerate(ratios)
            if times > 1
        ]
        return comparisons, top


def reader(sanitizer: Sanitizer) -> Callable[[str], Ids]:
    """Return what finds the rows of the words of a text as a reader sees them: *an* is *a*."""
    embeddings, spec = sanitizer.embeddings, sanitizer.spec
    lookup, rows = Vocabulary(embeddings, spec.tokenizer).lookup, embeddings.key_to_index
    read = np.arange(embeddings.n + 1)
    if embeddings.english and spec.case == LetterCase.NATURAL and {"a", "an"} <= rows.keys():
        read[rows["an"]] = rows["a"]  # the word that follows chooses the article
    return lambda text: np.asarray(read[lookup.texts([text])[2]])


def counts_by_group(
    texts: Iterable[str | None], by: Iterable[object], read: Callable[[str], Ids], inputs: int
) -> dict[str, Ids]:
    """Return how often each word stands in each group, (n + 1,).

    Raises:
        UsageError: a text is no string, or texts stand there several times, or none does.
    """
    groups = defaultdict[str, Ids](lambda: np.zeros(inputs, dtype=np.int64))
    hashes, repeated = set[int](), 0  # no text stays in memory
    texts, by = [*texts], [*by]
    refuse(len(texts) != len(by), "texts and by have different lengths")
    for text, label in zip(texts, by, strict=True):
        if text is None or text != text:  # a missing value of a data frame
            continue
        refuse(not isinstance(text, str), "texts must be str, None or NaN")
        rows = read(text)
        np.add.at(groups[str(label)], rows, 1)
        repeated += len(rows) * (len(rows) >= _LONG and hash(text) in hashes)
        hashes.add(hash(text))
    refuse(not groups, "cannot estimate: there are no texts")
    many = repeated > _REPEATED * np.sum([*groups.values()])
    refuse(many, "cannot estimate: texts stand there several times, as with --memo")
    return dict(sorted(groups.items()))


def matrix_of(lists: Mapping[str, Iterable[str]], embeddings: Embeddings) -> estimate.Lists:
    """Return lists of words as columns, (n + 1, k).  Raises UsageError: a word has no row."""
    columns = []
    for name, words in lists.items():
        rows = {word: row_of(embeddings.key_to_index, word) for word in words}
        lacking = ", ".join(printable(word) for word, row in rows.items() if row is None)
        refuse(lacking, f"list {printable(name)}: not in the vocabulary: {lacking}")
        refuse(not rows, f"list {printable(name)}: no words")
        columns.append(np.unique([row for row in rows.values() if row is not None]))
    return estimate.as_lists(columns, embeddings.n + 1)


def read_groups(
    paths: Sequence[Path], inputs: pairs.Inputs, by: str | None
) -> tuple[list[str], list[str]]:
    """Return texts, and their groups: a field of the record, else the name of the file.

    Raises:
        UsageError: the format has no fields.
        InputError: a file cannot be read.
    """
    texts: list[str] = []
    groups: list[str] = []
    for path in paths:
        texts += [" ".join(record.texts) for record in pairs.records(path, inputs)]
        names = [path.name] * (len(texts) - len(groups))
        groups += names if by is None else accuracy.read_labels(path, by, inputs, "--by")
        if len(groups) != len(texts):
            raise InputError(path, "not every record has the field of --by")
    return texts, groups


_ABOUT: Final = "How often words occurred before the texts were sanitized, from the output alone."


def answers(
    found: Estimate, lists: Mapping[str, Iterable[str]], most: int, progress: Tell
) -> dict[str, Any]:
    """Return all estimates as JSON has them; ``most``: words that each group uses more."""
    progress("comparisons and words", 0.5)
    comparisons, top = found._called(lists, most)
    progress("counts", 0.8)
    counts = found.counts(lists) if lists else []
    return {
        "groups": found.groups,
        "misfit": found.misfit,
        "counts": counts,
        "comparisons": comparisons,
        "top": top,
        "no_call": WORDING["no call"],
    }


def shown(found: Mapping[str, Any]) -> Shown:
    """Return what is estimated, with a bar for each interval and each ratio."""
    ratios, counts, top = found["comparisons"], found["counts"], found["top"]
    most = max((row["times"] for row in ratios), default=1.0)
    called = [[row["list"], row["more"], row["less"], _times(row, most)] for row in ratios]
    highest = {row["list"]: row["high"] for row in sorted(counts, key=itemgetter("high"))}
    bounds = [[row["list"], row["group"], _interval(row, highest[row["list"]])] for row in counts]
    words = {
        label: ", ".join(row["word"] for row in top if row["group"] == label)
        for label in found["groups"]
        if top
    }
    parts: list[Part] = [
        Section(("list", "group", "occurrences"), bounds, [WORDING["intervals"]] * bool(counts)),
        Section(("list", "more often in", "than in", "per word, at least"), called),
        Prose("", lines=[WORDING["no call"]]),
        Section(("group", "words that it uses more"), [*words.items()]),
        Section(("group", "words"), [*found["groups"].items()]),
    ]
    most_misfit = estimate.most_misfit(sum(found["groups"].values()))
    misfit = f"misfit {found['misfit']:.2f}, at most {most_misfit:.2f}"
    return Shown(_ABOUT, parts, f"The texts fit these settings ({misfit}).", good=True)


def _interval(row: dict[str, Any], highest: float) -> Bar:
    low, high = row["low"], row["high"]
    text = f"at most {number(high)}" if low is None else f"{number(low)} to {number(high)}"
    return Bar(text, (low or 0) / highest, high / highest)


def _times(row: dict[str, Any], most: float) -> Bar:
    lowered = math.floor(10 * row["times"]) / 10  # a bound is never rounded up
    return Bar(f"{max(lowered, 1):.1f} times", 0.0, row["times"] / most)
