"""Fluent output: a function of drawn words, gaps and public tables, and of nothing else."""

import itertools
import json
import re
from inspect import signature
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from support import cases, cut_long, make_embeddings

from dpsan.analysis.evaluate.vocabulary import read_run
from dpsan.errors import DpsanError
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes import decoding
from dpsan.privacy.randomness import derive_key
from dpsan.run.memo import _settings
from dpsan.sanitize.fluent import Fluent
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

KEY = derive_key(b"k" * 32, "test")
TEXTS = [
    "I'm having an issue with the new phone. It was working fine, but now it does not turn on!",
    "Stocks fell on Monday as oil prices rose (again); the company said it's cutting jobs.",
    'Zqxv met Maria in a well-known café - "really", she said... and left',
    "",
    "word",
]


@pytest.fixture(scope="module")
def fluent():
    return Sanitizer(epsilon=8.0, fluent=True)


@pytest.fixture(scope="module")
def plain():
    return Sanitizer(epsilon=8.0)


def _tables(sanitizer):
    return sanitizer._rewriter._built.decoding


def test_words_that_a_reader_takes_for_several_are_read_so(fluent, monkeypatch):
    """The output it's is written before a gap, and decoded as it and 's."""
    rows = fluent.embeddings.key_to_index
    words = "it's a well-known an dog that's all"
    drawn = np.array([rows[word] for word in words.split()])
    monkeypatch.setattr(SparseTable, "sample", lambda self, ids, _: drawn[: len(ids)])
    text = "one two three, four five six seven."
    written = Sanitizer(epsilon=8.0).rewrite(text)
    assert "it's" in written.lower()
    parts = fluent.rewrite(text).lower().replace(",", "").rstrip(".").split()
    assert len(parts) == len(words.split())


@pytest.mark.slow
def test_segments_of_a_long_text_change_nothing(fluent, monkeypatch):
    """A record is decoded alike, whole or in pieces, with and without marks that end sentences."""
    marks = np.random.default_rng(2).choice(["", "", ",", ".", "!", "\n"], 700)
    words = " ".join(f"phone company it water Monday{mark}" for mark in marks)
    for text in (words, words.replace(".", "").replace("!", "").replace("\n", ";")):
        whole = fluent.sanitize([text], KEY).lines
        with monkeypatch.context() as patch:
            cut_long(patch, 1500, 100, 3000)
            assert fluent.sanitize([text], KEY).lines == whole


def test_texts_of_a_batch_are_decoded_apart(fluent, monkeypatch):
    drawn = np.random.default_rng(3).choice(np.flatnonzero(_tables(fluent).number >= 0), 500)
    words = [fluent.embeddings.index_to_key[row] for row in drawn]
    texts = [" ".join(words[at : at + 7]) for at in range(0, 490, 7)]
    whole = fluent.sanitize(texts, KEY).lines
    numbers = range(len(texts))
    assert whole == [fluent.sanitize([texts[at]], KEY, [at]).lines[0] for at in numbers]
    monkeypatch.setattr(decoding, "_WORDS", 5)
    assert fluent.sanitize(texts, KEY).lines == whole


def test_a_word_stands_twice_only_without_an_alternative(fluent, plain):
    text = " ".join(TEXTS[:2] * 20)
    lines = fluent.sanitize([text], KEY).lines[0], plain.sanitize([text], KEY).lines[0]
    doubled = [sum(a == b for a, b in itertools.pairwise(line.lower().split())) for line in lines]
    assert doubled[0] <= doubled[1]


def test_kept_words_and_spans_stay(fluent):
    kept = Sanitizer(epsilon=8.0, fluent=True, keep=["phone"], unknown="mask")
    done = kept.sanitize([TEXTS[0] + " Zqxv"], KEY).lines[0]
    assert "phone" in done
    assert done.endswith("<unk>")
    (line,) = fluent.sanitize([TEXTS[0]], KEY, spans=[[(4, 10)]]).lines
    assert line[:4] == "I'm "
    assert line.endswith(TEXTS[0][10:])


@cases(
    "options message",
    ({"epsilon": 6.0}, "7 or more"),
    ({"mechanism": "laplace", "allow_unproved": True}, "not for laplace"),
    ({"only": "names"}, "only takes no fluent"),
    ({"consistent": "record"}, "not equal ones alike"),
    ({"vocab_size": 5000}, "needs the bundled vocabulary"),
    ({"embeddings": make_embeddings()}, "needs the bundled vocabulary"),
)
def test_what_cannot_be_decoded_is_refused(options, message):
    with pytest.raises(DpsanError, match=message):
        Sanitizer(**{"epsilon": 8.0, "fluent": True, **options})


def test_a_memo_knows_the_model(fluent, plain):
    assert fluent.language_model
    assert _settings(fluent) != _settings(plain)


@pytest.mark.slow
def test_commands(tmp_path, dpsan, fluent):
    """The statement, the audit with the drawn words, and no attackers on decoded ones."""
    text, audit, safe = (tmp_path / name for name in ("t.txt", "a.jsonl", "s.txt"))
    text.write_text("\n".join(TEXTS) + "\n")

    def run(*arguments, status=0, stdin=""):
        done = dpsan(*map(str, arguments), stdin=stdin.encode(), cwd=tmp_path, status=status)
        return done.stdout.decode(), done.stderr.decode()

    options = ("rewrite", "-e", 8, "--seed", 1, text)
    _, told = run(*options, "--fluent", "-a", audit)
    assert "made fluent by a public language model at an unchanged guarantee" in told
    rows = [json.loads(line) for line in audit.read_text().splitlines()]
    words = [row for row in rows if row["type"] == "word"]
    assert len(rows[0]["fluent"]) == 64
    safe.write_text("".join(run(*options, "-q")[0].splitlines(keepends=True)[:2]))
    assert len(refused := run("smooth", "-e", 8, safe, status=2)[1].splitlines()) == 1
    assert "dpsan rewrite --fluent" in refused[0]
    run("report", audit)
    fluent_run = run("evaluate", "--audit", audit, safe, safe, status=2)[1]
    assert "--audit of a run with --fluent: attackers read drawn words" in fluent_run
    drawn = [row["drawn"].lower() for row in words]
    assert {*drawn} <= fluent.embeddings.key_to_index.keys()
    assert drawn != [row["out"].lower() for row in words]
    assert read_run(audit).header["fluent"]


@pytest.mark.slow
def test_the_command_verifies_it(tmp_path, dpsan):
    given = ("-e", "8", "-q", "-j", "1", "--draws", "10000", "--words", "4", "--fluent")
    done = dpsan("verify", *given, cwd=tmp_path, status=0)
    assert b": KEPT" in done.stdout


def test_the_decoder_sees_no_input():
    """Its signatures have outputs, gaps and public tables, and its file finds no words."""
    public = {"tables", "embeddings", "split", "spellings"}
    assert signature(Fluent).parameters.keys() == public
    drawn = ["self", "rows", "strings", "kinds"]
    assert [*signature(Fluent.of_texts).parameters] == drawn
    assert get_type_hints(Fluent.of_texts)["return"] == tuple[Ids, list[str]]
    assert [*signature(decoding.decode).parameters] == ["rows", "kinds", "tables"]
    root = Path(decoding.__file__).parents[1]
    files = [root / "sanitize" / "fluent.py", *(root / "outcomes" / "language").glob("*.py")]
    for path in files:
        code = path.read_text()
        assert not re.search(r"import.*lookup|from dpsan.sanitize", code, re.IGNORECASE), path
