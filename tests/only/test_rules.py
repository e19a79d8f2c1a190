"""Rules of ``--only``, a case each: what they replace, and what beside it passes."""

import re

import pytest
from support import ROOT

from dpsan.only.rules import rules_text
from dpsan.sanitize.replacing import OnlyRewriter

CASES = [
    ("Yesterday Mr. Case was late.", "Case"),
    ("He lives at 42 Blevins Street with a dog.", "42 Blevins Street"),
    ("Dear Sedan,\nthanks for the note", "Sedan"),
    ("Patient: Sedan\nhas a pen", "Sedan"),
    ("They met in Mar, at noon.", "Mar"),
    ("the 45-year-old man", "45"),
    ("She has version 3 of the form.", ""),
    ("It is 1. First, wash it.", ""),
    ("She was brought to St Brannoc Hospital yesterday.", "Brannoc Hospital"),
    ("Come at 10 o'clock to us.", "10"),
    ("Her sats were 97% here.", "97"),
    ("Christian, quick one: can you come?", "Christian"),
    ("The form is at the General Register Office now.", "Register Office"),
    ("Thanks, see you then. T. Quill", "T Quill"),
    ("He has Parkinson's disease.", "Parkinson's disease"),
    ("The baker left a swab in the lockbox at 7.", "7"),
]
"""Text, and its words that are replaced; all others pass."""


def words(text):
    return re.findall(r"\w+", text)


def outputs(rules, text):
    return [OnlyRewriter(rules).rewrite([text], bytes([at]) * 32).lines[0] for at in range(3)]


@pytest.mark.parametrize(("text", "gone"), CASES)
def test_a_rule_replaces_its_words_and_no_others(text, gone):
    kept = [word for word in words(text) if word not in words(gone)]
    for output in outputs(rules_text(), text):
        assert [word for word in words(output) if word in kept] == kept
    for word in words(gone):  # one draw may give the original
        assert any(word not in words(output) for output in outputs(rules_text(), text))


def test_a_name_that_is_also_a_word_of_a_class_that_passes_is_replaced():
    rewriter = OnlyRewriter(rules_text(), ["names"])
    text = "April Johnson met Maria Campbell in London. In April Johnson left."
    for at in range(5):
        output = rewriter.rewrite([text], bytes([at]) * 32).lines[0]
        pattern = (
            r"(?!April)\w+ [\w'-]+ met [\w'-]+ (?!Campbell)[\w'-]+ in London\. "
            r"In April [\w'-]+ left\."
        )
        assert re.fullmatch(pattern, output), output


def test_a_rule_that_contributing_shows_can_be_added():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    row = re.search(r"^rule\t.*\n", page, re.M)[0]
    text, gone = re.search(r'^\("(.*?)", "(.*?)"\),', page, re.M).groups()
    assert all(gone not in output for output in outputs(rules_text() + row, text))
