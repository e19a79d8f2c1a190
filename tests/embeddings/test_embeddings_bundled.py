"""The default vocabulary and its lists, and vocabularies of other languages."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, marked, needs_gensim, tables

from dpsan.embeddings import file_digest
from dpsan.embeddings import loading as bundled
from dpsan.embeddings.loading import load, load_bundled
from dpsan.embeddings.word_lists import PublicWords, public_words
from dpsan.errors import EmbeddingError, InputError, UsageError
from dpsan.text.tokens import TOKENIZERS

N, D = 9000, 4


@pytest.fixture(autouse=True)
def unshared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests read it once for each folder (``support``); here the folder changes."""
    monkeypatch.setattr(bundled, "load_bundled", vars(bundled.load_bundled)["__wrapped__"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table = np.random.default_rng(2).normal(size=(N, D)).astype("<f2")
    table[table == 0] = 1
    np.save(tmp_path / "vectors.npy", table)
    rows = "".join(f"w{i}\t{N * 10 - i}\n" for i in range(N))
    (tmp_path / "words.tsv").write_text(rows)
    _sign(tmp_path)
    return tmp_path


def _sign(place: Path, **other: object) -> None:
    hashes = {
        name: hashlib.sha256((place / name).read_bytes()).hexdigest()
        for name in ("words.tsv", "vectors.npy", "classes.tsv")
        if (place / name).exists()
    }
    manifest = {"format": 1, "name": "en", "words": N, "dimensions": D, "sha256": hashes}
    (place / "manifest.json").write_text(json.dumps(manifest | other))


def test_load(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "directory", lambda: place)
    embeddings = bundled.load_bundled()
    table = np.load(place / "vectors.npy")
    assert embeddings.source == "bundled:en"
    assert embeddings.index_to_key[:2] == ["w0", "w1"]
    assert embeddings.n == N
    assert embeddings.vectors.dtype == np.float32
    np.testing.assert_array_equal(embeddings.vectors, table.astype(np.float32))
    assert embeddings.counts[:2].tolist() == [N * 10, N * 10 - 1]
    assert embeddings.counts.dtype == np.int64
    assert embeddings.digest == file_digest(None)
    fewer = bundled.load_bundled(vocab_size=5000)
    assert fewer.n == 5000
    assert len(fewer.counts) == 5000
    assert fewer.digest == file_digest(None, vocab_size=5000) != embeddings.digest


def _spell(place: Path, *usual: str) -> None:
    """A third column, whose first values are these."""
    rows = (place / "words.tsv").read_text().splitlines()
    third = [*usual, *[""] * (N - len(usual))]
    text = "".join(f"{row}\t{spelling}\n" for row, spelling in zip(rows, third, strict=True))
    (place / "words.tsv").write_text(text)
    _sign(place)


def test_spellings(place: Path) -> None:
    assert bundled.load_bundled(folder=place).spellings == [f"w{i}" for i in range(N)]
    _spell(place, "", "W1")
    embeddings = bundled.load_bundled(folder=place, vocab_size=3)
    assert embeddings.index_to_key == ["w0", "w1", "w2"]
    assert embeddings.spellings == ["w0", "W1", "w2"]


def test_a_spelling_is_of_its_word() -> None:
    """Another word's would be looked up as that word."""
    words = bundled.load_bundled()
    assert [each.lower() for each in words.spellings or ()] == words.index_to_key
    assert len(words.key_to_index) == words.n
    assert np.isfinite(words.vectors).all()
    assert words.vectors.any(axis=1).all()


def test_classes(place: Path) -> None:
    """They are part of the digest: the near sets that are drawn from depend on them."""
    plain = bundled.load_bundled(folder=place)
    assert plain.classes is None
    (place / "classes.tsv").write_text("w1\tharm\nw2\treligion\nw8999\tname\n")
    _sign(place)
    embeddings = bundled.load_bundled(folder=place)
    assert np.flatnonzero(embeddings.classes).tolist() == [1, 2, 8999]
    assert embeddings.digest == bundled.bundled_digest(folder=place) != plain.digest
    few = bundled.load_bundled(folder=place, vocab_size=3)
    assert few.classes.tolist() == embeddings.classes[:3].tolist()


@pytest.mark.parametrize("name", ["words.tsv", "vectors.npy", "classes.tsv"])
def test_every_flipped_byte_is_seen(place: Path, name: str) -> None:
    (place / "classes.tsv").write_text("w1\tharm\nw2\treligion\n")
    _sign(place)
    data = bytearray((place / name).read_bytes())
    for at in (0, len(data) // 2, len(data) - 1):
        data[at] ^= 1
        (place / name).write_bytes(data)
        with pytest.raises(EmbeddingError) as caught:
            bundled.load_bundled(folder=place)
        assert str(caught.value) == f"bundled:en: {name} is damaged (reinstall dpsan)"
        data[at] ^= 1
    (place / name).unlink()
    with pytest.raises(EmbeddingError, match="is damaged"):
        bundled.load_bundled(folder=place)


@pytest.mark.parametrize("change", [{"format": 2}, {"sha256": {}}, {"sha256": None}])
def test_manifest(place: Path, change: dict[str, object]) -> None:
    _sign(place, **change)
    with pytest.raises(EmbeddingError, match=r"^bundled:en: manifest\.json is damaged"):
        bundled.load_bundled(folder=place)


def test_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bundled, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    with pytest.raises(EmbeddingError, match=r"vocabulary is missing \(give embeddings=FILE\)"):
        bundled.load_bundled()


# The recipe of docs/languages.md for German, French and Spanish, on a page of an old book each.
#
# tests/languages has the beginnings of *Die Verwandlung*, *Madame Bovary* and *Don Quijote*.


LETTERS = {"de": "Traum Zimmer", "fr": "Proviseur garçon", "es": "hidalgo Mancha"}


@needs_gensim
@pytest.mark.parametrize("language", marked("slow", LETTERS, "es", "fr"))
def test_a_vocabulary_is_trained_and_used(dpsan, tmp_path, language):
    page = (ROOT / "tests" / "languages" / f"{language}.txt").read_text(encoding="utf-8")
    common = sorted(public_words(f"function-{language}").words)
    mixed = np.random.default_rng(3).permutation(common * 3).tolist()
    (tmp_path / "public.txt").write_text(page * 20 + " ".join(mixed) + "\n", encoding="utf-8")
    (tmp_path / "letter.txt").write_text(page + "Maria Qzx\n", encoding="utf-8")
    trained = ("train", "-q", "--words", "600", "--least", "2", "--epochs", "1", "public.txt")
    done = dpsan(*trained, "-o", "own.npz", "--json", cwd=tmp_path, status=0)
    assert json.loads(done.stdout)["known"] > 0.5
    spelled = set(load(tmp_path / "own.npz").index_to_key)
    assert {each.lower() for each in LETTERS[language].split()} <= spelled
    run = ("rewrite", "-e", "8", "-E", "own.npz", "--public", f"function-{language}", "letter.txt")
    done = dpsan(*run, cwd=tmp_path, status=0)
    assert b"public words" in done.stderr
    out = done.stdout.decode()
    assert out.count("\n") == page.count("\n") + 1
    assert "Qzx" not in out
    if language == "de":  # nouns keep their capitals
        assert sum(word[:1].isupper() for word in TOKENIZERS["unicode"](out)[1::2]) > 8


def test_segmented_text_is_cut_where_it_was(dpsan, tmp_path):
    """Japanese, segmented by another tool: whose cuts depend on the text, as the run says."""
    words = [f"{one}{two}" for one in "私彼東京大阪行住" for two in "はにでてへを駅者村川海山人時"]
    vectors = np.random.default_rng(3).normal(size=(len(words), 4))
    np.savez(tmp_path / "own.npz", words=np.array(words), vectors=vectors)
    run = ("rewrite", "-v", "-e", "8", "-E", "own.npz", "--tokenizer", "whitespace")
    done = dpsan(*run, stdin="私は 東京 に 行き まし た 。\n".encode(), cwd=tmp_path)
    assert len(done.stdout.decode().split()) == 7
    assert done.stdout.decode().endswith(" 。\n")
    assert "word boundaries" in " ".join(done.stderr.decode().split())


# Lists of public words: what is in them, what must not be, and how they are looked up.


@pytest.mark.parametrize("name", ["function", "common"])
def test_no_word_of_the_lists_is_sensitive(name):
    words = public_words(name).words
    assert sorted(words & set(" ".join(tables("embeddings/cases")["sensitive"]).split())) == []
    assert sorted(word for word in words if re.search(r"\d", word)) == []
    kinds = {
        word
        for path in (ROOT / "vocab" / "kinds").glob("*.txt")
        for word in path.read_text(encoding="utf-8").split()
        if not path.read_text(encoding="utf-8").startswith("#")
    }
    assert len(kinds) > 1000
    # A surname, but as a word far too common to stand for a person.
    assert sorted(words & kinds) == ["little"]


def test_common_is_function_and_more():
    function, common = (public_words(name).words for name in ("function", "common"))
    assert {"the", "of", "we", "is", "not", "don't", "with"} <= function < common
    assert {"good", "time", "make", "people"} <= common - function
    assert 250 < len(function) < 400 < 1000 < len(common)


@pytest.mark.parametrize("name", ["function", "common"])
def test_lists_are_one_word_a_line_and_known(name):
    lines = (ROOT / "vocab" / "public" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert "Written by hand for this project (Apache-2.0" in "\n".join(lines[:3])
    words = [line for line in lines if not line.startswith("#")]
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"[a-z]+('[a-z]+)?", word) for word in words)
    known = load_bundled().key_to_index
    assert sum(word in known for word in words) > 0.95 * len(words)


_OTHERS = {
    "de": "der und nicht wir im zwischen würde|er sie sein ihr frau mann krebs krank ja geld jahr",
    "fr": "le et ne nous dans entre serait|il elle été femme homme mari malade argent oui an",
    "es": "el y no nosotros entre sería del|él ella mujer hombre cáncer enfermo dinero año hoy",
}


@pytest.mark.parametrize("language", _OTHERS)
def test_lists_of_other_languages(language):
    """Words that tell the sex of a person are no public words, in any language."""
    words = public_words(f"function-{language}").words
    there, never = (set(each.split()) for each in _OTHERS[language].split("|"))
    assert len(there - words) <= 1
    assert not never & words
    assert 250 < len(words) < 400
    assert all(re.fullmatch(r"[^\W\d_]+", word) and word == word.lower() for word in words)
    assert PublicWords(f"function-{language}", words).rows({w: i for i, w in enumerate(words)})
    with pytest.raises(UsageError, match=f"of the language of function-{language}"):
        PublicWords(f"function-{language}", words).rows(load_bundled().key_to_index)


def test_lists_are_in_the_wheel():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"vocab/public" = "dpsan/_vocab/public"' in text


def test_look_up():
    """As words of a text are; what the vocabulary lacks is left out, and so protected."""
    rows = {"the": 3, "Will": 1, "will": 2, "don't": 0}
    found = PublicWords("list", frozenset(["THE", "Will", "don\u2019t", "nobody"]))
    assert found.rows(rows) == (0, 1, 3)
    with pytest.raises(UsageError, match="none of the public words"):
        PublicWords("list", frozenset(["nobody"])).rows(rows)
    assert "nobody" not in repr(found)
    same = PublicWords("other", frozenset(["nobody", "don\u2019t", "Will", "THE"]))
    assert same.sha256 == found.sha256 != PublicWords("list", frozenset(["the"])).sha256


def test_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# ours\nthe\n\n of \n")
    assert public_words(path) == PublicWords("list", frozenset(["the", "of"]))
    path.write_text("# none\n")
    with pytest.raises(InputError, match="lists no word"):
        public_words(str(path))
    with pytest.raises(InputError, match="no such file"):
        public_words(str(tmp_path / "none"))
