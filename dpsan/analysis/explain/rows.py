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
    common = {
        "seed": seed,
        "versions": {"dpsan": __version__, "numpy": np.__version__},
        "embeddings": {
            "source": embeddings.source,
            "digest": embeddings.digest,
            "words": embeddings.n,
            "dimensions": embeddings.d,
        },
    }
    return [{**_row(each), **common} for word in zip(*explanations, strict=True) for each in word]


def _row(each: Explanation) -> dict[str, Any]:
    guarantee, mechanism = each.guarantee, each.mechanism
    shares = {"unchanged": each.unchanged, "close": each.close, "distant": each.distant}
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
        "class": each.word_class,
        "public": each.public,
        "public_words": guarantee.public_words,
        "delta": guarantee.delta,
        "epsilon_metric": finite(guarantee.epsilon_metric),
        "slack": guarantee.slack,
        "mean_cosine": None if each.optimum is None else each.optimum._asdict(),
        "exact": each.exact,
        "draws": each.draws,
        **{name: None if share is None else share.value for name, share in shares.items()},
        "distinct": each.distinct,
        "distinct_draws": each.distinct_draws,
        "intervals": None
        if each.exact
        else {
            name: None if share is None else [share.low, share.high]
            for name, share in shares.items()
        },
        "outputs": [
            {
                "word": output.word,
                "probability": output.probability.value,
                **_interval(each, output.probability),
                "distance": output.distance,
            }
            for output in each.outputs
        ],
        "neighbors": [{"word": word, "distance": far} for word, far in each.neighbors],
        "posterior": [
            {
                "output": posterior.output,
                "inputs": [
                    {
                        "word": word,
                        "unknown": unknown,
                        "probability": share.value,
                        **_interval(each, share),
                    }
                    for word, unknown, share in posterior.inputs
                ],
            }
            for posterior in each.posterior
        ],
        "posterior_note": each.posterior_note,
        "observer_success": each.observer_success,
    }


def _interval(each: Explanation, share: Estimate) -> dict[str, list[float]]:
    return {} if each.exact else {"interval": [share.low, share.high]}
