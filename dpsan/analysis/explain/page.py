"""Tables of explanations, for the terminal and a page: mechanisms stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dpsan.analysis.explain import Explanation
from dpsan.analysis.pages.sections import Cell, Part, Prose, Section, Shown, cosine_and_bound
from dpsan.embeddings.base import Embeddings
from dpsan.errors import printable
from dpsan.mechanisms.description import finite
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.text.numerals import number
from dpsan.version import __version__

_ABOUT: Final = "What becomes of a word, and what a reader of the output can conclude."
_NEAR: Final = 5
_POINTS: Final = 3


def shown(column: Sequence[Explanation]) -> Shown:
    """Return what is said of one word.

    Args:
        column: explanations by each mechanism.
    """
    near = ", ".join(f"{printable(w)} {far:.2f}" for w, far in column[0].neighbors[:_NEAR])
    nearest = Prose("", near and f"nearest words: {near}")
    parts: list[Part] = [nearest, _figures(column), _outputs(column), _posteriors(column)]
    return Shown(_ABOUT, parts, title=_title(column[0]))


def _title(first: Explanation) -> str:
    word = printable(first.word)
    if first.input is None:
        if first.word != "⊥":
            return f"{word}: not in the vocabulary, so it is ⊥ like every unknown word"
        return "⊥: what every word becomes that is not in the vocabulary"
    return word if first.input == first.word else f"{word}, read as {printable(first.input)}"


def _figures(column: Sequence[Explanation]) -> Section:
    rows: list[tuple[Cell, ...]] = [
        ("epsilon", *map(_epsilon, column)),
        ("LDP epsilon", *map(_loss, column)),
        ("known by", *map(_source, column)),
    ]
    if column[0].input is not None:
        rows.append(("unchanged", *(each.unchanged for each in column)))
        rows.append(("close", *(each.close for each in column)))
        rows.append(("distant", *(each.distant for each in column)))
    notes = []
    for each in column:
        name, guarantee = each.mechanism.name, each.guarantee
        said = {
            UNREVIEWED: not guarantee.reviewed,
            "PUBLIC: this word is not protected": each.public,
            guarantee.summary(): str(guarantee.status) != "PROVED",
            f"mean cosine {cosine_and_bound(*each.optimum)}" if each.optimum else "": each.optimum,
        }
        notes += [f"{name}: {text}" for text, holds in said.items() if holds]
    names = (f"{each.mechanism.name} ({each.guarantee.status})" for each in column)
    return Section(("figure", *names), rows, notes)


def _epsilon(each: Explanation) -> str:
    return f"{number(each.mechanism.epsilon)} {each.mechanism.unit_label()}"


def _loss(each: Explanation) -> str:
    ldp = "none finite" if each.epsilon_ldp is None else number(each.epsilon_ldp)
    if each.guarantee.public_words:
        return f"high-low {ldp} for protected words"
    return ldp + (f", delta {number(each.guarantee.delta)}" if each.guarantee.delta else "")


def _source(each: Explanation) -> str:
    return "exact distribution" if each.exact else f"{number(each.draws)} draws, 99 % intervals"


def _outputs(column: Sequence[Explanation]) -> Section:
    """Return the likeliest outputs of all mechanisms; nothing where one lists others."""
    away = {output.word: output.distance for each in column for output in each.outputs}
    shares = [{output.word: output.probability for output in each.outputs} for each in column]
    rows = [
        (word, *(() if far is None else (f"{far:.2f}",)), *(each.get(word) for each in shares))
        for word, far in away.items()
    ]
    names = (*["away"] * (column[0].input is not None), *(each.mechanism.name for each in column))
    notes = ["-: not among the likeliest"] if any(None in row for row in rows) else []
    return Section(("output", *names), rows, notes)


def _posteriors(column: Sequence[Explanation]) -> Section:
    rows: list[tuple[Cell, ...]] = []
    notes: dict[str, None] = {}
    for each in column:
        name = each.mechanism.name
        for posterior in each.posterior:
            inputs = [f"{word} {share.value:.2f}" for word, _, share in posterior.inputs[:_POINTS]]
            rows.append((posterior.output, name, ", ".join(inputs)))
        if each.posterior_note:
            notes[f"{name}: {each.posterior_note}"] = None
        if each.observer_success is not None:
            share = f"{100 * each.observer_success:.3g} % of running text"
            notes[f"{name}: an optimal reader of single outputs names {share}"] = None
    return Section(("output", "of", "inputs that it points to"), rows, list(notes))


def rows(
    explanations: Sequence[Sequence[Explanation]], embeddings: Embeddings
) -> list[dict[str, Any]]:
    """One object for each word and mechanism, words first.

    Args:
        explanations: for each mechanism, those of the same words.
    """
    shape = {"words": embeddings.n, "dimensions": embeddings.d}
    common = {
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
        "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
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
