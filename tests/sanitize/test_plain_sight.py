"""Hiding in plain sight: a word that passed and may be a name stands among drawn names like it."""

from dataclasses import replace

import pytest

from dpsan import Sanitizer
from dpsan.sanitize.only_rewriter import expected_plain
from dpsan.sanitize.statement import Statement

PASSED = 30
TEXTS = ["Will the park be green?"] * PASSED + ["We met Mr. Olsen."] * 400 + ["Maria left."] * 400


def rewritten(texts=TEXTS, **more):
    sanitizer = Sanitizer(only="people", **more)
    done = sanitizer.sanitize(texts, b"k" * 32, audit=True)
    totals = sanitizer.accountant()
    totals.add([done])
    totals.records = len(texts)
    plain = expected_plain(sanitizer.replacing, totals.by_kind)
    classes = sanitizer.replaced_classes
    return sanitizer, done, Statement(totals, "", 0.0, 0.0, classes, plain_drawn=plain)


def test_the_figure_is_the_share_of_originals_among_words_that_may_be_names():
    sanitizer, done, statement = rewritten()
    plain = sanitizer.replacing.lexicon.plain
    pairs = zip(done.records.outputs, done.records.reasons, strict=True)
    drawn = sum(plain(word.lower()) for word, reason in pairs if reason)
    figure = statement.figures()["names in plain sight", "run"]
    assert done.plain_names == PASSED
    assert 10 < drawn < 80  # 3 to 5 % of 800
    assert figure.value == pytest.approx(PASSED / (PASSED + drawn), rel=0.25)
    (line,) = [line for line in statement.lines() if "plain sight" in line]
    assert f"{figure.charges} words" in line
    assert f"{100 * figure.value:.0f} %" in line


def test_copies_tell_which_are_original():
    _, _, statement = rewritten()
    lines = replace(statement, copies=2).lines()
    assert any(line.endswith("; the copies tell which") for line in lines)


def test_with_a_map_no_name_is_a_word_so_what_looks_like_both_is_original(dpsan, tmp_path):
    stdin = "\n".join(TEXTS).encode()
    more = ("--only", "people", "--map", tmp_path / "map")
    told = dpsan("rewrite", *more, stdin=stdin).stderr.decode()
    assert f"about {PASSED} words" in told
    assert "original with probability over 99 %" in told


@pytest.mark.parametrize("more", [("--only", "dates"), ("--only", "people")])
def test_no_line_without_such_words(dpsan, more):
    stdin = b"Will you come on Monday?\n" if more[1] == "dates" else b"Maria left the box.\n"
    assert b"plain sight" not in dpsan("rewrite", *more, stdin=stdin).stderr
