"""Likelihood of a sanitized text under each candidate for its original.

Words are drawn independently, so the likelihood of a text is the product over its words.  No
attacker who holds all candidates equally likely is right more often than one who takes the
candidate of the largest likelihood (Bayes).  Everything is computed for a block of inputs at a
time, so the largest matrix is that of the scores, (candidates, records).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.embeddings.words import WATCH
from dpsan.errors import counted
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.distributions import UNKNOWN_PRIOR, Emissions, has_distribution, words_at
from dpsan.outcomes.intervals import Share
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Floats32, Ids, Ints, blocks
from dpsan.space.metric_space import Arrays, MetricSpace

_BLOCK: Final = 256
"""Inputs whose distributions are held at once."""
_SLACK: Final = 1e-9
"""Relative difference of scores that rounding may make."""


@dataclass(frozen=True)
class Texts:
    """Texts as row numbers, one after the other.  Negative numbers are missing words, n is ⊥."""

    ids: Ids
    """Rows of all words, (m,)."""
    starts: Ids
    """Offsets of the texts, and the end of the last one, (t + 1,)."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Ids:
        """Number of words of each text, (t,)."""
        return np.diff(self.starts)

    def beginnings(self, words: int) -> "Texts":
        """Return the first ``words`` words of each text; shorter texts become empty."""
        return self._cut(self.starts[:-1], np.where(self.sizes >= words, words, 0))

    def of(self, numbers: Ids) -> "Texts":
        """Return the texts of these numbers."""
        return self._cut(self.starts[numbers], self.sizes[numbers])

    def _cut(self, begin: Ids, sizes: Ids) -> "Texts":
        """Return slices of the words, each as a text."""
        starts = np.append(0, np.cumsum(sizes))
        positions = np.arange(starts[-1]) - np.repeat(starts[:-1] - begin, sizes)
        return Texts(self.ids[positions], starts)


def sanitized(sampler: Sampler, texts: Texts, key: bytes) -> Ids:
    """Return an output for each word of all texts, drawn as ``rewrite`` draws them, (m,)."""
    streams = randomness.streams_for(key, range(len(texts)), texts.sizes.tolist())
    return sampler.sample_all(texts.ids, streams)


def by_position(emissions: Emissions, inputs: Ids, outputs: Ids) -> Iterator[Floats32]:
    """Yield ln P(output|input) of each position in all pairs of texts of one size, (c, r).

    Args:
        inputs: words of candidates, n for ⊥, (c, size).
        outputs: words of sanitized texts, (r, size).
    """
    distinct, rows = np.unique(inputs, return_inverse=True)
    shown, columns = np.unique(outputs, return_inverse=True)
    parts = (distinct[at] for at in blocks(len(distinct), _BLOCK))
    logs = np.concatenate([emissions.log(ids, shown).astype(np.float32) for ids in parts])
    rows, columns = rows.reshape(inputs.shape), columns.reshape(outputs.shape)
    for at in range(inputs.shape[1]):
        yield logs[rows[:, at]][:, columns[:, at]]


def ranks(scores: Floats, truth: Ids, key: bytes) -> Ids:
    """Return the rank of the true candidate by falling scores, 1 for the first, (r,).

    Ties are broken by a draw: no attacker can do better.

    Args:
        scores: (c, r).
        truth: number of the true candidate of each record, (r,).
        key: public.
    """
    true_scores = scores[truth, np.arange(len(truth))]
    slack = _SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(true_scores), true_scores, 0.0)))
    above = (scores > true_scores + slack).sum(axis=0)
    level = (scores >= true_scores - slack).sum(axis=0) - above
    streams = randomness.streams_for(key, range(len(truth)), [1] * len(truth))
    drawn = streams.integers("ties", np.maximum(level, 1).astype(np.uint64))
    return np.asarray(1 + above + drawn.astype(np.int64))


# Number of words by which a sanitized text is linked to its original, from the vocabulary alone.
#
# Assumptions: the candidates are texts of words drawn independently by their public frequencies, 6
# % of them out-of-vocabulary.  All are equally likely, and one of them is the original.  The
# attacker knows the distribution and takes the candidate under which the output is likeliest, word
# by word. Words of real texts depend on each other, which makes texts a little more alike.
#
# The words at evenly spaced quantiles of the public frequencies stand for the vocabulary.  All
# draws are made under a public key, so the figures are the same in every run.

CANDIDATES: Final = 1000
TEXTS: Final = 250
LONGEST: Final = 64
"""Longest text, in words, that the quoted figure considers."""
_QUANTILES: Final = 1000
_CELLS_OF_WORDS: Final = 40_000_000
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
    many = int(min(_QUANTILES, max(50, _CELLS_OF_WORDS // space.n)))
    listed = words_at(space, (np.arange(many) + 0.5) / many)
    unknown = round(many * UNKNOWN_PRIOR / (1 - UNKNOWN_PRIOR))
    words = np.append(listed, np.full(unknown, space.n))
    truth = np.arange(texts)
    scores = np.zeros((candidates, texts))
    for first in range(0, longest, _CHUNK):
        size = min(_CHUNK, longest - first)
        subkey = randomness.derive_key(key, "words", first)
        streams = randomness.streams_for(subkey, range(candidates), [size] * candidates)
        drawn_from = words[streams.integers("word", len(words)).astype(np.int64)]
        subkey = randomness.derive_key(key, "outputs", first)
        outputs = np.empty(texts * size, dtype=np.int64)
        for at in range(0, texts, 64):
            part = range(at, min(at + 64, texts))
            streams = randomness.streams_for(subkey, part, [size] * len(part))
            part_rows = slice(at * size, part.stop * size)
            outputs[part_rows] = emissions.sampler.sample(drawn_from[part_rows], streams)
        inputs, drawn = drawn_from.reshape(candidates, size), outputs.reshape(texts, size)
        for at, logs in enumerate(by_position(emissions, inputs, drawn)):
            scores += logs
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
        halves = (at for at, share in enumerate(shares, start=1) if 2 * share.hits >= share.total)
        return {"words": np.array([next(halves, 0)])}

    name = f"half-linked-1-{mechanism.name}-{mechanism.digest()}"
    return HalfLinked(int(space.table(name, build, of_mechanism=True)["words"][0]) or None)


# The inputs that explain each output of a mechanism best.

MOST_INPUTS: Final = 48
"""Inputs considered for each output at most."""
LEAST_POSTERIOR: Final = 0.001
"""Least posterior probability, before any context, of an input that is considered."""
_PROBABLE: Final = -400.0
"""ln of the least probability that ⊥ has an output of the mechanism."""


def likeliest_inputs(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    """Return the outputs of a mechanism, and the inputs that explain each best; cached.

    Args:
        mechanism: resolved; its output distributions are known.

    Returns:
        ``outputs`` (q,); ``inputs`` (q, s), by prior times likelihood, with ⊥ last and -1 where
        others are too unlikely; ``scores`` (q, s), ln P(output|input).
    """
    name = f"likeliest-5-{MOST_INPUTS}-{mechanism.name}-{mechanism.digest()}"
    return space.table(name, lambda: _build(mechanism, space), of_mechanism=True)


def _build(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    emissions = Emissions(mechanism, space)
    outputs = np.flatnonzero(emissions.unknown > _PROBABLE)
    prior = np.log(space.frequencies)
    sampler = emissions.sampler
    if isinstance(sampler, SparseTable):
        inputs, scores = _by_weights(sampler, outputs, prior)
    else:
        with WATCH.get()("finding the likeliest inputs of each output") as progress:
            likeliest = emissions.candidates(outputs, [prior], MOST_INPUTS, progress)[0]
        inputs, scores = likeliest.inputs, likeliest.scores - prior[np.maximum(likeliest.inputs, 0)]
        scores[inputs < 0] = -np.inf
    joint = np.exp(scores + prior[np.maximum(inputs, 0)])
    unlikely = joint < LEAST_POSTERIOR * joint.sum(axis=1, keepdims=True)
    inputs[unlikely], scores[unlikely] = -1, -np.inf
    unknown = np.full((len(outputs), 1), space.n, dtype=np.int32)
    scores = np.concatenate([scores, emissions.unknown[outputs][:, None]], axis=1)
    return {
        "outputs": outputs,
        "inputs": np.concatenate([inputs, unknown], axis=1),
        "scores": scores.astype(np.float32),
    }


def _by_weights(table: SparseTable, outputs: Ids, prior: Floats) -> tuple[Ints, Floats]:
    """Return the best inputs of each output and ln P(output|input), both (q, MOST_INPUTS).

    An input gives most outputs their common weight.  So the best ones have the output in their near
    set, or are among the most frequent words.
    """
    owners, near, masses = table.near.sets(np.arange(len(prior)))
    more = table.increment * masses.astype(np.float64)
    common = table.common.astype(np.float64)
    totals = np.log(common.sum() + np.bincount(owners, more, minlength=len(prior)))
    usual = np.argsort(totals - prior, kind="stable")[:MOST_INPUTS]
    real = np.isin(near, outputs)  # a public word may be an output of itself alone
    owners, near, more = owners[real], near[real], more[real] + common[near[real]]
    with np.errstate(divide="ignore"):
        log = np.log(more) - totals[owners]
        far = np.log(common[outputs])[:, None] - totals[usual]
    u = np.concatenate([near, np.repeat(outputs, len(usual))])
    w = np.concatenate([owners, np.tile(usual, len(outputs))])
    log = np.concatenate([log, far.ravel()])
    # An input of both kinds counts once, with its own weight, which stands first.
    _, first = np.unique(u * len(prior) + w, return_index=True)
    u, w, log = u[first], w[first], log[first]
    order = np.lexsort((w, -(log + prior[w]), u))
    u, w, log = u[order], w[order], log[order]
    rank = np.arange(len(u)) - np.searchsorted(u, u)
    number = np.searchsorted(outputs, u)
    best = (rank < MOST_INPUTS) & (log > -np.inf)
    inputs = np.full((len(outputs), MOST_INPUTS), -1, dtype=np.int32)
    scores = np.full((len(outputs), MOST_INPUTS), -np.inf)
    inputs[number[best], rank[best]], scores[number[best], rank[best]] = w[best], log[best]
    return inputs, scores
