"""Fluent output: a function of drawn words, gaps and public tables, and of nothing else."""

import ast
import itertools
import json
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from support import cut_long, make_embeddings, some_mutants

from dpsan import load_embeddings
from dpsan.analysis.evaluate.pairs import Inputs, read_pairs
from dpsan.analysis.evaluate.setting import read_setting
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.verify.fluent import fluent_check
from dpsan.errors import DpsanError, InputError
from dpsan.mechanisms.optimal.sampler import BaseResponseSampler
from dpsan.outcomes.language import decoding
from dpsan.outcomes.language.kneser_ney import Counts, estimated
from dpsan.outcomes.language.ngrams import ModelError
from dpsan.privacy.randomness import derive_key
from dpsan.run.memo import _settings
from dpsan.sanitize.fluent import Fluent
from dpsan.sanitize.sanitizer import Sanitizer

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
    return sanitizer._rewriter._built.decoding.tables


def test_words_that_a_reader_takes_for_several_are_read_so(fluent, monkeypatch):
    """The output it's is written before a gap, and decoded as it and 's."""
    rows = fluent.embeddings.key_to_index
    words = "it's a well-known an dog that's all"
    drawn = np.array([rows[word] for word in words.split()])
    monkeypatch.setattr(BaseResponseSampler, "sample", lambda self, ids, _: drawn[: len(ids)])
    text = "one two three, four five six seven."
    with monkeypatch.context() as patch:
        patch.setattr(Sanitizer, "smooth", None)
        written = Sanitizer(epsilon=8.0).rewrite(text)
    assert "it's" in written.lower()
    assert fluent.smooth([written])[0] == [fluent.rewrite(text)]


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
    smooth = fluent.smooth
    words = [fluent.embeddings.index_to_key[row] for row in drawn]
    texts = [" ".join(words[at : at + 7]) for at in range(0, 490, 7)]
    whole = smooth(texts)[0]
    assert whole == [smooth([text])[0][0] for text in texts]
    monkeypatch.setattr(decoding, "_WORDS", 5)
    assert smooth(texts)[0] == whole


def test_equal_draws_are_written_alike_with_consistent():
    sanitizer = Sanitizer(epsilon=8.0, fluent=True, consistent="record")
    text = " ".join([TEXTS[0], TEXTS[1]] * 6)
    done = sanitizer.sanitize([text, text.upper()], KEY, audit=True).records
    written = {}
    for record in done:
        key = record.record, record.original.lower()
        word = record.output.lower()
        assert written.setdefault(key, word) == word or word in ("a", "an")


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 6.0}, "7 or more"),
        ({"mechanism": "laplace", "allow_unproved": True}, "not for laplace"),
        ({"only": "names"}, "drawn alone"),
        ({"case": "input"}, "capitals"),
        ({"consistent": "run"}, "within a record"),
        ({"vocab_size": 5000}, "language model of this vocabulary"),
        ({"embeddings": make_embeddings()}, "language model of this vocabulary"),
        ({"language_model": __file__}, "no language model"),
        ({"language_model": "absent.npz"}, "absent.npz"),
        ({"fluent": False, "language_model": __file__}, "for fluent output"),
        ({"fluent": False}, "fluent"),
    ],
)
def test_what_cannot_be_decoded_is_refused(options, message):
    with pytest.raises(DpsanError, match=message):
        Sanitizer(**{"epsilon": 8.0, "fluent": True, **options}).smooth(["text"])


def test_a_model_of_other_words_is_refused(fluent, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(_tables(fluent).model.to_bytes("another"))
    with pytest.raises(ModelError, match="another vocabulary"):
        Sanitizer(epsilon=8.0, fluent=True, language_model=path)
    path.write_bytes(_tables(fluent).model.to_bytes(fluent.embeddings.digest))
    again = Sanitizer(epsilon=8.0, fluent=True, language_model=path)
    assert again.sanitize(TEXTS, KEY).lines == fluent.sanitize(TEXTS, KEY).lines
    assert _settings(again) != _settings(Sanitizer(epsilon=8.0))
    same = again.language_model == fluent.language_model
    assert (_settings(again) == _settings(fluent)) == same


def test_commands(tmp_path, dpsan, fluent):
    """The statement, the audit, the filter, and attackers, who read the drawn words."""
    text, audit, out, safe = (tmp_path / name for name in ("t.txt", "a.jsonl", "f.txt", "s.txt"))
    text.write_text("\n".join(TEXTS) + "\n")

    def run(*arguments, status=0, stdin=""):
        done = dpsan(*map(str, arguments), stdin=stdin.encode(), cwd=tmp_path)
        assert done.returncode == status, done.stderr
        return done.stdout.decode(), done.stderr.decode()

    options = ("rewrite", "-e", 8, "--seed", 1, text)
    written, told = run(*options, "--fluent", "-a", audit)
    assert "made fluent by a public language model at an unchanged guarantee" in told
    rows = [json.loads(line) for line in audit.read_text().splitlines()]
    words = [row for row in rows if row["type"] == "word"]
    assert len(rows[0]["fluent"]) == 64
    safe.write_text("".join(run(*options, "-q")[0].splitlines(keepends=True)[:2]))
    lines = "".join(written.splitlines(keepends=True)[:2])
    assert run("smooth", "-e", 8, safe)[0] == lines
    run("smooth", "-e", 8, safe, "-o", out)
    assert out.read_text() == lines
    assert "exists" in run("smooth", "-e", 8, safe, "-o", out, status=1)[1]
    foreign = run("smooth", "-e", 8, stdin="zqxv qqzz hospitals xkcd\n")[1]
    assert "no outputs of this mechanism" in foreign
    assert "zqxv" not in foreign
    assert run("smooth", "-e", 8)[0] == ""
    assert "7 or more" in run("smooth", "-e", 5, stdin="a\n", status=2)[1]
    run("report", audit)
    several = run("evaluate", "--audit", audit, "--no-scores", safe, safe, safe, status=2)[1]
    assert "without --copies and further files" in several

    out.write_text(written)
    rows = fluent.embeddings.key_to_index
    vocabulary = Vocabulary(fluent.embeddings, "unicode")
    pairs = read_pairs(text, [out], Inputs(), vocabulary, audit=audit)
    (attacked,) = pairs.noisings
    assert attacked.tolist() == [rows[row["drawn"].lower()] for row in words]
    assert pairs.outputs.tolist() == [rows[row["out"].lower()] for row in words]
    assert attacked.tolist() != pairs.outputs.tolist()
    assert read_setting(audit).fluent
    text.write_text("one two three\n" * 5)
    with pytest.raises(InputError, match="the audit is of another text"):
        read_pairs(text, [text], Inputs(), vocabulary, audit=audit)


CONFIGURATIONS = {
    "plain": {"epsilon": 8.0},
    "classes": {"epsilon": 12.0, "classes": "sensitive"},
    "consistent": {"epsilon": 8.0, "consistent": "record"},
    "public": {"epsilon": 10.0, "public": "function"},
    "another mechanism": {"epsilon": 8.0, "mechanism": "knn-response", "case": "vocabulary"},
}


def checked(name):
    options = CONFIGURATIONS[name]
    one = Sanitizer(**options, fluent=True)
    return fluent_check(one, Sanitizer(**options), key=derive_key(b"k" * 32, "check"))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_verify_passes_what_is_sound(name):
    found = checked(name)
    assert found.held, found.sentence
    assert found.figures["changed"] > found.figures["lines"] / 10


def knows_the_input(self, one):
    found = OF_TEXTS(self, one)
    for at in np.flatnonzero(one.batch.codes < len(self._first)).tolist():
        word = self._spellings[one.batch.codes[at]]
        if found.outputs[at].lower() != word.lower():  # else it is written in any case
            found.outputs[at] = word
            break
    return found


def knows_the_length(self, one):
    tau = 0.2 if sum(map(len, one.batch.words)) % 2 else 1.0
    with mock.patch.object(self, "tables", replace(self.tables, tau=tau)):
        return OF_TEXTS(self, one)


def knows_what_is_unknown(self, one):
    found = OF_TEXTS(self, one)
    for at in np.flatnonzero(one.batch.codes == len(self._first)).tolist():
        found.outputs[at] = one.outputs[at]
    return found


OF_TEXTS = Fluent.of_texts
MUTANTS = knows_the_input, knows_the_length, knows_what_is_unknown
MUTANTS = {each.__name__: each for each in MUTANTS}


@pytest.mark.parametrize("mutant", some_mutants(MUTANTS, "knows_the_input", "knows_the_length"))
def test_verify_refutes_a_decoder_that_knows_more(monkeypatch, mutant):
    again, smoothing = Fluent.read_again, []

    def read_again(self, batch):
        smoothing.append(1)
        return again(self, batch)

    def unless_smoothing(self, one):  # the filter has nothing that it could know
        return OF_TEXTS(self, one) if smoothing else MUTANTS[mutant](self, one)

    monkeypatch.setattr(Fluent, "read_again", read_again)
    monkeypatch.setattr(Fluent, "of_texts", unless_smoothing)
    assert checked("plain").held is False


def test_verify_refutes_class_words_that_were_not_drawn(monkeypatch):
    tables_for = decoding.tables_for

    def careless(*arguments):
        found = tables_for(*arguments)
        return replace(found, stays=np.zeros_like(found.stays))

    monkeypatch.setattr(decoding, "tables_for", careless)
    found = checked("classes")
    assert found.held is False
    assert "not drawn" in found.sentence


def test_the_command_verifies_it(tmp_path, dpsan):
    """On a small vocabulary with a model of its own."""
    words = [f"{first}{second}" for first in "bdfg" for second in "aeiouklmnr"]
    vectors = np.random.default_rng(8).normal(size=(40, 4)).round(3)
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, vectors, strict=True))
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n")
    counts = Counts(40)
    counts.add(np.array([41, *range(40), 41]))
    digest = load_embeddings(tmp_path / "words.txt").digest
    (tmp_path / "model.npz").write_bytes(estimated(counts).to_bytes(digest))
    given = ("-e", "8", "-E", "words.txt", "-q", "--draws", "10000", "--words", "4", "--fluent")
    done = dpsan("verify", *given, "--language-model", "model.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b"fluent: the draws are those without decoding" in b" ".join(done.stdout.split())


def test_the_decoder_sees_no_input():
    """Its files import nothing that finds words, and decode() has no argument for an input."""
    root = Path(decoding.__file__).parents[2]
    files = [root / "sanitize" / "fluent.py", *(root / "outcomes" / "language").glob("*.py")]
    for path in files:
        if path.name == "kneser_ney.py":  # it reads public text
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names += [each.name for each in node.names]
                assert not [each for each in names if each and "lookup" in each.lower()], path
    code = decoding.decode.__code__
    assert code.co_varnames[: code.co_argcount] == ("rows", "kinds", "tables", "same")
