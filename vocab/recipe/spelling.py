"""How each word of the vocabulary is usually written in the corpus: Paris, IBM, I, McDonald.

Knows the corpus.  What a capital says is dpsan's own rule
(:mod:`dpsan.embeddings.training`).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpsan.embeddings import training as spelling
from dpsan.embeddings.training import SpellingReader, Spellings
from recipe.corpus import Source, batches_of

__all__ = ["SpellingReader", "Spellings", "count_spellings", "usual_spellings"]

_reader: list[SpellingReader] = []  # one in each worker process


def _begin(words: Sequence[str]) -> None:
    _reader[:] = [SpellingReader(words)]


def _count(batch: list[list[str]]) -> Spellings:
    found = Spellings()
    for document in batch:
        for line in document:
            _reader[0].read(line, found)
    return found


def count_spellings(
    source: Source, corpus: Path, words: Sequence[str], processes: int, documents: int = 0
) -> Spellings:
    """The spellings of words in a source, at most so many documents of it (0: all)."""
    found = Spellings()
    with multiprocessing.Pool(processes, _begin, (words,)) as pool:
        for part in pool.imap(_count, batches_of(source, corpus, documents), chunksize=1):
            found.alone.update(part.alone)
            found.beside.update(part.beside)
    return found


def usual_spellings(
    found: Mapping[str, Spellings], sources: Iterable[Source], words: Sequence[str]
) -> list[str]:
    """The usual spelling of each word, from what was found in each source, in their weights."""
    return spelling.usual_spellings(
        ((found[source.name], source.weight) for source in sources), words
    )
