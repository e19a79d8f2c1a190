"""Opening an embedding file through the cache: guesses are confirmed, memory is given back."""

import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from dpsan import library
from dpsan.cache import Store
from dpsan.sanitizer import Sanitizer


def _write(path: Path, vectors: np.ndarray) -> None:
    rows = (f"w{i} " + " ".join(f"{x:.3f}" for x in row) for i, row in enumerate(vectors))
    path.write_text("\n".join(rows) + "\n")


def test_a_wrong_guess_is_discarded(tmp_path):
    """Same name, size and time, other bytes: the guess is made, and its vectors are not used."""
    path, store = tmp_path / "v.txt", Store(tmp_path / "cache")
    _write(path, np.full((5, 3), 1.25, np.float32) + np.arange(5, dtype=np.float32)[:, None])
    first, _ = library.open_space(path, None, store)
    status = path.stat()
    path.write_text(path.read_text().replace("1.250", "1.375"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert library._guessed(path, None, store) == first.digest
    second, space = library.open_space(path, None, store)
    assert second.digest != first.digest
    assert second.vectors[0].tolist() == [1.375] * 3
    assert space.centroid.tolist() == second.vectors.mean(axis=0, dtype=np.float64).tolist()


def test_what_is_stored_is_what_is_computed(tmp_path, monkeypatch):
    """Centroid and largest norm come back bit for bit, and are not computed again."""
    path, store = tmp_path / "v.txt", Store(tmp_path / "cache")
    _write(path, np.random.default_rng(5).normal(size=(300, 7)).astype(np.float32))
    library.open_space(path, None, store)
    for module in ("space", "index"):
        name = {"space": "centroid_of", "index": "largest_norm"}[module]
        monkeypatch.setattr(f"dpsan.{module}.{name}", lambda _: pytest.fail("computed again"))
    embeddings, space = library.open_space(path, None, store)
    monkeypatch.undo()
    from dpsan.index import FlatIndex

    assert space.centroid.tobytes() == embeddings.vectors.mean(axis=0, dtype=np.float64).tobytes()
    assert space.index._largest_norm == FlatIndex(embeddings.vectors)._largest_norm


def test_a_missing_file_is_told_as_before(tmp_path):
    """What the hashing thread raises reaches the caller."""
    from dpsan.errors import EmbeddingError

    with pytest.raises(EmbeddingError):
        library.open_space(tmp_path / "absent.txt", None, Store(tmp_path / "cache"))


def test_a_sanitizer_leaves_memory_at_once(tmp_path, embeddings):
    """Without the garbage collector: no reference cycle holds vectors or vocabulary."""
    gc.disable()
    try:
        sanitizer = Sanitizer(epsilon=8, mechanism="laplace", embeddings=embeddings, cache=tmp_path)
        sanitizer.rewrite(["a word, don't"])
        held = [weakref.ref(sanitizer._lookup), weakref.ref(sanitizer.space.index)]
        del sanitizer
        assert [each() for each in held] == [None, None]
    finally:
        gc.enable()
