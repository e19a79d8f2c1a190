"""Sentences and tables about a preview, for the terminal and a page."""

from __future__ import annotations

from dpsan.analysis.pages.sections import Part, Prose, Section, Shown
from dpsan.analysis.preview import FEW, Level, Preview
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.text_likelihood import CANDIDATES, LONGEST
from dpsan.text.numerals import counted, number, percent

WARNING = (
    "Do not publish these samples: they were drawn from the same words at several levels, so "
    "their losses add up. What is shown of your text is as sensitive as the text."
)


def _about(result: Preview) -> str:
    attacker = "with a public language model" if result.language_model else "who reads single words"
    figures = f"figures from {number(result.words_measured)} words, once drawn"
    records = counted(result.records, "record")
    return f"{result.file}: {records}; {figures}; an attacker {attacker}."


def figures(result: Preview) -> Section:
    """Return a row for each level."""
    rows = []
    for level in result.levels:
        shares = level.unchanged, level.read_back, level.classes_read_back
        rows.append((level.options, *map(_share, shares), _linked(level)))
    notes = [
        "classes: names, places and other words of the lists of --only sensitive",
        f"{round(100 * CONFIDENCE)} % intervals; too few: below {FEW} words",
        *filter(None, [result.left_out]),
    ]
    columns = ("options of rewrite", "unchanged", "read back", "classes read back", "text found by")
    return Section(columns, rows, notes)


def _share(share: Share) -> str:
    """Return a share in per cent with its interval, or that it is of too few words."""
    if share.value is None or share.total < FEW:
        return "too few" if share.total else "-"
    low, high = share.interval
    return f"{percent(share.value)} ({100 * low:.0f}-{100 * high:.0f})"


def _linked(level: Level) -> str:
    if level.linked_words is None:
        return "words that pass"
    return counted(level.linked_words, "word") if level.linked_words else f"over {LONGEST} words"


def tests(result: Preview) -> Section:
    """Return the closing box: three tests, yes or no with a figure for each level."""
    results, guessed = result.tests(), _share(result.guessed_without_output)
    rows = [
        (level.options, *(f"{'yes' if x['fails'] else 'no'}, {x['figure']}" for x in cells))
        for level, *cells in zip(result.levels, *results.values(), strict=True)
    ]
    notes = [
        "yes: not anonymous by this test",
        f"Singling out: words that tell a text from {CANDIDATES:,} candidates.",
        "Linkability: records long enough to be matched with the same text elsewhere.",
        f"Inference: words read back; right without any output: {guessed}.",
    ]
    return Section(("test (WP216)", *results), rows, notes)


def shown(result: Preview) -> Shown:
    """Return the figures of all levels, samples, and three tests."""
    samples = [Prose(level.options, level.meaning, level.sentences) for level in result.levels]
    parts: list[Part] = [figures(result), *samples, tests(result)]
    return Shown(_about(result), parts, result.conclusion(), warnings=[WARNING])
