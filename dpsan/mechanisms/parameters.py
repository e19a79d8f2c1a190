"""A parameter of a mechanism: its documentation, its domain, and the fields that several share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpsan.errors import Hint, UsageError


@dataclass(frozen=True, slots=True)
class Parameter:
    """Meaning, domain and default of a parameter."""

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
        """Return the domain in words."""
        words = [f"'{word}'" for word in self.words]
        if self.convert is str:
            return " or ".join(words) or "a name"
        kind = "a whole number" if self.convert is int else "a number"
        low = f"{'>' if self.open_low else '>='} {self.low:g}" if self.low > -math.inf else ""
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
            good = good and self.low <= value <= self.high
            good = good and not (self.open_low and value == self.low)
        if not good:
            raise UsageError(f"{name} must be {self.domain()} (got {value})")

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
    *,
    convert: Callable[[str], Any] | None = None,
    unit: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    words: tuple[str, ...] = (),
    example: str | None = None,
) -> Any:
    """Return a field of a mechanism with its documentation and domain.

    Args:
        convert: text to value; by default the type of ``default``.
        example: makes it required (its default is None then): what an error message suggests.
    """
    kind = convert or type(default)
    about = Parameter(
        help, unit, low, high, open_low, words, kind, example is not None, example or ""
    )
    return field(default=default, metadata={"parameter": about})


def clip_parameter() -> Any:
    """Return the field ``clip`` of mechanisms on clipped vectors."""
    return parameter(
        "auto",
        "vectors longer than this are shortened to it",
        convert=float,
        unit="distance",
        low=0,
        open_low=True,
        words=("auto",),
    )


def delta_parameter() -> Any:
    """Return the field ``delta`` of mechanisms that need one: a decision of the user's."""
    return parameter(
        None,
        "probability that the loss may exceed epsilon",
        convert=float,
        unit="probability",
        low=0,
        high=0.5,
        open_low=True,
        example="1e-6",
    )


def published_delta_parameter() -> Any:
    """Return the field ``delta`` of mechanisms as [TrLap] has them: 4^-d unless it is given."""
    return parameter(
        "auto",
        "the paper's delta; auto is 4^-d",
        convert=float,
        unit="probability",
        low=0,
        high=0.5,
        open_low=True,
        words=("auto",),
    )
