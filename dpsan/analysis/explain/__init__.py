"""Explain words: output distributions and nearest words.

Only the public vocabulary is looked at, and draws use public keys: nothing here is private or
needs to be, and results are repeatable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.description import finite
from dpsan.outcomes.distributions import distributions, draw, has_distribution
from dpsan.outcomes.one_word import Figures, Row, figures_of
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace
from dpsan.version import __version__

UNKNOWN: Final = "⊥"
"""The one input that every unknown word becomes."""


Explanation = dict[str, Any]
"""Outputs of one word under one mechanism, as ``--json`` prints it.

``input`` is the word of the vocabulary that it is to the mechanism, None for ⊥.  Probabilities of a
known distribution are ``exact``; others are from ``draws`` and have an interval of 99 %.  Without a
finite value ``epsilon_ldp`` is None.  Nothing is promised for a ``public`` word.
"""


@dataclass(frozen=True, slots=True)
class Word:
    """A word requested."""

    text: str = field(repr=False)
    id: int
    """Row number; n for ⊥."""


def read(sanitizer: Sanitizer, texts: Iterable[tuple[str, str]]) -> list[Word]:
    """Look words up as ``rewrite`` does.

    Args:
        sanitizer: with unknown words drawn as ⊥.
        texts: the position of each word, for messages, and its text; :data:`UNKNOWN` is ⊥ itself.

    Raises:
        UsageError: a text that is not one word to the tokenizer.
    """
    out = []
    for position, text in texts:
        row = sanitizer.space.n if text == UNKNOWN else sanitizer.input_of(text)
        if row is None:
            raise UsageError(f"{position}: not a single word", "give its words one by one")
        out.append(Word(text, row))
    return out


DRAWS = 10_000
"""Draws for a word whose distribution is not known."""
_NEIGHBOURS = 10


def explain(
    sanitizer: Sanitizer,
    words: Sequence[Word],
    *,
    top: int = 10,
    draws: int = DRAWS,
) -> list[Explanation]:
    """Return what becomes of each word under one mechanism.

    Args:
        words: from :func:`dpsan.analysis.explain.read`.
        top: outputs to list, most likely first.
        draws: for each word where the distribution is not known.
    """
    space, mechanism = sanitizer.space, sanitizer.mechanism
    sampler, key = mechanism.prepare(space), randomness.seeded_key("dpsan explain")
    exact = has_distribution(sampler)
    keys = [*sanitizer.embeddings.index_to_key, UNKNOWN]

    @cache
    def figures(row: int) -> Figures:
        if exact:
            return figures_of(space, row, distributions(sampler, np.array([row]))[0], 0, top)
        subkey, repeated = randomness.derive_key(key, "word", row), np.full(draws, row)
        counts = np.bincount(draw(sampler, repeated, subkey), minlength=space.n)
        return figures_of(space, row, counts.astype(np.float64), draws, top)

    def explained(word: Word) -> Explanation:
        likeliest = figures(word.id).rows
        return {
            "word": word.text,
            "input": None if word.id == space.n else keys[word.id],
            "unknown": word.id == space.n,
            "public": word.id in sanitizer.public,
            **_shares(figures(word.id)),
            "outputs": [
                {"word": keys[u.id], **_share(u), "distance": u.distance} for u in likeliest
            ],
            "neighbors": _neighbors(space, word.id, keys),
        }

    about = _about(sanitizer)
    return [{**explained(word), **about} for word in words]


def _about(sanitizer: Sanitizer) -> Explanation:
    """Return what is said of the mechanism on its vocabulary."""
    mechanism, guarantee = sanitizer.mechanism, sanitizer.guarantee
    embeddings = sanitizer.embeddings
    shape = {"words": embeddings.n, "dimensions": embeddings.d}
    return {
        "mechanism": mechanism.name,
        "status": str(guarantee.status),
        "reviewed": guarantee.reviewed,
        "guarantee": guarantee.summary(),
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
        "epsilon_ldp": finite(guarantee.epsilon_ldp),
        "public_words": guarantee.public_words,
        "delta": guarantee.delta,
        "epsilon_metric": finite(guarantee.epsilon_metric),
        "slack": guarantee.slack,
        "versions": {"dpsan": __version__, "numpy": np.__version__},
        "embeddings": {"source": embeddings.source, "digest": embeddings.digest, **shape},
    }


def _shares(measured: Figures) -> Explanation:
    shares = {name: getattr(measured, name) for name in ("unchanged", "close", "distant")}
    intervals = {name: share and [share.low, share.high] for name, share in shares.items()}
    values = {name: share and share.value for name, share in shares.items()}
    drawn = {"intervals": intervals if measured.draws else None}
    return {"exact": not measured.draws, "draws": measured.draws, **values, **drawn}


def _share(of: Row) -> Explanation:
    share = of.probability
    interval = {"interval": [share.low, share.high]} if share.low < share.high else {}
    return {"probability": share.value, **interval}


def _neighbors(space: MetricSpace, row: int, keys: Sequence[str]) -> list[Explanation]:
    """Return the nearest other words of a word, and their distances; nothing for ⊥."""
    if row == space.n:
        return []
    ids, distances = space.search(space.points(np.array([row])), min(_NEIGHBOURS + 1, space.n))
    pairs = zip(ids[0].tolist(), distances[0].tolist(), strict=True)
    near = [{"word": keys[other], "distance": far} for other, far in pairs if other != row]
    return near[:_NEIGHBOURS]
