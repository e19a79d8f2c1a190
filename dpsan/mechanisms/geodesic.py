"""``geodesic``: exponential mechanism with the distance along a nearest-neighbour graph.

Definition
    Two words are joined if one is among the k nearest of the other.  Components are joined by
    their closest pair.  S(w, u) = number of edges of the shortest path, at most R = ``cap``.
    P(u|w) proportional to exp(-epsilon·S(w, u)/2) over all n words; ⊥ gives a uniform word.
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·S for the metric S, hence epsilon·R LDP.  A shortest-path length is symmetric
    and obeys the triangle inequality, and so does its minimum with R; then each weight, and so
    their sum, changes by at most exp(epsilon·S/2) between two inputs.  The uniform distribution of
    ⊥ counts as a point R/2 from every word.
Proof
    docs/proofs.md 2.3
Source
    This project: a metric made of neighbour ranks, the open problem of
    [Curse] §7.
Parameters
    k: neighbours joined to each word.  cap: R, 0 for none.
Cost
    The graph once per vocabulary (cached), then one row of n path lengths per distinct word of a
    batch.
Not to be confused with
    the rank from the true word as a score, which is no metric (see ``zipf-response``).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import MetricSpace, parameter
from dpsan.mechanisms.tables.dense import DistanceWeights
from dpsan.privacy.certificate import Metric
from dpsan.space.arrays import Floats, Ids

_BLOCK: Final = 256


def neighbour_graph(space: MetricSpace, k: int) -> dict[str, NDArray[np.int32]]:
    """Return the connected graph in sparse rows: ``starts`` (n + 1,) and ``ends`` (edges,).

    Raises:
        UsageError: too many words for all nearest neighbours.
    """
    if not space.eager(space.n):
        raise UsageError(f"geodesic needs the neighbours of all {space.n} words", space.fewer)
    return space.table(f"graph-{k}-hop", lambda: _build(space, min(k, space.n - 1)))


def _build(space: MetricSpace, k: int) -> dict[str, NDArray[np.int32]]:
    n = space.n
    near = np.empty((n, k), dtype=np.int64)
    for ids in space.in_blocks("finding near words", n, 4096):
        near[ids] = space.neighbors(ids, k + 1)[:, 1:]
    pairs = np.stack([np.repeat(np.arange(n), k), near.ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    graph = _graph(n, np.concatenate([pairs, _bridges(space, pairs)]))
    return {"starts": graph.indptr.astype(np.int32), "ends": graph.indices.astype(np.int32)}


def _graph(n: int, pairs: Ids) -> Any:
    """Return the pairs (e, 2), both ways, as a sparse matrix (n, n)."""
    from scipy.sparse import coo_matrix  # heavy import

    both = np.concatenate([pairs, pairs[:, ::-1]])
    return coo_matrix((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n)).tocsr()


def _bridges(space: MetricSpace, pairs: Ids) -> Ids:
    """Pairs (e, 2) that join the components: each with its closest other one, until one is left."""
    from scipy.sparse.csgraph import connected_components  # heavy import

    added = np.empty((0, 2), dtype=np.int64)
    while True:
        graph = _graph(space.n, np.concatenate([pairs, added]))
        count, label = connected_components(graph, directed=False)
        if count == 1:
            return added
        added = np.concatenate([added, _closest(space, label.astype(np.int64))])


def _closest(space: MetricSpace, label: Ids) -> Ids:
    """Return the closest pair of each component and another one, but for the largest, (e, 2)."""
    best: dict[int, tuple[float, int, int]] = {}
    words = np.flatnonzero(label != np.argmax(np.bincount(label)))
    for members in space.in_blocks("joining near words", len(words), _BLOCK):
        ids = words[members]
        apart = space.distances(ids)
        apart[label[ids][:, None] == label] = math.inf
        closest = np.argmin(apart, axis=1)
        for row, (w, u) in enumerate(zip(ids.tolist(), closest.tolist(), strict=True)):
            bridge = (float(apart[row, u]), min(w, u), max(w, u))
            component = int(label[w])
            best[component] = min(best.get(component, bridge), bridge)
    return np.array(sorted({(w, u) for _, w, u in best.values()}), dtype=np.int64)


def path_lengths(graph: dict[str, NDArray[np.int32]], cap: float, ids: Ids) -> Floats:
    """Lengths of shortest paths from words (m,) to every word, (m, n): whole numbers, at most a
    cap.
    """
    from scipy.sparse import csr_matrix  # heavy import
    from scipy.sparse.csgraph import dijkstra

    matrix = csr_matrix((np.ones(len(graph["ends"])), graph["ends"], graph["starts"]))
    return np.asarray(np.minimum(dijkstra(matrix, indices=ids, limit=cap), cap))


class Geodesic(DistanceWeights):
    """Exponential mechanism along the neighbour graph."""

    levels = True

    k: int = parameter(5, "neighbours joined to each word", unit="words", low=1)
    cap: int = parameter(4, "longer paths count as this long; 0: no cap", unit="path length", low=0)

    def metric(self, space: MetricSpace) -> Metric:
        """Return the path lengths, and R or twice the farthest from one word."""
        graph = neighbour_graph(space, self.k)
        lengths = partial(path_lengths, graph, float(self.cap or math.inf))
        diameter = self.cap or 2 * float(lengths(np.zeros(1, dtype=np.int64)).max())
        return Metric("geodesic (hop)", lengths, float(diameter))
