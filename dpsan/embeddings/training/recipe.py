"""A vocabulary from public text: which words, their vectors, counts and usual spellings.

The steps are those of the bundled vocabulary (vocab/README.md) without what is English in it:
tokens are counted, the words of widest use are chosen, skip-gram vectors are trained on the text in
random order, their mean is removed, and how each word is written is counted where a capital tells
something.
"""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Progress, Watch, unseen
from dpsan.embeddings.files import blocks_of_all
from dpsan.embeddings.training.spelling import (
    SpellingReader,
    Spellings,
    TokenText,
    most_used,
    usual_spellings,
)
from dpsan.errors import GensimMissingError, InputError
from dpsan.files.compression import open_public

_FEWEST: Final = 100
"""Words of a vocabulary: with fewer, neighbours have no meaning."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Training texts and settings."""

    texts: list[Path]
    """Public text in UTF-8, or gzip of it: its words, and how often they occur, get out."""
    words: int = 32_000
    """Words of the vocabulary, at most."""
    least: int = 10
    """Occurrences of a word, at least."""
    dimensions: int = 100
    epochs: int = 10
    """Passes over the text."""
    seed: int = 20261122
    threads: int = 1
    sample: float = 1e-4
    """Share of the text above which a word is sampled less often."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A vocabulary, most frequent word first, and the figures of its training."""

    words: list[str]
    vectors: NDArray[np.float16]
    """Shape (n, d), all different, unit length before rounding."""
    counts: NDArray[np.int64]
    """Occurrences in the text, shape (n,)."""
    spellings: list[str]
    """Usual spelling of each word."""
    running: int
    """Words of the text."""
    known: float
    """The share of them that the vocabulary knows, whole or in parts."""


def train(recipe: Recipe, folder: Path, watch: Watch = unseen) -> Trained:
    """Make a vocabulary.

    Args:
        folder: for temporary files, up to twice the size of the text without compression.

    Raises:
        InputError: a text cannot be read, or there are too few words.
        GensimMissingError: gensim is not installed.
        OSError: the folder is full.
    """
    try:
        import gensim  # noqa: F401 - heavy; here, before the text is read
    except ImportError:
        raise GensimMissingError("train") from None
    # It tells of itself what nobody can mend, such as another number of words than it expected.
    logging.getLogger("gensim").setLevel(logging.ERROR)
    for path in recipe.texts:
        open_public(path).close()
    text = TokenText(folder / "tokens")
    with watch("counting words") as progress:
        for block in blocks_of_all(recipe.texts, progress):
            text.add(block)
    text.finish()
    frequency = text.tokens
    chosen = most_used(text.blocks, frequency, recipe.words, recipe.least)
    _require(recipe, text.running, len(chosen))
    rng = np.random.default_rng(recipe.seed)
    text.write_training_text(folder / "text", lambda word: frequency[word] >= recipe.least, rng)
    with watch("training vectors") as progress:
        trained, table = _train_vectors(folder / "text", recipe, progress)
    row = {word: at for at, word in enumerate(trained)}
    words = sorted((w for w in chosen if w in row), key=lambda w: (-frequency[w], w))
    _require(recipe, text.running, len(words))
    vectors = centred(table[[row[word] for word in words]])
    halves = distinct_half_precision(vectors, np.random.default_rng(recipe.seed))
    reader, spellings = SpellingReader(words), Spellings()
    with watch("counting spellings") as progress:
        for block in blocks_of_all(recipe.texts, progress):
            for line in block:
                reader.read(line, spellings)
    return Trained(
        words,
        halves,
        np.array([frequency[word] for word in words], dtype=np.int64),
        usual_spellings([(spellings, 1.0)], words),
        text.running,
        sum(frequency[word] for word in words) / max(1, frequency.total()),
    )


def _train_vectors(
    text: Path, recipe: Recipe, progress: Progress
) -> tuple[list[str], NDArray[np.float32]]:
    """Skip-gram vectors of a text of one sentence a line, shape (words, dimensions).

    With more than one thread the result differs a little from run to run: threads update shared
    vectors without locks.
    """
    from gensim.models import Word2Vec
    from gensim.models.callbacks import CallbackAny2Vec

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        done = 0

        def on_epoch_end(self, model: object) -> None:
            self.done += 1
            progress(self.done / recipe.epochs)

    trained = Word2Vec(
        corpus_file=str(text),
        sg=1,
        window=3,
        negative=8,
        vector_size=recipe.dimensions,
        epochs=recipe.epochs,
        min_count=recipe.least,
        sample=recipe.sample,
        seed=recipe.seed,
        workers=recipe.threads,
        callbacks=[Epochs()],
    ).wv
    return list(trained.index_to_key), np.asarray(trained.vectors, dtype=np.float32)


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows at unit length."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows minus their mean, at unit length."""
    out = unit(vectors)
    return unit(out - out.mean(axis=0))


def distinct_half_precision(
    vectors: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float16]:
    """Return rows rounded to float16; rows that coincide are moved apart by the smallest steps.

    Mechanisms on distances need words at positive distance from each other.
    """
    out = vectors.astype("<f2")
    while True:
        _, first = np.unique(out, axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(out)), first)
        if not len(again):
            break
        noise = rng.normal(0.0, 1e-3, (len(again), vectors.shape[1]))
        out[again] = (vectors[again] + noise).astype("<f2")
    if not np.isfinite(out).all() or not out.any(axis=1).all():
        raise ValueError("a vector is zero or not finite")
    return out


def packed(trained: Trained) -> bytes:
    """Return a vocabulary as the bytes of an ``.npz`` file, which ``load`` reads.

    Vectors (n, d) float16, words, counts and spellings (n,); no pickle, no time of day.
    """
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        vectors=np.ascontiguousarray(trained.vectors, dtype="<f2"),
        words=np.array(trained.words, dtype=np.str_),
        counts=trained.counts.astype("<i8"),
        spellings=np.array(trained.spellings, dtype=np.str_),
    )
    return buffer.getvalue()


def report_on(trained: Trained) -> dict[str, Any]:
    """Describe a vocabulary as JSON: its sizes."""
    return {
        "words": len(trained.words),
        "dimensions": trained.vectors.shape[1],
        "text_words": trained.running,
        "known": trained.known,
        "with_capitals": sum(map(str.__ne__, trained.words, trained.spellings)),
    }


def _require(recipe: Recipe, running: int, words: int) -> None:
    where = recipe.texts[0] if len(recipe.texts) == 1 else "the texts"
    if not running:
        raise InputError(where, "has no words" if len(recipe.texts) == 1 else "have no words")
    if words < _FEWEST:
        few = f"{words} words occur {recipe.least} times or more, and {_FEWEST} are needed"
        raise InputError(where, few, "take more text, or a smaller --least")
