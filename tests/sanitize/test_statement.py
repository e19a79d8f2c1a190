"""What a run says of itself: short, in words that hold, and loud where it is weak."""

import json
import re

import numpy as np
import pytest
from support import ROOT, cases

from dpsan.mechanisms import MECHANISMS
from dpsan.privacy.guarantee import Arithmetic, Guarantee, Status
from dpsan.sanitize.accountant import Accountant, Lacking, weakness
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.result import Action, Sanitized
from dpsan.sanitize.settings import Settings
from dpsan.sanitize.statement import Statement, expected_share


def pure(epsilon, **more):
    return Guarantee(Status.PROVED, epsilon, arithmetic=Arithmetic.INTEGERS, **more)


def totals(guarantee, drawn=(3,), **counts):
    out = Accountant(guarantee, 2.0)
    counts = {action: counts.get(str(action), 0) for action in Action}
    counts[Action.DRAWN] += sum(drawn) - counts[Action.UNKNOWN]
    out.add([Sanitized([], list(drawn), list(drawn), counts)])
    run = Accountant(guarantee, 2.0)
    run.merge(out)
    return run


def test_one_line_by_default():
    (line,) = Statement(totals(pure(2), (12, 3), unknown=2), "krr", 0.14).lines()
    assert line == (
        "15 words drawn (2 unknown) by krr, PROVED on integers: LDP epsilon 2 per word, "
        "30 for the whole text; expected unchanged: 12 %. Not protected: see -v."
    )


@pytest.mark.parametrize("public", [0, 1653])
@pytest.mark.parametrize("unit", [None, Unit.RUN])
@pytest.mark.parametrize("copies", [1, 100])
@pytest.mark.parametrize("delta", [0, 1.23e-6])
@pytest.mark.parametrize("name", ["krr", max(MECHANISMS, key=len)])
def test_the_main_line_is_short_and_loses_nothing(name, delta, copies, unit, public):
    """At most 200 characters whatever the options: what is too long stands in a second line."""
    others = {str(each): 12_345 for each in Action if each is not Action.DRAWN}
    run = totals(pure(7.123, delta=delta, public_words=public), (10**9, 40_000), **others)
    more = {"copies": copies, "files": 3, "settings": Settings(consistent=unit)}
    first, second, *_ = Statement(run, name, 0.44, **more).lines()
    assert len(f"dpsan: {first}") <= 200
    assert first.endswith(". Not protected: see -v.")
    (whole, *_) = Statement(run, name, 0.44, **more).lines(verbose=True)
    figures = re.compile(r"[\w-]+(?:[.,]\d+)*")
    assert set(figures.findall(whole)) <= set(figures.findall(f"{first} {second}"))


@pytest.mark.parametrize("unit", Unit)
def test_one_draw_for_each_distinct_word(unit):
    run = totals(pure(2), (2, 2), unknown=1)
    run.counts[Action.DRAWN] += 6
    statement = Statement(run, "krr", 0.14, settings=Settings(consistent=unit))
    first, second, *more = statement.lines(verbose=True)
    assert first.startswith(
        "4 draws for 10 words (1 unknown) by krr, PROVED on integers: LDP epsilon 2 per "
        "distinct word, 8 for"
    )
    assert second.endswith("which words are equal (and so how often each occurs) is not protected")
    assert ("the run" in second) == (unit is Unit.RUN)
    assert "not protected: which words are equal" in more[-1]
    assert "per distinct word: LDP epsilon 2" in more


def test_nothing_drawn_nothing_said():
    for verbose in (False, True):
        assert Statement(totals(pure(2), (0,)), "krr", 0.0).lines(verbose=verbose) == []


@cases(
    "guarantee copies unchanged weak",
    (pure(16.0), 1, 0.5, ""),
    (pure(16.1), 1, 0.1, "LDP epsilon 16.1 per word"),
    (pure(6.0), 3, 0.1, "LDP epsilon 18 per word"),
    (pure(np.inf), 1, 0.1, "no finite LDP epsilon per word"),
    (pure(1.0), 1, 0.92, "92 % of the words in the vocabulary are expected to stay unchanged"),
)
def test_weak(guarantee, copies, unchanged, weak):
    told = weakness(guarantee, copies, unchanged)
    assert (told or "").startswith(weak)
    assert bool(told) == bool(weak)
    said = Statement(totals(guarantee), "krr", unchanged, copies=copies).lines()
    assert [each for each in said if each.startswith("WEAK: ")] == ([f"WEAK: {told}"] * bool(told))


def test_every_loss_names_its_delta():
    run = totals(pure(2.0, delta=1e-6), (4, 1))
    said = "\n".join(Statement(run, "x", 0.1, copies=2).lines(verbose=True))
    assert "LDP epsilon 4 with delta 2e-6 per word in 2 copies, 10 with delta 5e-6 for the" in said
    assert "2 copies of every word: LDP epsilon 4 with delta 2e-6" in said
    assert "largest record (8 draws): LDP epsilon 16 with delta 8e-6" in said
    assert "whole text (5 draws): LDP epsilon 10 with delta 5e-6" in said


def test_what_the_run_itself_exposes():
    run = totals(pure(2.0), masked=1, kept=2)
    spec = Settings(2.0, "krr", unknown="mask", keep=frozenset(["a"]))
    said = Statement(run, "krr", 0.1, settings=spec).lines()
    assert "(besides 1 masked, 2 kept)" in said[0]
    assert said[1] == ("not protected here: which words are unknown, the words of the keep-list")


MANY = "-e 12 --class sensitive --unknown mask --tokenizer whitespace --keep {keep}"


@cases(
    "options",
    "--only sensitive",
    "--only numbers --numbers value -e 2 --consistent off",
    pytest.param(MANY, marks=pytest.mark.slow),
    "-e 8 --numbers value --class contacts,ids --consistent file",
)
def test_audit_and_report_list_the_facts_that_the_statement_calls_not_protected(
    options, dpsan, tmp_path
):
    keep, audit = tmp_path / "keep.txt", tmp_path / "audit.jsonl"
    keep.write_text("red\n")
    given = options.format(keep=keep).split()
    done = dpsan("rewrite", *given, "-v", "-a", audit, stdin=b"Maria met 12 red men.\n", status=0)
    (said,) = re.findall(r"^dpsan: not protected: (.*)$", done.stderr.decode(), re.M)
    header = json.loads(audit.read_text().splitlines()[0])
    assert ", ".join(header["not_protected"]) == said
    told = json.loads(dpsan("report", "--json", audit).stdout)
    assert told[0]["not_protected"] == header["not_protected"]
    if options == "--only sensitive":
        assert "they add up" not in said


def test_not_guaranteed_is_always_said():
    run = totals(Guarantee(Status.REFUTED, np.inf, why="the proof fails"))
    said = Statement(run, "x", 0.1).lines()
    assert "REFUTED: no finite LDP epsilon" in said[0]
    assert any(each.startswith("NOT GUARANTEED: ") and "the proof fails" in each for each in said)


def test_the_readme_shows_what_is_said(dpsan):
    """The second half of the first block of output is the statement of the first command."""
    readme = (ROOT / "README.md").read_text()
    (text,) = re.findall(r"echo '([^']*)' \| .venv/bin/dpsan rewrite --only sensitive\n", readme)
    done = dpsan("rewrite", "--only", "sensitive", stdin=f"{text}\n".encode())
    shown = re.findall(r"```text\n(.*?)```", readme, re.S)[0].split("\n", 1)[1]
    assert done.stderr.decode() == shown


def test_an_out_of_vocabulary_word_is_never_expected_to_stay():
    counts = dict.fromkeys(Action, 0)
    assert expected_share(0.5, counts | {Action.DRAWN: 10}) == 0.5
    assert expected_share(0.5, counts | {Action.DRAWN: 10, Action.UNKNOWN: 30}) == 0.125
    assert expected_share(0.5, counts | {Action.UNKNOWN: 3}) == 0
    # Masked and kept words did not come out of the mechanism; remembered ones did.
    others = {Action.MASKED: 9, Action.KEPT: 9, Action.OUTSIDE: 9}
    assert expected_share(0.5, counts | {Action.DRAWN: 1} | others) == 0.5
    assert expected_share(0.5, counts | {Action.REMEMBERED: 1, Action.UNKNOWN: 1}) == 0.25


def test_a_warning_beyond_a_third_of_a_file():
    counts = dict.fromkeys(Action, 0)
    for known, unknown, warned in ((8, 4, False), (7, 4, True), (0, 2, False), (0, 3, True)):
        for action in (Action.UNKNOWN, Action.MASKED):
            lacking = Lacking()
            lacking.add("a", counts | {Action.DRAWN: known, action: unknown})
            assert bool(lacking.warning()) == warned
    lacking = Lacking()
    for at in (1, 3, 0, 2):
        lacking.add(f"f{at}", counts | {Action.DRAWN: 10, Action.UNKNOWN: 10 * at})
    told = "f3: 75 % of the words are out of vocabulary, and more than a third in 2 other files ("
    assert lacking.warning().startswith(told)
