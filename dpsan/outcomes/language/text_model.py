"""Count files of public text and make a language model of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from dpsan.embeddings.base import Embeddings
from dpsan.files.public_text import blocks_of
from dpsan.outcomes.language.kneser_ney import Counts, estimated, symbols_of_lines
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS

_REPORTED: Final = 1 << 20
"""Bytes between two reports of progress."""


def model_of(
    texts: Sequence[Path],
    embeddings: Embeddings,
    tokenizer: str,
    progress: Callable[[float], None] | None,
) -> Ngrams:
    """Return the model of public text.

    Args:
        texts: UTF-8, compressed if their names end in .gz or .zst.
        progress: called with the share that was read.

    Raises:
        InputError: a file cannot be read.
    """
    total, done = max(1, sum(path.stat().st_size for path in texts)), 0

    def advance(size: int) -> None:
        nonlocal done
        before, done = done, done + size
        if progress is not None and before // _REPORTED < done // _REPORTED:
            progress(min(1.0, done / total))

    counts = Counts(embeddings.n)
    lookup = Lookup(TOKENIZERS[tokenizer].split, embeddings.key_to_index, (), embeddings.n)
    lines = (line for path in texts for block in blocks_of(path, advance) for line in block)
    for symbols in symbols_of_lines(lines, lookup, embeddings.n):
        counts.add(symbols)
    return estimated(counts)
