"""The language model of an evaluation: a file of one, public text, or that of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.bundled import bundled_digest, bundled_language_model
from dpsan.errors import UsageError
from dpsan.formats.base import ReadOptions
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.language.kneser_ney import Counts, estimated, symbols_of_lines
from dpsan.outcomes.language.ngrams import Ngrams

MODEL: Final = ".npz"
"""Suffix of a file that is a model, and no text."""
_MOST: Final = 10_000_000
"""Bigrams, and trigrams, of a model of public text."""
_CHARACTERS: Final = 500_000


def language_model(
    paths: Sequence[Path], embeddings: Embeddings, vocabulary: Vocabulary, progress: Progress
) -> Ngrams | None:
    """Return the model; None if there is no file and the vocabulary has none.

    Args:
        paths: one model, or public text.

    Raises:
        UsageError: a model among other files.
        ModelError: the model cannot be used.
        InputError: a text cannot be read.
    """
    if not paths:
        data = bundled_language_model() if embeddings.digest == bundled_digest() else None
        return None if data is None else Ngrams.from_bytes(data, embeddings.digest)[0]
    if any(path.suffix == MODEL for path in paths):
        if len(paths) > 1:
            raise UsageError("--language-model takes one model, or files of public text")
        return Ngrams.read(paths[0], embeddings.digest)[0]
    counts = Counts(vocabulary.n)
    for symbols in symbols_of_lines(_public_lines(paths, progress), vocabulary.lookup, counts.n):
        counts.add(symbols)
    return estimated(counts, _MOST, _MOST)


def lines_of(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of text files.  Raises InputError."""
    plain = Inputs("text", ReadOptions())
    for path in paths:
        for record in records(path, plain):
            yield record.texts[0]


def _public_lines(paths: Sequence[Path], progress: Progress) -> Iterator[str]:
    """Yield the lines of public text, and the share of its bytes that has been taken, about."""
    size = sum(path.stat().st_size for path in paths if path.is_file())
    taken = reported = 0
    for line in lines_of(paths):
        yield line
        taken += len(line) + 1
        if taken - reported >= _CHARACTERS:
            reported = taken
            progress(min(taken / max(size, 1), 1.0))
