"""``exponential``: the exponential mechanism over the whole vocabulary (SanText).

Definition
    P(u|w) proportional to exp(-epsilon·d(w, u)/2) over all n words; ⊥ gives a uniform word.
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance d; LDP epsilon·diameter.  By the triangle
    inequality each weight changes by at most exp(epsilon·d/2) between two inputs, and so does
    their sum.  min(d, cap) is a metric, so the cap keeps both; ⊥ counts as a point at
    half a diameter from every word.  Rounding of distances and weights adds at most ``slack``
    nats.  Where one word lies so far out that it would add more than 0.01, LDP alone is promised.
Proof
    docs/proofs.md 2.1
Source
    [SanText] §3.1, over the whole vocabulary; without the ½ the loss is up to 2·epsilon.
Cost
    A row of n weights per distinct word of a batch; exact certificate in O(n²·d).
Not to be confused with
    exponential selection among the nearest few words only, whose supports differ (infinite loss).

``tem``: truncated exponential mechanism.

Definition
    P(u|w) proportional to exp(-epsilon·min(d(w, u), gamma)/2) over all n words, with
    gamma = (2/epsilon)·ln((1-beta)(n-1)/beta); ⊥ gives a uniform word.  This *is* the published
    form: the words within gamma of w, and one element of score
    -gamma + (2/epsilon)·ln(number of words beyond gamma) that stands for "uniform beyond gamma".
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance, *and* LDP epsilon·gamma =
    2·ln((1-beta)(n-1)/beta), whatever epsilon is.  min(d, gamma) is a metric, so by the triangle
    inequality each weight, and so their sum, changes by at most exp(epsilon·min(d, gamma)/2)
    between two inputs; that is at most exp(epsilon·d/2) and at most exp(epsilon·gamma/2).
Proof
    docs/proofs.md 2.2
Source
    [TEM] Algorithm 1, Theorem 1; gamma such that the words beyond it have mass at most beta.
Parameters
    beta: mass given up beyond gamma where every other word is that far, in (0, 0.5].
Cost
    A row of n weights per distinct word of a batch.
Not to be confused with
    leaving the words beyond gamma out, whose supports differ: infinite loss.

``geodesic``: exponential mechanism with the distance along a nearest-neighbour graph.

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

``char-response``: randomized response on every character, where a word comes out.

Definition
    Words are filled up with blanks to the length L of the longest one.  h(w, u) is the number of
    positions at which two of them differ.  P(u|w) is proportional to exp(-epsilon·h(w, u)/2) over
    all n words: the distribution of randomized response on each of the L positions (a character
    stays with odds of e^(epsilon/2) to 1 against every other one), given that a word comes out.
    ⊥ gives a uniform word.  Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon per character that differs, and LDP epsilon·L.  h is a metric, so each weight,
    and so their sum, changes by at most exp(epsilon·h/2) between two inputs.
    Words of other lengths differ in the blanks, so lengths are protected too.
Proof
    docs/proofs.md 2.14
Source
    [CharDP], of which the abstract was read: each character of a word is drawn by randomized
    response, and a language model restores words.
Cost
    A row of n·L comparisons per distinct word of a batch.
Not to be confused with
    randomized response on the characters that a word has: the output shows how many these are,
    an infinite loss between words of two lengths, and is seldom a word.

``bucket-exponential``: a bucket of words at like distances by the exponential mechanism.

Definition
    Distances from w, over the largest of them, are cut into N = ``buckets`` buckets of equal width;
    b = 0 ... N-1 counts from near to far.  A bucket that has words is drawn with probability
    proportional to exp(-epsilon·b/(2(N-1))), then one of its words, all equally likely:
    P(u|w) = exp(-epsilon·b/(2(N-1)))/(Z_w·size of the bucket).  ⊥ gives a uniform word.
Guarantee
    PROVED: LDP, but with an epsilon that is about ln n larger than the parameter.  Which words
    share a bucket, and how many, depends on w: an output that is alone in its bucket for one word
    is one of thousands for another.  The loss is at most
    ln(W_0·(n-1)·Z/((W_0+W_last)·W_last)), W the weights of buckets, Z their sum; the certificate
    has the exact one.  What the paper claims was not read here.
Proof
    docs/proofs.md 2.13
Source
    [Cape] Algorithm 1 (buckets of equal width) and the draw of Algorithm 2, on the distances of
    static vectors: without the language model that gives the paper's utility, and with the position
    of a bucket for its utility.  The paper's text was not at hand, only its summary.
Parameters
    buckets: N.
Cost
    One row of n distances per distinct word of a batch; certificate in O(n²·d).
Not to be confused with
    an exponential mechanism whose weights are rounded to N levels, which is epsilon-LDP and draws
    far words as often as they are many.
"""

import math
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import IntegerResponse, parameter
from dpsan.mechanisms.tables.dense import DenseTable, DistanceWeights
from dpsan.privacy.certificate import WEIGHT_ERROR, Metric
from dpsan.privacy.guarantee import Guarantee
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace


class Exponential(DistanceWeights):
    """Exponential mechanism with the Euclidean distance."""


class TEM(DistanceWeights):
    """Truncated exponential mechanism."""

    beta: float = parameter(
        0.001, "mass of the words beyond gamma where all others are that far", above=0, high=0.5
    )

    def cut(self, n: int) -> float:
        """Largest score epsilon·gamma/2, nats."""
        # log1p and not log(1 - beta): beta may be tiny.
        return max(math.log1p(-self.beta) + math.log(max(n - 1, 1)) - math.log(self.beta), 0.0)


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


def differing(letters: NDArray[np.uint32], words: Ids) -> Floats:
    """Return at how many positions words (m,) and every word differ, shape (m, n).

    Args:
        letters: code points of all words, see :attr:`MetricSpace.letters`.
    """
    out = np.zeros((len(words), len(letters)))
    for position in letters.T:
        out += position[words, None] != position
    return out


class CharResponse(DistanceWeights):
    """Randomized response on characters."""

    levels = True

    def metric(self, space: MetricSpace) -> Metric:
        """Return the number of characters that differ."""
        distances = partial(differing, space.letters)
        return Metric("character", distances, float(space.letters.shape[1]))


MOST_BUCKETS: Final = 64


class BucketExponential(IntegerResponse):
    """Bucket, then word."""

    buckets: int = parameter(
        50, "how many buckets of equal width", unit="buckets", low=2, high=MOST_BUCKETS
    )

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the bound of the proof, and what the rounding of weights adds."""
        # ln(W_0·(n - 1)·Z/((W_0 + W_last)·W_last)) with W_0 = 1
        last, total = -self.epsilon / 2, float(np.exp(-self._scores()).sum())
        bound = math.log(max(space.n - 1, 1)) + math.log(total) - math.log1p(math.exp(last)) - last
        return self.promise(bound + 4 * WEIGHT_ERROR if space.n > 1 else 0.0)

    def _scores(self) -> Floats:
        """Scores of the buckets, shape (buckets,)."""
        return self.epsilon / 2 * np.arange(self.buckets) / (self.buckets - 1)

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table: the score of a word's bucket, and ln of the words in it."""
        return DenseTable.of_scores(space, partial(self._rows, space))

    def _rows(self, space: MetricSpace, words: Ids) -> Floats:
        apart = space.distances(words)
        largest = apart.max(axis=1, keepdims=True)
        apart *= np.divide(self.buckets, largest, out=np.zeros_like(largest), where=largest > 0)
        buckets = np.minimum(apart.astype(np.int64), self.buckets - 1)
        sizes = np.array([np.bincount(row, minlength=self.buckets) for row in buckets])
        scores = self._scores() + np.log(np.maximum(sizes, 1))
        return np.take_along_axis(scores, buckets, axis=1)
