"""``clusant``: a cluster by the exponential mechanism over centroids, then a word of that cluster.

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
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpsan.mechanisms.mechanism import Claim, Guarantee, IntegerResponse, MetricSpace, parameter
from dpsan.mechanisms.tables.dense import SCORE_CAP, TOP, DenseTable, weights_of
from dpsan.mechanisms.tables.orders import Clusters
from dpsan.privacy.certificate import WEIGHT_ERROR
from dpsan.space.arrays import Ids, Integers


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
            epsilon_ldp=min(between + self.epsilon, SCORE_CAP + math.log(space.n)) + slack,
            metric=f"{self.scale:g}·centroid distance + 1" if metric else None,
            epsilon_metric=self.epsilon if metric else None,
            slack=slack if metric else 0.0,
            claimed=Claim(self.epsilon, metric="euclidean" if metric else None),
            why="the cluster and the word are drawn one after the other, both by the true word: "
            "the losses of the two steps add up",
        )

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table of both steps; of ⊥ all clusters and their words are equally likely."""
        clusters = Clusters(space, self.k)
        unknown = np.empty(space.n, dtype=np.uint64)
        unknown[clusters.order] = np.repeat(TOP // clusters.sizes, clusters.sizes)
        half = 0.5 * self.epsilon
        return DenseTable(space, partial(_rows, clusters, half, self._unit(clusters)), unknown)


def _rows(clusters: Clusters, half: float, unit: float, words: Ids) -> Integers:
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
    return weights_of(scores - scores.min(axis=1, keepdims=True))
