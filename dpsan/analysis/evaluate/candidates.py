"""Candidate texts of an attacker: one of them is the original of each sanitized text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpsan.analysis.evaluate.pairs import Inputs, Pairs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.outcomes.text_likelihood import Texts
from dpsan.space.arrays import Ids
from dpsan.text.tokens import write_gaps


@dataclass(frozen=True)
class Candidates:
    """Different texts, and which of them each sanitized text comes from."""

    texts: Texts
    """Inputs, n for unknown words; c texts."""
    layouts: Ids
    """Number of the punctuation and white space of each, equal where those are, (c,)."""
    noisings: tuple[Texts, ...]
    """Outputs of the r sanitized texts that could be aligned and have words."""
    truth: Ids
    """The candidate that each comes from, (r,)."""


def read_candidates(path: Path, inputs: Inputs, vocabulary: Vocabulary, pairs: Pairs) -> Candidates:
    """Return the different texts of a file, and all originals.

    Args:
        path: the file; an original that it lacks joins the candidates.
        inputs: how it is read; all its records are.

    Raises:
        InputError: it cannot be read, naming file and line.
    """
    numbers: dict[str, int] = {}
    known: dict[str, int] = {}
    layouts: list[int] = []
    ids = [np.zeros(0, dtype=np.int64)]

    def add(text: str, gaps: list[str], own: Ids) -> int:
        """Return the number of a text, a new one if it was not met before."""
        number = numbers.setdefault(text, len(numbers))
        if number == len(layouts):
            pieces = [""] * (2 * len(gaps) - 1)
            pieces[::2] = gaps
            write_gaps(pieces)
            ids.append(own)
            layouts.append(known.setdefault("\0".join(pieces[::2]), len(known)))
        return number

    bounds = np.searchsorted(pairs.text, np.arange(len(pairs.original) + 1))
    with_words = np.flatnonzero(np.diff(bounds))
    truth = []
    for number in with_words.tolist():
        part, text = slice(bounds[number], bounds[number + 1]), pairs.original[number]
        ends = [0, *pairs.spans[part].ravel().tolist(), len(text)]
        gaps = [text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True)]
        truth.append(add(text, gaps, pairs.inputs[part]))
    for record in records(path, Inputs(inputs.format, inputs.options)):
        for text in record.texts:
            pieces, codes = vocabulary.inputs(text)
            if codes:
                add(text, pieces[::2], np.array(codes, dtype=np.int64))
    starts = bounds[np.append(with_words, len(pairs.original))]
    noisings = tuple(Texts(each, starts) for each in pairs.noisings)
    texts = Texts(np.concatenate(ids), np.cumsum([len(each) for each in ids]))
    kinds, origins = np.array(layouts, dtype=np.int64), np.array(truth, dtype=np.int64)
    return Candidates(texts, kinds, noisings, origins)
