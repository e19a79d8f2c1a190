"""Explanations as JSON values, with what is needed to repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsan.analysis.explain.result import Explanation
from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.description import finite, plain
from dpsan.outcomes.intervals import Estimate
from dpsan.version import __version__


def rows(
    explanations: Sequence[Sequence[Explanation]], embeddings: Embeddings, seed: str
) -> list[dict[str, Any]]:
    """One object for each word and mechanism, words first.

    Args:
        explanations: for each mechanism, those of the same words.
    """
    shape = {"words": embeddings.n, "dimensions": embeddings.d}
    common = {
        "seed": seed,
        "versions": {"dpsan": __version__, "numpy": np.__version__},
        "embeddings": {"source": embeddings.source, "digest": embeddings.digest, **shape},
    }
    return [{**_row(each), **common} for word in zip(*explanations, strict=True) for each in word]


def _row(each: Explanation) -> dict[str, Any]:
    guarantee, mechanism = each.guarantee, each.mechanism
    shares = {"unchanged": each.unchanged, "close": each.close, "distant": each.distant}
    intervals = {name: share and [share.low, share.high] for name, share in shares.items()}
    return {
        "word": each.word,
        "input": each.input,
        "unknown": each.input is None,
        "mechanism": mechanism.name,
        "status": str(guarantee.status),
        "reviewed": guarantee.reviewed,
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        "parameters": {name: plain(getattr(mechanism, name)) for name in mechanism.parameters()},
        "epsilon_ldp": each.epsilon_ldp,
        "public": each.public,
        "public_words": guarantee.public_words,
        "delta": guarantee.delta,
        "epsilon_metric": finite(guarantee.epsilon_metric),
        "slack": guarantee.slack,
        "mean_cosine": None if each.optimum is None else each.optimum._asdict(),
        "exact": each.exact,
        "draws": each.draws,
        **{name: share and share.value for name, share in shares.items()},
        "distinct": each.distinct,
        "distinct_draws": each.distinct_draws,
        "intervals": None if each.exact else intervals,
        "outputs": [
            {"word": o.word, **_probability(each, o.probability), "distance": o.distance}
            for o in each.outputs
        ],
        "neighbors": [{"word": word, "distance": far} for word, far in each.neighbors],
        "posterior": [
            {
                "output": posterior.output,
                "inputs": [
                    {"word": word, "unknown": unknown, **_probability(each, share)}
                    for word, unknown, share in posterior.inputs
                ],
            }
            for posterior in each.posterior
        ],
        "posterior_note": each.posterior_note,
        "observer_success": each.observer_success,
    }


def _probability(each: Explanation, share: Estimate) -> dict[str, float | list[float]]:
    interval = {} if each.exact else {"interval": [share.low, share.high]}
    return {"probability": share.value, **interval}
