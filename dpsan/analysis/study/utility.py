"""``utility``: what rewritten texts keep, and what a classifier still learns from them, by method.

The tables of [TrLap], with any mechanism and on any labelled files: share of words that stay, ROUGE
and accuracy over epsilon.  Beside the share stands what no mechanism with that guarantee can pass:
with p the share of the most frequent word, e^epsilon·p + delta.  (P(w|w) <= e^epsilon·P(w|v) +
delta for one fixed v; the mean over the words of a text of the first part is at most e^epsilon·p,
as the P(w|v) sum to 1.)

Knows texts, mechanisms and classifiers.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import Labelled, judge
from dpsan.analysis.evaluate.similarity import rouge
from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.choice import about, label, repeated
from dpsan.analysis.study.sample import lines
from dpsan.analysis.study.texts import Texts, labelled, rewrite
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.clipped_laplace_paper import ClippedLaplacePaper
from dpsan.mechanisms.gaussian_paper import GaussianPaper
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.mahalanobis import Mahalanobis
from dpsan.mechanisms.pte import ProjectedLaplace
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.shares import in_steps, part_of
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee, Loss
from dpsan.space.metric_space import MetricSpace

METHODS: Final = (
    TrLaplacePaper,
    GaussianPaper,
    ClippedLaplacePaper,
    Laplace,
    Mahalanobis,
    ProjectedLaplace,
)
EPSILONS: Final = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)


def run(space: MetricSpace, asked: Asked) -> Result:
    """Words kept, ROUGE and accuracy of rewritten texts over epsilon, for each mechanism.

    Args:
        asked: of it are used
            mechanisms: default: those that [TrLap] compares, as published.
            epsilons: in each mechanism's own unit, as in the paper; default .05 ... 20.
            embeddings: the words of the vocabulary.
            seed: of the draws.
            parameters: ``train``, ``test``, ``text``, ``label``, ``header``, ``records``.

    Raises:
        UsageError: a parameter is missing, or no mechanism is defined at any epsilon.
        InputError: a file cannot be read.
        ExtraMissingError: scikit-learn or rouge-score is not installed.
    """
    train, test = labelled(asked)
    chosen = list(asked.mechanisms) or [Draft(kind) for kind in METHODS]
    grid = tuple(asked.epsilons) or EPSILONS
    key = randomness.seeded_key(f"dpsan study utility {asked.seed}")
    most = float(np.unique(test.ids[test.ids < space.n], return_counts=True)[1].max(initial=0))
    most /= max(len(test.ids), 1)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for (draft, epsilon), progress in in_steps(asked.progress, list(product(chosen, grid))):
        try:
            mechanism = draft.at(epsilon)
            guarantee = mechanism.guarantee(space)
        except UsageError as error:
            notes.append(f"{label(draft)} at epsilon {epsilon:g}: {error.message}")
            continue
        rows.append(
            {
                **about(draft, mechanism, space),
                **_guarantee(mechanism, guarantee, most),
                **_figures(mechanism, space, asked, (train, test), key, progress),
            }
        )
    if not rows:
        raise UsageError("no mechanism is defined at any of these epsilons", next(iter(notes), ""))
    first = judge(_same(train), _same(test))
    share = first.pairs["clean", "clean"].value or 0.0
    common = first.majority.value or 0.0
    summary = {
        "original_accuracy": share,
        "original_weighted_f1": first.f1["clean", "clean"],
        "majority": common,
        "most_frequent_word": most,
    }
    notes.append(
        f"texts as they are: accuracy {share:.3f}, weighted F1 {first.f1['clean', 'clean']:.3f}; "
        f"always the most frequent label: {common:.3f}"
    )
    notes.append(
        "bound: e^epsilon·p + delta of the true guarantee, which the share kept cannot pass; "
        f"bound_of_claim: of the published one; p = {most:.3f}, the most frequent word"
    )
    return Result(
        source="[TrLap] Tables 1, 2, 3 and Figures 2, 3, 5",
        rows=rows,
        summary=summary,
        parameters=repeated(
            asked,
            chosen,
            epsilons=list(grid),
            training_texts=len(train.texts),
            test_texts=len(test.texts),
            test_words=len(test.ids),
        ),
        panels=_panels(rows, common),
        caption=f"Words that stay and ROUGE-1 of {len(test.texts):,} test texts "
        f"({len(test.ids):,} words); accuracy of TF-IDF and logistic regression trained on "
        f"{len(train.texts):,} texts. Epsilon in each mechanism's own unit; {space.n:,} words in "
        f"{space.d} dimensions.",
        notes=notes,
    )


def _same(texts: Texts) -> Labelled:
    return Labelled(texts.texts, texts.texts, texts.labels)


def _guarantee(mechanism: Mechanism, guarantee: Guarantee, most: float) -> dict[str, Any]:
    """The true LDP guarantee and both bounds on the share of words that stay."""
    loss = Loss(guarantee.epsilon_ldp, guarantee.delta)
    if mechanism.is_ldp():  # as published: its epsilon with the delta that is true there
        loss = guarantee.at(mechanism.epsilon)
    claim = guarantee.claimed
    claimed = None
    if claim is not None and claim.metric is None:
        claimed = _bound(claim.epsilon, claim.delta, most)
    return {
        "status": str(guarantee.status),
        "epsilon_ldp": loss.epsilon,
        "delta": loss.delta,
        "bound": _bound(loss.epsilon, loss.delta, most),
        "bound_of_claim": claimed,
    }


def _bound(epsilon: float, delta: float, most: float) -> float:
    return min(1.0, math.exp(min(epsilon, 700.0)) * most + delta)


def _figures(
    mechanism: Mechanism,
    space: MetricSpace,
    asked: Asked,
    texts: tuple[Texts, Texts],
    key: bytes,
    progress: Any,
) -> dict[str, float | None]:
    sampler = mechanism.prepare(space)
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    words = asked.embeddings.index_to_key
    versions, kept = [], 0.0
    for at, (name, each) in enumerate(zip(("train", "test"), texts, strict=True)):
        own = randomness.derive_key(key, name)
        drawn = rewrite(sampler, each, own, part_of(progress, at * 0.4, at * 0.4 + 0.4))
        versions.append(each.joined([words[row] for row in drawn.tolist()]))
        kept = float((drawn == each.ids).mean()) if len(drawn) else 0.0
    train, test = (
        Labelled(each.texts, version, each.labels)
        for each, version in zip(texts, versions, strict=True)
    )
    scores, found = rouge(test.clean, test.sanitized), judge(train, test)
    progress(1.0)
    return {
        "kept": kept,
        "rouge_f1": scores["f1"],
        "rouge_recall": scores["recall"],
        "accuracy": found.pairs["sanitized", "sanitized"].value,
        "weighted_f1": found.f1["sanitized", "sanitized"],
        "clean_to_sanitized": found.pairs["clean", "sanitized"].value,
        "sanitized_to_clean": found.pairs["sanitized", "clean"].value,
    }


def _panels(rows: Sequence[Mapping[str, Any]], majority: float) -> tuple[Panel, ...]:
    x = [row["epsilon"] for row in rows]
    kept, recall, accuracy = (
        lines(rows, "epsilon", each) for each in ("kept", "rouge_recall", "accuracy")
    )
    floor = Series("most frequent label", (min(x), max(x)), (majority, majority), style="dashed")
    accuracy += (floor,)
    epsilon = "epsilon (unit of each mechanism)"
    return (
        Panel("Words kept", epsilon, "share of words", kept, log_x=True),
        Panel("ROUGE-1 recall", epsilon, "recall", recall, log_x=True),
        Panel("Trained and tested on rewritten texts", epsilon, "accuracy", accuracy, log_x=True),
    )
