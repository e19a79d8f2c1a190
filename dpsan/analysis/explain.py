"""Explain words: their output distributions.

Only the public vocabulary is looked at, and draws use public keys: nothing here is private or
needs to be, and results are repeatable.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from dpsan import __version__
from dpsan.analysis.pages import Cell, Section, Shown, holding
from dpsan.errors import UsageError, number, printable
from dpsan.mechanisms.registry import finite
from dpsan.outcomes.distributions import distributions, draw, has_distribution
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

UNKNOWN: Final = "⊥"
"""The one input that every unknown word becomes."""


Explanation = dict[str, Any]
"""Outputs of one word under one mechanism, as ``--json`` prints it.

``input`` is the word of the vocabulary that it is to the mechanism, None for ⊥.  Probabilities of a
known distribution are ``exact``; others are from ``draws`` and have an interval of 99 %.  Without a
finite value ``epsilon_ldp`` is None.  Nothing is promised for a ``public`` word.
"""


Word = tuple[str, int]
"""A word requested, and its row; n for ⊥."""


def read(sanitizer: Sanitizer, texts: Sequence[str]) -> list[Word]:
    """Look words up as ``rewrite`` does.

    Args:
        sanitizer: with unknown words drawn as ⊥.
        texts: words; :data:`UNKNOWN` is ⊥ itself.

    Raises:
        UsageError: a text that is not one word to the tokenizer; it names its position.
    """
    rows = [sanitizer.space.n if text == UNKNOWN else sanitizer.input_of(text) for text in texts]
    if None in rows:
        what = f"word {rows.index(None) + 1}: not a single word"
        raise UsageError(what, "give its words one by one")
    return [(text, row) for text, row in zip(texts, rows, strict=True) if row is not None]


DRAWS = 10_000
"""Draws for a word whose distribution is not known."""
_ALPHA: Final = 0.01 / 2
"""Error probability of one end of an interval; the two ends together are good for 99 %."""


def explain(
    sanitizer: Sanitizer, words: Sequence[Word], *, top: int = 10, draws: int = DRAWS
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
    def figures(row: int) -> Explanation:
        if exact:
            return figures_of(space, keys, row, distributions(sampler, np.array([row]))[0], 0, top)
        subkey, repeated = randomness.derive_key(key, "word", row), np.full(draws, row)
        counts = np.bincount(draw(sampler, repeated, subkey), minlength=space.n)
        return figures_of(space, keys, row, counts.astype(np.float64), draws, top)

    about = _about(sanitizer)
    return [
        {
            "word": text,
            "input": None if row == space.n else keys[row],
            "unknown": row == space.n,
            "public": row in sanitizer.public,
            **figures(row),
            **about,
        }
        for text, row in words
    ]


def _about(sanitizer: Sanitizer) -> Explanation:
    """Return what is said of the mechanism on its vocabulary."""
    mechanism, guarantee = sanitizer.mechanism, sanitizer.guarantee
    embeddings = sanitizer.embeddings
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
        "embeddings": embeddings.told() | {"source": embeddings.source},
    }


def figures_of(
    space: MetricSpace, keys: Sequence[str], word: int, weights: Floats, draws: int, top: int
) -> Explanation:
    """Return the figures of a word, from draws each with its own 99 % Clopper-Pearson interval.

    ⊥ is no output.

    Args:
        keys: the words.
        word: row number, n for ⊥.
        weights: P(u | word) of all outputs, or how often each was drawn, shape (n,).
        draws: 0 for probabilities.
        top: number of outputs to list.
    """

    def share(weight: float) -> tuple[float, list[float]]:
        if not draws:
            return float(weight), []
        estimate = Estimate.of_draws(int(weight), draws, _ALPHA)
        return estimate.value, [estimate.low, estimate.high]

    listed = word < space.n
    distances = space.distances(np.array([word]))[0] if listed else np.zeros(space.n)
    unchanged, interval = share(weights[word]) if listed else (0.0, [0.0, 0.0])
    # Heaviest first, equal ones by distance, then by row.
    rows = np.flatnonzero(weights > 0)
    rows = rows[np.lexsort((rows, distances[rows], -weights[rows]))[:top]]
    outputs = []
    for row in rows.tolist():
        probability, limits = share(weights[row])
        output: Explanation = {"word": keys[row], "probability": probability}
        output |= {"interval": limits} if limits else {}
        outputs.append({**output, "distance": float(distances[row]) if listed else None})
    return {
        "exact": not draws,
        "draws": draws,
        "unchanged": unchanged,
        "intervals": {"unchanged": interval} if draws else None,
        "outputs": outputs,
    }


# Tables of an explanation, for the terminal and a page.

_ABOUT: Final = "What becomes of a word."
_CLAIMS: Final = {"CLAIMED": ", claimed", "REFUTED": ", not the claimed one"}


def shown(word: Explanation) -> Shown:
    """Return what is said of one word."""
    return Shown(_ABOUT, [_figures(word), _outputs(word)], title=_title(word))


def _title(explained: Explanation) -> str:
    word, read = printable(explained["word"]), explained["input"]
    if read is None:
        if explained["word"] != "⊥":
            return f"{word}: not in the vocabulary, so it is ⊥ like every unknown word"
        return "⊥: what every word becomes that is not in the vocabulary"
    return word if read == explained["word"] else f"{word}, read as {printable(read)}"


def _estimate(value: float, interval: Sequence[float] | None = None) -> Estimate:
    return Estimate(value, *(interval or (value, value)))


def _figures(word: Explanation) -> Section:
    unit = word["epsilon_unit"].replace("1/", "per unit of ")
    draws = f"{number(word['draws'])} draws, 99 % intervals"
    rows: list[tuple[Cell, ...]] = [
        ("epsilon", f"{number(word['epsilon'])} {unit}"),
        ("LDP epsilon" + _CLAIMS.get(word["status"], ""), _loss(word)),
        ("outputs", "exact probabilities" if word["exact"] else draws),
    ]
    if not word["unknown"]:
        limits = word["intervals"] or {}
        rows.append(("unchanged", _estimate(word["unchanged"], limits.get("unchanged"))))
    notes = {
        UNREVIEWED: not word["reviewed"],
        "PUBLIC: this word is not protected": word["public"],
        word["guarantee"]: word["status"] != "PROVED",
    }
    columns = ("figure", f"{word['mechanism']} ({word['status']})")
    return Section(columns, rows, holding(notes))


def _loss(word: Explanation) -> str:
    ldp = "none finite" if word["epsilon_ldp"] is None else number(word["epsilon_ldp"])
    if word["public_words"]:
        return f"high-low {ldp} for protected words"
    return ldp + (f", delta {number(word['delta'])}" if word["delta"] else "")


def _outputs(word: Explanation) -> Section:
    """Return the likeliest outputs, and how far away they are of a word of the vocabulary."""
    rows = []
    for output in word["outputs"]:
        away = [] if word["unknown"] else [f"{output['distance']:.2f}"]
        probability = _estimate(output["probability"], output.get("interval"))
        rows.append((output["word"], *away, probability))
    return Section(("output", *["away"] * (not word["unknown"]), "probability"), rows)
