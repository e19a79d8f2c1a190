"""Opening an embedding file through the cache: read when needed, verified, given back."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from support import make_embeddings

from dpsan.embeddings import file_digest, load
from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.errors import EmbeddingError
from dpsan.mechanisms import MECHANISMS
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space import cached_index
from dpsan.space.exact_search import FlatIndex
from dpsan.space.metric_space import MetricSpace


def _write(path: Path, vectors: np.ndarray) -> None:
    rows = (f"w{i} " + " ".join(f"{x:.3f}" for x in row) for i, row in enumerate(vectors))
    path.write_text("\n".join(rows) + "\n")


def _fresh(tmp_path: Path, n: int = 300) -> tuple[Path, Store]:
    _write(tmp_path / "v.txt", np.random.default_rng(5).normal(size=(n, 7)))
    return tmp_path / "v.txt", Store(tmp_path / "cache")


@pytest.fixture
def opened(tmp_path):
    """A file of 300 words whose entry is in the cache."""
    path, store = _fresh(tmp_path)
    cached_index.open_space(path, None, store)
    return path, store


def test_a_changed_file_is_never_mistaken(tmp_path):
    """Same name, size and time, other bytes."""
    path, store = tmp_path / "v.txt", Store(tmp_path / "cache")
    _write(path, np.full((5, 3), 1.25, np.float32) + np.arange(5, dtype=np.float32)[:, None])
    first, _ = cached_index.open_space(path, None, store)
    status = path.stat()
    path.write_text(path.read_text().replace("1.250", "1.375"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    second, space = cached_index.open_space(path, None, store)
    assert second.digest != first.digest
    assert second.vectors[0].tolist() == [1.375] * 3
    assert space.centroid.tolist() == second.vectors.mean(axis=0, dtype=np.float64).tolist()


def test_a_file_that_changes_while_it_is_opened(tmp_path, monkeypatch):
    """What was loaded is not stored under the digest of what was hashed."""
    path, store = tmp_path / "v.txt", Store(tmp_path / "cache")
    path.write_text("a 1 2\nb 2 1\n")
    digest = file_digest(path)
    path.write_text("a 1 2\nb 2 3\n")
    monkeypatch.setattr(cached_index, "file_digest", lambda path, vocab_size: digest)
    with pytest.raises(EmbeddingError, match=r"v\.txt: changed while it was read"):
        cached_index.open_space(path, None, store)
    assert {path.suffix for path in store.root.rglob("index-*")} == {".lock"}


def test_vectors_are_read_when_they_are_used(opened, monkeypatch):
    """And then once."""
    read = reads(monkeypatch)
    embeddings, space = cached_index.open_space(opened[0], None, opened[1])
    assert (embeddings.n, embeddings.d, space.n, space.d) == (300, 7, 300, 7)
    assert embeddings.key_to_index == {f"w{i}": i for i in range(300)}
    assert read == ["index"]
    assert space.vectors is embeddings.vectors is space.index.vectors
    assert read == ["index", "vectors"]
    assert not space.vectors.flags.writeable
    again = pickle.loads(pickle.dumps(embeddings))
    assert (again.index_to_key, again.digest) == (embeddings.index_to_key, embeddings.digest)
    assert again.vectors.tobytes() == embeddings.vectors.tobytes()


def test_vectors_found_damaged_late_are_built_again(opened):
    """The words were good when the file was opened."""
    told = []
    store = Store(opened[1].root, told.append)
    embeddings, space = cached_index.open_space(opened[0], None, store)
    (file,) = opened[1].root.glob("v5/vectors-*[!k]")
    data = bytearray(file.read_bytes())
    data[-60] ^= 1
    file.write_bytes(data)
    assert space.vectors.tobytes() == load(opened[0]).vectors.tobytes()
    assert "damaged" in told[0]
    assert store.load("vectors", embeddings.digest) is not None


def reads(monkeypatch):
    """The kinds of what is read from the cache, as it is read."""
    kinds, look = [], Store._look

    def counted(self, kind, key):
        kinds.append(kind)
        return look(self, kind, key)

    monkeypatch.setattr(Store, "_look", counted)
    return kinds


def test_which_mechanisms_read_vectors(tmp_path, monkeypatch):
    """Tables that are in the cache do without."""
    without = ["optimal-response", "knn-response", "krr", "uniform", "geodesic"]
    without += ["diffractor", "diffractor-paper", "tldp", "char-response"]
    path, store = _fresh(tmp_path, 60)
    read = reads(monkeypatch)
    for name, kind in MECHANISMS.items():
        needed = {each: a.example for each, a in kind.parameters().items() if a.required}
        epsilon = {"tgumbel-paper": 99.0, "gaussian-classical": 1.0}.get(name, 4.0)
        for _ in range(2):  # the first fills the cache
            read.clear()
            sanitizer = Sanitizer(
                name, epsilon=epsilon, embeddings=path, parameters=needed,
                allow_unproved=True, cache=store,
            )  # fmt: skip
            sanitizer.rewrite(["w1 w2 w20 unknown"] * 4)
        assert ("vectors" in read) == (name not in without), name


def test_what_is_stored_is_what_is_computed(opened, monkeypatch):
    """Centroid and largest norm come back bit for bit, and are not computed again."""
    path, store = opened
    with monkeypatch.context() as patch:
        for name in ("metric_space.centroid_of", "exact_search.largest_norm"):
            patch.setattr(f"dpsan.space.{name}", lambda _: pytest.fail("computed again"))
        embeddings, space = cached_index.open_space(path, None, store)
    assert space.centroid.tobytes() == embeddings.vectors.mean(axis=0, dtype=np.float64).tobytes()
    assert space.index._largest_norm == FlatIndex(embeddings.vectors)._largest_norm


def test_tables_of_embeddings_in_memory_are_of_their_vectors(tmp_path):
    """Whoever makes embeddings chooses their digest: no guarantee may depend on it."""
    made = make_embeddings()
    store = Store(tmp_path)
    for factor in (1.0, 10.0):
        vectors = made.vectors * np.float32(factor)
        embeddings = Embeddings(made.index_to_key, vectors, "mem", "mine", made.counts)
        space = cached_index.space_of(embeddings, store)
        kind = MECHANISMS["trlaplace"].build(2.0, {"delta": 1e-6})
        fresh = kind.noise_scale(MetricSpace(embeddings))
        assert kind.noise_scale(space) == fresh
        assert space.diameter == MetricSpace(embeddings).diameter
