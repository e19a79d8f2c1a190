"""gensim's own files (``.kv``, ``.model``): pickles, which run whatever code they contain.

::

    file    = pickle of KeyedVectors, or of a model with a KeyedVectors in ``wv``
    beside  = FILE.*.npy, arrays that gensim stores apart

Only ``dpsan index --unsafe-pickle`` may call :func:`load_unsafe_pickle`; ``load`` refuses.
"""

from __future__ import annotations

import pickle  # for the class of an error only
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.files import digest_of, open_embeddings
from dpsan.embeddings.usable_rows import Rows, check_dimensions
from dpsan.errors import EmbeddingError, GensimMissingError


def refuse(path: Path) -> EmbeddingError:
    """Return the error for a pickle given to ``load``."""
    hint = "export with save_word2vec_format, or see dpsan index --unsafe-pickle"
    return EmbeddingError(path, "refused: pickle files can run code", hint)


def parts(path: Path) -> list[Path]:
    """Return the file and the arrays stored beside it."""
    arrays = path.parent.glob("*.npy")  # none where the folder cannot be read
    return [path, *sorted(file for file in arrays if file.name.startswith(f"{path.name}."))]


def load_unsafe_pickle(path: Path | str, *, vocab_size: int | None = None) -> Embeddings:
    """Load gensim's KeyedVectors or the word vectors of a model; RUNS CODE FROM THE FILE.

    Raises:
        EmbeddingError: not such a file, or no usable row.
    """
    path = Path(path)
    open_embeddings(path).close()
    digest = digest_of(parts(path), vocab_size)
    vectors, words, counts = _unpickle(path)
    if vectors.ndim != 2 or len(words) != len(vectors) or vectors.dtype.kind != "f":
        raise EmbeddingError(path, "words and vectors do not fit together")
    check_dimensions(path, vectors.shape[1])
    rows = Rows(path, vectors.shape[1], vocab_size)
    for at, count in rows.blocks(len(words), vectors.itemsize * vectors.shape[1]):
        part = slice(at, at + count)
        rows.add(words[part], vectors[part], None if counts is None else counts[part])
    return rows.finish(str(path), digest)


def _unpickle(path: Path) -> tuple[Any, list[str], list[int] | None]:
    try:
        from gensim.models import KeyedVectors  # heavy import
    except ImportError:
        raise GensimMissingError("a pickle of vectors") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old versions; rows are checked below
            loaded: Any = KeyedVectors.load(str(path))
        loaded = getattr(loaded, "wv", loaded)
        words = [str(word) for word in loaded.index_to_key]
        counts = loaded.expandos.get("count")
        if counts is not None:
            counts = [int(each) for each in counts] if len(counts) == len(words) else None
        return np.asarray(loaded.vectors), words, counts
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        ImportError,
        LookupError,
        OSError,
        TypeError,
        ValueError,
        pickle.UnpicklingError,
    ):
        raise EmbeddingError(path, "not gensim KeyedVectors or a model with them") from None
