"""Number of words by which a sanitized text is linked to its original, from the vocabulary alone.

Assumptions: the candidates are texts of words drawn independently by their public frequencies, 6 %
of them out-of-vocabulary.  All are equally likely, and one of them is the original.  The attacker
knows the distribution and takes the candidate under which the output is likeliest, word by word.
Words of real texts depend on each other, which makes texts a little more alike.

The words at evenly spaced quantiles of the public frequencies stand for the vocabulary.  All draws
are made under a public key, so the figures are the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.distributions import has_distribution
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.text_likelihood import ranks
from dpsan.outcomes.word_statistics import UNKNOWN_PRIOR, words_at
from dpsan.privacy import randomness
from dpsan.space.arrays import blocks
from dpsan.space.metric_space import Arrays, MetricSpace
from dpsan.text.numerals import counted

CANDIDATES: Final = 1000
TEXTS: Final = 250
LONGEST: Final = 64
"""Longest text, in words, that the quoted figure considers."""
_QUANTILES: Final = 1000
_CELLS: Final = 40_000_000
_CHUNK: Final = 32
"""Positions whose words are drawn at once."""


def linked_by_words(
    mechanism: Mechanism,
    space: MetricSpace,
    *,
    longest: int,
    key: bytes,
    candidates: int = CANDIDATES,
    texts: int = TEXTS,
) -> Iterator[Share]:
    """Yield the share of texts that are linked by their first 1, 2, ... ``longest`` words.

    Args:
        mechanism: resolved.
        longest: words of the longest texts.
        key: public.
        candidates: number of candidates that the attacker holds.
        texts: number of candidates that are sanitized.
    """
    emissions = Emissions(mechanism, space)
    many = int(min(_QUANTILES, max(50, _CELLS // space.n)))
    known = words_at(space, (np.arange(many) + 0.5) / many)
    unknown = round(many * UNKNOWN_PRIOR / (1 - UNKNOWN_PRIOR))
    words = np.append(known, np.full(unknown, space.n))
    truth = np.arange(texts)
    scores = np.zeros((candidates, texts))
    for first in range(0, longest, _CHUNK):
        size = min(_CHUNK, longest - first)
        own = randomness.derive_key(key, "words", first)
        drawn = randomness.streams_for(own, range(candidates), [size] * candidates)
        held = words[drawn.integers("word", len(words)).astype(np.int64)]
        own = randomness.derive_key(key, "outputs", first)
        outputs = np.empty(texts * size, dtype=np.int64)
        for at in range(0, texts, 64):
            part = range(at, min(at + 64, texts))
            streams = randomness.streams_for(own, part, [size] * len(part))
            some = slice(at * size, part.stop * size)
            outputs[some] = emissions.sampler.sample(held[some], streams)
        distinct, inputs = np.unique(held, return_inverse=True)
        seen, columns = np.unique(outputs, return_inverse=True)
        parts = blocks(len(distinct), 256)
        logs = np.concatenate(
            [emissions.log(distinct[at], seen).astype(np.float32) for at in parts]
        )
        inputs, columns = inputs.reshape(candidates, size), columns.reshape(texts, size)
        for at in range(size):
            scores += logs[inputs[:, at]][:, columns[:, at]]
            ties = randomness.derive_key(key, "ties", first + at)
            hits = int((ranks(scores, truth, ties) == 1).sum())
            yield Share(hits, texts)


@dataclass(frozen=True, slots=True)
class HalfLinked:
    """Words until half of the texts are linked to their originals."""

    words: int | None
    """None: more than :data:`LONGEST`."""

    @property
    def sentence(self) -> str:
        """Sentence of a statement."""
        words = "more than" if self.words is None else "their first"
        return (
            f"a reader who holds {CANDIDATES:,} candidates links half of the texts to their "
            f"originals by {words} {counted(self.words or LONGEST, 'word')}, if words are "
            "drawn by their public frequencies"
        )

    def of(self, copies: int) -> str:
        """Return the sentence for a run with ``copies``; all of them together need fewer words."""
        return self.sentence + (", from one of the copies alone" if copies > 1 else "")


def half_linked(mechanism: Mechanism, space: MetricSpace) -> HalfLinked | None:
    """Return the words until half of the texts are linked; None if no distribution is known.

    Takes a second, or three where the distribution is computed for each word.  Cached.

    Args:
        mechanism: resolved.
    """
    if not has_distribution(mechanism.prepare(space)):
        return None

    def build() -> Arrays:
        key = randomness.seeded_key("dpsan half linked")
        shares = linked_by_words(mechanism, space, longest=LONGEST, key=key)
        found = (at for at, share in enumerate(shares, start=1) if 2 * share.hits >= share.total)
        return {"words": np.array([next(found, 0)])}

    name = f"half-linked-1-{mechanism.name}-{mechanism.digest()}"
    return HalfLinked(int(space.table(name, build, of_mechanism=True)["words"][0]) or None)
