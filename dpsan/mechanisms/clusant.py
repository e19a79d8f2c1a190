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
    The clusters once per vocabulary (cached), then k distances per word; certificate in O(n²·d).
Not to be confused with
    ``custext``, which stays in the cluster of the word: infinite loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.samplers.base import SCORE_CAP, WEIGHT_ERROR
from dpsan.mechanisms.samplers.cluster_response import ClusterResponseSampler, Clusters
from dpsan.mechanisms.tables.groups import groups
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.column_losses import column_certificate
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class CluSanT(IntegerResponse):
    """Cluster, then word."""

    name: ClassVar[str] = "clusant"
    summary: ClassVar[str] = (
        "CluSanT: a cluster by its centroid, then a word of it; costs 2 epsilon"
    )
    source: ClassVar[str] = "CluSanT, authors' code"

    k: int = parameter(50, "size of a cluster", unit="words", low=2)
    dp: str = parameter(
        "standard",
        "distances of centroids over the largest, or times a scale",
        words=("standard", "metric"),
    )
    scale: float = parameter(
        1.0, "factor of the distances of centroids, with dp=metric", low=0, open_low=True
    )

    def clusters(self, space: MetricSpace) -> Clusters:
        """Return the clusters with this mechanism's scores."""
        found = Clusters(space, groups(space, min(self.k, space.n)))
        unit = self.scale
        if self.dp == "standard":
            largest = found.diameter()
            unit = 1 / largest if largest > 0 else 0.0
        return replace(found, factor=0.5 * self.epsilon * unit)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Both steps together."""
        slack = 4 * WEIGHT_ERROR  # of the first step: two weights, two sums
        metric = self.dp == "metric"
        between = self.epsilon * (self.scale * self.clusters(space).diameter() if metric else 1)
        return self.promise(
            epsilon_ldp=min(between, 2 * SCORE_CAP) + slack + self.epsilon,
            metric=f"{self.scale:g}·centroid distance + 1" if metric else None,
            epsilon_metric=self.epsilon if metric else None,
            slack=slack if metric else 0.0,
            claimed=Claim(self.epsilon, metric="euclidean" if metric else None),
            why="the cluster and the word are drawn one after the other, both by the true word: "
            "the losses of the two steps add up",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the exact loss between any two inputs, in O(n²)."""
        return column_certificate(space, self.prepare(space).log_pmf, repr(self))

    def prepare(self, space: MetricSpace) -> ClusterResponseSampler:
        """Return a sampler in two steps."""
        return ClusterResponseSampler(space, self.clusters(space), 0.5 * self.epsilon)
