"""What a mechanism is: frozen parameters, a guarantee, and a sampler of row numbers.

Knows arrays and guarantees.  Must not know strings, files or command lines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.certificate import Certificate
from dpsan.errors import UsageError, unknown_name
from dpsan.guarantee import Guarantee, Status
from dpsan.rng import KEY_BYTES, Streams, streams_for
from dpsan.space import MetricSpace

__all__ = [
    "SCORE_CAP",
    "WEIGHT_ERROR",
    "Mechanism",
    "Parameter",
    "PointSampler",
    "RowSampler",
    "Sampler",
    "nearest",
    "parameter",
]

Ids = NDArray[np.int64]


class Sampler(ABC):
    """A mechanism made ready for one space: the array function that carries the privacy."""

    batch_words: int = 4096
    """Words best given at once: enough to work on together, few enough to hold."""

    whole_records: ClassVar[bool] = False
    """Whether words of one record must be given together (see :attr:`Streams.records`)."""

    @abstractmethod
    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """Draw one output for each input.

        Args:
            ids: shape (m,), row numbers; ``n`` is ⊥.
            streams: the keyed streams of the same m words.

        Returns:
            Row numbers, shape (m,), all < n.
        """

    def probabilities(self, ids: Ids) -> NDArray[np.float64] | None:
        """The exact law of each input as a matrix (m, n), or None where none is known."""
        return None


@dataclass(frozen=True, slots=True)
class Parameter:
    """What is known of a parameter: for help texts and for checking."""

    help: str
    unit: str
    low: float
    high: float
    open_low: bool
    words: tuple[str, ...]
    convert: Callable[[str], Any]
    required: bool = False
    """No default: a decision of the user's, such as delta."""
    example: str = ""

    def domain(self) -> str:
        """The domain in words."""
        named = " or ".join(f"'{word}'" for word in self.words)
        if self.convert is str:
            return named or "a name"
        kind = "a whole number" if self.convert is int else "a number"
        low = f"{'>' if self.open_low else '>='} {self.low:g}" if self.low > -math.inf else ""
        high = f"<= {self.high:g}" if self.high < math.inf else ""
        return " or ".join(filter(None, [" ".join(filter(None, [kind, low, high])), named]))

    def check(self, name: str, value: object) -> None:
        """Raise UsageError if the value is missing or outside the domain."""
        if value is None and self.required:
            raise UsageError(f"parameter {name} is required", f"such as -p {name}={self.example}")
        if isinstance(value, str):
            good = value in self.words or (self.convert is str and not self.words)
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            good = False
        else:
            good = self.convert is not str and math.isfinite(value)
            good = good and (isinstance(value, int) or self.convert is float)
            good = good and self.low <= value <= self.high
            good = good and not (self.open_low and value == self.low)
        if not good:
            raise UsageError(f"{name} must be {self.domain()} (got {value})")

    def parse(self, name: str, text: str) -> Any:
        """The value that a command line means; raises UsageError."""
        if text in self.words:
            return text
        try:
            return self.convert(text)
        except ValueError:
            raise UsageError(f"{name} must be {self.domain()} (got {text})") from None


def parameter(
    default: Any,
    help: str,  # noqa: A002 - the word every argument parser uses
    *,
    convert: Callable[[str], Any],
    unit: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    words: tuple[str, ...] = (),
    example: str | None = None,
) -> Any:
    """A field of a mechanism with its documentation and domain.

    Args:
        example: makes it required (its default is None then): what an error message suggests.
    """
    about = Parameter(
        help, unit, low, high, open_low, words, convert, example is not None, example or ""
    )
    return field(default=default, metadata={"parameter": about})


@dataclass(frozen=True)
class Mechanism(ABC):
    """Parameters of one mechanism.  A mechanism's meaning never changes; a correction is a new one.

    Args:
        epsilon: the privacy parameter, in ``epsilon_unit``.
    """

    epsilon: float

    name: ClassVar[str]
    family: ClassVar[str]
    """point, table or tensor."""
    status: ClassVar[Status]
    summary: ClassVar[str]
    """One line for tables."""
    epsilon_unit: ClassVar[str]
    """``1/distance`` (metric privacy) or ``nats`` (local differential privacy)."""
    source: ClassVar[str]
    """Bibliography key and place."""
    tunable: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Values worth trying of the parameters that a calibration may choose."""

    def __post_init__(self) -> None:
        if (
            isinstance(self.epsilon, bool)
            or not isinstance(self.epsilon, (int, float))
            or not math.isfinite(self.epsilon)
            or self.epsilon <= 0
        ):
            raise UsageError(f"epsilon must be > 0 (got {self.epsilon})")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        for name, about in self.parameters().items():
            about.check(name, getattr(self, name))

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The parameters besides epsilon, in order."""
        return {
            each.name: each.metadata["parameter"]
            for each in fields(cls)
            if "parameter" in each.metadata
        }

    @classmethod
    def build(cls, epsilon: float, values: dict[str, Any]) -> Mechanism:
        """A mechanism from parameter values; strings are parsed.  Raises UsageError."""
        known = cls.parameters()
        checked: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                if not known:
                    raise UsageError(f"mechanism '{cls.name}' has no parameters besides epsilon")
                raise unknown_name(f"parameter of {cls.name}:", name, known)
            checked[name] = known[name].parse(name, value) if isinstance(value, str) else value
        return cls(epsilon, **checked)

    def with_vocabulary(self, key_to_index: Mapping[str, int]) -> Mechanism:
        """The same with parameters that name words (lists of weights) turned into row numbers."""
        return self

    @abstractmethod
    def guarantee(self, space: MetricSpace) -> Guarantee:
        """The true guarantee for these parameters on this vocabulary."""

    def resolved(self, space: MetricSpace) -> Mechanism:
        """The same mechanism with what ``auto`` stands for on a vocabulary, for the record."""
        return self

    def noise_scale(self, space: MetricSpace) -> float | None:
        """Standard deviation of the noise per coordinate, for mechanisms that add noise."""
        return None

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """The exact loss of the sampled law where a closed form gives it; see ``certify``."""
        return None

    @abstractmethod
    def prepare(self, space: MetricSpace) -> Sampler:
        """Make the sampler; once per run."""


Projection = Callable[[MetricSpace, NDArray[np.float64], Streams], Ids]
"""Noisy points (m, d) -> words.  It is not given the inputs: post-processing by construction."""


def nearest(space: MetricSpace, points: NDArray[np.float64], streams: Streams) -> Ids:
    """The word nearest to each noisy point, ties by row number."""
    return space.index.nearest(points)


class PointSampler(Sampler):
    """Stock sampler of point mechanisms: point, noise, projection.

    Args:
        space: where the points and the words are.
        noise: (streams, d) -> (m, d).
        project: noisy points -> words.
    """

    def __init__(
        self,
        space: MetricSpace,
        noise: Callable[[Streams, int], NDArray[np.float64]],
        project: Projection = nearest,
    ) -> None:
        self.space = space
        self.noise = noise
        self.project = project
        # One vector, thrown away: its libraries load now, so that the first line need not wait.
        noise(streams_for(bytes(KEY_BYTES), [0], [1]), space.d)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """See :class:`Sampler`."""
        points = self.space.points(ids)
        points += self.noise(streams, self.space.d)
        return self.project(self.space, points, streams)


SCORE_CAP: Final = 30.0
"""Scores are capped here: e^-30 of the top weight.  min(S, cap) of a metric S is a metric, and at
2^62·e^-30 integer weights still resolve ratios to WEIGHT_ERROR, which guarantees account for."""
WEIGHT_ERROR: Final = 2.4e-6
"""Bound on |ln W + min(score, cap) - ln 2^62|: floor of a value >= 2^62·e^-30 = 4.3e5."""
_ROW_BYTES: Final = 256 << 20
_ROWS: Final = 32
"""Rows whose weights are computed at once."""
_BLOCK_BYTES: Final = 64 << 20
"""Size of one such block; fewer rows are taken where n is large."""


class RowSampler(Sampler):
    """Stock sampler of table mechanisms: integer weights W_u = floor(2^62·exp(-score)), exactly.

    The law of input w is W_u / sum(W): the integers *are* the mechanism, so certificates computed
    from them hold without any floating-point assumption.  Cumulative rows are kept for the most
    recently used inputs, up to a number of bytes.

    Args:
        space: the outputs.
        scores: words (m,) -> scores (m, n) >= 0, a deterministic function of each word; the law of
            ⊥ is uniform.
        cache_bytes: memory for rows.
    """

    def __init__(
        self,
        space: MetricSpace,
        scores: Callable[[Ids], NDArray[np.float64]],
        cache_bytes: int = _ROW_BYTES,
    ) -> None:
        self.space = space
        self.scores = scores
        self.block = max(4, min(_ROWS, _BLOCK_BYTES // (8 * space.n) // 4 * 4))
        self._room = max(self.block, cache_bytes // (12 * space.n))
        self._rows: OrderedDict[int, tuple[NDArray[np.uint64], NDArray[np.uint32]]] = OrderedDict()

    def weights(self, ids: Ids) -> NDArray[np.uint64]:
        """The integer weights of each input, shape (m, n), each in 1 ... 2^62."""
        out = np.full((len(ids), self.space.n), np.uint64(1 << 62))
        known = np.flatnonzero(ids < self.space.n)
        for at in range(0, len(known), self.block):
            rows = known[at : at + self.block]
            # Matrix products may differ in their last bit with the number of rows, so it is always
            # the same: a row is a function of its word alone, whatever the batch.
            padded = np.resize(ids[rows], self.block)
            scores = self.scores(padded)[: len(rows)]
            np.minimum(scores, SCORE_CAP, out=scores)
            np.exp(np.negative(scores, out=scores), out=scores)
            scores *= 2.0**62
            out[rows] = scores  # the cast rounds down
        return out

    def probabilities(self, ids: Ids) -> NDArray[np.float64]:
        """See :class:`Sampler`."""
        weights = self.weights(ids).astype(np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _cumulative(self, ids: Ids) -> None:
        """Make sure that the rows of these distinct inputs are held, at most ``block`` of them."""
        for key in ids.tolist():
            if key in self._rows:
                self._rows.move_to_end(key)
        missing = np.array([i for i in ids.tolist() if i not in self._rows], dtype=np.int64)
        if not len(missing):
            return
        while self._rows and len(self._rows) + len(missing) > self._room:
            self._rows.popitem(last=False)
        weights = self.weights(missing)
        # Sums of n weights need up to 62 + log2(n) bits: two limbs of 32 and 64 bits.
        low = weights & np.uint64(0xFFFFFFFF)
        np.cumsum(low, axis=1, out=low)
        weights >>= np.uint64(32)
        high = np.cumsum(weights, axis=1, out=weights)
        high += low >> np.uint64(32)
        for row, key in enumerate(missing.tolist()):
            self._rows[key] = (high[row].copy(), low[row].astype(np.uint32))

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """See :class:`Sampler`."""
        out = np.empty(len(ids), dtype=np.int64)
        pending = np.arange(len(ids))
        attempt = 0
        while len(pending):  # a second round has a chance of about 2^-13 per word
            bits = streams.bits(f"row/{attempt}", 2)[pending]
            pending = pending[~self._round(ids[pending], bits, out, pending)]
            attempt += 1
        return out

    def _round(
        self, ids: Ids, bits: NDArray[np.uint64], out: Ids, places: Ids
    ) -> NDArray[np.bool_]:
        """Try to draw every input once; True where the draw was accepted."""
        good = np.zeros(len(ids), dtype=np.bool_)
        order = np.argsort(ids, kind="stable")
        distinct, starts = np.unique(ids[order], return_index=True)
        groups = np.split(order, starts[1:])
        for at in range(0, len(distinct), self.block):
            keys = distinct[at : at + self.block]
            self._cumulative(keys)
            for key, group in zip(keys.tolist(), groups[at : at + self.block], strict=True):
                high, low = self._rows[key]
                good[group], out[places[group]] = _draw(high, low, bits[group])
        return good

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": OrderedDict()}


def _draw(
    high: NDArray[np.uint64], low: NDArray[np.uint32], bits: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], Ids]:
    """Exact inverse of a cumulative row: accepted?, position; for bits (m, 2)."""
    total_high, total_low = high[-1], np.uint64(low[-1])
    bound = total_high + np.uint64(1)
    excess = np.uint64((1 << 64) % int(bound))
    drawn_high = bits[:, 0] % bound
    drawn_low = bits[:, 1] >> np.uint64(32)
    good = bits[:, 0] <= np.uint64(2**64 - 1) - excess
    good &= (drawn_high < total_high) | ((drawn_high == total_high) & (drawn_low < total_low))
    # The first position whose cumulative weight exceeds the drawn number.
    at = np.searchsorted(high, drawn_high, side="left")
    at[~good] = 0
    while True:
        step = good & (high[at] == drawn_high) & (low[at] <= drawn_low)
        if not step.any():
            return good, at
        at[step] += 1
