"""Output distributions of words where they are known, else draws under public keys.

Draws come from the code of ``rewrite``; with public keys all figures are repeatable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import counted, number, refuse
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Floats32, Ids, blocks
from dpsan.space.metric_space import MetricSpace

# Public statistics of a vocabulary: prior of the inputs, cosines.

UNKNOWN_PRIOR: Final = 0.06
"""Prior of ⊥: the share of tokens of AG News and SST-2 that the bundled vocabulary lacks."""
_BATCH: Final = 1024
OTHER_SETTINGS: Final = "these texts were not written by these settings"
_LOST, _FEW = 0.05, 100
"""Share of words that are no outputs of a mechanism, in texts of so many words and more."""


def prior(space: MetricSpace) -> Floats:
    """Return the public probabilities of the inputs, shape (n + 1,), ⊥ last; they sum to 1.

    See :func:`dpsan.embeddings.base.word_frequencies`.
    """
    return np.append(space.frequencies * (1 - UNKNOWN_PRIOR), UNKNOWN_PRIOR)


def words_at(space: MetricSpace, quantiles: Floats) -> Ids:
    """Return the words at quantiles 0 ... 1 of the public frequencies, shape (m,).

    Uniform quantiles choose words by frequency; evenly spaced ones stand for the whole vocabulary.
    """
    rows = np.searchsorted(np.cumsum(space.frequencies), quantiles, side="right")
    return np.asarray(np.minimum(rows, space.n - 1), dtype=np.int64)


def cosines(units: Floats32, ids: Ids, outputs: Ids) -> Floats:
    """Return the cosines of words (m,) and their outputs (m,), shape (m,)."""
    out = np.empty(len(ids))
    for part in blocks(len(ids), _BATCH):
        out[part] = np.einsum("md,md->m", units[ids[part]], units[outputs[part]])
    return out


Progress = Callable[[float], None]
"""Called with a share of the work, 0 ... 1; may raise to interrupt."""

_FLOPS: Final = 4e9
"""Floating-point operations of the draws, 2·n·d each."""
_WORDS: Final = (50, 400)


def silent(_: object) -> None:
    """Report nothing."""


def has_distribution(sampler: Sampler) -> bool:
    """Return whether the sampler knows its output distributions."""
    return sampler.probabilities(np.zeros(1, dtype=np.int64)) is not None


def distributions(sampler: Sampler, ids: Ids) -> Floats:
    """Return P(u|w) of words (m,) for all outputs, shape (m, n).

    Args:
        ids: words; n for ⊥.
    """
    rows = sampler.probabilities(ids)
    if rows is None:
        raise AssertionError("the distribution is known for some words only")
    return rows


def check_outputs(sampler: Sampler, counts: Ids) -> None:
    """Raise UsageError if a table cannot have written a text: many of its words are no outputs.

    A few such words are no evidence: a setting may let some words pass.

    Args:
        counts: occurrences of each word in the text, (n,).
    """
    if isinstance(sampler, SparseTable):
        shown, words = np.flatnonzero(counts), int(counts.sum())
        lost = int(counts[shown[sampler.unchanged(shown) == 0]].sum())
        what = f"{number(lost)} of {counted(words, 'word')} cannot be outputs of this mechanism"
        refuse(lost > _LOST * max(words, _FEW), OTHER_SETTINGS, what)


def draw(sampler: Sampler, ids: Ids, key: bytes) -> Ids:
    """Draw one output for each word, each in a record of its own.

    Args:
        ids: words (m,).
        key: public.
    """
    streams = randomness.streams_for(key, range(len(ids)), [1] * len(ids))
    return sampler.sample_all(ids, streams)


def expected_share_of(sampler: Sampler, space: MetricSpace, among: NDArray[np.bool_]) -> float:
    """Return the expected share of unchanged words among some, weighted by public frequencies.

    Of many words, those at evenly spaced quantiles of the frequencies count.

    Args:
        among: the words, (n,).

    Raises:
        AssertionError: the sampler does not know the probability.
    """
    ends = np.cumsum(np.where(among, space.frequencies, 0.0))
    if not ends[-1]:
        return 0.0
    many = min(int(among.sum()), _WORDS[1])
    ids = np.searchsorted(ends, (np.arange(many) + 0.5) / many * ends[-1], side="right")
    if (shares := sampler.unchanged(ids)) is None:
        raise AssertionError("the probability of an unchanged word is not known")
    return float(np.mean(shares))


def expected_unchanged(sampler: Sampler, space: MetricSpace, public: tuple[int, ...] = ()) -> float:
    """Return the expected share of unchanged words, weighted by public word frequencies.

    The words lie at evenly spaced quantiles of the public frequencies.  Where the sampler does not
    know the probability, each word is drawn once.  The share is the same for every text.

    Args:
        public: row numbers of public words, which do not count.
    """
    words = int(np.clip(_FLOPS / (2 * space.n * space.d), *_WORDS)) // 10 * 10
    ids = words_at(space, (np.arange(words) + 0.5) / words)
    if public:
        ids = ids[~np.isin(ids, public)]
        if not len(ids):  # public words have nearly all of the frequency
            ids = np.delete(np.arange(space.n), public)[:words]
    shares = sampler.unchanged(ids)
    if shares is None:
        key = randomness.seeded_key("dpsan retention")
        streams = randomness.streams_for(key, range(len(ids)), [1] * len(ids))
        shares = sampler.sample(ids, streams) == ids
    return float(np.mean(shares))
