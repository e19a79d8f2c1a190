"""What a mechanism is: frozen parameters, a guarantee, and a sampler of row numbers.

The stock samplers of :mod:`dpsan.mechanisms.sampling.samplers` are offered here too.

Knows arrays and guarantees.  Must not know strings, files or command lines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from dpsan.errors import Hint, UsageError, check_positive, unknown_name
from dpsan.mechanisms.sampling.samplers import (
    SCORE_CAP,
    WEIGHT_ERROR,
    PointSampler,
    RowSampler,
    Sampler,
    nearest,
)
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.space.metric_space import MetricSpace

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

    reads_vectors: ClassVar[bool] = True
    """Whether draws read vectors when all tables are in the cache."""

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
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

    def with_vocabulary(self, rows: Callable[[], Mapping[str, int]]) -> Mechanism:
        """The same with parameters that name words (lists of weights) turned into row numbers.

        Args:
            rows: gives the row number of each word; few need it, and it takes time.
        """
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
