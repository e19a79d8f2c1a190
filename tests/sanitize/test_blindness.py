"""With --only an output depends on groups alone: words are exchanged, and no byte changes.

Each word of a group is replaced by another word of the same group in all places of a record, digits
by other digits, and articles are written anew.  Under one key the outputs must be equal byte for
byte.  Programs that read something of the word must be caught.
"""

import csv
import json
import re

import numpy as np
import pytest
from support import SHARED

from dpsan.sanitize import rewriting
from dpsan.sanitize.rewriting import Rewriter
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.letter_case import article_for
from dpsan.text.tokens import folded

KEY = b"k" * 32
RECORDS = [
    "Maria Gonzalez met John on 4 May at 10:45; a Boston clinic sent Maria a bill of $1,250.50.",
    "An Iranian and a Greek flew to Oslo. John\u2019s mother, an Ohio nurse, has asthma.",
    "Write to maria.g@example.com (Maria), or call 555-0199 on Monday: an 8 am call.",
    "In Paris a Dutch bank hired Peter, Anna and Peter's brother; the 2 of them left in March.",
    "SMITH AND JONES PAID AN 80 DOLLAR FEE; smith asked for 3 more. Is Chelsea a Chelsea fan?",
]


@pytest.fixture(scope="module")
def one():
    return Sanitizer(only="sensitive")


class Exchange:
    """Exchanges the drawn words of records within their groups."""

    def __init__(self, sanitizer, seed=7):
        self.sanitizer, self.random = sanitizer, np.random.default_rng(seed)
        keys, n = sanitizer.embeddings.index_to_key, sanitizer.space.n
        self.kinds = sanitizer.grouping.kinds(n)
        self.words = [
            [keys[row] for row in group.rows if keys[row].isalpha() and keys[row].isascii()]
            for group in sanitizer.grouping.rows
        ]

    def other(self, word, code, taken):
        """Another word of the group, or another number of the form; None if there is none."""
        if code == self.sanitizer.space.n + 1:
            digits = re.sub(r"\d", lambda _: str(self.random.integers(10)), word)
            same = self.sanitizer.input_of(digits) == code and folded(digits) not in taken
            return digits if same else None
        kind = self.kinds[code]
        if kind >= len(self.words) or not word.isalpha():
            return None
        choice = [w for w in self.random.choice(self.words[kind], 8) if w not in taken]
        if not choice:
            return None
        new = str(choice[0])
        return new.upper() if word.isupper() else new.title() if word[0].isupper() else new

    def record(self, text):
        """The record with its drawn words exchanged, and how many were."""
        found = self.sanitizer.inputs_of(text)
        taken = {folded(word) for word, _ in found}
        new = {}
        for word, code in found:
            small = folded(word)
            if code >= 0 and small not in new:
                other = self.other(word, code, taken)
                if other is not None:
                    new[small] = folded(other)
                    taken.add(folded(other))
        out, at, before = [], 0, None
        for word, code in found:
            start = text.index(word, at)
            gap, at = text[at:start], start + len(word)
            written = word
            if code >= 0 and folded(word) in new:
                written = new[folded(word)]
                if word.isupper() and len(word) > 1:
                    written = written.upper()
                elif word[0].isupper():
                    written = written.title() if written.isalpha() else written
                if before is not None and gap == " ":  # an article that fits the other word
                    article = article_for(written)
                    out[before] = article.title() if out[before][0].isupper() else article
            out += [gap, written]
            before = len(out) - 1 if word.lower() in ("a", "an") else None
        return "".join([*out, text[at:]]), len(new)


def differing(one, records, seed=7):
    """How many outputs of exchanged records differ, and how many words were exchanged."""
    exchange = Exchange(one, seed)
    pairs = [(text, *exchange.record(text)) for text in records]
    before = one.sanitize([text for text, _, _ in pairs], KEY)
    after = one.sanitize([text for _, text, _ in pairs], KEY)
    changed = sum(a != b for a, b in zip(before.lines, after.lines, strict=True))
    return changed, sum(count for *_, count in pairs)


def test_another_word_of_the_group_changes_no_byte(one):
    changed, exchanged = differing(one, RECORDS * 40)
    assert exchanged > 400
    assert changed == 0


def records():
    with (SHARED / "eval" / "ag_news" / "test.csv").open(encoding="utf-8", newline="") as file:
        news = [row[2] for row in csv.reader(file)][:4000]
    documents = json.loads((SHARED / "eval" / "pii" / "presidio_synth_dataset_v2.json").read_text())
    return [*news, *(document["full_text"] for document in documents)][:5000]


def test_another_word_of_the_group_changes_no_byte_of_5000_records(one, shared):
    changed, exchanged = differing(one, records())
    assert exchanged > 10_000
    assert changed == 0


def small(words, at):
    return folded(words[at])


def passing(words, codes):
    return [folded(word) for word, code in zip(words, codes, strict=True) if code < 0]


PLANTED = {
    "the length of the word": lambda words, codes, at: len(words[at]) > 6,
    "its first letter, through a or an": None,
    "whether a passing word has it": lambda words, codes, at: any(
        small(words, at) in word for word in passing(words, codes)
    ),
    "a piece of an e-mail address": lambda words, codes, at: any(
        "@" in word and small(words, at) in folded(word) for word in words
    ),
    "a possessive": lambda words, codes, at: small(words, at).endswith("s"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_program_that_reads_something_of_the_word_is_caught(one, fault, monkeypatch):
    true, reads = Rewriter._drawn, PLANTED[fault]

    def broken(self, batch, *given, **more):
        drawn, words = true(self, batch, *given, **more), list(batch.words)
        for at in np.flatnonzero(batch.codes >= 0).tolist():
            if reads(words, batch.codes, at):
                drawn.outputs[at] = "qqq"
        return drawn

    if reads is None:
        monkeypatch.setattr(rewriting, "agree_within", lambda *_: None)
    else:
        monkeypatch.setattr(Rewriter, "_drawn", broken)
    assert differing(one, RECORDS * 40)[0] > 0
