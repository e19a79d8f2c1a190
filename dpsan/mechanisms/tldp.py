"""``tldp``: keep or perturb the coordinates of a word on a public grid, certified.

Definition
    The vocabulary is projected once to its first D = ``dimensions`` principal components.
    Coordinate i has k = ``levels`` equally spaced levels between its 5 % and 95 % quantiles; the
    input's level x is the nearest one.  P(y|x) = p·1[y=x] + (1-p)·g(y|x) with g proportional to
    exp(-s·|y-x|/(k-1)) on the grid; the output is the word nearest to the grid point drawn.
    The slope s in [0, epsilon_i] and p are those of least mean squared error at loss epsilon_i.
Guarantee
    PROVED: pure epsilon-LDP.  Everything before the table and after it is a public function, and
    epsilon_i is the exact largest log-ratio within a column of the integers that are sampled; one
    input meets D independent tables, so the sum of epsilon_i, at most epsilon, bounds the loss.
Proof
    docs/proofs.md 2.8
Source
    [TLDP] made sound: its atoms are kept on a grid where the noise reaches every level.
    Deviations: there are no weights, and coordinates share the budget evenly. The paper's split
    epsilon·v(x_i)/sum v(x_j) by the weights of private words shows in the noise of the other
    words, and its loss exceeds epsilon.
Parameters
    dimensions, levels: D and k.  At epsilon 8 per word three to five dimensions carry something;
    with sixteen, or with all 300 of a word vector, the result is noise.
Cost
    One 62-bit number per coordinate and one exact search in D dimensions per word.
Not to be confused with
    ``tldp-paper-l``, which adds the same noise without a grid and has no such guarantee.

``tldp-paper``: keep a coordinate or add noise to it, by weights or without; as published.

Definition
    On a tensor of I coordinates with range Delta each coordinate is kept with probability
    p = e^(epsilon(1-I)) / (c + e^(epsilon(1-I))), or gets noise.  ``tldp-paper-l``: Laplace noise
    of scale b = Delta/epsilon, c = 2b.  ``tldp-paper-g``: Gaussian noise of variance
    sigma² = Delta²/(2 epsilon), c = sigma·sqrt(2 pi).  The weighted forms keep a coordinate with
    probability q = p(1-w), w in [0, 1) the public weight of its word; else q = p.
    Then the nearest word.  The tensor is a word: I = d.
Guarantee
    REFUTED: the claim is epsilon-LDP.  A kept coordinate has an atom at the input, which excludes
    every other input: infinite loss with mass 1-(1-q)^I in the released tensor.  The delta at the
    claimed epsilon falls as (1-q)^I of either input grows, so the smallest weight is the worst
    case, also where the weight depends on the private word.
    Laplace: where nothing is kept, I densities each differ by up to e^epsilon (t = 0 in the paper's
    own line): the truth is (I·epsilon, 1-(1-q)^I)-LDP, and the claimed epsilon holds only with the
    delta that is printed.
    Gaussian: the loss is unbounded, so no pure epsilon holds even where nothing is kept; exactly,
    delta(epsilon) = 1-(1-q)^I·(1 - D(epsilon, sqrt(2 I epsilon))), D the analytic Gaussian delta of
    [BW18], is attained by inputs Delta apart everywhere, and printed.
    p divides a probability by a density: it changes with the unit of the data.
Proof
    docs/proofs.md 3.2
Source
    [TLDP] Algorithm 1 (Laplace and Gaussian), to the letter, and Algorithm 2 (both, weighted; its
    claim is Theorem 3), whose weights are of positions where these are of words.  The nearest word
    is ours.
Parameters
    range
        Delta; ``auto`` is the largest max - min of a coordinate over the vocabulary, and no less
        is accepted.
    The weight of a word in the weighted forms falls with its public frequency: 0 for the most
    frequent word, 0.9 for the rarest and ⊥.
Cost
    2·d random numbers and one exact search per word.
Not to be confused with
    ``tldp``, which mixes the same two parts on a grid and certifies the table.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import ClassVar, Final, NamedTuple

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Mechanism, parameter
from dpsan.mechanisms.tables import Sampler, nearest
from dpsan.privacy import noise_formulas as formulas
from dpsan.privacy.guarantee import Arithmetic, Guarantee, Loss
from dpsan.privacy.randomness import Streams
from dpsan.privacy.rounding import GaussianCoordinates, LaplaceCoordinates, NoiseDistribution
from dpsan.space.arrays import Array, Floats, Floats32, Ids
from dpsan.space.metric_space import MetricSpace

_TAIL: Final = 0.05
"""Share of words beyond either end of a coordinate's grid."""
_CELLS: Final = 1 << 16
"""Largest number of grid points for which the distribution over words is computed."""


def principal_components(space: MetricSpace, dimensions: int) -> Floats32:
    """Centred vectors projected to the directions of largest variance, (n, D), cached."""

    def build() -> dict[str, Array]:
        axes = space.variance()[1][:, ::-1][:, :dimensions]
        return {"points": space.moved(axes, space.centroid)}

    return space.table(f"components-{dimensions}", build)["points"]


class GridSampler(Sampler):
    """A randomized table for each coordinate of a public grid, then the nearest word.

    Args:
        space: of the first principal components.
        low: the first level of each coordinate, (D,).
        step: between two levels, (D,); 0 where a coordinate is constant.
        levels: of each coordinate.
    """

    def __init__(
        self, space: MetricSpace, low: Floats, step: Floats, levels: int, epsilon: float
    ) -> None:
        self.space, self.low, self.step, self.levels = space, low, step, levels
        # The budget of a coordinate, rounded down so that their sum is at most epsilon.
        self.table = formulas.grid_table(epsilon / space.d * (1 - 2.0**-48), levels)

    def encode(self, ids: Ids) -> Ids:
        """Return the levels of inputs (⊥ allowed), (m, D)."""
        step = np.where(self.step > 0, self.step, 1.0)
        raw = np.rint((self.space.points(ids) - self.low) / step)
        return np.asarray(np.clip(raw, 0, self.levels - 1), dtype=np.int64)

    def decode(self, levels: Ids) -> Floats:
        """Return the points of levels, (m, D)."""
        return self.low + self.step * levels

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        return nearest(self.space, self.decode(self.perturb(ids, streams)), streams)

    def perturb(self, ids: Ids, streams: Streams) -> Ids:
        """Return the levels that are released, (m, D)."""
        drawn = streams.bits("grid", self.space.d) >> np.uint64(2)
        cumulative = np.cumsum(self.table, axis=1)[self.encode(ids)]
        return np.asarray((cumulative <= drawn[:, :, None]).sum(axis=2))

    def probabilities(self, ids: Ids) -> Floats | None:
        """Return None for grids of more than 65,536 points."""
        shape = (self.levels,) * self.space.d
        if (points := math.prod(shape)) > _CELLS:
            return None
        grid = np.stack(np.unravel_index(np.arange(points), shape), axis=1)
        words = self.space.search(self.decode(grid), 1)[0][:, 0]
        rows = self.table / float(formulas.TOTAL)
        out = np.empty((len(ids), self.space.n))
        for row, levels in enumerate(self.encode(ids)):
            pmf = reduce(np.multiply.outer, rows[levels]).ravel()
            out[row] = np.bincount(words, weights=pmf, minlength=out.shape[1])
        return out


class TLDP(Mechanism):
    """Certified tables on a public grid."""

    arithmetic = Arithmetic.INTEGERS

    dimensions: int = parameter(
        4, "principal components kept, at most all", unit="coordinates", low=1, high=64
    )
    levels: int = parameter(8, "grid points per coordinate", unit="levels", low=2, high=256)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the sum of the tables' exact losses: each coordinate has the same, rounded up."""
        sampler = self.prepare(space)
        loss = formulas.certified_loss(sampler.table)
        return self.promise(sampler.space.d * loss * (1 + 2.0**-50))

    def noise_scale(self, space: MetricSpace) -> float | None:
        """Root mean square over components and levels."""
        sampler = self.prepare(space)
        index = np.arange(self.levels)
        apart = (index[:, None] - index).astype(np.float64) ** 2
        error = float((sampler.table * apart).sum()) / formulas.TOTAL / self.levels
        return math.sqrt(error * float(np.mean(sampler.step**2)))

    def prepare(self, space: MetricSpace) -> GridSampler:
        """Return a sampler on the public grid of a vocabulary."""
        dimensions = min(self.dimensions, space.d)
        points = principal_components(space, dimensions)
        low, high = np.quantile(points.astype(np.float64), (_TAIL, 1 - _TAIL), axis=0)
        reduced = space.transformed(f"components-{dimensions}", points)
        step = (high - low) / (self.levels - 1)
        return GridSampler(reduced, low, step, self.levels, self.epsilon)


# Keep a coordinate, or add noise to it: the base of the four published forms of [TLDP].
#
# The distribution of one coordinate is q·(atom at x) + (1-q)·noise.  For two inputs that differ by
# the range in all I coordinates, an output that keeps any coordinate excludes the other input; the
# rest has mass A = (1-q)^I and the loss of I noises.  So delta(epsilon) = 1 - A +
# A·delta_noise(epsilon), in general 1 - ∫min(A f, e^epsilon A' g), which falls in A and A': the
# largest q of any input is worst, also where q depends on the word (weights).


class Noise(NamedTuple):
    """One of the paper's two noises, for range Delta and the claimed epsilon."""

    scale: Callable[[float, float], float]
    """(Delta, epsilon) -> b or sigma."""
    mass: float
    """1 / (scale · density at 0)."""
    distribution: Callable[[float], NoiseDistribution]
    """b or sigma -> the noise."""
    delta: Callable[[float, int], float]
    """(claimed epsilon, I) -> delta of the noise alone at that epsilon, all shifts Delta."""
    bounded: bool
    """True if I densities differ by at most e^(I epsilon); else no finite epsilon holds."""


LAPLACE: Final = Noise(
    scale=lambda range_, epsilon: range_ / epsilon,
    mass=2.0,
    distribution=LaplaceCoordinates,
    delta=lambda epsilon, coordinates: formulas.laplace_delta(epsilon, epsilon, coordinates),
    bounded=True,
)
GAUSSIAN: Final = Noise(
    scale=lambda range_, epsilon: range_ / math.sqrt(2 * epsilon),
    mass=math.sqrt(2 * math.pi),
    distribution=GaussianCoordinates,
    # I shifts of Delta are one shift of sqrt(I)·Delta; Delta/sigma = sqrt(2 epsilon).
    delta=lambda epsilon, count: formulas.gaussian_delta(epsilon, math.sqrt(2 * epsilon * count)),
    bounded=False,
)


def keep_probability(noise: Noise, epsilon: float, range_: float, coordinates: int) -> float:
    """Return the paper's p = e^(epsilon(1-I)) / (c + e^(epsilon(1-I))), c = 2b or sigma·sqrt(2 pi).

    A probability divided by a density: p changes with the unit of the data.
    """
    odds = epsilon * (1 - coordinates) - math.log(noise.mass * noise.scale(range_, epsilon))
    return 1 / (1 + math.exp(-odds)) if odds > -700 else math.exp(odds)


def atoms(kept: float, coordinates: int) -> float:
    """Probability that at least one coordinate is unchanged, 1 - (1-q)^I."""
    return -math.expm1(coordinates * math.log1p(-kept)) if kept < 1 else 1.0


def true_delta(noise: Noise, epsilon: float, kept: float, coordinates: int) -> float:
    """Return the delta with which the claimed epsilon is true, all coordinates ``range`` apart.

    Args:
        kept: largest probability q with which a coordinate is kept.
    """
    none = 1 - atoms(kept, coordinates)
    return min(1.0, atoms(kept, coordinates) + none * noise.delta(epsilon, coordinates))


class KeepingSampler(Sampler):
    """Keep each coordinate of a word, or add noise; then the nearest word."""

    def __init__(self, space: MetricSpace, mechanism: "PaperTensor") -> None:
        self.space, self.kept = space, mechanism.kept(space)
        self.noise = mechanism.spread(space)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        return nearest(self.space, self.release(ids, streams), streams)

    def release(self, ids: Ids, streams: Streams) -> Floats:
        """Return the noisy tensors, (m, d): what the paper releases."""
        points, d = self.space.points(ids), self.space.d
        keep = streams.uniform("keep", d) < self.kept[ids, None]
        return np.where(keep, points, points + self.noise(streams, d))


class PaperTensor(Mechanism):
    """Algorithms 1 (without weights) and 2 (with weights) of the paper on a word."""

    added: ClassVar[Noise]

    range: float | str = parameter(
        "auto",
        "range Delta of a coordinate; auto: the largest of this vocabulary",
        convert=float,
        unit="coordinate",
        above=0,
    )

    def coordinate_range(self, space: MetricSpace) -> float:
        """Delta: max - min of a coordinate over all inputs, the largest of all coordinates.

        Raises:
            UsageError: the given range is smaller than that.
        """
        vectors = space.vectors  # ⊥ is their mean: inside
        spread = vectors.max(axis=0).astype(np.float64) - vectors.min(axis=0)
        least = float(spread.max()) * (1 + 2.0**-50)  # safe side
        if isinstance(self.range, str):
            return least or 1.0
        if self.range < least * (1 - 1e-5):  # the value in the message, typed back, is accepted
            raise UsageError(
                f"range must be >= {least:.6g}, the range of this vocabulary (got {self.range:g})"
            )
        return max(self.range, least)

    def word_weights(self, space: MetricSpace) -> Floats:
        """Weight w of each input, shape (n + 1,): kept with p(1-w)."""
        return np.zeros(space.n + 1)

    def kept(self, space: MetricSpace) -> Floats:
        """Probability with which a coordinate of each input is kept, shape (n + 1,)."""
        p = keep_probability(self.added, self.epsilon, self.coordinate_range(space), space.d)
        return p * (1 - self.word_weights(space))

    def spread(self, space: MetricSpace) -> NoiseDistribution:
        """Return the noise on a coordinate that is not kept."""
        return self.added.distribution(self.added.scale(self.coordinate_range(space), self.epsilon))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the truth for one word."""
        d, bounded, q = space.d, self.added.bounded, float(self.kept(space).max())
        delta, atom = true_delta(self.added, self.epsilon, q, d), atoms(q, d)
        return self.promise(
            d * self.epsilon if bounded else self.epsilon,
            delta=atom if bounded else delta,
            infinite_loss_mass=atom,
            at_claim=Loss(self.epsilon, delta),
            why=self.why.format(atom=atom, d=d, delta=delta),
        )

    def noise_scale(self, space: MetricSpace) -> float | None:
        """Root mean square of what a word's coordinate gets: nothing where it is kept.

        [TLDP] Table V has the square of it, (1-q) times the variance of the noise.
        """
        share = 1 - float(self.kept(space)[:-1].mean())
        return self.spread(space).std(space.d) * math.sqrt(share)

    def prepare(self, space: MetricSpace) -> KeepingSampler:
        """Return a tensor sampler."""
        return KeepingSampler(space, self)


TOP_WEIGHT: Final = 0.9
"""Weight of the rarest word."""


class PaperTensorOfWeights(PaperTensor):
    """The same with p(1-w): words of weight near 1 are almost never kept."""

    def word_weights(self, space: MetricSpace) -> Floats:
        """Return weights that are linear in the logarithm of the public count, (n + 1,)."""
        shares = space.frequencies
        rarity = np.log(shares.max() / shares)
        words = TOP_WEIGHT * rarity / (rarity.max() or 1.0)
        return np.append(words, words.max())


class TLDPPaperL(PaperTensor):
    """Laplace form."""

    added = LAPLACE


class TLDPPaperG(PaperTensor):
    """Gaussian form."""

    added = GAUSSIAN


class TLDPPaperLWeighted(PaperTensorOfWeights):
    """Laplace form, weighted."""

    added = LAPLACE


class TLDPPaperGWeighted(PaperTensorOfWeights):
    """Gaussian form, weighted."""

    added = GAUSSIAN
