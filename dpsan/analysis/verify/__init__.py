"""Verification of a guarantee: certificates, draws, the configuration, and what is drawn.

Open ``verdict`` first; ``program`` lists the tests.  All inputs are public strings.  This package
must not know private text or command lines.  Here stands what a terminal shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Final

from dpsan.analysis.pages import Facts, Part, Prose, Shown, by_name, named
from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.verdict import Verification
from dpsan.errors import printable
from dpsan.privacy.guarantee import UNREVIEWED

_APART: Final = ("verdict", "reviewed", "grade", "float64_gap", "configuration", "checks")
"""Values that stand elsewhere, or nowhere."""
_SHOWN: Final = 5
"""Outputs of the event that a terminal shows."""
_HELD: Final = {True: "checked", False: "REFUTED", None: "not judged"}


def shown(result: Verification, name: str) -> Shown:
    """Return what a terminal shows.

    Args:
        name: of the mechanism.
    """
    whom, options = [], {exposure.option for exposure in result.configuration}
    if result.public_words:
        whom.append(" for protected words")
    if "class" in options:
        whom.append(" for two words, or two strings of one kind")
    if "numbers" in options:
        whom.append(" for two words, or two numbers of one form")
    grade = f" ({result.grade})" if result.grade else ""
    title = f"{name}: {str(result.verdict).upper()}{' and'.join(whom)}{grade}"
    notes = []
    if result.verdict == "violated":
        reasons = [item.setting for item in result.configuration if not item.stated]
        reasons += [item.name for item in result.checks if item.held is False]
        reasons += ["the draws"] * result.empirical.violated
        notes.append(f"refuted by {', '.join(reasons or ['the exact loss'])}")
    if not result.reviewed:
        notes.append(f"{UNREVIEWED}: certificates are of the distribution that its file states")
    if not all(exposure.stated for exposure in result.configuration):
        notes.append("claimed and certified: for drawn words only")
    event = [printable(word) for word in result.empirical.event[:_SHOWN]]
    event += ["..."] * (len(result.empirical.event) > _SHOWN)
    facts = {key: value for key, value in by_name(result).items() if key not in _APART}
    facts["empirical"]["event"] = event
    parts: list[Part] = [Prose("", lines=notes), Facts("", named(facts))]
    for exposure in result.configuration:
        whose = f" for {exposure.left_out}" if exposure.stated else ""
        what = f"{exposure.setting}: no epsilon holds{whose}"
        parts.append(Prose("", lines=[what, f"event: {exposure.event}"]))
    title = fill(title, 80, subsequent_indent="  ", break_on_hyphens=False)
    return Shown("", [*parts, checked(result.checks)], title=title)


def checked(checks: Sequence[Check]) -> Prose:
    """Return what tests of the program found."""
    return Prose("", lines=[f"{_HELD[c.held]}: {c.name}: {c.sentence}" for c in checks])
