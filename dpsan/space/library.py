"""Embedding files made ready: loaded once, indexed, and kept in the cache.

Knows files, digests and the cache.  Must not know mechanisms.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings import file_digest, load
from dpsan.embeddings.base import Embeddings, StoredEmbeddings
from dpsan.embeddings.bundled import bundled_table
from dpsan.embeddings.cache.store import Entry, Store
from dpsan.embeddings.gensim_pickle import load_unsafe_pickle
from dpsan.errors import EmbeddingError
from dpsan.space.exact_search import FlatIndex, largest_norm
from dpsan.space.metric_space import MetricSpace, Tables, centroid_of

__all__ = ["Opening", "cached_tables", "describe", "open_space", "space_of", "store_embeddings"]

INDEX_KIND = "index"
TABLE_KIND = "table"
_SMALL: Final = ("centroid", "largest_norm", "counts")
"""What is read of an entry before it is known whether anything else is needed."""

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


def _entry(embeddings: Embeddings) -> Entry:
    vectors = np.ascontiguousarray(embeddings.vectors, dtype=np.float32)
    arrays: Arrays = {
        "vectors": vectors,
        # Sums over all vectors, to be spared at every start.
        "centroid": centroid_of(vectors),
        "largest_norm": np.array([largest_norm(vectors)]),
    }
    if embeddings.counts is not None:
        arrays["counts"] = embeddings.counts
    meta = {
        "source": Path(embeddings.source).name,
        "digest": embeddings.digest,
        "words": embeddings.n,
        "dimensions": embeddings.d,
        "dropped": dict(embeddings.dropped),
    }
    return Entry(arrays=arrays, meta=meta, strings={"words": embeddings.index_to_key})


class _Later(Generic[T]):
    """What a function returns, computed in a thread: reading and hashing let others run."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._found: list[T] = []
        self._error: BaseException | None = None
        # A daemon: a program that ends does not wait for it.
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._found.append(self._function())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error

    def result(self) -> T:
        """What the function returned or raised."""
        self._thread.join()
        error, self._error = self._error, None  # kept, it would hold its callers' texts
        if error is not None:
            raise error.with_traceback(None)
        if not self._found:  # asked again, or in a process forked from that of the thread
            self._found.append(self._function())
        return self._found[0]


def cached_tables(store: Store, digest: str) -> Tables:
    """Where the tables of one embedding file are kept."""
    return partial(_table, store, digest)


def _table(store: Store, digest: str, name: str, build: Callable[[], Arrays]) -> Arrays:
    def make() -> Entry:
        return Entry(arrays=build(), meta={"digest": digest, "table": name})

    return store.get(TABLE_KIND, f"{digest}/{name}", make).arrays


def _bundled_first(tables: Tables, name: str, build: Callable[[], Arrays]) -> Arrays:
    """A table that comes with the default vocabulary, else as from ``tables``."""
    found = bundled_table(name)
    return tables(name, build) if found is None else found


def space_of(embeddings: Embeddings, store: Store) -> MetricSpace:
    """The metric space of embeddings in memory; its tables are cached by what they are made of.

    Not by the digest: whoever made the embeddings chose it, and guarantees depend on tables.
    """
    content = hashlib.sha256(f"{embeddings.digest} {embeddings.vectors.shape}".encode())
    content.update(np.ascontiguousarray(embeddings.vectors, dtype="<f4").data)
    if embeddings.counts is not None:
        content.update(np.ascontiguousarray(embeddings.counts, dtype="<i8").data)
    return MetricSpace(embeddings, cached_tables(store, f"memory-{content.hexdigest()}"))


def store_embeddings(embeddings: Embeddings, store: Store) -> None:
    """Put embeddings into the cache under the digest that :func:`open_space` will look for.

    The file alone cannot give them again, so they are read whole when they are opened.
    """
    entry = _entry(embeddings)
    entry.meta["source_suffices"] = False
    store.save(INDEX_KIND, embeddings.digest, entry)


class Opening:
    """An embedding file that is being opened, while the caller imports what it needs next.

    The file is hashed on every call, so a changed file is never mistaken for the old one.

    Args:
        path: the file; None for the bundled vocabulary, which is verified and needs no cache.
        vocab_size: keep only the first so many words.
        store: the cache.
    """

    def __init__(self, path: Path | None, vocab_size: int | None, store: Store) -> None:
        self._path, self._vocab_size, self._store = path, vocab_size, store
        if path is not None:
            self._hashing = _Later(lambda: file_digest(path, vocab_size=vocab_size))

    def __call__(self) -> tuple[Embeddings, MetricSpace]:
        """Words and metric space; to be called once.

        Raises:
            EmbeddingError: the embedding file cannot be used.
        """
        path, store = self._path, self._store
        if path is None:
            embeddings = load(None, vocab_size=self._vocab_size)
            index = FlatIndex.over(embeddings.vectors)
            tables = cached_tables(store, embeddings.digest)
            if self._vocab_size is None:
                tables = partial(_bundled_first, tables)
            return embeddings, MetricSpace(embeddings, tables, index=index)
        digest = self._hashing.result()
        build = partial(_build, path, self._vocab_size, digest)
        small = store.load(INDEX_KIND, digest, _SMALL)
        if small is not None and not small.meta.get("source_suffices", True):
            small = None  # what would be found damaged later could not be built again
        entry = small or store.get(INDEX_KIND, digest, build)
        about: dict[str, Any] = {
            "source": str(path),
            "digest": digest,
            "counts": entry.arrays.get("counts"),
            "dropped": entry.meta["dropped"],
        }
        if small is None:
            embeddings = Embeddings(entry.strings["words"], entry.arrays["vectors"], **about)
        else:
            shape = (entry.meta["words"], entry.meta["dimensions"])
            embeddings = StoredEmbeddings(shape, _Parts(store, digest, build), **about)
        norm = entry.arrays.get("largest_norm")  # entries of old have none
        index = FlatIndex.later(
            (embeddings.n, embeddings.d),
            lambda: embeddings.vectors,
            largest_norm(embeddings.vectors) if norm is None else float(norm[0]),
        )
        tables, centroid = cached_tables(store, digest), entry.arrays.get("centroid")
        return embeddings, MetricSpace(embeddings, tables, index=index, centroid=centroid)


def _build(path: Path, vocab_size: int | None, digest: str) -> Entry:
    embeddings = load(path, vocab_size=vocab_size)
    if embeddings.digest != digest:  # else it would be kept under the name of the old file
        raise EmbeddingError(path, "changed while it was read")
    return _entry(embeddings)


class _Parts:
    """Words and vectors of an entry; what is found damaged is built again.

    Args:
        build: as for :meth:`Store.get`.
    """

    def __init__(self, store: Store, digest: str, build: Callable[[], Entry]) -> None:
        self._read = partial(_read, store, digest, build)
        self._lock = threading.Lock()
        self._begun: dict[str, _Later[Any]] = {}

    def words(self) -> tuple[list[str], dict[str, int]]:
        """See :class:`Parts`."""
        found: tuple[list[str], dict[str, int]] = self._start("words").result()
        return found

    def vectors(self) -> NDArray[np.float32]:
        """See :class:`Parts`."""
        found: NDArray[np.float32] = self._start("vectors").result()
        return found

    def begin(self, *, vectors: bool) -> None:
        """See :class:`Parts`."""
        for name in ("words", "vectors") if vectors else ("words",):
            self._start(name)

    def _start(self, name: str) -> _Later[Any]:
        with self._lock:
            if name not in self._begun:
                self._begun[name] = _Later(partial(self._read, name))
            return self._begun[name]


def _read(store: Store, digest: str, build: Callable[[], Entry], name: str) -> Any:
    entry = store.load(INDEX_KIND, digest, (name,)) or store.get(INDEX_KIND, digest, build)
    if name == "vectors":
        return entry.arrays[name]
    words = entry.strings[name]
    # The dictionary is made here, not where others wait for it.
    return words, dict(zip(words, range(len(words)), strict=True))


def open_space(
    path: Path | None, vocab_size: int | None, store: Store
) -> tuple[Embeddings, MetricSpace]:
    """Words and metric space of an embedding file, through the cache; see :class:`Opening`.

    Raises:
        EmbeddingError: the file cannot be used.
    """
    return Opening(path, vocab_size, store)()


def describe(
    path: Path | None, vocab_size: int | None, store: Store, *, unsafe_pickle: bool = False
) -> dict[str, Any]:
    """Build (or find) the index of a file with the tables of the default mechanism, and measure it.

    Args:
        path: the file; None for the bundled vocabulary.
        vocab_size: keep only the first so many words.
        store: the cache.
        unsafe_pickle: run the code of a gensim file to get at its vectors.

    Raises:
        EmbeddingError: the file cannot be used.
    """
    started = time.perf_counter()
    if unsafe_pickle and path is not None:
        # Stored under the digest of the file's bytes: later runs find it without the pickle.
        store_embeddings(load_unsafe_pickle(path, vocab_size=vocab_size), store)
    embeddings, space = open_space(path, vocab_size, store)
    nearest = space.nearest_distances()
    quantiles = np.quantile(nearest, (0.05, 0.5, 0.95)) if len(nearest) else np.zeros(3)
    return {
        "source": embeddings.source,
        "words": space.n,
        "dimensions": space.d,
        "dropped": dict(embeddings.dropped),
        "nearest": {
            "words": len(nearest),
            **{name: float(q) for name, q in zip(("p5", "p50", "p95"), quantiles, strict=True)},
        },
        "diameter": space.diameter,
        "diameter_exact": space.diameter_is_exact,
        "bytes": space.vectors.nbytes,
        "seconds": time.perf_counter() - started,
        "digest": embeddings.digest,
    }
