"""A run beside a stored one: ratios only, so that machines of different speed can be compared.

Knows the JSON of ``dpsan bench``.  Must not know how speed is measured.  Each quantity is a ratio
within its own run: to the bare FAISS search, to the least start, or of the run without an audit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from dpsan.errors import InputError, file_reason

_SPEED: Final = "speed / bare FAISS"
_QUANTITIES: Final[Mapping[str, tuple[str, str | None, bool]]] = {
    _SPEED: ("ratio", None, True),
    "speed with audit / bare FAISS": ("ratio_audit", None, True),
    "speed with audit / without": ("words_per_second_audit", "words_per_second", True),
    "start / least start": ("startup_seconds", "bare_startup_seconds", False),
    "first line / least start": ("first_line_seconds", "bare_startup_seconds", False),
}
"""For each ratio its numerator, its denominator, and whether more is better."""
_SCALE: Final[Mapping[str, tuple[str, str | None, bool]]] = {
    "-j 2 / -j 1": ("jobs_gain", None, True),
    "small file / bare write": ("seconds_per_file", "bare_seconds_per_file", False),
}
_MOST: Final = 64 << 20


@dataclass(frozen=True)
class Stored:
    """A run that was stored, as far as it is compared."""

    n: int
    d: int
    dpsan: str
    ratios: dict[tuple[str, str], float]
    """By mechanism and quantity."""

    @property
    def mechanisms(self) -> list[str]:
        """In the order of the run."""
        return [name for name, quantity in self.ratios if quantity == _SPEED]


@dataclass(frozen=True)
class Change:
    """A quantity in both runs."""

    mechanism: str
    quantity: str
    stored: float
    now: float
    percent: float
    """Of the quantity, from the stored run to this one."""
    verdict: str
    """``better``, ``worse`` or ``same``: within the tolerance."""


def read_stored(path: Path) -> Stored:
    """The ratios of a file that ``dpsan bench --json`` printed.

    Raises:
        InputError: it cannot be read, or is something else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST)
    except OSError as error:
        raise InputError(path, file_reason(error)) from None
    try:
        return _ratios(orjson.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError):
        what = "not a run of dpsan bench, or of another version"
        raise InputError(path, what, "dpsan bench --json > FILE stores one") from None


def _ratios(run: Any) -> Stored:
    """Raises ValueError, TypeError, KeyError or AttributeError: it is no run."""
    rows = [(each, _QUANTITIES) for each in run["mechanisms"]]
    if run.get("scale") is not None:  # since the version after 1.0
        rows.append((run["scale"], _SCALE))
    ratios = {}
    for row, quantities in rows:
        for name, (over, under, _) in quantities.items():
            value = float(row[over]) / (1.0 if under is None else float(row[under] or math.nan))
            if not (math.isfinite(value) and value > 0):
                raise ValueError(name)
            ratios[str(row["mechanism"]), name] = value
    shape, machine = run["embeddings"], run["machine"]
    return Stored(int(shape["n"]), int(shape["d"]), str(machine["dpsan"]), ratios)


def compared(run: dict[str, Any], stored: Stored, tolerance: float) -> list[Change]:
    """What both runs have, in the order of this one.

    Args:
        run: as JSON values, like those of the file.
        stored: the other.
        tolerance: how much a quantity may differ and count as the same: 0.25 for a quarter.
    """
    changes = []
    for (mechanism, quantity), now in _ratios(run).ratios.items():
        before = stored.ratios.get((mechanism, quantity))
        if before is None:
            continue
        *_, more = {**_QUANTITIES, **_SCALE}[quantity]
        gain = now / before if more else before / now
        verdict = (
            "better" if gain > 1 + tolerance else "worse" if 1 / gain > 1 + tolerance else "same"
        )
        changes.append(Change(mechanism, quantity, before, now, 100 * (now / before - 1), verdict))
    return changes
