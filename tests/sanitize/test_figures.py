"""The lines of a statement show its figures, and no other number."""

import re

import pytest

from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement
from dpsan.text.numerals import number

TEXT = [
    "Maria met 12 people on Monday, 87 in Boston: bob@example.net.",
    "cancer and 5 mondays qzxjk",
]
NUMBER = re.compile(
    r"(?<![\w.])\d(?:[\d,.]*\d)?(?:e-?\d+)?(?: (?:million|billion|trillion))?(?!\w)"
)
GIVEN = {
    "plain": {"epsilon": 8},
    "classes": {"epsilon": 12, "classes": "sensitive"},
    "numbers of a class": {"epsilon": 8, "classes": "numbers", "numbers": "value"},
    "only": {"only": "sensitive"},
    "only with numbers": {"only": "numbers,places", "numbers": "value", "epsilon": 2},
    "delta": {"epsilon": 8, "mechanism": "gaussian", "parameters": {"delta": 1e-6}},
    "metric": {"epsilon": 5, "mechanism": "tem"},
    "public": {"epsilon": 8, "public": "function"},
    "consistent": {"epsilon": 8, "numbers": "value", "consistent": "record"},
}


def statement(given, copies=2):
    sanitizer = Sanitizer(**given)
    totals, whole = sanitizer.accountant(), sanitizer.accountant(whole_run=True)
    totals.records = len(TEXT)
    totals.add([sanitizer.sanitize(TEXT, bytes(32))] * copies)
    whole.merge(totals)
    share = sanitizer.expected_share(whole)
    classes = sanitizer.replaced_classes
    name, spec = sanitizer.mechanism.name, sanitizer.spec
    return Statement(whole, name, 0.1, share, classes, copies=copies, settings=spec)


@pytest.mark.parametrize("name", GIVEN)
def test_lines_have_these_figures_and_no_others(name):
    made = statement(GIVEN[name])
    figures, lines = made.figures(), made.lines(verbose=True)
    totals, text = made.totals, "\n".join(lines)
    shown = {("loss", "copies"), ("loss", "file"), ("loss", "record"), ("sum", "run")}
    shown |= {key for key in figures if key[0] == "per unit"}
    if totals.guarantee.only_groups:
        shown = {("smallest group", "run")}
        shown |= {("loss", "file"), ("loss", "copies")} if "epsilon" in GIVEN[name] else set()
    for key in shown:
        assert str(figures[key]) in text, key
    assert f"{round(100 * figures['unchanged', 'run'].value)} %" in text or "under 1 %" in text
    counts = {*totals.counts.values(), totals.words, totals.draws, made.copies, 1, 16}
    counts |= {*totals.by_kind.values()} | {figure.charges for figure in figures.values()}
    groups = [(group.name, group.words) for group in totals.guarantee.groups]
    counts |= {words for _, words in groups}
    names = [name for name, _ in groups]
    counts |= {names.count(name) for name in names}
    for of_class in made.classes:
        counts.add(sum(n for kind, n in totals.by_kind.items() if made.classes[kind] == of_class))
    counts.add(sum(totals.by_kind.values()))
    counts.add(sum(totals.counts.values()) - totals.counts["plain"])
    known = {number(count) for count in counts}
    known |= {number(x) for figure in figures.values() for x in (figure.value, figure.delta)}
    for line in lines:
        for found in NUMBER.findall(re.sub(r"\d+ %", "", line)):
            assert found in known or "rounding" in line, (found, line)


@pytest.mark.parametrize("name", GIVEN)
def test_the_budget_and_the_ledger_count_what_the_statement_prints(name):
    """One figure for each charge: of a word, and of all draws of a run."""
    made = statement(GIVEN[name], copies=1)
    totals, figures = made.totals, made.figures()
    run, word = figures["loss", "run"], figures["loss", "word"]
    assert run.charges == totals.charges
    assert run.value == pytest.approx(totals.charges * word.value)
    assert figures["sum", "run"].value == pytest.approx(totals.charges * totals.epsilon)
    if totals.guarantee.metric is None and not totals.guarantee.delta:
        assert totals.epsilon == pytest.approx(word.value, abs=1e-9)
