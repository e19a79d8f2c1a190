"""[TrLap] Private language models via the truncated Laplacian mechanism: theorems and tables.

python docs/studies/trlaplace.py theorem-3 -e 1
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import claims
from common.command import main
from common.noise import PARAMETERS as NOISE
from common.noise import noise
from common.panels import Panel, Series
from common.study import Asked, Result, Studies
from common.sweeps import about, label, repeated
from common.texts import PARAMETERS as TEXTS
from common.texts import labelled
from common.words import lines

from dpsan.analysis.compare.measure import Corpus
from dpsan.analysis.evaluate.accuracy import Labelled, judge
from dpsan.cli.options import Vocabulary
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.clipped_laplace_paper import ClippedLaplacePaper
from dpsan.mechanisms.gaussian_paper import GaussianPaper
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.mahalanobis import Mahalanobis
from dpsan.mechanisms.pte import ProjectedLaplace
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import in_steps, part_of
from dpsan.outcomes.text_likelihood import sanitized
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee, Loss
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()
_METHODS: Final = (
    TrLaplacePaper,
    GaussianPaper,
    ClippedLaplacePaper,
    Laplace,
    Mahalanobis,
    ProjectedLaplace,
)
"""Those that the paper compares, as published."""
_ACCURACY: Final = ("mechanism", "epsilon", "epsilon_unit", "accuracy", "clean_to_sanitized")
_EPSILONS: Final = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)


def rouge(original: Sequence[str], sanitized: Sequence[str]) -> dict[str, float]:
    """ROUGE-1 of the sanitized texts against their originals, means over texts.

    By the library rouge-score: lower case, no stemming; only letters a-z and digits count.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])
    sums = np.zeros(3)
    for text, other in zip(original, sanitized, strict=True):
        sums += scorer.score(text, other)["rouge1"]
    means = sums / max(len(original), 1)
    return dict(zip(("precision", "recall", "f1"), means.tolist(), strict=True))


@STUDIES.add("[TrLap] Theorem 2", uses=frozenset({"epsilons"}))
def theorem_2(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed delta 4^-d of the Gaussian baseline against the true delta of its noise.

    The theorem is for epsilon <= 1, where its formula is right.  The experiments use the formula
    up to epsilon 20.
    """
    space = space or claims.corners(300, 1.0)
    rows = []
    for epsilon in asked.epsilons or (0.05, 1.0, 5.0, 10.0, 16.8, 17.0, 20.0):
        mechanism = GaussianPaper(epsilon)
        claimed = mechanism.wanted_delta(space.d)
        true = mechanism.guarantee(space).delta
        rows.append({"d": space.d, "epsilon": epsilon, "claimed": claimed, "true": true})
        rows[-1]["ratio"] = true / claimed
    x, y = (tuple(row[name] for row in rows) for name in ("epsilon", "ratio"))
    lines = (Series("true", x, y), claims.claim_line(x, 1.0, "claimed: at most 1"))
    axes = ("epsilon (nats)", "true delta over claimed delta")
    return Result(
        rows=rows,
        parameters={"d": space.d, "epsilons": list(x)},
        panels=(Panel("gaussian-paper", *axes, lines, log_x=True, log_y=True),),
        caption=f"Delta of the textbook formula for Gaussian noise, {space.d} dimensions.",
        notes=("the theorem is for epsilon <= 1; the experiments use its formula up to 20",),
    )


@STUDIES.add("[TrLap] Theorem 3", uses=frozenset({"epsilons"}), parameters=claims.PARAMETERS)
def theorem_3(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed delta 4^-d against the true delta of the mechanism.

    The true delta is the largest mass of a box of noise outside the shifted box.
    """
    return claims.deltas(space, asked, [TrLaplacePaper])


@STUDIES.add("[TrLap] Theorem 4", uses=frozenset({"mechanisms", "epsilons"}), parameters=NOISE)
def theorem_4(space: MetricSpace | None, asked: Asked) -> Result:
    """Noise of the three mechanisms as published, at the same epsilon.

    The theorem orders them in the same number of dimensions.  The paper's tables compare a
    mechanism that is padded to 1700 dimensions at epsilon 20 with baselines in 300: ``--d
    300,1700`` shows both.
    """
    kinds = (TrLaplacePaper, ClippedLaplacePaper, GaussianPaper)
    return noise(space, asked, [Draft(kind) for kind in kinds])


@STUDIES.add(
    "[TrLap] Tables 1, 2, 3 and Figures 2, 3, 5",
    least_words=2,
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters=TEXTS,
    libraries=("sklearn", "rouge_score"),
)
def tables_1_3(space: MetricSpace, asked: Asked) -> Result:
    """Words kept, ROUGE and accuracy on labelled texts, by method (needs dpsan[evaluate]).

    Beside the share of words that stay stands what no mechanism with that guarantee can pass whose
    output i reads word i alone: with p the share of the most frequent word, e^epsilon·p + delta.
    (P(w|w) <= e^epsilon·P(w|v) + delta for one fixed v; the mean over the words of a text of the
    first part is at most e^epsilon·p, as the P(w|v) sum to 1.)
    """
    train, test = labelled(asked)
    chosen = list(asked.mechanisms) or [Draft(kind) for kind in _METHODS]
    grid = tuple(asked.epsilons) or _EPSILONS
    key = randomness.seeded_key(f"dpsan study utility {asked.seed}")
    ids = test.words.ids
    most = float(np.unique(ids[ids < space.n], return_counts=True)[1].max(initial=0)) / len(ids)
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
        "bound: e^epsilon·p + delta of the true guarantee, which the share kept cannot pass where "
        "output i reads word i alone; bound_of_claim: of the published one; "
        f"p = {most:.3f}, the most frequent word"
    )
    return Result(
        rows=rows,
        summary=summary,
        parameters=repeated(
            asked,
            chosen,
            epsilons=list(grid),
            training_texts=len(train.words),
            test_texts=len(test.words),
            test_words=len(ids),
        ),
        panels=_panels(rows, common),
        caption=f"Words that stay and ROUGE-1 of {len(test.words):,} test texts "
        f"({len(ids):,} words); accuracy of TF-IDF and logistic regression trained on "
        f"{len(train.words):,} texts. Epsilon in each mechanism's own unit; {space.n:,} words in "
        f"{space.d} dimensions.",
        notes=notes,
    )


@STUDIES.add(
    "[TrLap] Figure 4",
    least_words=2,
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters={**TEXTS, "others": "files of other embeddings, separated by commas"},
    libraries=("sklearn", "rouge_score"),
)
def figure_4(space: MetricSpace, asked: Asked) -> Result:
    """Accuracy on labelled texts with several embeddings (needs dpsan[evaluate])."""
    others = filter(None, str(asked.parameters.get("others", "")).split(","))
    rows: list[Mapping[str, Any]] = []
    panels: list[Panel] = []
    for path, progress in in_steps(asked.progress, [None, *others]):
        words, own = asked.embeddings, space
        if path is not None:
            words, own = Vocabulary(embeddings=Path(path), quiet=True).open_space()
        found = tables_1_3(own, replace(asked, embeddings=words, progress=progress))
        name = Path(words.source).name if words else ""
        rows += [
            {"embeddings": name, **{each: row[each] for each in _ACCURACY}} for row in found.rows
        ]
        panels.append(replace(found.panels[2], title=name))
    parameters = {**found.parameters, "embeddings": [panel.title for panel in panels]}
    return replace(found, rows=rows, panels=panels, parameters=parameters, summary={})


def _same(texts: Corpus) -> Labelled:
    return Labelled(texts.originals, texts.originals, texts.labels)


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
    texts: tuple[Corpus, Corpus],
    key: bytes,
    progress: Any,
) -> dict[str, float | None]:
    sampler = mechanism.prepare(space)
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    words = asked.embeddings.index_to_key
    versions, kept = [], 0.0
    for at, (name, each) in enumerate(zip(("train", "test"), texts, strict=True)):
        own = randomness.derive_key(key, name)
        drawn = sanitized(sampler, each.words, own, part_of(progress, at * 0.4, at * 0.4 + 0.4))
        versions.append(each.strings([words[row] for row in drawn.tolist()]))
        kept = float((drawn == each.words.ids).mean()) if len(drawn) else 0.0
    train, test = (
        Labelled(each.originals, version, each.labels)
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


if __name__ == "__main__":
    main(STUDIES, __doc__)
