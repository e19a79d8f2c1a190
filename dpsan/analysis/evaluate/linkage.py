"""Linkage: how often an attacker who holds candidates finds the original of a sanitized text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.candidates import Candidates
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.intervals import Estimate, Share, median
from dpsan.outcomes.shares import in_steps, part_of
from dpsan.outcomes.text_likelihood import Texts, bag, counted, ordered, ranks
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids, blocks
from dpsan.space.metric_space import MetricSpace

_CELLS: Final = 12_000_000
"""Scores that are held at once: 100 MB."""
_Scores = Callable[[Candidates, Progress], Iterator[tuple[str, Floats]]]
"""Function from candidates to the name and the scores, shape (c, r), of every attacker."""


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
    rank: Estimate
    """Median position of the original among the candidates, with its 95 % interval."""

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        rank = {"value": self.rank.value, "interval": [self.rank.low, self.rank.high]}
        seen = {"reader": self.reader, "words": self.words, "candidates": self.candidates}
        return {**seen, "first": self.first.as_json(), "median_rank": rank}


@dataclass(frozen=True)
class Linkage:
    """All readers."""

    rows: tuple[Linked, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"readers": [each.as_json() for each in self.rows], "notes": list(self.notes)}


def linkage(
    found: Candidates,
    vocabulary: Vocabulary,
    space: MetricSpace,
    emissions: Emissions | None,
    words: Sequence[int] = (),
    seed: str = "1",
    progress: Progress = lambda _: None,
) -> Linkage:
    """Link sanitized texts to candidates.

    Every reader holds all candidates equally likely and takes the one of the highest score; ties
    are broken by draws under a public key.

    Args:
        emissions: of the mechanism; None leaves out the attackers who know it.
        words: attackers also get the first words (so many) of each text, and of the candidates.
    """
    rows = []
    for length, share in in_steps(progress, [*sorted(set(words)), None]):
        texts = found.texts.beginnings(length)
        sizes = found.noisings[0].beginnings(length).sizes
        used = np.flatnonzero(sizes)
        some = np.flatnonzero(texts.sizes)
        number = np.full(len(texts), -1, dtype=np.int64)
        number[some] = np.arange(len(some))
        versions = tuple(each.beginnings(length).of(used) for each in found.noisings)
        truth = number[found.truth[used]]
        these = Candidates(texts.of(some), found.layouts[some], versions, truth)
        scores = partial(_scored, vocabulary, space, emissions, length is None)
        for name, of_original in _readers(these, scores, seed, share).items():
            hits = Share(int((of_original == 1).sum()), len(of_original))
            rows.append(Linked(name, length, len(some), hits, median(of_original)))
    return Linkage(tuple(rows), _notes(emissions, found))


def _readers(part: Candidates, scores: _Scores, seed: str, progress: Progress) -> dict[str, Ids]:
    """Return the rank that each reader gives to the original of each sanitized text, (r,)."""
    found: dict[str, list[Ids]] = {}
    key, many = randomness.seeded_key(f"dpsan linkage {seed}"), len(part.truth)
    step = max(1, _CELLS // max(len(part.texts), 1))  # so that their scores fit into memory
    for number, some in enumerate(blocks(many, step)):
        versions = tuple(each.of(some) for each in part.noisings)
        block = replace(part, noisings=versions, truth=part.truth[some])
        report = part_of(progress, some[0] / many, (some[-1] + 1) / many)
        for name, values in scores(block, report):
            own = randomness.derive_key(key, name, str(number))
            found.setdefault(name, []).append(ranks(values, block.truth, own))
    return {name: np.concatenate(each) for name, each in found.items()}


def _scored(
    vocabulary: Vocabulary,
    space: MetricSpace,
    emissions: Emissions | None,
    whole: bool,
    part: Candidates,
    progress: Progress,
) -> Iterator[tuple[str, Floats]]:
    if emissions is not None:
        given = emissions, part.texts, part.noisings
        yield "exact, in order", ordered(*given, part_of(progress, 0.0, 0.4))
        yield "exact, any order", bag(*given, part_of(progress, 0.4, 0.8))
    one = _joined(part.noisings)
    yield "TF-IDF", _tf_idf(part.texts, one, vocabulary)
    yield "mean vector", _mean_vector(part.texts, one, space)
    if whole:
        sizes, own = part.texts.sizes, part.noisings[0].sizes
        yield "number of words", (sizes[:, None] == own).astype(np.float64)
        yield "layout", (part.layouts[:, None] == part.layouts[part.truth]).astype(np.float64)
    progress(1.0)


def _joined(noisings: Sequence[Texts]) -> Texts:
    """Return all sanitized versions of each text as one text."""
    ids = [np.split(each.ids, each.starts[1:-1]) for each in noisings]
    starts = noisings[0].starts * len(noisings)
    return Texts(np.concatenate([part for row in zip(*ids, strict=True) for part in row]), starts)


def _tf_idf(texts: Texts, sanitized: Texts, vocabulary: Vocabulary) -> Floats:
    """Cosine of TF-IDF vectors of words without letter case, (c, r); idf of the candidates."""
    from scipy.sparse import diags

    candidates, others = (_counts(each, vocabulary) for each in (texts, sanitized))
    held = np.asarray((candidates > 0).sum(axis=0)).ravel()
    idf = np.log((1 + len(texts)) / (1 + held)) + 1
    candidates, others = (each @ diags(idf) for each in (candidates, others))
    return np.asarray((_unit(candidates) @ _unit(others).T).toarray())


def _counts(texts: Texts, vocabulary: Vocabulary) -> Any:
    known = (texts.ids >= 0) & (texts.ids < vocabulary.n)
    rows = np.where(known, vocabulary.fold[np.where(known, texts.ids, 0)], vocabulary.n)
    return counted(rows, texts.starts, vocabulary.n + 1)


def _unit(rows: Any) -> Any:
    from scipy.sparse import diags

    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return diags(1 / np.maximum(norms, 1e-300)) @ rows


def _mean_vector(texts: Texts, sanitized: Texts, space: MetricSpace) -> Floats:
    """Cosine of the sums of word vectors, (c, r)."""

    def sums(each: Texts) -> Floats:
        known = (each.ids >= 0) & (each.ids < space.n)
        owners = np.repeat(np.arange(len(each)), each.sizes)[known]
        out = np.zeros((len(each), space.d))
        for at in range(0, len(owners), 1 << 16):
            part = slice(at, at + (1 << 16))
            np.add.at(out, owners[part], space.vectors[each.ids[known][part]])
        norms = np.sqrt((out * out).sum(axis=1, keepdims=True))
        return np.asarray(out / np.maximum(norms, 1e-300))

    return np.asarray(sums(texts) @ sums(sanitized).T)


def _notes(emissions: Emissions | None, found: Candidates) -> tuple[str, ...]:
    notes = ["first: the original is the first guess; rank: its median place, 1 is the best"]
    if emissions is not None and not emissions.exact:
        notes.append(f"exact: {emissions.name}, as the distribution is not known")
    if emissions is not None:
        notes.append("exact: for words drawn one by one; after --consistent or --keep no bound")
    if any((each.ids < 0).any() for each in found.noisings):
        notes.append("outputs that are no words of the vocabulary are not read: a lower bound")
    return tuple(notes)
