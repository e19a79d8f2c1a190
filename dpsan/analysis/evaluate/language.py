"""The language model of an evaluation: a file of one, public text, or that of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.bundled import bundled_digest, bundled_language_model
from dpsan.errors import UsageError
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.language.kneser_ney import model_of
from dpsan.outcomes.language.ngrams import Ngrams

MODEL: Final = ".npz"
"""Suffix of a file that is a model, and no text."""


def language_model(
    paths: Sequence[Path], embeddings: Embeddings, vocabulary: Vocabulary, progress: Progress
) -> Ngrams | None:
    """Return the model; None if there is no file and the vocabulary has none.

    Args:
        paths: one model, or public text.

    Raises:
        UsageError: a model among other files.
        ModelError: the model cannot be used.
        InputError: a text cannot be read, or is not UTF-8.
    """
    if not paths:
        data = bundled_language_model() if embeddings.digest == bundled_digest() else None
        return None if data is None else Ngrams.from_bytes(data, embeddings.digest)[0]
    if any(path.suffix == MODEL for path in paths):
        if len(paths) > 1:
            raise UsageError("--language-model takes one model, or files of public text")
        return Ngrams.read(paths[0], embeddings.digest)[0]
    return model_of(paths, embeddings, vocabulary.tokenizer.name, progress)
