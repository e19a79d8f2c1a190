"""Measure the accuracy of a classifier trained and tested on original and sanitized texts.

TF-IDF of words and word pairs and logistic regression (scikit-learn), without any tuning: what
counts is the difference between the four pairs train/test x clean/sanitized.  Trained on clean and
tested on sanitized texts is an upper bound of the adversarial accuracy of [TGumbel] §6.3 and §6.4,
whose attackers search among many rewrites: see docs/studies/tgumbel.py.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.pages import by_name
from dpsan.errors import ExtraMissingError, UsageError, refuse
from dpsan.files.compression import open_decompressed
from dpsan.formats.kinds import format_for, formats_with
from dpsan.outcomes.intervals import Share

EVERY: Final = 5
"""Every fifth record is a test record."""
VERSIONS: Final = ("clean", "sanitized")


@dataclass(frozen=True)
class Labelled:
    """The two versions of some texts and their labels."""

    clean: Sequence[str]
    sanitized: Sequence[str]
    labels: Sequence[str]

    def of(self, rows: Sequence[int]) -> "Labelled":
        """Return some of the texts, by number."""
        columns = self.clean, self.sanitized, self.labels
        return Labelled(*([column[at] for at in rows] for column in columns))


@dataclass(frozen=True)
class Accuracy:
    """Shares of test texts whose label was found."""

    pairs: dict[tuple[str, str], Share] = field(repr=False)
    """(version trained on, version tested on) -> share."""
    majority: Share
    """Success of always saying the most frequent label of the training texts."""
    classes: int
    train: int
    test: int

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {f"{a}_{b}": share.as_json() for (a, b), share in self.pairs.items()} | by_name(self)


def read_labels(path: Path, column: str, inputs: Inputs, option: str = "--labels") -> list[str]:
    """Return the label of each record.

    Args:
        column: name or number of a column, or a key of JSON lines.

    Raises:
        UsageError: the format has no fields.
        InputError: naming file and line.
    """
    kind = format_for(inputs.format, str(path))
    if not kind.needs_fields:
        formats = formats_with("needs_fields")
        raise UsageError(f"{option} is for {formats}", "see --format and --field")
    with open_decompressed(path, steady=True) as source:
        labels = [*kind.labels(source, column, inputs.options)]
    different = len(set(labels))
    many = option == "--labels" and different > max(2, len(labels) / 2)
    what = f"--labels: {different:,} different labels of {len(labels):,} records"
    refuse(many, what, "a field of few values, such as topics")
    return labels


def check_extra(labels: str | None) -> None:
    """Raise ExtraMissingError if labels are given, and scikit-learn is not installed."""
    if labels is not None and find_spec("sklearn") is None:
        raise ExtraMissingError("--labels", "evaluate")


def split(texts: Labelled, fold: int = 0) -> tuple[Labelled, Labelled]:
    """Return training and test texts: every fifth record is a test record.

    Args:
        fold: number of the fold, which decides where the fifths begin.
    """
    many = len(texts.labels)
    test = range((EVERY - 1 + fold) % EVERY, many, EVERY)
    return texts.of([at for at in range(many) if at not in test]), texts.of(test)


def classifier(texts: Sequence[str], labels: Sequence[str]) -> Any:
    """Return TF-IDF of words and word pairs and logistic regression, trained.

    Raises:
        UsageError: fewer than two labels, or no words, to learn from.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    refuse(len(set(labels)) < 2, "a classifier needs two labels among the training records")
    least = 2 if len(labels) >= 200 else 1
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=least, sublinear_tf=True)
    try:
        return make_pipeline(words, LogisticRegression(max_iter=1000, random_state=0)).fit(
            texts, labels
        )
    except ValueError:  # no word at all
        raise UsageError("the training records have no words") from None


def judge(train: Labelled, test: Labelled) -> Accuracy:
    """Train and test on all four pairs; deterministic.

    Raises:
        UsageError: fewer than two labels to learn, or nothing to test.
    """
    if len(set(train.labels)) < 2 or not test.labels:
        needed = "two labels among the training records and some test records"
        raise UsageError(f"--labels needs {needed}")
    pairs = {}
    truth = np.array(test.labels, dtype=object)
    for trained in VERSIONS:
        model = classifier(getattr(train, trained), train.labels)
        for tested in VERSIONS:
            pairs[trained, tested] = Share.of(model.predict(getattr(test, tested)) == truth)
    frequency = Counter(train.labels)
    majority = Share.of(truth == frequency.most_common(1)[0][0])
    return Accuracy(pairs, majority, len(frequency), len(train.labels), len(truth))
