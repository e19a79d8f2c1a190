"""What reads the noisy vectors of words before the nearest word is taken.

The published mechanisms of [TrLap] release a noisy vector, and its experiments read it with a
network.  Two readers stand here: one that knows in which box truncated noise lies, and a linear
decoder that learns from noisy vectors of other text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from common.study import Asked
from dpsan.analysis.compare.measure import Corpus
from dpsan.embeddings.words import Embeddings
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

_BLOCK: Final = 512


class Released(NamedTuple):
    """Words, where they are before the noise, and what is released of them."""

    clipped: Floats
    """Points of all words of the vocabulary, (n, d)."""
    noisy: Floats
    """(m, d)."""


def released(mechanism: Any, space: MetricSpace, ids: Ids, key: bytes) -> Released:
    """Return the noisy vectors of words under a point mechanism, drawn under a public key."""
    sampler = mechanism.noise(space)
    streams = randomness.streams_for(key, range(len(ids)), [1] * len(ids))
    points = sampler.space.points(ids)
    clipped = sampler.space.points(np.arange(space.n))
    return Released(clipped, points + sampler.noise(streams, space.d))


def log_prior(texts: Corpus, n: int) -> Floats:
    """Return logarithms of the words' shares in a text, each counted once more, (n,)."""
    ids = texts.words.ids
    counts = np.bincount(ids[ids < n], minlength=n) + 1.0
    return np.asarray(np.log(counts / counts.sum()))


def boxed(found: Released, alpha: float, reach: float, prior: Floats) -> tuple[Ids, Ids]:
    """Name the word of each noisy vector by the box of its noise.

    A word is a candidate where no coordinate of the noise that it supposes is beyond ``reach``;
    named is the candidate with the largest prior·exp(-alpha·(L1 norm of that noise)).

    Returns:
        The words named, and how many candidates there were, (m,) each.
    """
    names = np.empty(len(found.noisy), dtype=np.int64)
    counts = np.empty_like(names)
    limit = reach * (1 + 1e-9)
    for at, point in enumerate(found.noisy):
        apart = np.abs(found.clipped - point)
        inside = apart.max(axis=1) <= limit
        scores = np.where(inside, prior - alpha * apart.sum(axis=1), -np.inf)
        names[at], counts[at] = scores.argmax(), inside.sum()
    return names, counts


def windows(texts: Corpus, known: Ids, vectors: Floats, side: int) -> Floats:
    """Return for each known word the vectors of the ``side`` words before and after it in its text.

    Args:
        known: which words of the texts have a vector, ascending.
        vectors: of those, (m, d); others count as 0, and so does what is beyond the text.

    Returns:
        (m, (2·side + 1)·d), the word itself in the middle.
    """
    ids, starts = texts.words.ids, texts.words.starts
    m, d = vectors.shape
    place = np.full(len(ids), m)
    place[known] = np.arange(m)
    padded = np.vstack([vectors, np.zeros((1, d))])
    text = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    parts = []
    for step in range(-side, side + 1):
        at = known + step
        inside = (at >= 0) & (at < len(ids))
        at = at.clip(0, len(ids) - 1)
        inside &= text[at] == text[known]
        parts.append(padded[np.where(inside, place[at], m)])
    return np.concatenate(parts, axis=1)


class LinearDecoder:
    """Ridge regression from windows of noisy vectors to the word's own, then the likeliest word.

    Errors count as normal with the variance that they have in training, to a power that makes the
    training words likeliest (errors of coordinates hang together); the prior is the share of words
    there, so that a decoder that reads nothing answers with the most frequent word.

    Args:
        windows: (m, k).
        truth: the words, (m,).
        words: vectors of all words, (n, d).
        prior: :func:`log_prior`.
        strength: of the penalty, in units of the mean square of a feature.
    """

    def __init__(
        self, windows: Floats, truth: Ids, words: Floats, prior: Floats, strength: float = 1.0
    ) -> None:
        self._words, self._prior = words, prior
        self._middle, self._target = windows.mean(axis=0), words[truth].mean(axis=0)
        features, wanted = windows - self._middle, words[truth] - self._target
        gram = features.T @ features
        gram[np.diag_indices_from(gram)] += strength * max(float(np.trace(gram)) / len(truth), 1e-9)
        self._weights = np.linalg.solve(gram, features.T @ wanted)
        left = wanted - features @ self._weights
        self._variance = max(float((left**2).mean()), 1e-6)
        some = slice(0, _BLOCK)
        powers = [4.0**-step for step in range(8)]
        self._power = 1.0
        losses = []
        for self._power in powers:
            losses.append(self.read(windows[some], truth[some])[1])
        self._power = powers[int(np.argmin(losses))]

    def read(self, windows: Floats, truth: Ids) -> tuple[Ids, float]:
        """Return the words named (m,), and the mean of -ln of what was given to the right ones."""
        names, loss = np.empty(len(windows), dtype=np.int64), 0.0
        squares = (self._words**2).sum(axis=1)
        for at in range(0, len(windows), _BLOCK):
            part = slice(at, at + _BLOCK)
            points = self._target + (windows[part] - self._middle) @ self._weights
            errors = (squares - 2 * points @ self._words.T) / (2 * self._variance)
            scores = self._prior - self._power * errors
            names[part] = scores.argmax(axis=1)
            scores -= scores.max(axis=1)[:, None]
            total = np.log(np.exp(scores).sum(axis=1))
            loss += float((total - scores[np.arange(len(scores)), truth[part]]).sum())
        return names, loss / max(len(windows), 1)


def means(texts: Corpus, known: Ids, vectors: Floats) -> Floats:
    """Return the mean vector of each text's known words, (texts, d); 0 of a text without one."""
    starts = texts.words.starts
    text = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[known]
    out = np.zeros((len(starts) - 1, vectors.shape[1]))
    np.add.at(out, text, vectors)
    return np.asarray(out / np.maximum(np.bincount(text, minlength=len(out)), 1)[:, None])


def random_vectors(asked: Asked, d: int = 300) -> tuple[Embeddings, MetricSpace]:
    """Return the same words with vectors uniform in (-sqrt(3/d), sqrt(3/d)), under a public key."""
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    words = list(asked.embeddings.index_to_key)
    key = randomness.seeded_key(f"dpsan study random vectors {asked.seed}")
    streams = randomness.streams_for(key, [0], [len(words)])
    vectors = (2 * streams.uniform("vectors", d) - 1) * np.sqrt(3 / d)
    name = f"random-{asked.seed}-{asked.embeddings.digest}"
    found = Embeddings(words, vectors.astype(np.float32), "random", name)
    return found, MetricSpace(found)


def truncation(mechanism: Mechanism, space: MetricSpace, radius: float) -> tuple[float, float]:
    """Alpha and A of a truncated mechanism for words clipped at a radius."""
    found: tuple[float, float] = getattr(mechanism, "truncation")(space.d, radius)  # noqa: B009
    return found


def bleu(originals: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> float:
    """BLEU-4 of texts as lists of words against their originals (Papineni et al. 2002), 0 ... 1."""
    logs, lengths = 0.0, (sum(map(len, originals)), sum(map(len, others)))
    for size in range(1, 5):
        hits = total = 0
        for one, other in zip(originals, others, strict=True):
            there, here = (
                Counter(zip(*(text[at:] for at in range(size)), strict=False))
                for text in (one, other)
            )
            hits += sum((there & here).values())
            total += sum(here.values())
        if not hits:
            return 0.0
        logs += np.log(hits / total) / 4
    shorter = min(0.0, 1 - lengths[0] / max(lengths[1], 1))
    return float(np.exp(logs + shorter))
