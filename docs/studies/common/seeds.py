"""A study with several seeds: means and 95 % intervals of all that the seed changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from common.panels import Panel, Series
from common.steps import in_steps
from common.study import Result
from dpsan.analysis.compare.measure import Figure, over_seeds
from dpsan.errors import UsageError
from dpsan.outcomes.distributions import Progress

_EVERY = (-math.inf, math.inf)
_LIMITS = ("low", "high")


def with_seeds(
    make: Callable[[str, Progress], Result], seed: str, count: int, progress: Progress
) -> Result:
    """Make a study ``count`` times, with the seeds ``seed-1``, ``seed-2`` ...

    A number that is not the same with every seed becomes its mean, and columns that end in ``low``
    and ``high`` hold Student's 95 % interval of it; limits within one run give way to them.

    Raises:
        UsageError: the rows are about other things with another seed.
    """
    made = [make(f"{seed}-{at}", step) for at, step in in_steps(progress, range(1, count + 1))]
    first, tables = made[0], [each.rows for each in made]
    varying = {
        name
        for name in first.columns
        if any(len({row.get(name) for row in rows}) > 1 for rows in zip(*tables, strict=False))
    }
    drawn = {name for name in varying if not name.endswith(_LIMITS)}
    if len(set(map(len, tables))) > 1 or not all(
        isinstance(row.get(name), (int, float, type(None)))
        for rows in tables
        for row in rows
        for name in drawn
    ):
        raise UsageError("its rows are about other things with another seed: --seeds 1")
    within = varying - drawn | {f"{name}_{end}" for name in drawn for end in _LIMITS}
    rows = [
        _together(some, [name for name in first.columns if name not in within], drawn)
        for some in zip(*tables, strict=True)
    ]
    means = f"Means over {count} seeds, with 95 % intervals (Student's t)."
    return replace(
        first,
        rows=rows,
        panels=[_panel(some) for some in zip(*(each.panels for each in made), strict=True)],
        caption=f"{first.caption} {means}" if drawn else first.caption,
        notes=(*first.notes, means if drawn else "nothing here depends on the seed"),
        parameters={**first.parameters, "seeds": count},
        order=tuple(rows[0]),
    )


def _together(rows: Sequence[Any], names: Sequence[str], drawn: set[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in names:
        out[name] = rows[0].get(name)
        if name in drawn:
            values = [row.get(name) for row in rows]
            missing = None in values
            found = Figure(math.nan) if missing else over_seeds(values, _EVERY)
            out[name] = None if missing else found.value
            out |= {f"{name}_low": found.low, f"{name}_high": found.high}
    return out


def _panel(panels: Sequence[Panel]) -> Panel:
    """The mean of each line over the seeds, where its points are at the same places."""
    lines = []
    for series in zip(*(each.series for each in panels), strict=True):
        own: Series = series[0]
        if len({each.x for each in series}) == 1 and len({each.y for each in series}) > 1:
            found = [over_seeds(some, _EVERY) for some in zip(*(each.y for each in series))]
            y, low, high = (tuple(map(float, some)) for some in zip(*found))
            own = replace(own, y=y, low=low, high=high)
        lines.append(own)
    return replace(panels[0], series=tuple(lines))
