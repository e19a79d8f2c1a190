"""Tables of explanations, for the terminal and a page: mechanisms stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpsan.analysis.explain import Explanation
from dpsan.analysis.pages.sections import Cell, Part, Prose, Section, Shown, cosine_and_bound
from dpsan.errors import printable
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.text.numerals import number

_ABOUT: Final = "What becomes of a word, and what a reader of the output can conclude."
_NEAR: Final = 5
_POINTS: Final = 3


def shown(column: Sequence[Explanation]) -> Shown:
    """Return what is said of one word.

    Args:
        column: explanations by each mechanism.
    """
    nearest = column[0]["neighbors"][:_NEAR]
    near = ", ".join(f"{printable(word['word'])} {word['distance']:.2f}" for word in nearest)
    known = Prose("", near and f"nearest words: {near}")
    parts: list[Part] = [known, _figures(column), _outputs(column), _posteriors(column)]
    return Shown(_ABOUT, parts, title=_title(column[0]))


def _title(first: Explanation) -> str:
    word, read = printable(first["word"]), first["input"]
    if read is None:
        if first["word"] != "⊥":
            return f"{word}: not in the vocabulary, so it is ⊥ like every unknown word"
        return "⊥: what every word becomes that is not in the vocabulary"
    return word if read == first["word"] else f"{word}, read as {printable(read)}"


def _estimate(value: float | None, interval: Sequence[float] | None = None) -> Estimate | None:
    return None if value is None else Estimate(value, *(interval or (value, value)))


def _figures(column: Sequence[Explanation]) -> Section:
    rows: list[tuple[Cell, ...]] = [
        ("epsilon", *map(_epsilon, column)),
        ("LDP epsilon", *map(_loss, column)),
        ("known by", *map(_source, column)),
    ]
    for name in ("unchanged", "close", "distant") if not column[0]["unknown"] else ():
        intervals = (row["intervals"] or {} for row in column)
        shares = zip(column, intervals, strict=True)
        rows.append((name, *(_estimate(row[name], limits.get(name)) for row, limits in shares)))
    notes = []
    for row in column:
        optimum = row["mean_cosine"]
        said = {
            UNREVIEWED: not row["reviewed"],
            "PUBLIC: this word is not protected": row["public"],
            row["guarantee"]: row["status"] != "PROVED",
            f"mean cosine {cosine_and_bound(*optimum.values())}" if optimum else "": optimum,
        }
        notes += [f"{row['mechanism']}: {text}" for text, holds in said.items() if holds]
    return Section(
        ("figure", *(f"{row['mechanism']} ({row['status']})" for row in column)), rows, notes
    )


def _epsilon(row: Explanation) -> str:
    return f"{number(row['epsilon'])} {row['epsilon_unit'].replace('1/', 'per unit of ')}"


def _loss(row: Explanation) -> str:
    ldp = "none finite" if row["epsilon_ldp"] is None else number(row["epsilon_ldp"])
    if row["public_words"]:
        return f"high-low {ldp} for protected words"
    return ldp + (f", delta {number(row['delta'])}" if row["delta"] else "")


def _source(row: Explanation) -> str:
    draws = f"{number(row['draws'])} draws, 99 % intervals"
    return "exact distribution" if row["exact"] else draws


def _outputs(column: Sequence[Explanation]) -> Section:
    """Return the likeliest outputs of all mechanisms; nothing where one lists others."""
    away = {output["word"]: output["distance"] for row in column for output in row["outputs"]}
    shares = [
        {u["word"]: _estimate(u["probability"], u.get("interval")) for u in row["outputs"]}
        for row in column
    ]
    rows = [
        (word, *(() if far is None else (f"{far:.2f}",)), *(entry.get(word) for entry in shares))
        for word, far in away.items()
    ]
    names = (*["away"] * (not column[0]["unknown"]), *(row["mechanism"] for row in column))
    notes = ["-: not among the likeliest"] if any(None in row for row in rows) else []
    return Section(("output", *names), rows, notes)


def _posteriors(column: Sequence[Explanation]) -> Section:
    rows: list[tuple[Cell, ...]] = []
    notes: dict[str, None] = {}
    for row in column:
        name, success = row["mechanism"], row["observer_success"]
        for posterior in row["posterior"]:
            likely = posterior["inputs"][:_POINTS]
            inputs = ", ".join(f"{word['word']} {word['probability']:.2f}" for word in likely)
            rows.append((posterior["output"], name, inputs))
        if success is not None:
            notes[f"{name}: {row['posterior_note']}"] = None
            share = f"{100 * success:.3g} % of running text"
            notes[f"{name}: an optimal reader of single outputs names {share}"] = None
    return Section(("output", "of", "inputs that it points to"), rows, list(notes))
