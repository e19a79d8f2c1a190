"""Word vectors from the training text: gensim's Word2Vec or FastText, with recorded settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of a training run; gensim's names in brackets where they differ."""

    model: str = "skipgram"
    """skipgram, cbow or fasttext (skip-gram over character n-grams)."""
    dimensions: int = 100
    window: int = 3
    negative: int = 8
    """Noise words for each observed pair."""
    epochs: int = 10
    min_count: int = 15
    """Rarer tokens are removed from the text, as if they were not there."""
    sample: float = 1e-4
    """Down-sampling threshold of frequent words."""
    exponent: float = 0.75
    """Exponent of the noise distribution (ns_exponent)."""
    alpha: float = 0.025
    """First learning rate; it falls linearly to 1e-4."""
    seed: int = 20261121
    threads: int = 2


def train_vectors(text: Path, training: Training) -> tuple[list[str], NDArray[np.float32]]:
    """Words and vectors (words × dimensions) trained on a text of one sentence a line.

    With more than one thread the result differs a little from run to run: threads update shared
    vectors without locks.
    """
    from gensim.models import FastText, Word2Vec  # heavy import

    kind = FastText if training.model == "fasttext" else Word2Vec
    trained = kind(
        corpus_file=str(text),
        vector_size=training.dimensions,
        window=training.window,
        negative=training.negative,
        epochs=training.epochs,
        min_count=training.min_count,
        sample=training.sample,
        ns_exponent=training.exponent,
        alpha=training.alpha,
        seed=training.seed,
        workers=training.threads,
        sg=int(training.model != "cbow"),
    ).wv
    return list(trained.index_to_key), np.asarray(trained.vectors, dtype=np.float32)
