"""The language model of the vocabulary: which sources it is counted on, and how often each counts.

Knows the corpus files.  Must not know how a model is estimated
(`vocab/recipe/kneser_ney.py`).
"""

from __future__ import annotations

import multiprocessing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.loading import load_bundled
from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS
from recipe.corpus import SOURCES, batches_of
from recipe.kneser_ney import Counts, symbols_of_lines

WEIGHTS: Final = {
    "enwiki2015": 1,
    "enwiki2021": 2,
    "gutenberg": 2,
    "sgd": 3,
    "state_union": 1,
    "inaugural": 1,
    "taskmaster4": 8,
}
"""How often each source counts: dialogues and books more than once, or chats and reviews would be
judged by Wikipedia.  MultiDoGO is left out, because the model is measured on it."""

_lookups: dict[Path, tuple[Lookup, int]] = {}  # one per worker process


def _symbols(folder: Path, batch: list[list[str]]) -> NDArray[np.int32]:
    if folder not in _lookups:
        words = load_bundled(folder=folder)
        split = TOKENIZERS["unicode"]
        _lookups[folder] = Lookup(split, words.key_to_index, (), words.n), words.n
    parts = symbols_of_lines(chain.from_iterable(batch), *_lookups[folder])
    return np.concatenate([part.astype(np.int32) for part in parts])


def counted(folder: Path, corpus: Path, processes: int) -> Counts:
    """Return the n-grams of the corpus.

    Args:
        folder: of the vocabulary.
    """
    counts = Counts(load_bundled(folder=folder).n)
    for source in SOURCES:
        if source.name not in WEIGHTS:
            continue
        batches = batches_of(source, corpus)
        with multiprocessing.Pool(processes) as pool:
            parts = [*pool.imap(partial(_symbols, folder), batches)]
        counts.add(np.concatenate(parts), WEIGHTS[source.name])
        print(f"{source.name}: {len(counts.triples):,} trigrams so far", flush=True)
    return counts
