"""Embedding files made ready: loaded once, indexed, and kept in the cache.

Knows files, digests and the cache.  Must not know mechanisms.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.cache import Entry, Store
from dpsan.embeddings import file_digest, load
from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.gensim_pickle import load_unsafe_pickle
from dpsan.errors import CacheError
from dpsan.index import FlatIndex, largest_norm
from dpsan.space import MetricSpace, centroid_of

__all__ = ["Opening", "cached_tables", "describe", "open_space", "space_of", "store_embeddings"]

INDEX_KIND = "index"
TABLE_KIND = "table"

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


def _entry(
    embeddings: Embeddings, path: Path | None = None, vocab_size: int | None = None
) -> Entry:
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
    if path is not None:
        meta["looks"] = _looks(path, vocab_size)
    return Entry(arrays=arrays, meta=meta, strings={"words": embeddings.index_to_key})


def _looks(path: Path, vocab_size: int | None) -> list[Any]:
    """What a file looks like before it is read: enough to guess its entry, not to trust it."""
    try:
        return [path.name, path.stat().st_size, vocab_size]
    except OSError:
        return []


def _guessed(path: Path, vocab_size: int | None, store: Store) -> str | None:
    """The digest of the newest entry made from a file that looked the same."""
    looks = _looks(path, vocab_size)
    try:
        alike = [each for each in store.entries(INDEX_KIND) if each.meta.get("looks") == looks]
    except CacheError:  # told when the entry is asked for
        return None
    return max(alike, key=lambda each: each.created).key if alike and looks else None


class _Later(Generic[T]):
    """What a function returns, computed in a thread: reading and hashing let others run."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._error: BaseException | None = None
        # A daemon: an interrupted program does not wait for it.
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._found = self._function()
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error

    def result(self) -> T:
        """What the function returned or raised; to be asked for once."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        found = self._found
        del self._found  # it may be large
        return found


def cached_tables(store: Store, digest: str) -> Callable[[str, Callable[[], Arrays]], Arrays]:
    """Where the tables of one embedding file are kept."""
    return partial(_table, store, digest)


def _table(store: Store, digest: str, name: str, build: Callable[[], Arrays]) -> Arrays:
    def make() -> Entry:
        return Entry(arrays=build(), meta={"digest": digest, "table": name})

    return store.get(TABLE_KIND, f"{digest}/{name}", make).arrays


def space_of(embeddings: Embeddings, store: Store) -> MetricSpace:
    """The metric space of embeddings in memory; its tables are cached by their digest."""
    return MetricSpace(embeddings, cached_tables(store, embeddings.digest))


def store_embeddings(embeddings: Embeddings, store: Store) -> None:
    """Put embeddings into the cache under the digest that :func:`open_space` will look for."""
    store.save(INDEX_KIND, embeddings.digest, _entry(embeddings))


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
            # The likely entry is read and verified meanwhile, and used if the digest agrees.
            self._guessing = _Later(self._guess)

    def _guess(self) -> tuple[str, Embeddings, Entry] | None:
        assert self._path is not None  # noqa: S101 - told to the type checker
        digest = _guessed(self._path, self._vocab_size, self._store)
        if digest is None:
            return None
        # Notes about a damaged entry are told when it is asked for in earnest.
        entry = Store(self._store.root).load(INDEX_KIND, digest)
        if entry is None:
            return None
        embeddings = _embeddings(entry, self._path, digest)
        embeddings.key_to_index  # noqa: B018 - made here, not where others wait for it
        return digest, embeddings, entry

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
            return embeddings, MetricSpace(embeddings, tables, index=index)

        guess, digest = self._guessing.result(), self._hashing.result()
        if guess is not None and guess[0] == digest:
            _, embeddings, entry = guess
        else:
            guess = None  # another file's vectors need not stay
            entry = store.get(
                INDEX_KIND,
                digest,
                lambda: _entry(load(path, vocab_size=self._vocab_size), path, self._vocab_size),
            )
            embeddings = _embeddings(entry, path, digest)
        known, centroid = entry.arrays.get("largest_norm"), entry.arrays.get("centroid")
        index = FlatIndex.over(embeddings.vectors, None if known is None else float(known[0]))
        tables = cached_tables(store, digest)
        return embeddings, MetricSpace(embeddings, tables, index=index, centroid=centroid)


def _embeddings(entry: Entry, path: Path, digest: str) -> Embeddings:
    return Embeddings(
        index_to_key=entry.strings["words"],
        vectors=entry.arrays["vectors"],
        source=str(path),
        digest=digest,
        counts=entry.arrays.get("counts"),
        dropped=entry.meta["dropped"],
    )


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
