"""What a study is asked for, from texts: mechanisms with parameters, lists of numbers.

Knows the registry and parameter names.  Must not know options or how a study is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpsan.errors import UsageError, check_name, unknown_name
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate.target import Draft


def numbers(texts: Iterable[str], what: str) -> tuple[float, ...]:
    """Positive numbers, in each text separated by commas; ascending, each once.

    Raises:
        UsageError: anything else.
    """
    return tuple(sorted({positive(part, what) for text in texts for part in text.split(",")}))


def positive(text: object, what: str) -> float:
    """A number > 0.  Raises UsageError."""
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UsageError(f"{what} must be > 0 (got {text})")
    return value


def whole(
    values: Mapping[str, Any], name: str, default: int, least: int = 1, most: int | None = None
) -> int:
    """A parameter that is a whole number, ``most`` at most.  Raises UsageError."""
    text = str(values.get(name, default))
    if not _is_whole(text) or not least <= int(text) <= (int(text) if most is None else most):
        domain = f">= {least}" if most is None else f"from {least} to {most:,}"
        raise UsageError(f"{name} must be a whole number {domain} (got {text})")
    return int(text)


def dimensions(text: object, default: Sequence[int]) -> tuple[int, ...]:
    """Whole numbers >= 2 separated by commas; the default for None.  Raises UsageError."""
    if text is None:
        return tuple(default)
    out = []
    for part in str(text).split(","):
        if not _is_whole(part.strip()) or not 2 <= int(part) <= 10**5:
            raise UsageError(f"d must be whole numbers >= 2, separated by commas (got {text})")
        out.append(int(part))
    return tuple(sorted(set(out)))


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def drafts(
    names: Sequence[str],
    values: Mapping[str, str],
    own: Iterable[str],
    key_to_index: Mapping[str, int],
) -> tuple[tuple[Draft, ...], dict[str, str]]:
    """The mechanisms named, each with those parameters that it has, and the study's own ones.

    Args:
        values: parameters as given; each must belong to the study or to a mechanism named.
        own: names of the study's parameters, which are not passed to mechanisms.
        key_to_index: the vocabulary, for parameters that name words.

    Raises:
        UsageError: an unknown name, or a value outside its domain.
    """
    mine = {name: value for name, value in values.items() if name in set(own)}
    rest = {name: value for name, value in values.items() if name not in mine}
    out, used = [], set[str]()
    for name in dict.fromkeys(names):
        check_name("mechanism", name, MECHANISMS)
        kind = MECHANISMS[name]
        chosen = {key: value for key, value in rest.items() if key in kind.parameters()}
        for key, value in chosen.items():
            about = kind.parameters()[key]
            about.check(key, about.parse(key, value))
        used |= set(chosen)
        out.append(Draft(kind, chosen, key_to_index))
    for key in rest:
        if key not in used:
            known = [*own, *(each for draft in out for each in draft.kind.parameters())]
            if not known:
                raise UsageError(f"--param {key} needs a --mechanism that has it")
            raise unknown_name("parameter", key, dict.fromkeys(known))
    return tuple(out), mine
