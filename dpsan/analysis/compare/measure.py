"""Figures of one mechanism on a corpus, over all seeds, with 95 % intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dpsan.analysis.evaluate import accuracy
from dpsan.analysis.evaluate.accuracy import EVERY, VERSIONS, Accuracy, Labelled, read_labels
from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.errors import InputError, UsageError, refuse
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.distributions import UNKNOWN_PRIOR, Emissions, cosines, words_at
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.text_likelihood import Texts, by_position, ranks, sanitized
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids, unit_rows
from dpsan.space.metric_space import MetricSpace

LINKED: Final = 12
"""Words of the beginnings of texts that an attacker links to their originals."""
CANDIDATES: Final = 1000
"""Most texts that the attacker holds for possible originals."""
_EACH: Final = 100
"""Texts of the vocabulary that one seed sanitizes."""
ACCURACIES: Final = {
    f"{trained}_to_{tested}": (trained, tested)
    for trained, tested in [*product(VERSIONS, VERSIONS)][1:]
}
"""Versions of the texts that a classifier is trained and tested on."""
BASELINE: Final = ("clean_to_clean", "majority")


@dataclass(frozen=True)
class Corpus:
    """Texts as row numbers, and the strings between their words if a classifier is to read them."""

    words: Texts
    fold: Ids = field(repr=False)
    """Row of the first word with the same spelling but for case, (n,); -1 for ⊥, the last one."""
    about: str
    """One phrase for captions."""
    each: int
    """Texts that one seed sanitizes."""
    pieces: Sequence[list[str]] = field(default=(), repr=False)
    """Gaps and words in turn, of each text; empty for words of the vocabulary."""
    labels: Sequence[str] = field(default=(), repr=False)

    def of_seed(self, seed: int) -> Ids:
        """Return the numbers of the texts that a seed sanitizes."""
        return np.asarray((seed * self.each + np.arange(self.each)) % len(self.words))

    def strings(self, words: Sequence[str]) -> list[str]:
        """Return all texts with other words, one for each word of all texts."""
        out, rest = [], iter(words)
        for pieces in self.pieces:
            line = list(pieces)
            line[1::2] = islice(rest, len(pieces) // 2)
            out.append("".join(line))
        return out

    def weights(self) -> Floats:
        """Return how often each word occurs, and last unknown ones, (n + 1,)."""
        return np.bincount(self.words.ids, minlength=len(self.fold)).astype(np.float64)

    @property
    def originals(self) -> list[str]:
        """Return the texts as they are."""
        return ["".join(pieces) for pieces in self.pieces]


def public_words(vocabulary: Vocabulary, space: MetricSpace) -> Corpus:
    """Return texts of words drawn independently by public frequency, 6 % of them ⊥.

    Each seed sanitizes other texts, so that intervals cover the choice of words.
    """
    key = randomness.seeded_key("dpsan compare words")
    streams = randomness.streams_for(key, range(CANDIDATES), [LINKED] * CANDIDATES)
    uniforms = streams.uniform("word")[:, 0]
    drawn = words_at(space, np.maximum(uniforms - UNKNOWN_PRIOR, 0) / (1 - UNKNOWN_PRIOR))
    ids = np.where(uniforms < UNKNOWN_PRIOR, space.n, drawn)
    texts = Texts(ids, np.arange(CANDIDATES + 1) * LINKED)
    about = f"words of the vocabulary by public frequency, {_EACH} texts of {LINKED} a seed"
    return Corpus(texts, vocabulary.fold, about, _EACH)


def read_corpus(
    path: Path, inputs: Inputs, labels: str | None, vocabulary: Vocabulary, most: int | None = None
) -> Corpus:
    """Return the records of a file, their chosen fields joined by spaces.

    Args:
        path: of a container that rewrite reads.
        inputs: how it is read.
        labels: field with the label of each record; None: no labels.
        vocabulary: splits the texts as a sanitizer does.
        most: only so many records.

    Raises:
        InputError: the file cannot be read, or has no words.
        UsageError: fewer than two labels.
    """
    texts = [" ".join(record.texts) for record in islice(records(path, inputs), most)]
    tokenized = [vocabulary.inputs(text) for text in texts]
    ids = np.array([row for _, rows in tokenized for row in rows], dtype=np.int64)
    if not (ids < vocabulary.n).any():
        raise InputError(path, "no words of the vocabulary, so there is nothing to measure")
    classes = [] if labels is None else read_labels(path, labels, inputs)[:most]
    if labels is not None:
        if len(classes) != len(texts):
            raise InputError(path, f"{len(classes)} labels for {len(texts)} records")
        if len(set(classes)) < 2:
            raise UsageError("--labels needs two different labels: all records have the same")
    starts = np.append(0, np.cumsum([len(rows) for _, rows in tokenized]))
    unknown = f"{(ids == vocabulary.n).mean():.1%}".replace("%", " %")
    about = f"{path.name}: {len(texts):,} records, {len(ids):,} words, {unknown} unknown"
    pieces = [pieces for pieces, _ in tokenized]
    return Corpus(Texts(ids, starts), vocabulary.fold, about, len(texts), pieces, classes)


class Figure(NamedTuple):
    """A mean over seeds and its 95 % interval; None without one."""

    value: float
    low: float | None = None
    high: float | None = None


def share_over_seeds(shares: Sequence[Share]) -> Figure | None:
    """Return the share of all seeds together, whose draws are independent; None of nothing."""
    whole = Share(sum(share.hits for share in shares), sum(share.total for share in shares))
    return None if whole.value is None else Figure(whole.value, *whole.interval)


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
    mechanism: Mechanism, corpus: Corpus, folds: "Folds | None", seeds: int, space: MetricSpace
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
    for seed in range(seeds):
        key = randomness.seeded_key(f"dpsan compare {seed + 1}")
        inputs.append(corpus.words.of(corpus.of_seed(seed)))
        outputs.append(sanitized(emissions.sampler, inputs[-1], key))
    distinct = np.unique(np.concatenate(outputs))
    (likeliest,) = emissions.candidates(distinct, [np.log(space.frequencies)], 1)
    guesses, fold, units = likeliest.guesses(), corpus.fold, unit_rows(space.vectors)
    similar, same, read = [], [], []
    for original, drawn in zip(inputs, outputs, strict=True):
        listed = original.ids < space.n
        similar.append(float(cosines(units, original.ids[listed], drawn[listed]).mean()))
        same.append(Share.of(fold[drawn] == fold[original.ids]))
        read.append(Share.of(fold[guesses[np.searchsorted(distinct, drawn)]] == fold[original.ids]))
    figures: dict[str, Figure | None] = {
        "cosine": over_seeds(similar, (-1.0, 1.0)),
        "unchanged": share_over_seeds(same),
        "read_back": share_over_seeds(read),
        "linked": _linked(emissions, corpus, outputs),
    }
    if folds is not None:
        figures |= folds.judged(outputs)
    return figures, emissions.exact


def _linked(emissions: Emissions, corpus: Corpus, outputs: Sequence[Ids]) -> Figure | None:
    """Return how often the likeliest of all beginnings of texts is the original."""
    beginnings = corpus.words.beginnings(LINKED)
    candidates = np.flatnonzero(beginnings.sizes)[:CANDIDATES]
    if len(candidates) < 2:
        return None
    inputs, shares = beginnings.of(candidates).ids.reshape(-1, LINKED), []
    for seed, ids in enumerate(outputs):
        chosen = corpus.of_seed(seed)
        starts = np.append(0, np.cumsum(corpus.words.sizes[chosen]))
        targets = np.flatnonzero(np.isin(chosen, candidates))
        drawn = Texts(ids, starts).of(targets).beginnings(LINKED).ids.reshape(-1, LINKED)
        scores = np.zeros((len(inputs), len(drawn)))
        for logs in by_position(emissions, inputs, drawn):
            scores += logs
        truth = np.searchsorted(candidates, chosen[targets])
        key = randomness.seeded_key(f"dpsan compare ties {seed}")
        shares.append(Share.of(ranks(scores, truth, key) == 1))
    return share_over_seeds(shares)


class Folds:
    """Training and test records of each seed, and classifiers of the original texts.

    Raises:
        ExtraMissingError: scikit-learn is not installed.
        UsageError: too few records, or a training part has fewer than two labels.
    """

    def __init__(self, corpus: Corpus, words: Sequence[str], seeds: int) -> None:
        refuse(len(corpus.labels) < EVERY, f"--labels needs at least {EVERY} records")
        self._corpus, self._words = corpus, words
        self._clean = [self._judged(corpus.originals, seed) for seed in range(seeds)]

    def _judged(self, texts: Sequence[str], seed: int) -> Accuracy:
        """Return the accuracies with sanitized texts, for the test records of a seed."""
        every = Labelled(self._corpus.originals, texts, self._corpus.labels)
        return accuracy.judge(*accuracy.split(every, seed))

    def baseline(self) -> dict[str, Figure | None]:
        """Return the accuracy on original texts, and that of the most frequent label."""
        clean = share_over_seeds([result.pairs["clean", "clean"] for result in self._clean])
        common = share_over_seeds([result.majority for result in self._clean])
        return dict(zip(BASELINE, (clean, common), strict=True))

    def judged(self, outputs: Sequence[Ids]) -> dict[str, Figure | None]:
        """Return the accuracies of training and testing on clean and sanitized texts."""
        strings = (
            self._corpus.strings([self._words[row] for row in ids.tolist()]) for ids in outputs
        )
        judged = [self._judged(texts, seed) for seed, texts in enumerate(strings)]
        return {
            name: share_over_seeds([result.pairs[versions] for result in judged])
            for name, versions in ACCURACIES.items()
        }
