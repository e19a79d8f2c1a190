"""Figures of one mechanism on a corpus, as means over seeds with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.compare.texts import CANDIDATES, LINKED, Corpus
from dpsan.analysis.evaluate.accuracy import Classifier
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.distributions import Progress, in_steps, part_of
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.text_likelihood import Texts, ordered, ranks, sanitized
from dpsan.outcomes.word_statistics import cosines, unit_vectors
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

ACCURACIES: Final = ("clean_to_sanitized", "sanitized_to_clean", "sanitized_to_sanitized")
FOLDS: Final = 5
"""Every fifth record is a test record, beginning with another one for each seed."""
_DRAWN, _GUESSED, _LINKED = 0.2, 0.8, 0.95
"""Shares of the work after drawing, after guessing words, and after linking texts."""


class Figure(NamedTuple):
    """A mean over seeds and its 95 % interval; None without one."""

    value: float
    low: float | None = None
    high: float | None = None


def share_over_seeds(shares: Sequence[Share]) -> Figure | None:
    """Return the mean of shares, one a seed; None where one of them is of nothing.

    Where all seeds have the same share, which happens at 0 and 1, the interval is Clopper-Pearson's
    for all of them together.
    """
    values = [each.value for each in shares if each.value is not None]
    if len(values) < len(shares):
        return None
    found = over_seeds(values, (0.0, 1.0))
    if len(set(values)) > 1 or len(shares) < 2:
        return found
    whole = Share(sum(each.hits for each in shares), sum(each.total for each in shares))
    return Figure(found.value, *whole.interval)


def over_seeds(values: Sequence[float], bounds: tuple[float, float]) -> Figure:
    """Return the mean of values, one a seed, with Student's interval within ``bounds``."""
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Figure(mean)
    from scipy.special import stdtrit  # heavy import

    tail = (1 + CONFIDENCE) / 2
    half = float(stdtrit(count - 1, tail) * np.std(values, ddof=1)) / math.sqrt(count)
    return Figure(mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def measure(
    mechanism: Mechanism,
    corpus: Corpus,
    folds: Folds | None,
    seeds: int,
    space: MetricSpace,
    progress: Progress,
) -> tuple[dict[str, Figure | None], bool]:
    """Sanitize the texts once for each seed, and attack the outputs.

    Args:
        mechanism: resolved on the space.
        folds: train and test classifiers on the outputs; None: no accuracies.

    Returns:
        The figures by column, and whether the attackers know the distribution.  ``cosine`` of
        words and outputs; share of words ``unchanged`` but for case; words ``read_back`` by the
        best guess that sees one output and knows the mechanism and the public frequencies;
        beginnings of texts ``linked`` to their originals by the best guess among all beginnings;
        with folds the accuracies.  None: too few texts.
    """
    emissions = Emissions(mechanism, space)
    inputs, outputs = [], []
    for seed, step in in_steps(part_of(progress, 0.0, _DRAWN), range(seeds)):
        key = randomness.seeded_key(f"dpsan compare {seed + 1}")
        inputs.append(corpus.words.of(corpus.of_seed(seed)))
        outputs.append(sanitized(emissions.sampler, inputs[-1], key, step))
    seen = np.unique(np.concatenate(outputs))
    guessing = part_of(progress, _DRAWN, _GUESSED)
    (found,) = emissions.candidates(seen, [np.log(space.frequencies)], 1, guessing)
    guesses, fold, units = found.guesses(), corpus.fold, unit_vectors(space)
    similar, same, read = [], [], []
    for each, drawn in zip(inputs, outputs, strict=True):
        known = each.ids < space.n
        similar.append(float(cosines(units, each.ids[known], drawn[known]).mean()))
        same.append(_share(fold[drawn] == fold[each.ids]))
        read.append(_share(fold[guesses[np.searchsorted(seen, drawn)]] == fold[each.ids]))
    figures: dict[str, Figure | None] = {
        "cosine": over_seeds(similar, (-1.0, 1.0)),
        "unchanged": share_over_seeds(same),
        "read_back": share_over_seeds(read),
        "linked": _linked(emissions, corpus, outputs, part_of(progress, _GUESSED, _LINKED)),
    }
    if folds is not None:
        figures |= folds.judged(outputs)
    progress(1.0)
    return figures, emissions.exact


def _share(hits: NDArray[np.bool_]) -> Share:
    return Share(int(hits.sum()), len(hits))


def _linked(
    emissions: Emissions, corpus: Corpus, outputs: Sequence[Ids], progress: Progress
) -> Figure | None:
    """Return how often the likeliest of all beginnings of texts is the original."""
    beginnings = corpus.words.beginnings(LINKED)
    held = np.flatnonzero(beginnings.sizes)[:CANDIDATES]
    if len(held) < 2:
        return None
    truth, drawn = [], []
    for seed, ids in enumerate(outputs):
        some = corpus.of_seed(seed)
        starts = np.append(0, np.cumsum(corpus.words.sizes[some]))
        targets = np.flatnonzero(np.isin(some, held))
        truth.append(np.searchsorted(held, some[targets]))
        drawn.append(Texts(ids, starts).of(targets).beginnings(LINKED).ids)
    every = np.concatenate(drawn)
    noised = Texts(every, np.arange(0, len(every) + 1, LINKED))
    scores = ordered(emissions, beginnings.of(held), [noised], progress)
    key = randomness.seeded_key("dpsan compare ties")
    hits = ranks(scores, np.concatenate(truth), key) == 1
    ends = np.cumsum([len(each) for each in truth])[:-1]
    return share_over_seeds([_share(each) for each in np.split(hits, ends)])


class Folds:
    """Training and test records of each seed, and classifiers of the original texts.

    Raises:
        ExtraMissingError: scikit-learn is not installed.
        UsageError: too few records, or a training part has fewer than two labels.
    """

    def __init__(self, corpus: Corpus, words: Sequence[str], seeds: int) -> None:
        if len(corpus.labels) < FOLDS:
            raise UsageError(f"--labels needs at least {FOLDS} records")
        self._corpus, self._words, self._seeds = corpus, words, seeds
        self._labels = np.array(corpus.labels, dtype=object)
        self._clean = corpus.originals
        self._models = [self._fit(self._clean, seed) for seed in range(min(seeds, FOLDS))]

    def _test(self, seed: int) -> Ids:
        """Return the numbers of the test records of a seed."""
        return np.arange((FOLDS - 1 + seed) % FOLDS, len(self._labels), FOLDS)

    def _fit(self, texts: Sequence[str], seed: int) -> Classifier:
        train = np.setdiff1d(np.arange(len(texts)), self._test(seed)).tolist()
        return Classifier([texts[at] for at in train], [self._labels[at] for at in train])

    def _right(self, model: Classifier, texts: Sequence[str], seed: int) -> Share:
        test = self._test(seed)
        return _share(model.labels_of([texts[at] for at in test.tolist()]) == self._labels[test])

    def baseline(self) -> dict[str, Figure | None]:
        """Return the accuracy on original texts, and that of the most frequent label."""
        clean, common = [], []
        for seed in range(self._seeds):
            test = self._test(seed)
            clean.append(self._right(self._models[seed % FOLDS], self._clean, seed))
            names, counts = np.unique(np.delete(self._labels, test), return_counts=True)
            common.append(_share(self._labels[test] == names[counts.argmax()]))
        return {"clean_to_clean": share_over_seeds(clean), "majority": share_over_seeds(common)}

    def judged(self, outputs: Sequence[Ids]) -> dict[str, Figure | None]:
        """Return the accuracies of training and testing on clean and sanitized texts."""
        shares = []
        for seed, ids in enumerate(outputs):
            texts = self._corpus.strings([self._words[row] for row in ids.tolist()])
            clean, model = self._models[seed % FOLDS], self._fit(texts, seed)
            pairs = ((clean, texts), (model, self._clean), (model, texts))
            shares.append([self._right(*pair, seed) for pair in pairs])
        figures = map(share_over_seeds, zip(*shares, strict=True))
        return dict(zip(ACCURACIES, figures, strict=True))
