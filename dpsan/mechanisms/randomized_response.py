"""``krr``: k-ary randomized response over the vocabulary.

Definition
    P(u|w) = e^epsilon/Z for u = w, 1/Z for every other word, Z = e^epsilon + n - 1.
    ⊥ gives a uniform word.
Guarantee
    PROVED: pure epsilon-LDP.  Z is the same for every word, so two probabilities of one output
    differ by at most the factor e^epsilon; uniform 1/n lies between the two.
    Sampled from two integer weights, e^epsilon rounded down.
Proof
    docs/proofs.md 2.4
Source
    [KRR]; ``knn-response`` with K = 1.  The reference that every pure mechanism has to beat.
Cost
    O(1) per word, no table.
Not to be confused with
    ``knn-response``, which gives the same mass to neighbours.

``knn-response``: randomized response among the K nearest words.

Definition
    Outputs are the M = ``outputs`` most frequent words; S_w is the public set of the K = ``k``
    outputs nearest to w (w included if it is an output, ties by row number; words with a public
    class, such as names of groups of people, take outputs by class first: ``words.tiers``).
    P(u|w) = e^epsilon/Z for u in S_w, 1/Z for the other outputs, Z = K·e^epsilon + M - K.
    ⊥ gives a uniform output.  ``auto`` takes, of a grid with K >= 5, the (M, K) with the largest
    mean cosine of output and true word at this epsilon, weighted by the vocabulary's own (public)
    word frequencies: the closed form [(e^epsilon - 1)·K·near + M·all]/Z, where ``near`` and
    ``all`` are the mean cosines to S_w and to all outputs, computed once per vocabulary.
Guarantee
    PROVED: pure epsilon-LDP.  Z is the same for every word, so a probability is e^epsilon/Z or 1/Z
    and any two differ by at most the factor e^epsilon; uniform 1/M lies between the two.
    Sampled from two integer weights, e^epsilon rounded down.  K and M may be chosen from anything
    public, so ``auto`` changes nothing.
Public words
    With public words N (``--public``) outputs are the M most frequent other words, and a word of N
    is its own output with probability 1 - M/Z, else as one of those M, all equally likely.  For
    every protected x (any string but those words), every x' and output y:
    P(y|x) <= e^epsilon·P(y|x') (high-low LDP [Acharya20], utility-optimised LDP [Murakami19]).
    Public words themselves are not protected: an output in N says what the input was.  The proof
    is docs/proofs.md 2.10.
Groups of words
    As in optimal-response, with the same base and near sets: docs/proofs.md 4.7.
Proof
    docs/proofs.md 2.5
Source
    This project; krr of Kairouz et al. is K = 1.  For fixed K no epsilon-LDP distribution
    puts more mass on K chosen words from an equal base.
Parameters
    k
        K, the size of each word's near set; ``auto`` with ``outputs``.
    outputs
        M, how many of the most frequent words are outputs; ``all``, or ``auto``.
Cost
    The neighbour table (and the means of ``auto``) once per vocabulary, cached; then O(1) per word.
Not to be confused with
    choosing among the K nearest only (CusText), whose supports differ: infinite loss.

``zipf-response``: a power law over the rank of the output among the neighbours of the word.

Definition
    P(u|w) proportional to (1 + rank_w(u))^-a with a = epsilon/ln n, where rank_w(u) is the position
    of u in the order of distance from w (w itself has rank 0, ties by row number). ⊥ gives a
    uniform word.
Guarantee
    PROVED: pure epsilon-LDP.  Every word's weights are the same n numbers in another order, so the
    total cancels and two probabilities differ by at most the first weight over the last,
    n^a = e^epsilon; uniform 1/n lies between the two.
    Sampled from integer weights by rank, rounded up below the first, so their ratio is never more.
Proof
    docs/proofs.md 2.6
Source
    This project.  Any non-increasing score of the rank works the same way:
    epsilon = score(0) - score(n-1).
Cost
    One row of n exact distances, sorted, per distinct word of a batch.
Not to be confused with
    ``rank-softmax``, whose ranks are counted from a noisy pivot and not from the true word.

``uniform``: a uniform word whatever the input is.

Definition
    P(u|w) = 1/n for every word u and every input w, ⊥ included.
Guarantee
    PROVED: epsilon = 0, delta = 0.  The distribution does not depend on the input, so every ratio
    of probabilities is 1; the value of ``epsilon`` is not used.
Proof
    docs/proofs.md 2.7
Source
    dpsan; the floor of every comparison of utility: what is left is the text's layout.
Parameters
    epsilon: any number >= 0, ignored.
Cost
    O(1) per word, no table.
Not to be confused with
    deleting or masking words, which also shows nothing but is no sample of the vocabulary.

``group-response``: a random word of the same public group, for ``--only``.

Definition
    Each token that is drawn has a public group and form.  The different words of a unit get
    different words of their group, by a uniformly random injection that reads no word.
Guarantee
    PROVED: the distribution of the output is a function of the groups, of which drawn words are
    equal, and of what passes.  None of these is protected.
Proof
    docs/proofs.md 4.8
Source
    This project.
"""

import hashlib
import math
from dataclasses import field, replace
from functools import partial
from typing import Final

import numpy as np

from dpsan.errors import refuse
from dpsan.mechanisms.mechanism import BaseResponse, IntegerResponse, Parameter, parameter
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.mechanisms.tables.near_sets import Base, Group
from dpsan.mechanisms.tables.sparse import SparseTable, integer_loss
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.arrays import Floats, Ids, Integers, unit_rows
from dpsan.space.metric_space import MetricSpace


class KRR(IntegerResponse):
    """Randomized response over all words."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        return self.promise(min(self.epsilon, integer_loss(self.epsilon, space.n, 1)))

    def table(self, space: MetricSpace) -> SparseTable:
        """Return the table whose near set is the word itself."""
        refuse(space.n < 2, "krr needs at least 2 words")
        return SparseTable(space, Base.even(np.arange(space.n), 1), self.epsilon, euclidean=True)


_OUTPUTS: Final = (1000, 2000, 5000, 10_000)
"""Values of M that ``auto`` tries, and n."""
_SIZES: Final = (5, 10, 20, 50)
"""Values of K that ``auto`` tries: below 5 the true word is too often kept."""
_FREQUENT: Final = 4000
_RARE: Final = 1000
"""Inputs whose cosines are averaged: the most frequent words, and some of the others."""
_TOGETHER: Final = 1024
"""Inputs whose nearest outputs are found at once."""
_AUTO_FLOPS: Final = 6e11
"""Bound on the work 2·inputs·n·d of ``auto``; fewer inputs are taken beyond it."""


class KnnResponse(BaseResponse):
    """Nearest-K randomized response."""

    euclidean = True

    k: int | str = parameter(
        "auto", "size of each word's set of near words", convert=int, unit="words", low=1
    )
    outputs: int | str = parameter(
        "auto",
        "only this many most frequent words can come out",
        convert=int,
        unit="words",
        low=2,
        words=("all",),
    )
    public: tuple[int, ...] = field(default=(), repr=False)
    """Row numbers of public words."""
    groups: tuple[Group, ...] = field(default=(), repr=False)
    """Words that are one input, for classes of words."""

    def sizes(self, space: MetricSpace) -> tuple[int, int]:
        """K and M on a vocabulary.  Raises UsageError where K >= M."""
        n = space.n - len(self.public)
        if self.outputs == "auto":
            many = [m for m in _OUTPUTS if m < n] + [n]
        else:
            many = [n if isinstance(self.outputs, str) else min(self.outputs, n)]
        if isinstance(self.k, str):
            sizes = [k for k in _SIZES if k < many[-1]] or [max(many[-1] - 1, 1)]
        else:
            sizes = [self.k]
        pairs = [(k, m) for m in many for k in sizes if k < m]
        refuse(not pairs, f"k must be < outputs (got k={sizes[0]}, outputs={many[-1]})")
        if len(pairs) == 1:
            return pairs[0]
        near, every = mean_cosines(space, tuple(many), tuple(sizes), self.public)
        gain = math.expm1(min(self.epsilon, 700.0))

        def cosine(pair: tuple[int, int]) -> float:
            k, m = pair
            i, j = many.index(m), sizes.index(k)
            # Inside e^epsilon, outside 1; all of it over Z.
            return float((gain * k * near[i, j] + m * every[i]) / (gain * k + m))

        return max(pairs, key=cosine)

    def resolved(self, space: MetricSpace) -> "KnnResponse":
        """With the K and M that ``auto`` stands for."""
        k, m = self.sizes(space)
        return replace(self, k=k, outputs=m)

    def base(self, space: MetricSpace) -> Base:
        """Return the M outputs, and K."""
        k, m = self.sizes(space)
        return Base.even(_protected(space, self.public)[:m], k)


def _protected(space: MetricSpace, public: tuple[int, ...]) -> Ids:
    return np.delete(np.arange(space.n), np.array(public, dtype=np.int64))


def mean_cosines(
    space: MetricSpace, outputs: tuple[int, ...], sizes: tuple[int, ...], public: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Frequency-weighted mean cosine of a word to its nearest outputs and to all of them.

    It concerns utility only, so a public sample of the inputs is enough where n is large.

    Args:
        space: the vocabulary; cosines of the vectors as they are, near in the Euclidean sense.
        outputs: values of M, ascending.
        sizes: values of K, ascending.
        public: row numbers of words that are left out.

    Returns:
        For the first M words: to the K nearest, (M, K), nan where K > M; to all, (M,).
    """
    name = f"cosines-{'-'.join(map(str, outputs))}-of-{'-'.join(map(str, sizes))}"
    if public:
        name += f"-without-{hashlib.sha256(np.array(public, dtype='<i8').tobytes()).hexdigest()}"

    def build() -> dict[str, Floats]:
        words = _protected(space, public)
        units = unit_rows(space.vectors)
        inputs, shares = _inputs(space.frequencies[words], space.d)
        ids = words[inputs]
        means = np.stack([units[words[:m]].mean(axis=0, dtype=np.float64) for m in outputs])
        near = np.full((len(outputs), len(sizes)), np.nan)
        near[np.array(outputs)[:, None] >= np.array(sizes)] = 0.0
        for part in space.in_blocks("comparing numbers of outputs", len(ids), _TOGETHER):
            for i, m in enumerate(outputs):
                if len(few := np.array([k for k in sizes if k <= m], dtype=np.int64)):
                    among = None if m == space.n else words[:m].astype(np.int32)
                    table = units[space.neighbors(ids[part], int(few[-1]), among)]
                    sums = np.cumsum(np.einsum("mkd,md->mk", table, units[ids[part]]), axis=1)
                    near[i, : len(few)] += shares[part] @ sums[:, few - 1] / few
        return {"near": near, "all": (means @ units[ids].T) @ shares}

    table = space.table(name, build)
    return table["near"], table["all"]


def _inputs(frequencies: Floats, d: int) -> tuple[Ids, Floats]:
    """Return words whose cosines are averaged, and their shares: the frequent ones, every s-th
    other.
    """
    n = len(frequencies)
    frequent = min(n, _FREQUENT, max(500, int(_AUTO_FLOPS / (2.5 * n * d))))
    step = max(1, (n - frequent) // max(1, frequent * _RARE // _FREQUENT))
    rare = np.arange(frequent, n, step)
    shares = np.concatenate([frequencies[:frequent], frequencies[rare] * float(step)])
    return np.concatenate([np.arange(frequent), rare]), shares / shares.sum()


def orders(space: MetricSpace, words: Ids) -> Ids:
    """Return all words in order of exact distance from each word (not ⊥), shape (m, n): the word
    itself first, ties by row number.
    """
    distances = space.distances(words)
    distances[np.arange(len(words)), words] = -1.0
    return np.argsort(distances, axis=1, kind="stable")


def rank_weights(epsilon: float, n: int) -> Integers:
    """Integer weights by rank, shape (n,), non-increasing; ln(first/last) <= epsilon, sum < 2^63.

    Beyond about 60 nats the last weights are 1 and the loss stays below epsilon.
    """
    power = epsilon / math.log(n) if n > 1 else 0.0
    ratios = (1.0 + np.arange(n)) ** -power
    first = 62 - math.ceil(math.log2(float(ratios.sum()) + 1))
    first = max(min(first, 61), 0)
    # Rounded up, after one part in 2^40 for the power itself: never below the exact ratio.
    # At least 1: beyond 745 nats a ratio is 0 in float64.
    weights = np.maximum(np.ceil(ratios * (1 + 2.0**-40) * 2.0**first), 1.0).astype(np.uint64)
    weights[0] = 1 << first
    return np.minimum.accumulate(weights)


class ZipfResponse(IntegerResponse):
    """Power law over neighbour ranks."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        weights = rank_weights(self.epsilon, space.n)
        return self.promise(log_ratio(int(weights[0]), int(weights[-1])))

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the loss of the first weight against the last: all words have the same weights."""
        return Certificate(
            method="exact certificate, integer weights by rank",
            epsilon_ldp=self.guarantee(space).epsilon_ldp,
            pair=(int(orders(space, np.zeros(1, dtype=np.int64))[0, -1]), 0),
        )

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table of weights by rank."""
        return DenseTable(space, partial(_rows, space, rank_weights(self.epsilon, space.n)))


def _rows(space: MetricSpace, weights: Integers, words: Ids) -> Integers:
    out = np.empty((len(words), space.n), dtype=np.uint64)
    np.put_along_axis(out, orders(space, words), weights[None], axis=1)
    return out


class Uniform(IntegerResponse):
    """A uniform word."""

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        """Accept 0 too: it is the true value."""
        Parameter(help="", convert=float, low=0).check("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", float(self.epsilon))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Nothing is lost."""
        return self.promise(0.0, claimed=Claim(0.0))

    def table(self, space: MetricSpace) -> SparseTable:
        """Return the table whose near sets weigh nothing."""
        return SparseTable(space, Base.even(np.arange(space.n), 1), 0.0, euclidean=True)


class GroupResponse(IntegerResponse):
    """A random word of the group of a word; :mod:`dpsan.only` draws it."""

    name = "group-response"
    summary = "a random word of the public group of a word"
    source = "dpsan §group-response"

    epsilon: float = 0.0
    """LDP epsilon between two numbers of one form that are drawn by value, in nats; else 0."""

    def __post_init__(self) -> None:
        if self.epsilon:
            super().__post_init__()

    def guarantee(self, space: MetricSpace) -> Guarantee:
        return self.promise(
            epsilon_ldp=self.epsilon,
            only_groups=True,
            why="the output depends on the group of a drawn word, and on no word",
        )
