"""``santext-plus``: exponential mechanism into the sensitive words; frequent words mostly kept.

Definition
    The ``sensitive`` share of least frequent words is V_S, the others are V_N.  A word of V_S
    becomes u in V_S with probability proportional to exp(-epsilon·d(w, u)/2).  A word of V_N is
    kept with probability 1-p and drawn in the same way, from V_S, with probability p.
    ⊥ gives a uniform word of the whole vocabulary.
    Scores are counted from the nearest word of V_S and capped at 30 nats.
Guarantee
    NONE for all strings: an output in V_N comes from that word or from ⊥ alone, so it is an
    infinite loss with mass 1-p.  Within V_S the distribution is the exponential mechanism and keeps
    epsilon·d_X; the paper's own claim is of this kind ("utility-optimized" metric privacy: V_N is
    declared harmless) and is not refuted.
Proof
    docs/proofs.md 3.5
Source
    [SanText] §3.2, Algorithm 2 (SanText+), and the authors' code for V_N and unknown words.
Parameters
    sensitive: share of the vocabulary, 0.9 in the paper.  p: 0.3 in the paper.
Cost
    A row of n weights per distinct word of a batch.
Not to be confused with
    ``exponential``, which is SanText and draws every word from the whole vocabulary.

``custext``: exponential mechanism within small groups of similar words.

Definition
    Groups of K = ``k`` words: the first word (in order of frequency) without a group and the K
    nearest words without a group, itself included, become one.  P(u|w) proportional to
    exp(epsilon·s(w, u)/2) for u in the group of w, 0 elsewhere, where
    s = -(d(w, u) - least)/(largest - least) in [-1, 0] over the group.
    ⊥ gives a uniform word.
Guarantee
    NONE between any two words: the groups are disjoint, so every output of one word is impossible
    for a word of another group (infinite loss with mass 1), and it names the group at any epsilon.
    Within a group the distribution is epsilon-LDP: scores differ by at most 1, so each weight and
    each sum changes by at most exp(epsilon/2).  What the paper claims between groups was not read
    here, so nothing is refuted.
Proof
    docs/proofs.md 3.4
Source
    [CusText] Algorithms 1 and 2 with Euclidean distances; words are taken in order of frequency
    where the paper takes them at random.
Parameters
    k: size of a group; the last may be smaller.
Cost
    n/K searches among n words once per vocabulary (cached), then a row of n weights per distinct
    word of a batch.
Not to be confused with
    ``knn-response``, where words outside the near ones keep a small probability.

``clusant``: a cluster by the exponential mechanism over centroids, then a word of that cluster.

Definition
    Clusters of ``k`` words: the most frequent word without a cluster and the k nearest without one,
    itself included, and so on.  Of a word w of cluster c the cluster j is drawn with probability
    proportional to exp(-epsilon·s(c, j)/2): with ``dp=standard`` s is the distance of the two
    centroids over the largest such distance, with ``dp=metric`` it is ``scale`` times the distance.
    The word u of j is drawn with probability proportional to exp(-epsilon·t(w, u)/2), where t is
    the distance of w and u, moved and scaled to 0 ... 1 over the words of j.
    ⊥ gives a uniform cluster and a uniform word of it.
Guarantee
    PROVED, for the two steps together: ``standard`` is 2·epsilon-LDP, as each step costs epsilon;
    ``metric`` is epsilon per unit of s(c, c') + [w and w' differ], so it costs up to epsilon even
    within a cluster.  What the paper claims for the whole was not read here.
Proof
    docs/proofs.md 2.12
Source
    [CluSanT] and the authors' code (clusters, centroids, both settings).  The paper's text was not
    at hand.  The code scales t only with ``metric``, and then divides it by the diameter of the
    cluster; with ``standard`` it takes the plain distance with sensitivity 1.  Its second step then
    costs epsilon over the smallest diameter, and epsilon times the distance of w and w'.  Clusters
    begin with random words there, here with frequent ones.
Parameters
    k: size of a cluster.  dp: standard or metric.  scale: K of the paper, for metric.
Cost
    The clusters once per vocabulary (cached), then one row of n distances per distinct word of a
    batch; certificate in O(n²·d).
Not to be confused with
    ``custext``, which stays in the cluster of the word: infinite loss.

``rantext-paper``: exponential mechanism within a random distance of the true word.

Definition
    The vector of w gets independent Laplace noise of scale Delta_i/epsilon in coordinate i, Delta_i
    the range of that coordinate over the vocabulary; from epsilon = 2 on the divisor is
    F(epsilon) = 0.0166·ln(19.06·epsilon - 38.13) + 9.311, the paper's fit.  R is the length of the
    noise.  Candidates are the words nearer to w than R, w among them, and
    P(u|w, R) is proportional to exp(epsilon·(1 - d(w, u)/R)/2) among these.
    ⊥ gives a uniform word.
Guarantee
    NONE: the paper's proof was not read here, so nothing is refuted; this is about the authors'
    code.  Its list is made of the true word: with one and the same R, two words have different
    supports (infinite loss).  The list is not released, and R may be any length, so every word
    gives every output with some probability, and the loss of the output alone is finite: at most
    max d/max scale + epsilon/2 + ln n, which is printed.  The exact loss exceeds epsilon even for
    two words on a line: 1.68 at epsilon 1.
Proof
    docs/proofs.md 3.7
Source
    [InferDPT] RANTEXT and the authors' code for the noise, F, candidates and draw.  The code drops
    tokens without a vector and writes a number from 1 to 1000 for every number: infinite loss as
    well, which is not in here.  Vectors are those of the vocabulary, not of a language model.
Cost
    One row of n distances per distinct word of a batch, and n weights per word.
Not to be confused with
    ``tem``, whose words beyond a fixed distance keep a small probability.
"""

import math
from functools import partial
from typing import Final

import numpy as np

from dpsan.mechanisms.mechanism import IntegerResponse, Mechanism, parameter
from dpsan.mechanisms.tables import Sampler, dense
from dpsan.mechanisms.tables.orders import Clusters
from dpsan.privacy import randomness, rounding
from dpsan.privacy.certificate import MATRIX_WORDS, WEIGHT_ERROR, Certificate, euclidean
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.arrays import Floats, Ids, Integers, by_word
from dpsan.space.metric_space import MetricSpace


class SanTextPlus(dense.DisjointSupports):
    """SanText+ as published."""

    sensitive: float = parameter(
        0.9,
        "share of the vocabulary, least frequent words, that counts as sensitive",
        above=0,
        high=1,
    )
    p: float = parameter(
        0.3, "probability with which a word that is not sensitive is drawn anew", low=0, high=1
    )  # fmt: skip

    def first(self, n: int) -> int:
        """Return the first row of V_S."""
        return n - max(1, math.ceil(self.sensitive * n - 1e-9))

    def excluded(self, space: MetricSpace) -> float:
        """A word may be kept, and ⊥ gives words of V_N."""
        first = self.first(space.n)
        return max(1 - self.p, first / space.n) if first else 0.0

    def excluding(self, space: MetricSpace) -> tuple[int, int]:
        kept = 1 - self.p >= self.first(space.n) / space.n
        return 0 if kept else space.n, space.n - 1

    def loss_of_one_support(self, space: MetricSpace) -> float:
        return dense.distance_guarantee(euclidean(space), self.epsilon)[0]

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """None where the matrix is small enough, whose delta is exact."""
        return super().certificate(space) if space.n > MATRIX_WORDS else None

    def table(self, space: MetricSpace) -> dense.DenseTable:
        """Return the published table."""
        return dense.DenseTable(space, partial(self._rows, space))

    def _rows(self, space: MetricSpace, words: Ids) -> Integers:
        first = self.first(space.n)
        scores = space.distances(words)[:, first:] * (0.5 * self.epsilon)
        scores -= scores.min(axis=1, keepdims=True)
        weights, frequent = dense.weights_of(scores), np.flatnonzero(words < first)
        anew = weights[frequent].astype(np.float64)
        weights[frequent] = anew / anew.sum(axis=1, keepdims=True) * (self.p * dense.TOP)
        out = np.zeros((len(words), space.n), dtype=np.uint64)
        out[:, first:] = weights
        out[frequent, words[frequent]] = int((1 - self.p) * dense.TOP)
        return out


class CusText(dense.DisjointSupports):
    """CusText as published."""

    k: int = parameter(20, "size of a group of words", unit="words", low=2)

    def excluded(self, space: MetricSpace) -> float:
        return 1.0 if self.k < space.n else 0.0

    def excluding(self, space: MetricSpace) -> tuple[int, int]:
        """Return the first words of two groups."""
        first, second = Clusters(space, self.k).members[:2, 0].tolist()
        return first, second

    def loss_of_one_support(self, space: MetricSpace) -> float:
        """Epsilon between words of the one group; the uniform distribution of ⊥ lies within."""
        return self.epsilon + 4 * WEIGHT_ERROR

    def table(self, space: MetricSpace) -> dense.DenseTable:
        """Return the table; words of other groups weigh nothing."""
        return dense.DenseTable(space, partial(_of_clusters, Clusters(space, self.k), self.epsilon))


def _of_clusters(clusters: Clusters, epsilon: float, words: Ids) -> Integers:
    """Weights floor(2^62·exp(epsilon·s/2)) of the members of each word's group."""
    space, members = clusters.space, clusters.members[clusters.of[words]]
    apart = space.vectors[members] - space.points(words)[:, None, :]
    distances = np.sqrt(np.einsum("mkd,mkd->mk", apart, apart))
    real = members >= 0
    least = np.where(real, distances, np.inf).min(axis=1, keepdims=True)
    spread = np.where(real, distances, -np.inf).max(axis=1, keepdims=True) - least
    scores = np.where(real, distances - least, 0.0) / np.where(spread > 0, spread, 1)
    out = np.zeros((len(words), space.n), dtype=np.uint64)
    rows = np.nonzero(real)[0]
    out[rows, members[real]] = dense.weights_of(0.5 * epsilon * scores)[real]
    return out


class CluSanT(IntegerResponse):
    """Cluster, then word."""

    k: int = parameter(50, "size of a cluster", unit="words", low=2)
    dp: str = parameter(
        "standard",
        "distances of centroids over the largest, or times a scale",
        words=("standard", "metric"),
    )
    scale: float = parameter(1.0, "factor of the distances of centroids, with dp=metric", above=0)

    def _unit(self, clusters: Clusters) -> float:
        """Return what the distance of two centroids is multiplied by."""
        if self.dp == "metric":
            return self.scale
        largest = clusters.diameter()
        return 1 / largest if largest > 0 else 0.0

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Both steps together."""
        slack = 4 * WEIGHT_ERROR  # two weights, two sums
        metric = self.dp == "metric"
        between = self.epsilon * (self.scale * Clusters(space, self.k).diameter() if metric else 1)
        return self.promise(
            epsilon_ldp=min(between + self.epsilon, dense.SCORE_CAP + math.log(space.n)) + slack,
            metric=f"{self.scale:g}·centroid distance + 1" if metric else None,
            epsilon_metric=self.epsilon if metric else None,
            slack=slack if metric else 0.0,
            claimed=Claim(self.epsilon, metric="euclidean" if metric else None),
        )

    def table(self, space: MetricSpace) -> dense.DenseTable:
        """Return the table of both steps; of ⊥ all clusters and their words are equally likely."""
        clusters = Clusters(space, self.k)
        unknown = np.empty(space.n, dtype=np.uint64)
        unknown[clusters.order] = np.repeat(dense.TOP // clusters.sizes, clusters.sizes)
        rows = partial(_in_two_steps, clusters, 0.5 * self.epsilon, self._unit(clusters))
        return dense.DenseTable(space, rows, unknown)


def _in_two_steps(clusters: Clusters, half: float, unit: float, words: Ids) -> Integers:
    """Weights of both steps: exp of the scores of cluster and word, over the sum of the cluster."""
    order, starts = clusters.order, clusters.starts
    cluster = np.repeat(np.arange(clusters.n), clusters.sizes)
    apart = clusters.space.distances(words)[:, order]
    near = np.minimum.reduceat(apart, starts, axis=1)
    span = np.maximum.reduceat(apart, starts, axis=1) - near
    span[span == 0] = 1.0
    within = half * np.clip((apart - near[:, cluster]) / span[:, cluster], 0.0, 1.0)
    between = half * unit * clusters.apart(clusters.of[words])
    between += np.log(np.add.reduceat(np.exp(-within), starts, axis=1))
    scores = np.empty_like(apart)
    scores[:, order] = within + between[:, cluster]
    return dense.weights_of(scores - scores.min(axis=1, keepdims=True))


_ROWS: Final = 32


def divisor(epsilon: float) -> float:
    """Return the divisor of coordinate ranges: the constants of the authors' code."""
    if epsilon < 2:
        return epsilon
    inner = epsilon * 19.064721649556482 - 38.1294334077209
    return 0.01658160142016071 * math.log(inner) + 9.311083811697406


class RanTextSampler(Sampler):
    """Radius, candidates, word; float64."""

    makes_rows = True

    def __init__(self, space: MetricSpace, epsilon: float) -> None:
        self.space, self.epsilon = space, epsilon
        ranges = space.vectors.max(axis=0).astype(np.float64) - space.vectors.min(axis=0)
        self.scales = ranges / divisor(epsilon)

    def pmf(self, apart: Floats, radii: Floats) -> Floats:
        """P(u|w, R) for distances (m, n) and radii (m,)."""
        ratio = apart / np.maximum(radii, 1e-300)[:, None]
        weights = np.where(apart < radii[:, None], np.exp(-0.5 * self.epsilon * ratio), 0.0)
        # All words at one point have no noise: then the word itself is left.
        weights[apart == 0] = 1.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def sample(self, ids: Ids, streams: randomness.Streams) -> Ids:
        out = streams.integers("unknown", self.space.n).astype(np.int64)
        noise = rounding.LaplaceCoordinates(1.0)(streams, self.space.d) * self.scales
        radii = np.linalg.norm(noise, axis=1)
        drawn = streams.uniform("word")[:, 0]
        listed = np.flatnonzero(ids < self.space.n)
        for words, indices, which in by_word(ids[listed], _ROWS):
            apart = self.space.distances(words)
            for at in range(0, len(indices), _ROWS):
                rows, groups = listed[indices[at : at + _ROWS]], which[at : at + _ROWS]
                sums = np.cumsum(self.pmf(apart[groups], radii[rows]), axis=1)
                index = (sums <= drawn[rows, None] * sums[:, -1:]).sum(axis=1)
                out[rows] = np.minimum(index, self.space.n - 1)
        return out


class RanTextPaper(Mechanism):
    """RANTEXT as published."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return a bound on the loss, which is finite."""
        largest = float(self.prepare(space).scales.max())
        loss = space.diameter / largest if largest > 0 else 0.0
        return self.promise(loss + self.epsilon / 2 + math.log(space.n))

    def prepare(self, space: MetricSpace) -> RanTextSampler:
        """Return the published sampler."""
        return RanTextSampler(space, self.epsilon)
