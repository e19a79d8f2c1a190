"""Open an embedding file as a metric space, with its search index from the cache.

A file that the cache does not have yet is loaded, indexed and stored.  Tables of mechanisms are
cached beside the index (:meth:`MetricSpace.table`).
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings import file_digest, load
from dpsan.embeddings.loading import load_unsafe_pickle
from dpsan.embeddings.store import Entry, Store
from dpsan.embeddings.words import Embeddings
from dpsan.errors import EmbeddingError
from dpsan.space.arrays import Floats32, largest_norm
from dpsan.space.metric_space import Arrays, MetricSpace, centroid_of

INDEX_KIND = "index"
VECTORS_KIND = "vectors"
"""Entries of their own: many runs need the words alone."""


def _entry(embeddings: Embeddings) -> Entry:
    arrays: Arrays = {
        "words": _lines(embeddings.index_to_key),
        # Sums over all vectors, to be spared at every start.
        "centroid": centroid_of(embeddings.vectors),
        "largest_norm": np.array([largest_norm(embeddings.vectors)]),
    }
    if embeddings.counts is not None:
        arrays["counts"] = embeddings.counts
    if embeddings.spellings is not None:
        arrays["spellings"] = _lines(embeddings.spellings)
    meta = {
        "source": Path(embeddings.source).name,
        "digest": embeddings.digest,
        "dimensions": embeddings.d,
        "dropped": dict(embeddings.dropped),
    }
    return Entry(arrays=arrays, meta=meta)


def _lines(words: list[str]) -> NDArray[np.uint8]:
    """Return words as bytes: loaders keep none with a line feed, nor what is no UTF-8."""
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def _words(lines: NDArray[np.uint8]) -> list[str]:
    return lines.tobytes().decode().split("\n")


def space_of(embeddings: Embeddings, store: Store) -> MetricSpace:
    """Return the metric space of embeddings in memory; its tables are cached by what they are made
    of.

    Not by the digest: whoever made the embeddings chose it, and guarantees depend on tables.
    """
    content = hashlib.sha256(f"{embeddings.digest} {embeddings.vectors.shape}".encode())
    content.update(np.ascontiguousarray(embeddings.vectors, dtype="<f4").data)
    if embeddings.counts is not None:
        content.update(np.ascontiguousarray(embeddings.counts, dtype="<i8").data)
    if embeddings.classes is not None:
        content.update(b" classes " + embeddings.classes.astype("i1").tobytes())
    copied = replace(embeddings, vectors=embeddings.vectors.copy())
    return MetricSpace(copied, store, f"memory-{content.hexdigest()}")


class _Stored(Embeddings):
    """Embeddings whose vectors are read when first requested.

    Args:
        read: gives the vectors.
        about: the other fields, and d.
    """

    _read: Callable[[], Floats32]

    def __init__(self, read: Callable[[], Floats32], **about: Any) -> None:
        # The base is frozen.
        self.__dict__.update(about, _read=read)

    def __getattr__(self, name: str) -> Any:
        if name != "vectors":
            raise AttributeError(name)
        self.__dict__[name] = vectors = self._read()
        return vectors

    def __reduce__(self) -> tuple[object, ...]:
        values = (self.index_to_key, self.vectors, self.source, self.digest, self.counts)
        return Embeddings, (*values, self.dropped, self.spellings)


def open_space(
    path: Path | None, vocab_size: int | None, store: Store
) -> tuple[Embeddings, MetricSpace]:
    """Return words and metric space of an embedding file, through the cache.

    The file is hashed on every call, so a changed file is never mistaken for the old one.

    Args:
        path: the file; None for the bundled vocabulary, which is verified and needs no cache.
        vocab_size: keep only the first so many words.
        store: the cache.

    Raises:
        EmbeddingError: the embedding file cannot be used.
    """
    if path is None:
        embeddings = load(None, vocab_size=vocab_size)
        about = embeddings, store, embeddings.digest
        return embeddings, MetricSpace(*about, bundled=vocab_size is None)
    digest = file_digest(path, vocab_size=vocab_size)

    @cache
    def loaded() -> Embeddings:
        embeddings = load(path, vocab_size=vocab_size)
        if embeddings.digest != digest:  # else it would be kept under the name of the old file
            raise EmbeddingError(path, "changed while it was read")
        return embeddings

    @cache
    def vectors() -> Floats32:
        made = store.get(VECTORS_KIND, digest, lambda: Entry({"vectors": loaded().vectors}, {}))
        return made.arrays["vectors"]

    def built() -> Entry:
        vectors()  # first: whoever finds the words need not load the file for them
        return _entry(loaded())

    entry = store.get(INDEX_KIND, digest, built)
    arrays = entry.arrays
    embeddings = _Stored(
        vectors,
        index_to_key=_words(arrays["words"]),
        d=entry.meta["dimensions"],
        source=str(path),
        digest=digest,
        counts=arrays.get("counts"),
        dropped=entry.meta["dropped"],
        spellings=_words(arrays["spellings"]) if "spellings" in arrays else None,
    )
    if not entry.meta.get("source_suffices", True):  # what is damaged later cannot be built again
        vectors()
    norm = float(arrays["largest_norm"][0])
    space = MetricSpace(embeddings, store, digest, centroid=arrays["centroid"], norm=norm)
    return embeddings, space


def describe(
    path: Path | None, vocab_size: int | None, store: Store, *, unsafe_pickle: bool = False
) -> dict[str, Any]:
    """Build (or find) the index of a file, and measure it.

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
        # Stored under the digest of the file's bytes: later runs find it without the pickle.  The
        # file alone cannot give it again, so it is read whole when it is opened.
        loaded = load_unsafe_pickle(path, vocab_size=vocab_size)
        entry = _entry(loaded)
        entry.meta["source_suffices"] = False
        store.save(VECTORS_KIND, loaded.digest, Entry({"vectors": loaded.vectors}, {}))
        store.save(INDEX_KIND, loaded.digest, entry)
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
