"""The attacks on a sanitized text, from reading it to reading it with a model of the language."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.context import BEST, Guesses, Reader
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.vocabulary import OTHER, Vocabulary, WordClass
from dpsan.formats.span_file import SpanFile
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.emissions import Emissions, Observations
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.language import Gap
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

_MOST: Final = 20
"""Largest number of outputs of one text for which impossible and unlikely ones are told apart."""
_IMPOSSIBLE: Final = -600.0
"""ln of a likelihood that only an output outside the distribution's support can have."""


@dataclass(frozen=True)
class Attack:
    """One way of reading, and how often it is right."""

    attack: str
    """``verbatim``, ``one-word``, ``context`` or ``informed``."""
    name: str
    right: NDArray[np.bool_] = field(repr=False)
    """True for each word that was read right, but for letter case, shape (m,)."""
    success: dict[WordClass, Share]


def attacks(
    pairs: Pairs,
    vocabulary: Vocabulary,
    space: MetricSpace,
    mechanism: Mechanism | None,
    model: Ngrams | None,
) -> tuple[tuple[Attack, ...], int]:
    """Attack the output words.

    A guess is right if it is the original word but for case.  An unknown word is never guessed,
    unless it was passed through.  Of the readers of one word, who differ in how frequent they hold
    words to be, the one is given who is right more often.

    Args:
        pairs: outputs to attack, and inputs to compare the guesses with.
        vocabulary: public words and frequencies.
        mechanism: resolved; None makes ``verbatim`` the only attack.
        model: of public text; None leaves out ``context`` and ``informed``.

    Returns:
        All attacks that could be made, and the number of outputs that the mechanism cannot give.
    """
    verbatim = _attack(pairs, "verbatim", "the output itself", pairs.same)
    if mechanism is None:
        return (verbatim,), 0
    # A reader may hold either prior: which one fits the text better is not known beforehand.
    priors = {}
    if model is not None:
        priors["public text"] = model.unigrams[: space.n].astype(np.float64)
    name_of_prior = "vocabulary counts" if vocabulary.counted else "vocabulary ranks"
    priors[name_of_prior] = np.log(vocabulary.frequencies)
    emissions = Emissions(mechanism, space)
    observed = Observations.combined(pairs.noisings)
    if not observed.outputs.shape[1]:
        return (verbatim,), 0
    best = 1 if model is None else BEST
    likeliest = emissions.candidates(observed.outputs, list(priors.values()), best)
    readers = []
    for name, likely in zip(priors, likeliest, strict=True):
        guesses = np.where(observed.of >= 0, likely.guesses()[observed.of], -1)
        right = _right(pairs, vocabulary, guesses)
        readers.append(_attack(pairs, "one-word", f"{emissions.name}; prior: {name}", right))
    made = [verbatim, max(readers, key=lambda likely: int(likely.right.sum()))]
    if model is not None:
        reader = Reader(np.append(pairs.kinds, Gap.LINE), observed, emissions, likeliest[0], model)
        read = reader.context()
        made.append(_stronger(pairs, vocabulary, "context", "whole line", read))
        read = reader.informed(pairs.inputs)
        made.append(_stronger(pairs, vocabulary, "informed", "other words known", read))
    if len(observed.outputs) > _MOST:  # as unlikely as that by themselves
        return tuple(made), 0
    best_scores, first = likeliest[0].scores[:, 0], likeliest[0].inputs[:, 0]
    likelihood = best_scores - next(iter(priors.values()))[first]
    impossible = likelihood[observed.of[observed.of >= 0]] < _IMPOSSIBLE
    return tuple(made), int(impossible.sum())


def _stronger(pairs: Pairs, vocabulary: Vocabulary, key: str, beside: str, read: Guesses) -> Attack:
    """Return the attacker with the most correct guesses, of those with each power and weight."""
    made = []
    for (tau, near), guesses in read.items():
        name = "trigrams and coherence" if near else "trigrams of public text"
        name += f", tau {tau:g}" * (tau < 1)
        right = _right(pairs, vocabulary, guesses)
        made.append(_attack(pairs, key, f"{name}; {beside}, with this model", right))
    return max(made, key=lambda attack: int(attack.right.sum()))


def _right(pairs: Pairs, vocabulary: Vocabulary, guesses: Ids) -> NDArray[np.bool_]:
    right = (guesses >= 0) & (pairs.inputs < vocabulary.n)
    right &= vocabulary.fold[guesses] == vocabulary.fold[np.minimum(pairs.inputs, vocabulary.n)]
    # What is no word of the vocabulary was passed through, and is read as it stands.
    return np.where(pairs.outputs == OTHER, pairs.same, right)


def _attack(pairs: Pairs, key: str, name: str, right: NDArray[np.bool_]) -> Attack:
    return Attack(key, name, right, {kind: Share.of(right[pairs.of(kind)]) for kind in WordClass})


def strongest(made: Sequence[Attack]) -> Attack:
    """Return the attack that was right most often, of those who know no word of the text."""
    readers = [attack for attack in made if attack.attack != "informed"]
    return max(readers, key=lambda attack: attack.success[WordClass.ALL].value or 0.0)


Recovery = dict[str, Share]
"""Shares of spans that one way of reading read back ``fully``, ``partly``, and not (``none``)."""


@dataclass
class SpanTable:
    """The words of each span that could be judged."""

    kinds: list[str]
    """Type of each span; empty for a span without a type."""
    first: Ids = field(repr=False)
    """First word of each span."""
    after: Ids = field(repr=False)
    """The word after its last one."""
    persons: Ids = field(repr=False)
    """Number of the person whom each span is about; -1 where nobody is named."""
    left_out: int
    """Spans in lines that could not be aligned, and spans without words."""

    def hits(self, right: NDArray[np.bool_]) -> Ids:
        """Return how many words of each span were read right, of (m,) words."""
        sums = np.concatenate([[0], np.cumsum(right)])
        return np.asarray(sums[self.after] - sums[self.first])


def locate(path: Path, pairs: Pairs) -> SpanTable:
    """Find the words that each span of a file covers: those that overlap it.

    Args:
        path: see :mod:`dpsan.formats.span_file`.
        pairs: the records.

    Raises:
        InputError: it cannot be read, or its spans are not those of these records.
    """
    bounds = np.searchsorted(pairs.text, np.arange(len(pairs.original) + 1))
    rows: list[tuple[str, int, int, int]] = []
    numbers: dict[tuple[int, str], int] = {}
    left_out = 0
    with closing(SpanFile(path)) as file:
        for number, (line, text) in enumerate(zip(pairs.lines, pairs.original, strict=True)):
            a, b = int(bounds[number]), int(bounds[number + 1])
            starts, ends = pairs.spans[a:b, 0], pairs.spans[a:b, 1]
            for span in file.of(line, text):
                low = int(np.searchsorted(ends, span.start, side="right"))
                high = int(np.searchsorted(starts, span.end, side="left"))
                left_out += low >= high
                if low < high:
                    who = number, span.subject
                    person = numbers.setdefault(who, len(numbers)) if who[1] else -1
                    rows.append((span.kind, a + low, a + high, person))
        file.end()
    first, after, persons = np.array([row[1:] for row in rows], np.int64).reshape(-1, 3).T
    return SpanTable([kind for kind, *_ in rows], first, after, persons, left_out)


def recovered(table: SpanTable, right: NDArray[np.bool_]) -> dict[str, Recovery]:
    """Spans read back fully (every word right), partly or not, by type; ``all`` comes first.

    Args:
        right: whether each word was read right, (m,).
    """
    hits = table.hits(right)
    full = hits == table.after - table.first
    parts = {"fully": full, "partly": (hits > 0) & ~full, "none": hits == 0}
    kinds = np.array(table.kinds, dtype=object)
    every = {
        "all": np.ones(len(kinds), np.bool_),
        **{kind: kinds == kind for kind in sorted({*kinds} - {""})},
    }
    return {
        kind: {part: Share.of(hit[of]) for part, hit in parts.items()} for kind, of in every.items()
    }


def hidden_persons(table: SpanTable, right: NDArray[np.bool_]) -> Share:
    """Return the share of persons of whom no word of any span was read right.

    Args:
        right: whether each word was read right, (m,).
    """
    named = table.persons >= 0
    return Share.of(np.bincount(table.persons[named], table.hits(right)[named]) == 0)
