"""A parameter of a mechanism: its documentation, its domain, and the fields that several share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpsan.errors import Hint, UsageError


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


def clip_parameter() -> Any:
    """Return the field ``clip`` of mechanisms on clipped vectors."""
    what = "vectors longer than this are shortened to it"
    return parameter("auto", what, convert=float, unit="distance", above=0)


def delta_parameter(published: bool = False) -> Any:
    """Return the field ``delta`` of mechanisms that need one: a decision of the user's.

    Args:
        published: as [TrLap] has it: 4^-d unless it is given.
    """
    domain = {"convert": float, "unit": "probability", "above": 0, "high": 0.5}
    if published:
        return parameter("auto", "the paper's delta; auto is 4^-d", **domain)
    what = "probability that the loss may exceed epsilon"
    return parameter(None, what, **domain, example="1e-6")
