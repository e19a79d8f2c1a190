"""How often an attacker who holds candidates finds the original of a sanitized text, as JSON.

python docs/studies/linkage.py -e 8 --candidates all.txt --words 6 --words 12 letters.txt safe.txt

A reader is an attacker who holds all candidates equally likely, and takes the one of the highest
score.  The vocabulary is the bundled one, or that of -E.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.pairs import Inputs, Pairs, read_pairs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.pages import by_name
from dpsan.embeddings.store import Store
from dpsan.errors import DpsanError
from dpsan.formats.base import ReadOptions
from dpsan.outcomes.distributions import Emissions
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.text_likelihood import Texts, ranks
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids, blocks, by_word
from dpsan.text.tokens import gaps_to_write

_CELLS: Final = 12_000_000
"""Scores that are held at once: 100 MB."""
_BLOCK: Final = 256
"""Inputs whose distributions are held at once."""


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
    layout_numbers: dict[str, int] = {}
    layouts: list[int] = []
    ids = [np.zeros(0, dtype=np.int64)]

    def add(text: str, gaps: list[str], rows: Ids) -> int:
        """Return the number of a text, a new one if it was not met before."""
        number = numbers.setdefault(text, len(numbers))
        if number == len(layouts):
            pieces = [""] * (2 * len(gaps) - 1)
            pieces[::2] = gaps
            pieces[::2], _ = gaps_to_write(pieces[::2])
            ids.append(rows)
            layouts.append(layout_numbers.setdefault("\0".join(pieces[::2]), len(layout_numbers)))
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
    noisings = tuple(Texts(version, starts) for version in (pairs.outputs, *pairs.more))
    texts = Texts(np.concatenate(ids), np.cumsum([len(version) for version in ids]))
    kinds, origins = np.array(layouts, dtype=np.int64), np.array(truth, dtype=np.int64)
    return Candidates(texts, kinds, noisings, origins)


@dataclass(frozen=True)
class Linked:
    """Share of originals that one attacker finds."""

    reader: str
    words: int | None
    """Number of leading words of each text that the attacker sees; None: whole texts."""
    candidates: int
    """Texts with so many words."""
    first: Share
    """Sanitized texts whose original is the reader's first guess."""


@dataclass(frozen=True)
class Linkage:
    """All readers."""

    readers: tuple[Linked, ...]
    notes: tuple[str, ...]


def linkage(
    candidates: Candidates,
    vocabulary: Vocabulary,
    emissions: Emissions | None,
    words: Sequence[int] = (),
) -> Linkage:
    """Link sanitized texts to candidates.

    Every reader holds all candidates equally likely and takes the one of the highest score; ties
    are broken by draws under a public key.

    Args:
        emissions: of the mechanism; None leaves out the attackers who know it.
        words: attackers also get the first words (so many) of each text, and of the candidates.
    """
    rows = []
    for length in [*sorted(set(words)), None]:
        texts, *cut = (
            _beginnings(part, length) for part in (candidates.texts, *candidates.noisings)
        )
        sizes = cut[0].sizes
        used = np.flatnonzero(sizes)
        filled = np.flatnonzero(texts.sizes)
        number = np.full(len(texts), -1, dtype=np.int64)
        number[filled] = np.arange(len(filled))
        versions = tuple(version.of(used) for version in cut)
        truth = number[candidates.truth[used]]
        these = Candidates(texts.of(filled), candidates.layouts[filled], versions, truth)
        scores = partial(_scored, vocabulary, emissions, length is None)
        for name, of_original in _readers(these, scores).items():
            rows.append(Linked(name, length, len(filled), Share.of(of_original == 1)))
    return Linkage(tuple(rows), _notes(emissions, candidates))


def _beginnings(texts: Texts, words: int | None) -> Texts:
    return texts if words is None else texts.beginnings(words)


def _readers(
    part: Candidates, scores: Callable[..., Iterator[tuple[str, Floats]]]
) -> dict[str, Ids]:
    """Return the rank that each reader gives to the original of each sanitized text, (r,)."""
    by_reader: dict[str, list[Ids]] = {}
    key, many = randomness.seeded_key("dpsan linkage 1"), len(part.truth)
    step = max(1, _CELLS // max(len(part.texts), 1))  # so that their scores fit into memory
    for number, columns in enumerate(blocks(many, step)):
        versions = tuple(rank.of(columns) for rank in part.noisings)
        block = replace(part, noisings=versions, truth=part.truth[columns])
        for name, values in scores(block):
            subkey = randomness.derive_key(key, name, str(number))
            by_reader.setdefault(name, []).append(ranks(values, block.truth, subkey))
    return {name: np.concatenate(rank) for name, rank in by_reader.items()}


def _scored(
    vocabulary: Vocabulary, emissions: Emissions | None, whole: bool, part: Candidates
) -> Iterator[tuple[str, Floats]]:
    if emissions is not None:
        yield "exact, in order", ordered(emissions, part.texts, part.noisings)
    yield "TF-IDF", _tf_idf(part.texts, _joined(part.noisings), vocabulary)
    if whole:
        sizes, written = part.texts.sizes, part.noisings[0].sizes
        yield "number of words", (sizes[:, None] == written).astype(np.float64)
        yield "layout", (part.layouts[:, None] == part.layouts[part.truth]).astype(np.float64)


def ordered(emissions: Emissions, candidates: Texts, noisings: Sequence[Texts]) -> Floats:
    """Return ln P(sanitized text|candidate), word by word, shape (c, r).

    Args:
        candidates: c texts.
        noisings: independent sanitized versions of the same r texts: their logarithms are added.

    Returns:
        Minus infinity where the numbers of words differ or there are no words.
    """
    scores = np.full((len(candidates), len(noisings[0])), -np.inf)
    sizes, lengths = candidates.sizes, noisings[0].sizes
    order = np.argsort(lengths, kind="stable")
    outputs = _distinct(noisings)
    # Records of one size side by side: their outputs, numbered, position by position.
    groups: dict[int, tuple[slice, list[Ids]]] = {}
    for size in np.unique(lengths[lengths > 0]).tolist():
        low, high = np.searchsorted(lengths[order], [size, size + 1]).tolist()
        same_size = order[low:high]
        codes = [_numbered(copy.of(same_size), outputs).reshape(-1, size).T for copy in noisings]
        groups[size] = slice(low, high), codes
    matching = np.isin(sizes, list(groups))
    for c in np.flatnonzero(matching).tolist():
        scores[c, groups[int(sizes[c])][0]] = 0.0
    owners = np.repeat(np.arange(len(candidates)), sizes)
    positions = np.arange(len(owners)) - candidates.starts[owners]
    tokens = np.flatnonzero(matching[owners] & (candidates.ids >= 0))
    for words, at, which in by_word(candidates.ids[tokens], _BLOCK):
        rows = _rows(emissions, words, outputs)
        same_size = tokens[at]
        lists = which.tolist(), owners[same_size].tolist(), positions[same_size].tolist()
        for word, c, index in zip(*lists, strict=True):
            part, codes = groups[int(sizes[c])]
            row = rows[word]
            for copy in codes:
                scores[c, part] += row[copy[index]]
    return scores[:, np.argsort(order)]


def _distinct(noisings: Sequence[Texts]) -> Ids:
    """Return the outputs that occur, ascending."""
    every = np.unique(np.concatenate([texts.ids for texts in noisings]))
    return every[every >= 0]


def _numbered(texts: Texts, outputs: Ids) -> Ids:
    """Return the index of each output among the distinct ones; their number for a missing one."""
    return np.where(texts.ids >= 0, np.searchsorted(outputs, texts.ids), len(outputs))


def _rows(emissions: Emissions, words: Ids, outputs: Ids) -> Floats:
    """Return ln P(u|w) with a last column for missing outputs, (b, q + 1)."""
    logs = np.zeros((len(words), len(outputs) + 1))
    real = words >= 0  # a missing word explains every output alike
    if len(outputs):
        logs[real, :-1] = emissions.log(words[real], outputs)
    return logs


def _joined(noisings: Sequence[Texts]) -> Texts:
    """Return all sanitized versions of each text as one text."""
    ids = [np.split(texts.ids, texts.starts[1:-1]) for texts in noisings]
    starts = noisings[0].starts * len(noisings)
    return Texts(np.concatenate([part for row in zip(*ids, strict=True) for part in row]), starts)


def _tf_idf(texts: Texts, sanitized: Texts, vocabulary: Vocabulary) -> Floats:
    """Cosine of TF-IDF vectors of words without letter case, (c, r); idf of the candidates."""
    from scipy.sparse import diags

    candidates, others = (_counts(counts, vocabulary) for counts in (texts, sanitized))
    documents = np.asarray((candidates > 0).sum(axis=0)).ravel()
    idf = np.log((1 + len(texts)) / (1 + documents)) + 1
    candidates, others = (counts @ diags(idf) for counts in (candidates, others))
    return np.asarray((_unit(candidates) @ _unit(others).T).toarray())


def _counts(texts: Texts, vocabulary: Vocabulary) -> Any:
    listed = (texts.ids >= 0) & (texts.ids < vocabulary.n)
    rows = np.where(listed, vocabulary.fold[np.where(listed, texts.ids, 0)], vocabulary.n)
    return _counted(rows, texts.starts, vocabulary.n + 1)


def _counted(numbers: Ids, starts: Ids, size: int) -> Any:
    """Return the counts of numbers in each text, sparse (r, size); the last number is not counted.

    Args:
        numbers: numbers of all words, (m,), below ``size``.
        starts: offsets of the texts, and the end of the last one, (r + 1,).
    """
    from scipy.sparse import csr_matrix  # heavy import

    used = (numbers < size - 1).astype(np.float64)
    return csr_matrix((used, numbers, starts), (len(starts) - 1, size))


def _unit(rows: Any) -> Any:
    from scipy.sparse import diags

    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return diags(1 / np.maximum(norms, 1e-300)) @ rows


def _notes(emissions: Emissions | None, candidates: Candidates) -> tuple[str, ...]:
    notes = ["first: the original is the first guess"]
    if emissions is not None and not emissions.exact:
        notes.append(f"exact: {emissions.name}, as the distribution is not known")
    if emissions is not None:
        notes.append("exact: for words drawn one by one; after --consistent or --keep no bound")
    if any((version.ids < 0).any() for version in candidates.noisings):
        notes.append("outputs that are no words of the vocabulary are not read: a lower bound")
    return tuple(notes)


def judged(asked: argparse.Namespace) -> Linkage:
    """Return how often each reader finds the originals of two files."""
    names = {"embeddings": asked.embeddings, "cache": Store()}
    sanitizer = Sanitizer(asked.mechanism, epsilon=asked.epsilon, allow_unproved=True, **names)
    fields = () if asked.field is None else (asked.field,)
    inputs = Inputs("auto", ReadOptions(fields=fields))
    vocabulary = Vocabulary(sanitizer.embeddings, "unicode")
    pairs = read_pairs(asked.original, asked.sanitized, inputs, vocabulary, asked.copies)
    candidates = read_candidates(asked.candidates, inputs, vocabulary, pairs)
    emissions = Emissions(sanitizer.mechanism, sanitizer.space)
    return linkage(candidates, vocabulary, emissions, asked.words)


def main(given: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("original", type=Path, metavar="ORIGINAL")
    parser.add_argument("sanitized", type=Path, metavar="SANITIZED")
    parser.add_argument("--candidates", type=Path, required=True, help="texts that a reader holds")
    parser.add_argument("-m", "--mechanism", default="optimal-response")
    parser.add_argument("-e", "--epsilon", type=float, required=True)
    parser.add_argument("-E", "--embeddings", type=Path)
    parser.add_argument("-k", "--field", help="of a container")
    parser.add_argument("--words", type=int, action="append", default=[], help="first words alone")
    parser.add_argument("--copies", type=int, default=1, help="versions of each record (1)")
    asked = parser.parse_args(given)
    try:
        print(json.dumps(by_name(judged(asked))))
    except DpsanError as error:
        print(f"linkage.py: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
