"""Similarity of a text and its sanitized version: ROUGE-1, BLEU, cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.errors import ExtraMissingError
from dpsan.outcomes.distributions import cosines
from dpsan.space.arrays import unit_rows
from dpsan.space.metric_space import MetricSpace


def rouge(original: Sequence[str], sanitized: Sequence[str]) -> dict[str, float]:
    """ROUGE-1 of the sanitized texts against their originals, means over texts.

    By the library rouge-score: lower case, no stemming; only letters a-z and digits count.

    Raises:
        ExtraMissingError: it is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise ExtraMissingError("ROUGE", "evaluate") from None
    scorer = RougeScorer(["rouge1"])
    sums = np.zeros(3)
    for one, other in zip(original, sanitized, strict=True):
        sums += scorer.score(one, other)["rouge1"]
    means = sums / max(len(original), 1)
    return dict(zip(("precision", "recall", "f1"), means.tolist(), strict=True))


def bleu(original: list[str], sanitized: list[str]) -> dict[str, Any]:
    """Corpus BLEU of the sanitized texts against their originals, 0 ... 100, lower-cased.

    By the library sacrebleu, whose signature says how.

    Raises:
        ExtraMissingError: it is not installed.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise ExtraMissingError("BLEU", "evaluate") from None
    metric = BLEU(lowercase=True, force=True)  # no advice on stderr about the texts
    if not any(text.strip() for text in original):
        return {"score": None, "signature": None}
    score = metric.corpus_score(sanitized, [original])
    return {"score": float(score.score), "signature": str(metric.get_signature())}


def mean_cosine(pairs: Pairs, space: MetricSpace) -> tuple[float | None, int]:
    """Mean cosine of word and output over the words whose both are known, and their number."""
    both = (pairs.inputs < space.n) & (pairs.outputs >= 0)
    found = cosines(unit_rows(space.vectors), pairs.inputs[both], pairs.outputs[both])
    return (float(found.mean()) if len(found) else None), len(found)
