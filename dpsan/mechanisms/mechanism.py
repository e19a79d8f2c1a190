# mypy: implicit-reexport
"""Interface of a mechanism: frozen parameters, a guarantee, and a sampler of row numbers.

Mechanisms import what most of them need from here.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform

import numpy as np

from dpsan.errors import Hint, UsageError, check_positive, refuse, unknown_name
from dpsan.mechanisms.tables import PointSampler, Sampler, Table, near_sets, sparse
from dpsan.privacy.certificate import MATRIX_WORDS, Certificate, input_distances, matrix_certificate
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee, Status
from dpsan.privacy.rounding import NoiseDistribution, float64_gap
from dpsan.space import arrays, diameters
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Meaning and domain of a parameter."""

    help: str
    convert: Callable[[str], Any]
    """Text to value."""
    unit: str = ""
    low: float = -math.inf
    above: float = -math.inf
    """Bound that no value reaches, where :attr:`low` is one that values may have."""
    high: float = math.inf
    words: tuple[str, ...] = ()
    """Values that are words."""
    example: str = ""
    """Value that an error message suggests where there is no default, as for delta."""

    @property
    def required(self) -> bool:
        """Return True if the value is a decision of the user's."""
        return bool(self.example)

    def domain(self) -> str:
        """Return the domain in words."""
        words = [f"'{word}'" for word in self.words]
        if self.convert is str:
            return " or ".join(words) or "a name"
        kind = "a whole number" if self.convert is int else "a number"
        low = f">= {self.low:g}" if self.low > -math.inf else ""
        low = f"> {self.above:g}" if self.above > -math.inf else low
        high = f"<= {self.high:g}" if self.high < math.inf else ""
        limits = " and ".join(filter(None, [low, high]))
        return " or ".join([f"{kind} {limits}".strip(), *words])

    def check(self, name: str, value: object) -> None:
        """Raise UsageError if the value is missing or outside the domain."""
        if value is None and self.required:
            hint = Hint(
                f"such as parameters={{{name!r}: {self.example}}}",
                f"such as -p {name}={self.example}",
            )
            raise UsageError(f"parameter {name} is required", hint)
        if isinstance(value, str):
            good = value in self.words or (self.convert is str and not self.words)
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            good = False
        else:
            good = self.convert is not str and math.isfinite(value)
            good = good and (isinstance(value, int) or self.convert is float)
            good = good and self.low <= value <= self.high and value > self.above
        refuse(not good, f"{name} must be {self.domain()} (got {value})")

    def parse(self, name: str, text: str) -> Any:
        """Return the value that a command line means; raises UsageError."""
        if text in self.words:
            return text
        try:
            return self.convert(text)
        except ValueError:
            raise UsageError(f"{name} must be {self.domain()} (got {text})") from None


def parameter(
    default: Any,
    help: str,  # noqa: A002 - the word every argument parser uses
    **about: Any,
) -> Any:
    """Return a field of a mechanism with its documentation and domain.

    Args:
        default: a word beside numbers is one of the words.
        about: other attributes of :class:`Parameter`; ``convert`` is the type of the default unless
            it is given.
    """
    convert = about.setdefault("convert", type(default))
    if isinstance(default, str) and convert is not str:
        about["words"] = (default, *about.get("words", ()))
    return field(default=default, metadata={"parameter": Parameter(help=help, **about)})


_LINES: Final = (Path(__file__).parent / "mechanisms.tsv").read_text("utf-8").splitlines()
_HEAD, *_CELLS = (line.split("\t") for line in _LINES)
CLASSES: Final = {name: f"{__package__}.{place}" for place, name, *_ in _CELLS}
"""Module and class of each mechanism of dpsan, by name, in the order in which they are listed."""
_FACTS: Final[dict[str, dict[str, Any]]] = {
    CLASSES[row["name"]]: row
    | {"status": Status(row["status"]), "compared": row["compared"] == "yes"}
    for row in (dict(zip(_HEAD[1:], cells, strict=True)) for _, *cells in _CELLS)
}
"""Class attributes of each, by module and class."""


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Mechanism(ABC):
    """Parameters of one mechanism.  A mechanism's meaning never changes; a correction is a new one.

    Every class below it becomes a frozen dataclass: its annotations are the parameters.

    Args:
        epsilon: the privacy parameter, in ``epsilon_unit``.
    """

    epsilon: float

    name: ClassVar[str]
    family: ClassVar[str]
    """point, table (words have distributions over words, without noise on vectors) or tensor."""
    status: ClassVar[Status]
    summary: ClassVar[str]
    """One line for tables."""
    epsilon_unit: ClassVar[str]
    """``1/distance`` (metric privacy) or ``nats`` (local differential privacy)."""
    source: ClassVar[str]
    """Bibliography key and section."""
    why: ClassVar[str] = ""
    """Reason of the guarantee, where it is the same for all parameters."""

    arithmetic: ClassVar[Arithmetic] = Arithmetic.REALS
    """In which numbers the guarantee is proved."""
    compared: ClassVar[bool] = False
    """True if ``dpsan compare`` takes it by default."""

    def __init_subclass__(cls) -> None:
        for name, value in _FACTS.get(f"{cls.__module__}.{cls.__name__}", {}).items():
            setattr(cls, name, value)
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", float(self.epsilon))
        for name, about in self.parameters().items():
            about.check(name, getattr(self, name))

    @classmethod
    def is_ldp(cls) -> bool:
        """Return True if epsilon holds between any two inputs, and not per unit of distance."""
        return cls.epsilon_unit == "nats"

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the parameters besides epsilon, in order; a field of a class of one's own may be a
        plain number or word.
        """
        out: dict[str, Parameter] = {}
        for about in fields(cls):
            kind = float if about.type in (float, "float") else type(about.default)
            if "parameter" in about.metadata:
                out[about.name] = about.metadata["parameter"]
            elif kind in (int, float, str) and about.name != "epsilon":
                out[about.name] = Parameter(help="of its own", convert=kind)
        return out

    @classmethod
    def build(cls, epsilon: float, values: dict[str, Any]) -> Mechanism:
        """Return a mechanism from parameter values; strings are parsed.  Raises UsageError."""
        parameters = cls.parameters()
        checked: dict[str, Any] = {}
        for name, value in values.items():
            refuse(not parameters, f"mechanism '{cls.name}' has no parameters besides epsilon")
            if name not in parameters:
                raise unknown_name(f"parameter of {cls.name}:", name, parameters)
            checked[name] = parameters[name].parse(name, value) if isinstance(value, str) else value
        return cls(epsilon, **checked)

    def digest(self) -> str:
        """SHA-256 (hex) of all that decides the distribution, public words and groups included."""
        return hashlib.sha256(repr(vars(self)).encode()).hexdigest()

    def with_public(self, rows: tuple[int, ...]) -> Mechanism:
        """Return the same with words that need no protection; the guarantee is for all other
        strings.

        Args:
            rows: row numbers, ascending; none leave the mechanism as it is.
        """
        return replace(self, public=rows) if rows else self  # type: ignore[call-arg]

    @abstractmethod
    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the true guarantee for these parameters on this vocabulary."""

    def promise(self, epsilon_ldp: float, **about: Any) -> Guarantee:
        """Return a guarantee with this mechanism's status, source and reason, and its epsilon and
        delta as the claim; the rest as for Guarantee.
        """
        about.setdefault("why", self.why)
        delta = getattr(self, "delta", 0.0)
        about.setdefault("claimed", Claim(self.epsilon, delta, self.claimed_metric()))
        return Guarantee(
            self.status, epsilon_ldp, source=self.source, arithmetic=self.arithmetic, **about
        )

    def claimed_metric(self) -> str | None:
        """Return the metric that epsilon is claimed for; None for local differential privacy."""
        return None if self.is_ldp() else "euclidean"

    def resolved(self, space: MetricSpace) -> Mechanism:
        """Return the same mechanism with what ``auto`` stands for on a vocabulary, for the
        record.
        """
        return self

    @classmethod
    def least_epsilon(cls, space: MetricSpace) -> float:
        """Epsilon must be greater than this for the mechanism to be defined there."""
        return 0.0

    def noise_scale(self, space: MetricSpace) -> float | None:
        """Standard deviation of the noise per coordinate, for mechanisms that add noise."""
        noise, sampler = self.noise_distribution(space), self.noise(space)
        return None if noise is None or sampler is None else noise.std(sampler.space.d)

    def noise_distribution(self, space: MetricSpace) -> NoiseDistribution | None:
        """Return the distribution of the noise on a point that the proof needs; None without noise.

        Draws of the sampler are tested against it.
        """
        noise = getattr(self.noise(space), "noise", None)
        return noise if isinstance(noise, NoiseDistribution) else None

    def log_density(self, space: MetricSpace) -> Callable[[arrays.Floats], arrays.Floats]:
        """Logarithm of the density of the noise at distances, up to a constant: for an observer.

        Of a mechanism without noise, that of Laplace noise with the same epsilon.
        """
        spread = self.noise_scale(space)
        if self.is_ldp() and spread:
            scale = 2 * spread * spread
            return lambda distances: -(distances**2) / scale
        rate = self.epsilon
        if self.is_ldp():
            rate *= 2 / max(space.diameter, 1e-300)
        return lambda distances: -rate * distances

    def claim_distances(self, space: MetricSpace, ids: arrays.Ids) -> arrays.Floats | None:
        """Distances between inputs (⊥ allowed) in the metric of the published claim, (m, m).

        None where that metric is Euclidean, or there is none.
        """
        return None

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the exact loss of the sampled distribution where a closed form gives it."""
        return None

    def float64_gap(self, space: MetricSpace) -> float | None:
        """Bound on what rounding changes: total variation distance of a word's distribution.

        0 where draws come from integers; None where nothing is proved, or it takes too long.
        Minutes for a large vocabulary; once, then kept.
        """
        if self.arithmetic is Arithmetic.INTEGERS:
            return 0.0
        if self.arithmetic is Arithmetic.REALS:
            return None
        noise, sampler = self.noise_distribution(space), self.noise(space)
        smallest = diameters.smallest_distance(sampler.space) if sampler else None
        if noise is None or sampler is None or smallest is None:
            return None
        points = sampler.space
        unknown = points.search(points.points(np.array([points.n])), 1)[1][0, 0]
        reach = arrays.largest_norm(points.vectors)
        return float64_gap(noise, points.d, reach, smallest, float(unknown) * (1 + 1e-9))

    def table(self, space: MetricSpace) -> Table:
        """Return the whole numbers that are drawn from, for a mechanism that has a table."""
        raise NotImplementedError(f"{self.name} has no table")

    def noise(self, space: MetricSpace) -> PointSampler | None:
        """Return the noise on points and what becomes of them, for a mechanism that adds noise."""
        return None

    def prepare(self, space: MetricSpace) -> Sampler:
        """Make the sampler; once per run."""
        return self.noise(space) or self.table(space)


class IntegerResponse(Mechanism):
    """A proved distribution over the words, made of integers: pure LDP."""

    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.PROVED
    arithmetic: ClassVar[Arithmetic] = Arithmetic.INTEGERS
    epsilon_unit: ClassVar[str] = "nats"

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the exact loss of the rows that are drawn from."""
        sampler = self.prepare(space)
        return sampler.certificate(repr(self)) if isinstance(sampler, Table) else None


class BaseResponse(IntegerResponse):
    """A public base with a near set of each word: what groups of words need."""

    euclidean: ClassVar[bool] = False
    """True if near is by the distance of the space, else by the cosine."""
    if TYPE_CHECKING:  # the order of fields is that of the parameters
        public: tuple[int, ...]
        groups: tuple[near_sets.Group, ...]

    @abstractmethod
    def base(self, space: MetricSpace) -> near_sets.Base:
        """Return the outputs, their integer weights, and the mass of near sets.

        Raises:
            UsageError: there is none for these parameters.
        """

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        base = near_sets.with_floor(self.base(space), self.groups, space.n)
        # That of the exact integer distribution, which is never above epsilon.
        loss = min(self.epsilon, sparse.integer_loss(self.epsilon, base.total, base.mass))
        return self.promise(loss, public_words=len(self.public))

    def table(self, space: MetricSpace) -> sparse.SparseTable:
        """Return the table of the base and its near sets."""
        given = self.base(space), self.epsilon, self.public
        return sparse.SparseTable(space, *given, euclidean=self.euclidean, groups=self.groups)


def certify(mechanism: Mechanism, space: MetricSpace) -> Certificate | None:
    """Return the exact certificate of a mechanism on a vocabulary; None where no exact method
    exists.

    Closed forms take O(n²·d) and are cached with the space; other distributions are compared cell
    by cell up to :data:`MATRIX_WORDS` words.
    """
    certificate = mechanism.certificate(space)
    if certificate is not None or space.n > MATRIX_WORDS:
        return certificate
    sampler = mechanism.prepare(space)
    pmf = sampler.probabilities(np.arange(space.n + 1))
    if pmf is None:
        return None
    claim = mechanism.guarantee(space).claimed
    distances = None
    if claim is not None and claim.metric == "euclidean":
        distances = input_distances(space)
    return matrix_certificate(pmf, claim, distances, error=sampler.probability_error)
