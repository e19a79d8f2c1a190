"""The default vocabulary: found, checked, widened."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from dpsan.embeddings import bundled, file_digest
from dpsan.errors import EmbeddingError

N, D = 9000, 4


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
