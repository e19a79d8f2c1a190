"""Tables of estimates, for the terminal and a page."""

from __future__ import annotations

import math
from typing import Any, Final

from dpsan.analysis.estimate import Estimate, Rows
from dpsan.analysis.pages.sections import Bar, Part, Prose, Section, Shown
from dpsan.text.numerals import number

NO_CALL: Final = (
    "No call is no evidence of equality. Of lists that one half of a news corpus used twice as "
    "often as the other, and no other words, .28 were called at epsilon 8; of lists that it used "
    "four times as often .55."
)
_ABOUT: Final = "How often words occurred before the texts were sanitized, from the output alone."
_CALLED: Final = ("list", "more often in", "than in", "per word, at least")
_INTERVALS: Final = (
    "Of the intervals at epsilon 8 .97 hold, of the upper bounds .97 (docs/estimate.md)."
)


def shown(found: Estimate, counts: Rows, comparisons: Rows, top: Rows) -> Shown:
    """Return what is estimated, with a bar for each interval and each ratio."""
    highest = {row["list"]: max(0, *(each["high"] for each in counts)) for row in counts}
    most = max((row["times"] for row in comparisons), default=1.0)
    called = [[row["list"], row["more"], row["less"], _times(row, most)] for row in comparisons]
    words = {
        label: ", ".join(row["word"] for row in top if row["group"] == label)
        for label in found.groups
    }
    occurrences = [
        [row["list"], row["group"], _interval(row, highest[row["list"]])] for row in counts
    ]
    parts: list[Part] = [
        Section(("list", "group", "occurrences"), occurrences, [_INTERVALS] * bool(counts)),
        Section(_CALLED, called),
        Prose("", lines=[NO_CALL]),
        Section(("group", "words that it uses more"), [*words.items()] if top else []),
        Section(("group", "words"), [*found.groups.items()]),
    ]
    settings = f"The texts fit these settings (misfit {found.misfit:.2f}, at most 1.5)."
    return Shown(_ABOUT, parts, settings, good=True)


def _interval(row: dict[str, Any], highest: float) -> Bar:
    low, high = row["low"], row["high"]
    text = f"at most {number(high)}" if low is None else f"{number(low)} to {number(high)}"
    return Bar(text, (low or 0) / highest, high / highest)


def _times(row: dict[str, Any], most: float) -> Bar:
    lowered = math.floor(10 * row["times"]) / 10  # a bound is never rounded up
    return Bar(f"{max(lowered, 1):.1f} times", 0.0, row["times"] / most)
