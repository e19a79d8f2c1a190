"""Fluent output: a function of drawn words, gaps and public tables, and of nothing else."""

import ast
import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import make_embeddings

from dpsan import load_embeddings
from dpsan.analysis.evaluate.pairs import Inputs, read_pairs
from dpsan.analysis.evaluate.setting import read_setting
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.verify.fluent import fluent_check
from dpsan.embeddings.class_lists import CLASSES, bundled_class
from dpsan.errors import DpsanError, InputError, UsageError
from dpsan.mechanisms.optimal.sampler import BaseResponseSampler
from dpsan.outcomes.language import decoding
from dpsan.outcomes.language.decoding import Tables
from dpsan.outcomes.language.kneser_ney import Counts, estimated
from dpsan.outcomes.language.ngrams import ModelError
from dpsan.privacy.randomness import derive_key
from dpsan.run.memo import _settings
from dpsan.sanitize import rewriting
from dpsan.sanitize.fluent import Fluent
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text import tokens

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


def test_words_are_decoded_and_draws_stay(fluent, plain):
    """Draws, costs and layout are those without decoding; some words differ."""
    one = fluent.sanitize(TEXTS, KEY, audit=True)
    two = plain.sanitize(TEXTS, KEY, audit=True)
    assert one.drawn == two.drawn
    assert one.counts == two.counts
    assert (one.records.output_ids == two.records.output_ids).all()
    words = fluent.embeddings.spellings
    assert one.records.drawn == [words[row] for row in two.records.output_ids.tolist()]
    assert two.records.drawn is None
    assert one.lines != two.lines
    for line, other in zip(one.lines, two.lines, strict=True):
        assert line.count(",") == other.count(",")


def test_other_originals_with_the_same_draws_give_the_same_bytes(fluent, monkeypatch):
    """No word of the input but through its draw: words of the list, others and numbers alike."""
    drawn = np.random.default_rng(1).choice(np.flatnonzero(_tables(fluent).number >= 0), 500)
    monkeypatch.setattr(BaseResponseSampler, "sample", lambda self, ids, _: drawn[: len(ids)])
    own = "The cat sat, on a mat. Nobody saw it (but me)"
    other = "Zqxv 5,000 hospital, xkcdq my Boston. Paris q7z7q depression (an ff)"
    assert fluent.rewrite(own) == fluent.rewrite(other)


def _tables(sanitizer) -> Tables:
    return sanitizer._rewriter._built.decoding.tables


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 12.0, "classes": "sensitive=2"},
        {"epsilon": 10.0, "public": "function"},
        {"case": "vocabulary"},
        {"mechanism": "knn-response"},
    ],
)
def test_the_filter_gives_the_same_bytes(options):
    options = {"epsilon": 8.0, **options}
    drawn = Sanitizer(**options).sanitize(TEXTS[:2] + TEXTS[3:], KEY).lines
    sanitizer = Sanitizer(**options, fluent=True)
    assert sanitizer.smooth(drawn)[0] == sanitizer.sanitize(TEXTS[:2] + TEXTS[3:], KEY).lines


def test_words_that_a_reader_takes_for_several_are_read_so(fluent, monkeypatch):
    """The output it's is written before a gap, and decoded as it and 's."""
    rows = fluent.embeddings.key_to_index
    drawn = np.array(
        [rows[word] for word in ["it's", "a", "well-known", "an", "dog", "that's", "all"]]
    )
    monkeypatch.setattr(BaseResponseSampler, "sample", lambda self, ids, _: drawn[: len(ids)])
    text = "one two three, four five six seven."
    with monkeypatch.context() as patch:
        patch.setattr(Sanitizer, "smooth", None)
        written = Sanitizer(epsilon=8.0).rewrite(text)
    assert "it's" in written.lower()
    assert fluent.smooth([written])[0] == [fluent.rewrite(text)]


def test_segments_of_a_long_text_change_nothing(fluent, monkeypatch):
    """A record is decoded alike, whole or in pieces, with and without marks that end sentences."""
    marks = np.random.default_rng(2)
    words = " ".join(
        "phone company it water Monday" + marks.choice(["", "", ",", ".", "!", "\n"])
        for _ in range(700)
    )
    for text in (words, words.replace(".", "").replace("!", "").replace("\n", ";")):
        whole = fluent.sanitize([text], KEY).lines
        with monkeypatch.context() as patch:
            patch.setattr(rewriting, "LONG", 3000)
            patch.setattr(tokens, "SEGMENT", 1500)
            patch.setattr(tokens, "AHEAD", 100)
            assert fluent.sanitize([text], KEY).lines == whole


def test_texts_of_a_batch_are_decoded_apart(fluent, monkeypatch):
    """What a text becomes does not depend on its neighbours."""
    drawn = np.random.default_rng(3).choice(np.flatnonzero(_tables(fluent).number >= 0), 500)
    smooth = fluent.smooth
    words = [fluent.embeddings.index_to_key[row] for row in drawn]
    texts = [" ".join(words[at : at + 7]) for at in range(0, 490, 7)]
    whole = smooth(texts)[0]
    assert whole == [smooth([text])[0][0] for text in texts]
    monkeypatch.setattr(decoding, "_WORDS", 5)
    assert smooth(texts)[0] == whole


def test_sensitive_words_are_written_only_where_they_were_drawn():
    sanitizer = Sanitizer(epsilon=12.0, classes="sensitive=2", fluent=True)
    rows = sanitizer.embeddings.key_to_index
    sensitive = {
        rows[word]
        for name in CLASSES
        for group in bundled_class(name).groups
        for word in group
        if word in rows
    }
    text = " ".join(["The man from Germany met Peter at the bank in London on Tuesday."] * 40)
    done = sanitizer.sanitize([text], KEY, audit=True).records
    written = [rows.get(word.lower()) for word in done.outputs]
    changed = 0
    for row, drawn in zip(written, done.output_ids.tolist(), strict=True):
        changed += row != drawn
        if row in sensitive or drawn in sensitive:
            assert row == drawn
    assert changed


def test_up_to_nine_only_outputs_are_written(fluent):
    tables = _tables(fluent)
    text = " ".join([TEXTS[1]] * 30)
    done = fluent.sanitize([text], KEY, audit=True).records
    assert (tables.number[done.usual[done.usual >= 0]] >= 0).all()


def test_equal_draws_are_written_alike_with_consistent():
    sanitizer = Sanitizer(epsilon=8.0, fluent=True, consistent="record")
    text = " ".join([TEXTS[0], TEXTS[1]] * 6)
    done = sanitizer.sanitize([text, text.upper()], KEY, audit=True).records
    written = {}
    for record in done:
        key = record.record, record.original.lower()
        word = record.output.lower()
        assert written.setdefault(key, word) == word or word in ("a", "an")


def test_a_word_stands_twice_only_without_an_alternative(fluent):
    text = " ".join(TEXTS[:2] * 40)
    words = fluent.sanitize([text], KEY).lines[0].lower().split()
    drawn = Sanitizer(epsilon=8.0).sanitize([text], KEY).lines[0].lower().split()

    def doubled(line):
        return sum(a == b for a, b in itertools.pairwise(line))

    assert doubled(words) <= doubled(drawn)


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
    ],
)
def test_what_cannot_be_decoded_is_refused(options, message):
    with pytest.raises(DpsanError, match=message):
        Sanitizer(**{"epsilon": 8.0, "fluent": True, **options})


def test_a_model_of_other_words_is_refused(fluent, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(_tables(fluent).model.to_bytes("another"))
    with pytest.raises(ModelError, match="another vocabulary"):
        Sanitizer(epsilon=8.0, fluent=True, language_model=path)
    path.write_bytes(_tables(fluent).model.to_bytes(fluent.embeddings.digest))
    again = Sanitizer(epsilon=8.0, fluent=True, language_model=path)
    assert again.sanitize(TEXTS, KEY).lines == fluent.sanitize(TEXTS, KEY).lines
    assert _settings(again) != _settings(Sanitizer(epsilon=8.0))
    assert (_settings(again) == _settings(fluent)) == (
        again.language_model == fluent.language_model
    )


def test_smooth_needs_a_fluent_sanitizer(plain):
    with pytest.raises(UsageError, match="fluent"):
        plain.smooth(["text"])


def test_the_decoder_sees_no_input():
    """Its files import nothing that finds words, and decode() has no argument for an input."""
    root = Path(decoding.__file__).parents[2]
    files = [root / "sanitize" / "fluent.py", *(root / "outcomes" / "language").glob("*.py")]
    for path in files:
        if path.name in ("kneser_ney.py", "text_model.py"):  # they read public text
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names += [each.name for each in node.names]
                assert not [each for each in names if each and "lookup" in each.lower()], path
    assert decoding.decode.__code__.co_varnames[: decoding.decode.__code__.co_argcount] == (
        *("rows", "kinds", "tables", "same"),
    )


def run(*arguments, text=""):
    return subprocess.run(
        [sys.executable, "-m", "dpsan", *arguments], input=text, capture_output=True, text=True
    )


def test_commands(tmp_path):
    """The statement, the audit and the filter, as a user has them."""
    audit = tmp_path / "audit.jsonl"
    text = "\n".join(TEXTS)
    options = ("-e", "8", "--seed", "1")
    done = run("rewrite", *options, "--fluent", "-a", str(audit), text=text)
    assert done.returncode == 0, done.stderr
    assert "made fluent by a public language model at an unchanged guarantee" in done.stderr
    rows = [json.loads(line) for line in audit.read_text().splitlines()]
    words = [row for row in rows if row["type"] == "word"]
    assert len(rows[0]["fluent"]) == 64
    assert any(row["drawn"] != row["out"] for row in words)
    drawn = run("rewrite", *options, "-q", text=text).stdout
    safe = tmp_path / "safe.txt"
    safe.write_text("".join(drawn.splitlines(keepends=True)[:2]))
    lines = done.stdout.splitlines(keepends=True)[:2]
    assert run("smooth", "-e", "8", str(safe)).stdout == "".join(lines)
    out = tmp_path / "fluent.txt"
    assert run("smooth", "-e", "8", str(safe), "-o", str(out)).returncode == 0
    assert out.read_text() == "".join(lines)
    again = run("smooth", "-e", "8", str(safe), "-o", str(out))
    assert again.returncode == 1
    assert "exists" in again.stderr
    foreign = run("smooth", "-e", "8", text="zqxv qqzz hospitals xkcd\n")
    assert "no outputs of this mechanism" in foreign.stderr
    assert "zqxv" not in foreign.stderr
    assert run("smooth", "-e", "8").stdout == ""
    low = run("smooth", "-e", "5", text="a\n")
    assert low.returncode == 2
    assert "7 or more" in low.stderr
    assert run("report", str(audit)).returncode == 0
    several = run("evaluate", "--audit", str(audit), "--no-scores", *[str(safe)] * 3)
    assert several.returncode == 2
    assert "without --copies and further files" in several.stderr


def test_counts_of_passed_words(fluent):
    assert fluent.sanitize(["a b"], KEY).counts[Action.DRAWN] == 2
    assert replace(fluent.spec, fluent=False) == Sanitizer(epsilon=8.0).spec


def test_attackers_read_the_drawn_words_of_the_audit(tmp_path, fluent):
    """What was kept is judged by the written words."""
    text, audit, out = (tmp_path / name for name in ("text.txt", "audit.jsonl", "out.txt"))
    text.write_text("\n".join(TEXTS[:2] * 8) + "\n\n")
    given = ("-e", "8", "--seed", "2", "-q", "--fluent", str(text), "-a", str(audit))
    assert run("rewrite", *given, "-o", str(out)).returncode == 0
    rows = fluent.embeddings.key_to_index
    words = [json.loads(line) for line in audit.read_text().splitlines()]
    words = [row for row in words if row["type"] == "word"]
    vocabulary = Vocabulary(fluent.embeddings, "unicode")
    pairs = read_pairs(text, [out], Inputs(), vocabulary, audit=audit)
    (attacked,) = pairs.noisings
    assert attacked.tolist() == [rows[row["drawn"].lower()] for row in words]
    assert pairs.outputs.tolist() == [rows[row["out"].lower()] for row in words]
    assert attacked.tolist() != pairs.outputs.tolist()
    setting = read_setting(audit)
    assert setting.fluent
    text.write_text("one two three\n" * 17)
    with pytest.raises(InputError, match="the audit is of another text"):
        read_pairs(text, [text], Inputs(), vocabulary, audit=audit)


CONFIGURATIONS = {
    "plain": {"epsilon": 8.0},
    "classes": {"epsilon": 12.0, "classes": "sensitive=2"},
    "consistent": {"epsilon": 8.0, "consistent": "record"},
    "vocabulary": {"epsilon": 8.0, "case": "vocabulary"},
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
    """Writes the input word where the decoder considers it."""
    found = OF_TEXTS(self, one)
    at = int(np.flatnonzero(one.batch.codes < len(self._first))[0])
    found.outputs[at] = self._spellings[one.batch.codes[at]]
    return found


def knows_the_length(self, one):
    """Trusts the model less where the input is long."""
    tau = 0.2 if sum(map(len, one.batch.words)) % 2 else 1.0
    with_tau = replace(self.tables, tau=tau)
    before, self.tables = self.tables, with_tau
    try:
        return OF_TEXTS(self, one)
    finally:
        self.tables = before


def knows_what_is_unknown(self, one):
    """Leaves what was drawn for strings out of vocabulary."""
    found = OF_TEXTS(self, one)
    for at in np.flatnonzero(one.batch.codes == len(self._first)).tolist():
        found.outputs[at] = one.outputs[at]
    return found


OF_TEXTS = Fluent.of_texts


@pytest.mark.parametrize("mutant", [knows_the_input, knows_the_length, knows_what_is_unknown])
def test_verify_refutes_a_decoder_that_knows_more(monkeypatch, mutant):
    again = Fluent.read_again
    smoothing = []
    monkeypatch.setattr(
        Fluent, "read_again", lambda self, batch: smoothing.append(1) or again(self, batch)
    )

    def unless_smoothing(self, one):  # the filter has nothing that it could know
        return OF_TEXTS(self, one) if smoothing else mutant(self, one)

    monkeypatch.setattr(Fluent, "of_texts", unless_smoothing)
    assert checked("plain").held is False


def test_verify_refutes_class_words_that_were_not_drawn(monkeypatch):
    from dpsan.outcomes.language import decoding as module

    tables_for = module.tables_for

    def careless(*arguments):
        found = tables_for(*arguments)
        every = np.ones_like(found.writable)
        return replace(found, writable=every, stays=~every)

    monkeypatch.setattr(module, "tables_for", careless)
    found = checked("classes")
    assert found.held is False
    assert "not drawn" in found.sentence


def test_the_command_verifies_it(tmp_path):
    """On a small vocabulary with a model of its own."""
    words = [f"{first}{second}" for first in "bdfg" for second in "aeiouklmnr"]
    vectors = np.random.default_rng(8).normal(size=(40, 4)).round(3)
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, vectors, strict=True))
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n")
    counts = Counts(40)
    counts.add(np.array([41, *range(40), 41]))
    digest = load_embeddings(tmp_path / "words.txt").digest
    (tmp_path / "model.npz").write_bytes(estimated(counts).to_bytes(digest))
    given = ("-e", "8", "-E", str(tmp_path / "words.txt"), "-q", "-j", "1", "--draws", "10000")
    model = str(tmp_path / "model.npz")
    done = run("verify", *given, "--words", "4", "--fluent", "--language-model", model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fluent: the draws are those without decoding" in " ".join(done.stdout.split())
