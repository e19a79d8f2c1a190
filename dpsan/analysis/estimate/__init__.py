"""Estimates of what groups of texts said before they were sanitized: comparisons, words, counts.

Only sanitized texts are read, and the settings that wrote them: post-processing, at no cost in
privacy.  :mod:`dpsan.outcomes.estimate` does the maths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import read_labels
from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.pages.sections import Bar, Part, Prose, Section, Shown
from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.word_lists import row_of
from dpsan.errors import InputError, UsageError, printable, refuse
from dpsan.outcomes import estimate
from dpsan.outcomes.estimate import Channel, Fit
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids
from dpsan.text.letter_case import LetterCase
from dpsan.text.numerals import number

_LEAST, _LEAST_TOP = 3000, 10_000
"""Words of a group, and for words that it uses more."""
_LONG, _REPEATED = 10, 0.02
"""Words of a text that is not drawn twice by chance; largest share of words of such repeats."""
_RARE: Final = 1e-6
"""Prior of ⊥ where unknown words are masked."""
_SHARES: Final = {"counts": 0.4, "comparisons": 0.7}
"""Shares of the work that are done before the fits of groups."""
Rows = list[dict[str, Any]]
"""As JSON and as a data frame takes them."""


class Estimate:
    """Estimates of how often words occurred in groups of texts, from the sanitized texts alone.

    Args:
        texts: sanitized; None is left out.
        by: group of each text.
        sanitizer: has the settings that wrote the texts; nothing is drawn.
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
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        spec, embeddings, space = sanitizer.spec, sanitizer.embeddings, sanitizer.space
        self._embeddings = embeddings
        spec.of_table()
        self._progress = progress or (lambda _, __: None)
        self._words = Vocabulary(embeddings, spec.tokenizer)
        self._seen = np.arange(space.n + 1)
        rows = embeddings.key_to_index
        if embeddings.english and spec.case == LetterCase.NATURAL and {"a", "an"} <= rows.keys():
            self._seen[rows["an"]] = rows["a"]  # the word that follows chooses the article
        counts = self._read(texts, by)
        read = [self._rows(word) for word in embeddings.index_to_key]
        channel = Channel.of(sanitizer.sampler, space, read)
        if spec.unknown == "mask":
            channel.prior[-1] = _RARE
        self._counts = {label: counts[label][channel.outputs] for label in sorted(counts)}
        self.groups = {
            label: int(words_of_group.sum()) for label, words_of_group in self._counts.items()
        }
        """Words of each group."""
        self._refuse_small(_LEAST)
        every = np.sum([*self._counts.values()], axis=0)
        first = estimate.first_fit(channel, every)
        self.misfit = first.misfit
        """Mean squared residual of the counts of outputs."""
        wrong = self.misfit > estimate.MISFIT
        refuse(wrong, "these texts were not written by these settings", f"misfit {self.misfit:.1f}")
        self._whole = estimate.best_fit(first, lambda share: self._progress("all", 0.4 * share))

    def _rows(self, text: str) -> Ids:
        """Return the rows of the words of a text as a reader sees them."""
        return np.asarray(self._seen[self._words.lookup.texts([text])[2]])

    def _read(self, texts: Iterable[str | None], by: Iterable[object]) -> dict[str, Floats]:
        """Return how often each word stands in each group, (n + 1,)."""
        counts: dict[str, Floats] = {}
        hashes, repeated = set[int](), 0
        for text, label in zip(texts, by, strict=True):
            if text is None or text != text:  # a missing value of a data frame
                continue
            if not isinstance(text, str):
                raise UsageError("texts must be str, None or NaN")
            rows = self._rows(text)
            np.add.at(counts.setdefault(str(label), np.zeros(len(self._seen))), rows, 1)
            if len(rows) >= _LONG:
                repeated += len(rows) * (hash(text) in hashes)
                hashes.add(hash(text))
        most = _REPEATED * sum(float(count.sum()) for count in counts.values())
        refuse(repeated > most, "cannot estimate: texts stand there several times, as with --memo")
        return counts

    def _refuse_small(self, least: int) -> None:
        small = sum(words < least for words in self.groups.values())
        what = f"{small} of {len(self.groups)} groups have fewer than {number(least)} words"
        refuse(small or not self.groups, f"cannot estimate: {what}")

    def _each(self, what: str, made: Callable[[Floats], Fit]) -> Iterator[Fit]:
        for at, counts in enumerate(self._counts.values()):
            self._progress(f"{what}, group {at + 1}", _SHARES[what] + 0.3 * at / len(self.groups))
            yield made(counts)

    @cached_property
    def _alone(self) -> list[Fit]:
        whole = self._whole
        near = whole.channel, whole.channel.prior, whole.scales, whole.mode
        return [*self._each("counts", lambda counts: estimate.fit(near[0], counts, *near[1:]))]

    @cached_property
    def _beside(self) -> list[Fit]:
        return [*self._each("comparisons", lambda counts: estimate.beside(self._whole, counts))]

    def counts(self, lists: Mapping[str, Iterable[str]]) -> Rows:
        """Return occurrences of each list of words in each group.

        Returns:
            Rows of ``list``, ``group``, ``low`` and ``high``; ``low`` is None where there is only
            an upper bound.
        """
        rows = rows_of(lists, self._embeddings)
        matrix = estimate.as_lists([*rows.values()], len(self._seen))
        out: Rows = []
        for label, group in zip(self.groups, self._alone, strict=True):
            ends = estimate.intervals(group.of_lists(matrix))
            for name, low, high, given in zip(rows, *ends, strict=True):
                most = high if given else estimate.at_most(group, rows[name])
                least = math.floor(low) if given else None
                out.append({"list": name, "group": label, "low": least, "high": math.ceil(most)})
        return sorted(out, key=lambda row: [*rows].index(row["list"]))

    def comparisons(self, lists: Mapping[str, Iterable[str]]) -> Rows:
        """Return what is called: a list that one group uses at least so many times as often.

        No call is no evidence of equality.

        Returns:
            Rows of ``list``, ``more`` and ``less`` (groups) and ``times``, per word.
        """
        rows = rows_of(lists, self._embeddings)
        matrix = estimate.as_lists([*rows.values()], len(self._seen))
        levels = {
            label: group.of_lists(matrix)
            for label, group in zip(self.groups, self._beside, strict=True)
        }
        out: Rows = []
        for more, less in permutations(levels, 2):
            sizes = self.groups[more], self.groups[less]
            ratios = estimate.least_log_ratios(levels[more], levels[less], sizes)
            for name, ratio in zip(rows, ratios.tolist(), strict=True):
                if ratio > 0:
                    times = math.exp(ratio)
                    out.append({"list": name, "more": more, "less": less, "times": times})
        return sorted(out, key=lambda row: [*rows].index(row["list"]))

    def top(self, most: int = 20) -> Rows:
        """Return the words that each group uses more than all groups, the clearest first.

        Returns:
            Rows of ``group`` and ``word``.
        """
        self._refuse_small(_LEAST_TOP)
        return [
            {"group": label, "word": self._words.words[row]}
            for label, group in zip(self.groups, self._beside, strict=True)
            for row in estimate.over_represented(self._whole, group)[:most]
        ]


def rows_of(lists: Mapping[str, Iterable[str]], embeddings: Embeddings) -> dict[str, Ids]:
    """Return the rows of the words of each list.  Raises UsageError: a word has none."""
    out = {}
    for name, words in lists.items():
        rows = {word: row_of(embeddings.key_to_index, word) for word in words}
        lacking = ", ".join(printable(word) for word, row in rows.items() if row is None)
        refuse(lacking, f"list {printable(name)}: not in the vocabulary: {lacking}")
        refuse(not rows, f"list {printable(name)}: no words")
        out[name] = np.unique([row for row in rows.values() if row is not None])
    return out


def read_groups(
    paths: Sequence[Path], inputs: Inputs, by: str | None
) -> tuple[list[str], list[str]]:
    """Return texts, and their groups: a field of the record, else the name of the file.

    Raises:
        UsageError: the format has no fields.
        InputError: a file cannot be read.
    """
    texts: list[str] = []
    groups: list[str] = []
    for path in paths:
        texts += [" ".join(record.texts) for record in records(path, inputs)]
        if by is not None:
            groups += read_labels(path, by, inputs, "--by")
        several = len(texts) - len(groups)
        if by is not None and several:
            raise InputError(path, "not every record has the field of --by")
        groups += [path.name] * several
    return texts, groups


NO_CALL: Final = (
    "No call is no evidence of equality. Of lists that one half of a news corpus used twice as "
    "often as the other, and no other words, .28 were called at epsilon 8; of lists that it used "
    "four times as often .55."
)
_ABOUT: Final = "How often words occurred before the texts were sanitized, from the output alone."
_CALLED: Final = ("list", "more often in", "than in", "per word, at least")
_INTERVALS: Final = (
    "Of the intervals at epsilon 8 .97 hold, of the upper bounds .97 (docs/estimate.md)."
)


def shown(found: Estimate, counts: Rows, comparisons: Rows, top: Rows) -> Shown:
    """Return what is estimated, with a bar for each interval and each ratio."""
    highest = {row["list"]: max(0, *(count["high"] for count in counts)) for row in counts}
    most = max((row["times"] for row in comparisons), default=1.0)
    called = [[row["list"], row["more"], row["less"], _times(row, most)] for row in comparisons]
    words = {
        label: ", ".join(row["word"] for row in top if row["group"] == label)
        for label in found.groups
    }
    occurrences = [
        [row["list"], row["group"], _interval(row, highest[row["list"]])] for row in counts
    ]
    parts: list[Part] = [
        Section(("list", "group", "occurrences"), occurrences, [_INTERVALS] * bool(counts)),
        Section(_CALLED, called),
        Prose("", lines=[NO_CALL]),
        Section(("group", "words that it uses more"), [*words.items()] if top else []),
        Section(("group", "words"), [*found.groups.items()]),
    ]
    settings = f"The texts fit these settings (misfit {found.misfit:.2f}, at most 1.5)."
    return Shown(_ABOUT, parts, settings, good=True)


def _interval(row: dict[str, Any], highest: float) -> Bar:
    low, high = row["low"], row["high"]
    text = f"at most {number(high)}" if low is None else f"{number(low)} to {number(high)}"
    return Bar(text, (low or 0) / highest, high / highest)


def _times(row: dict[str, Any], most: float) -> Bar:
    lowered = math.floor(10 * row["times"]) / 10  # a bound is never rounded up
    return Bar(f"{max(lowered, 1):.1f} times", 0.0, row["times"] / most)
