"""Claimed against true guarantee: the delta with which a claimed epsilon holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from common.panels import Panel, Series
from common.steps import in_steps
from common.study import Asked, Result
from common.sweeps import label
from common.values import dimensions
from dpsan.embeddings.words import Embeddings
from dpsan.mechanisms.clipped_noise import TrLaplacePaper
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import Progress
from dpsan.space.metric_space import MetricSpace

PARAMETERS: Final = {"d": "dimensions without a vocabulary; default 50,100,300"}
_DIMENSIONS: Final = (50, 100, 300)
_PAPER: Final = (784, 256.0)
"""Coordinates I and range Delta of the images of [TLDP]."""
_EPSILONS: Final = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)
_CURVE: Final = 61


@dataclass(frozen=True)
class Part:
    """The figures of one mechanism."""

    rows: list[dict[str, Any]]
    panel: Panel
    largest: float
    """Of the figure that should be 0 (delta) or at most 1 (ratio)."""
    caption: str
    note: str = ""


def corners(d: int, edge: float) -> MetricSpace:
    """Return two words that differ by the same length in each of d coordinates."""
    vectors = np.array([np.zeros(d), np.full(d, edge)], dtype=np.float32)
    return MetricSpace(Embeddings(["", " "], vectors, "", f"corners-{d}-{edge:g}"))


def together(parts: Mapping[str, Part], asked: Asked, **parameters: Any) -> Result:
    """Return one result of the parts of several mechanisms, by name."""
    rows = [row for part in parts.values() for row in part.rows]
    return Result(
        order=("mechanism", "d", "range", "n", "epsilon", "quantity", "claimed", "true"),
        rows=[{"d": None, "range": None, "n": None, **row} for row in rows],
        summary={"worst": {name: part.largest for name, part in parts.items()}},
        parameters={"mechanisms": list(parts), "epsilons": list(asked.epsilons), **parameters},
        panels=[part.panel for part in parts.values()],
        caption=" ".join(
            [
                "Dashed: what is claimed; lines: what is true.",
                *(part.caption for part in parts.values()),
            ]
        ),
        notes=(
            "all values are exact: closed forms, convolution or quadrature; nothing is drawn",
            *(f"{name}: {part.note}" for name, part in parts.items() if part.note),
        ),
    )


def dims_of(space: MetricSpace | None, asked: Asked) -> tuple[int, ...]:
    """Return the dimensions that are asked for."""
    return dimensions(asked.parameters.get("d"), (space.d,) if space else _DIMENSIONS)


def deltas(space: MetricSpace | None, asked: Asked, kinds: Sequence[type[Mechanism]]) -> Result:
    """Return the delta with which the claimed epsilon of each mechanism holds.

    Args:
        space: the vocabulary; None: two words that differ by 1 (or by the parameter ``range``) in
            each of ``d`` coordinates.
        asked: epsilons of the rows; default: the grids of the papers.
        kinds: mechanisms as published.
    """
    dims, given = dims_of(space, asked), dict(asked.parameters)
    given.pop("d", None)
    parts = {
        kind.name: delta_part(Draft(kind, given), space, dims, asked.epsilons, step)
        for kind, step in in_steps(asked.progress, kinds)
    }
    return together(parts, asked, d=list(dims), **given)


def delta_part(
    draft: Draft,
    space: MetricSpace | None,
    dims: Sequence[int],
    epsilons: Sequence[float],
    progress: Progress,
) -> Part:
    """Return the delta with which the claimed epsilon holds, and the delta claimed with it."""
    epsilons = epsilons or _EPSILONS
    given = draft.values.get("range", "auto")
    edge = 1.0 if given == "auto" else float(given)
    rows, series = [], []
    tensor = "range" in draft.kind.parameters()
    sizes = [(d, edge) for d in dims]
    if tensor and space is None and given == "auto" and tuple(dims) == _DIMENSIONS:
        sizes.append(_PAPER)
    grid = np.geomspace(min(epsilons), max(epsilons), _CURVE).tolist()
    for (d, side), step in in_steps(progress, sizes):
        words = space or corners(d, side)
        found = {each: draft.at(each).guarantee(words) for each in {*epsilons, *grid}}
        for epsilon in epsilons:
            claimed, true = found[epsilon].claimed, found[epsilon].at(epsilon).delta
            size = {"d": d, "range": side} if tensor and space is None else {"d": d}
            rows.append(
                claim_row(draft, "delta", epsilon, claimed.delta if claimed else 0.0, true, **size)
            )
        # With dummy dimensions delta jumps as their number grows: points, no line.
        padded = {each for each in found if _pads(draft.at(each), d)}
        own = f"d = {d}" if side == edge else f"d = {d}, range {side:g}"
        for name, style, at in (
            (own, "line", [each for each in grid if each not in padded]),
            (f"{own}, padded", "points", [each for each in epsilons if each in padded]),
        ):
            if at:
                y = tuple(found[each].at(each).delta for each in at)
                series.append(Series(name, tuple(at), y, style=style))
        step(1.0)
    largest = max(row["claimed"] for row in rows)
    series.append(claim_line(grid, 0.0 if largest < 1e-3 else largest, f"claimed: ≤ {largest:.1g}"))
    axes, limits = ("claimed epsilon (nats)", "true delta at the claimed epsilon"), (-0.03, 1.03)
    panel = Panel(draft.kind.name, *axes, tuple(series), log_x=True, y_limits=limits)
    where = "of this vocabulary" if space else f"in d coordinates of range {edge:g}"
    caption = f"{label(draft)}: true delta of the worst pair of inputs {where}."
    if any(each.style == "points" for each in series):
        caption += " Padded: with dummy dimensions, which extend its domain to larger epsilon."
    note = ""
    if draft.kind.name.endswith("-weighted"):
        note = "the lightest word counts, which is kept as often as without weights: the same truth"
    return Part(rows, panel, max(row["true"] for row in rows), caption, note)


def _pads(mechanism: Mechanism, d: int) -> bool:
    return isinstance(mechanism, TrLaplacePaper) and mechanism.dimensions(d) > d


def claim_row(
    draft: Draft, quantity: str, epsilon: float, claimed: float, true: float, **size: float
) -> dict[str, Any]:
    """Return one claim beside the truth."""
    return {
        "mechanism": draft.kind.name,
        "epsilon": epsilon,
        "quantity": quantity,
        "claimed": claimed,
        "true": true,
        **size,
    }


def claim_line(x: Sequence[float], value: float, text: str) -> Series:
    """Return the dashed line of a claim."""
    return Series(text, (x[0], x[-1]), (value, value), style="dashed")
