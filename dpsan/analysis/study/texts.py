"""Labelled public texts of a study, and their rewrites by a mechanism.

Knows files, words and samplers.  Must not know what is measured.  Texts are held in memory; no
result and no message holds any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import Labelled, read_labels, split
from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.study.base import Asked
from dpsan.analysis.study.request import whole
from dpsan.errors import InputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.formats.csv import one_delimiter
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import Progress
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids

_RECORDS: Final = 1000
_HINT: Final = "-p text=COLUMN, -p header=no, -p delimiter=';' say how it is read"
_BATCH: Final = 2048


@dataclass(frozen=True)
class Texts:
    """Some texts, split into words."""

    texts: list[str] = field(repr=False)
    labels: list[str] = field(repr=False)
    pieces: list[list[str]] = field(repr=False)
    """Gaps and words in turn, of each text."""
    ids: Ids = field(repr=False)
    """Row of every word of all texts, n where it is unknown, (m,)."""
    counts: list[int] = field(repr=False)
    """Words of each text; they sum to m."""

    def joined(self, words: Sequence[str]) -> list[str]:
        """The texts with other words, m in all."""
        out, at = [], 0
        for pieces, count in zip(self.pieces, self.counts, strict=True):
            out.append(with_words(pieces, words[at : at + count]))
            at += count
        return out


def with_words(pieces: Sequence[str], words: Sequence[str]) -> str:
    """A text in pieces, gaps and words in turn, with other words."""
    line = list(pieces)
    line[1::2] = words
    return "".join(line)


def labelled(asked: Asked) -> tuple[Texts, Texts]:
    """The training and test texts that the parameters name.

    Without a test file every fifth record is a test record.

    Raises:
        UsageError: a parameter is missing or wrong.
        InputError: a file cannot be read.
    """
    values = asked.parameters
    for name in ("train", "text", "label"):
        if name not in values:
            raise UsageError(
                f"no -p {name}=... is given", "-p train=FILE -p text=COLUMN -p label=COLUMN"
            )
    header = str(values.get("header", "yes"))
    if header not in ("yes", "no"):
        raise UsageError(f"header must be yes or no (got {header})")
    if asked.embeddings is None:
        raise UsageError("it needs a vocabulary with its words")
    vocabulary = Vocabulary(asked.embeddings, "unicode")
    limit = whole(values, "records", _RECORDS)
    options = ReadOptions(
        fields=(str(values["text"]),),
        header=header == "yes",
        delimiter=one_delimiter(str(values["delimiter"]), "delimiter")
        if "delimiter" in values
        else "",
        force_text=True,
    )

    def read(name: str) -> tuple[list[str], list[str]]:
        path, inputs = Path(str(values[name])), Inputs("auto", options, limit)
        try:
            texts = [" ".join(each.texts) for each in records(path, inputs)]
            labels = read_labels(path, str(values["label"]), inputs)
        except InputError as error:
            # Hints are for rewrite, whose options a study lacks.
            hint = str(error.hint)
            raise InputError(
                path, error.what, _HINT if " -" in f" {hint}" else hint, line=error.line
            ) from None
        if len(labels) != len(texts) or not texts:
            raise InputError(path, f"{len(labels)} labels for {len(texts)} texts")
        return texts, labels

    train = read("train")
    if "test" in values:
        test = read("test")
    else:
        parts = split(Labelled(train[0], train[0], train[1]))
        train, test = ((each.clean, each.labels) for each in parts)
    return _words(*train, vocabulary), _words(*test, vocabulary)


def _words(texts: list[str], labels: list[str], vocabulary: Vocabulary) -> Texts:
    found = [vocabulary.inputs(text) for text in texts]
    ids = np.array([row for _, rows in found for row in rows], dtype=np.int64)
    return Texts(texts, labels, [pieces for pieces, _ in found], ids, [len(r) for _, r in found])


def rewrite(sampler: Sampler, texts: Texts, key: bytes, progress: Progress) -> Ids:
    """One output for each word of all texts, drawn as ``rewrite`` draws them, (m,)."""
    out, at = np.empty_like(texts.ids), 0
    records, done = range(len(texts.counts)), 0
    while done < len(texts.counts):
        end, words = done, 0
        while end < len(texts.counts) and (words < _BATCH or end == done):
            words += texts.counts[end]
            end += 1
        streams = randomness.streams_for(key, records[done:end], texts.counts[done:end])
        if words:
            out[at : at + words] = sampler.sample(texts.ids[at : at + words], streams)
        at, done = at + words, end
        progress(done / len(texts.counts))
    return out
