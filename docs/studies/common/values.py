"""Numbers and mechanisms from the words of a command line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpsan.errors import UsageError, check_name, unknown_name
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft


def positive(text: object, what: str) -> float:
    """Return a number > 0.  Raises UsageError."""
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UsageError(f"{what} must be > 0 (got {text})")
    return value


def numbers(texts: Iterable[str], what: str) -> tuple[float, ...]:
    """Return positive numbers, in each text separated by commas; ascending, each once."""
    return tuple(sorted({positive(part, what) for text in texts for part in text.split(",")}))


def whole(
    values: Mapping[str, Any], name: str, default: int, least: int = 1, most: int | None = None
) -> int:
    """Return a parameter that is a whole number, ``most`` at most.  Raises UsageError."""
    text = str(values.get(name, default))
    if not _is_whole(text) or not least <= int(text) <= (int(text) if most is None else most):
        domain = f">= {least}" if most is None else f"from {least} to {most:,}"
        raise UsageError(f"--{name} must be a whole number {domain} (got {text})")
    return int(text)


def at_least(value: int | None, low: int, default: int, option: str) -> int:
    """Return an optional whole number.  Raises UsageError below ``low``."""
    if value is not None and value < low:
        raise UsageError(f"{option} must be >= {low} (got {value})")
    return default if value is None else value


def dimensions(text: object, default: Sequence[int]) -> tuple[int, ...]:
    """Return whole numbers >= 2 separated by commas; the default for None.  Raises UsageError."""
    if text is None:
        return tuple(default)
    parts = [part.strip() for part in str(text).split(",")]
    if not all(_is_whole(part) and 2 <= int(part) <= 10**5 for part in parts):
        raise UsageError(f"--d must be whole numbers >= 2, separated by commas (got {text})")
    return tuple(sorted({int(part) for part in parts}))


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def drafts(names: Sequence[str], values: Mapping[str, str]) -> tuple[Draft, ...]:
    """Return the mechanisms named, each with those of the parameters that it has.

    Args:
        names: of mechanisms.
        values: parameters as typed; each must belong to a mechanism named.

    Raises:
        UsageError: an unknown name, or a value outside its domain.
    """
    out, used = [], set[str]()
    for name in dict.fromkeys(names):
        check_name("mechanism", name, MECHANISMS)
        kind = MECHANISMS[name]
        chosen = {key: value for key, value in values.items() if key in kind.parameters()}
        for key, value in chosen.items():
            about = kind.parameters()[key]
            about.check(key, about.parse(key, value))
        used |= set(chosen)
        out.append(Draft(kind, chosen))
    for key in values:
        if key not in used:
            known = dict.fromkeys(each for draft in out for each in draft.kind.parameters())
            if not known:
                raise UsageError(f"-p {key} needs a -m that has it")
            raise unknown_name("parameter", key, known)
    return tuple(out)
