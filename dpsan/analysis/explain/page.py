"""Tables of an explanation, for the terminal and a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpsan.analysis.explain import Explanation
from dpsan.analysis.pages.sections import Cell, Part, Prose, Section, Shown
from dpsan.errors import printable
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.text.numerals import number

_ABOUT: Final = "What becomes of a word."
_NEAR: Final = 5


def shown(word: Explanation) -> Shown:
    """Return what is said of one word."""
    nearest = word["neighbors"][:_NEAR]
    near = ", ".join(f"{printable(other['word'])} {other['distance']:.2f}" for other in nearest)
    known = Prose("", near and f"nearest words: {near}")
    parts: list[Part] = [known, _figures(word), _outputs(word)]
    return Shown(_ABOUT, parts, title=_title(word))


def _title(explained: Explanation) -> str:
    word, read = printable(explained["word"]), explained["input"]
    if read is None:
        if explained["word"] != "⊥":
            return f"{word}: not in the vocabulary, so it is ⊥ like every unknown word"
        return "⊥: what every word becomes that is not in the vocabulary"
    return word if read == explained["word"] else f"{word}, read as {printable(read)}"


def _estimate(value: float | None, interval: Sequence[float] | None = None) -> Estimate | None:
    return None if value is None else Estimate(value, *(interval or (value, value)))


def _figures(word: Explanation) -> Section:
    unit = word["epsilon_unit"].replace("1/", "per unit of ")
    draws = f"{number(word['draws'])} draws, 99 % intervals"
    rows: list[tuple[Cell, ...]] = [
        ("epsilon", f"{number(word['epsilon'])} {unit}"),
        ("LDP epsilon", _loss(word)),
        ("known by", "exact distribution" if word["exact"] else draws),
    ]
    limits = word["intervals"] or {}
    for name in ("unchanged", "close", "distant") if not word["unknown"] else ():
        rows.append((name, _estimate(word[name], limits.get(name))))
    notes = {
        UNREVIEWED: not word["reviewed"],
        "PUBLIC: this word is not protected": word["public"],
        word["guarantee"]: word["status"] != "PROVED",
    }
    columns = ("figure", f"{word['mechanism']} ({word['status']})")
    return Section(columns, rows, [text for text, holds in notes.items() if holds])


def _loss(word: Explanation) -> str:
    ldp = "none finite" if word["epsilon_ldp"] is None else number(word["epsilon_ldp"])
    if word["public_words"]:
        return f"high-low {ldp} for protected words"
    return ldp + (f", delta {number(word['delta'])}" if word["delta"] else "")


def _outputs(word: Explanation) -> Section:
    """Return the likeliest outputs, and how far away they are of a word of the vocabulary."""
    rows = [
        (
            output["word"],
            *([] if word["unknown"] else [f"{output['distance']:.2f}"]),
            _estimate(output["probability"], output.get("interval")),
        )
        for output in word["outputs"]
    ]
    return Section(("output", *["away"] * (not word["unknown"]), "probability"), rows)
