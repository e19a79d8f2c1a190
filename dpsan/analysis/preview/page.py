"""Sentences and tables about a preview, for the terminal and a page."""

from __future__ import annotations

from dpsan.analysis.pages.sections import Part, Prose, Section, Shown
from dpsan.analysis.preview import Level, Preview
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.text_likelihood import CANDIDATES, LONGEST
from dpsan.text.numerals import counted, number, percent

WARNING = (
    "Do not publish these samples: they were drawn from the same words at several levels, so "
    "their losses add up. What is shown of your text is as sensitive as the text."
)


_FEW = 20
"""Words below which no share is printed."""


def about(found: Preview) -> str:
    """Describe what was measured."""
    attacker = "with a public language model" if found.with_model else "who reads single words"
    measured = f"figures from {number(found.measured)} words, once drawn; an attacker {attacker}"
    return f"{found.name}: {counted(len(found.lengths), 'record')}; {measured}."


def figures(found: Preview) -> Section:
    """Return a row for each level."""
    rows = [
        (each.options, *map(_share, (each.unchanged, each.read, each.listed)), _linked(each))
        for each in found.levels
    ]
    notes = [
        "classes: names, places and other words of the lists of --only sensitive",
        f"{round(100 * CONFIDENCE)} % intervals; too few: below {_FEW} words",
    ]
    if found.left_out is not None:
        notes.append(found.left_out)
    columns = ("options of rewrite", "unchanged", "read back", "classes read back", "text found by")
    return Section(columns, rows, notes)


def _share(share: Share) -> str:
    """Return a share in per cent with its interval, or that it is of too few words."""
    if share.value is None or share.total < _FEW:
        return "too few" if share.total else "-"
    low, high = share.interval
    return f"{percent(share.value)} ({100 * low:.0f}-{100 * high:.0f})"


def _linked(level: Level) -> str:
    if level.linked is None:
        return "words that pass"
    return counted(level.linked, "word") if level.linked else f"over {LONGEST} words"


def tests(found: Preview) -> Section:
    """Return the closing box: three tests, yes or no with a figure for each level."""
    names, cells = zip(*found.tests(), strict=True)
    rows = [
        (level.options, *(f"{'yes' if fails else 'no'}, {figure}" for fails, figure in each))
        for level, *each in zip(found.levels, *cells, strict=True)
    ]
    notes = [
        "yes: not anonymous by this test",
        f"Singling out: words that tell a text from {CANDIDATES:,} candidates.",
        "Linkability: records long enough to be matched with the same text elsewhere.",
        f"Inference: words read back; {_share(found.guessed)} are right without any output.",
    ]
    return Section(("test (WP216)", *names), rows, notes)


def shown(found: Preview) -> Shown:
    """Return the figures of all levels, samples, and three tests."""
    samples = [Prose(each.options, each.meaning, each.sentences) for each in found.levels]
    parts: list[Part] = [figures(found), *samples, tests(found)]
    return Shown(about(found), parts, found.conclusion(), warnings=[WARNING])
