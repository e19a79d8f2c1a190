"""``variance``: the noise that point and tensor mechanisms add for the same true guarantee.

Every mechanism is set to the same LDP epsilon (with the same delta where it needs one), and its
standard deviation per coordinate is compared.  Without a vocabulary lengths are in units of the
clipping radius C and every sensitivity has its fallback value: 2·C in L2, 2·sqrt(d)·C in L1.  Two
opposite words on the main diagonal have exactly these.  What TLDP keeps has no noise: its expected
noise, the square of what is shown, is (1-p) times the variance ([TLDP] Table V).

Knows mechanisms by their noise.  Must not know their formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.request import dimensions, positive
from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.calibrate import epsilon_for_ldp
from dpsan.outcomes.calibrate.target import Draft
from dpsan.privacy.guarantee import Status
from dpsan.space.diameters import clipped
from dpsan.space.metric_space import MetricSpace

_EPSILONS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_DIMENSION: Final = 300
_DELTA: Final = 1e-6


def opposite(d: int, *, more: bool = False) -> MetricSpace:
    """Two words at ±1/sqrt d in each coordinate: norm 1, distance 2 in L2 and 2·sqrt(d) in L1.

    Args:
        more: with unit vectors among them, which lie within the same bounds.
    """
    vectors = np.full((2, d), 1 / math.sqrt(d), dtype=np.float32)
    vectors[1] *= -1
    if more:
        vectors = np.concatenate([vectors, 0.9 * np.eye(d, dtype=np.float32)[: d // 2]])
    words = [str(row) for row in range(len(vectors))]
    return MetricSpace(Embeddings(words, vectors, "", f"opposite-{d}-{more}"))


def run(space: MetricSpace | None, asked: Asked) -> Result:
    """Standard deviation of the noise per coordinate over the LDP epsilon.

    Args:
        space: the vocabulary; None: units of the clipping radius.
        asked: of it are used
            mechanisms: default: all of the families ``point`` and ``tensor``.
            epsilons: LDP epsilons, nats.
            parameters: ``d`` (without a vocabulary; default 300), ``delta`` (default 1e-6) and
                ``clip`` (with a vocabulary, for all mechanisms; default: no vector changes).

    Raises:
        UsageError: a parameter outside its domain, or nothing to show.
    """
    own = dict(asked.parameters)
    if space is not None and "d" in own:
        raise UsageError("parameter d is the vocabulary's own (leave out -p d or the vocabulary)")
    if space is None and "clip" in own:
        raise UsageError("parameter clip needs a vocabulary; without one, C is the unit")
    dims = dimensions(own.get("d"), (space.d if space else _DIMENSION,))
    delta = positive(own.get("delta", _DELTA), "delta")
    fixed = {"delta": delta}
    if "clip" in own:
        fixed["clip"] = positive(own["clip"], "clip")
        # All mechanisms see the clipped words, also those that do not clip by themselves.
        space = None if space is None else clipped(space, fixed["clip"])[0]
    chosen = tuple(asked.mechanisms) or tuple(
        Draft(kind) for kind in MECHANISMS.values() if not kind.is_table()
    )
    values = tuple(asked.epsilons) or _EPSILONS
    rows, panels, notes = list[dict[str, Any]](), list[Panel](), dict[str, None]()
    for place, d in enumerate(dims):
        curves: list[_Curve] = []
        for number, draft in enumerate(chosen):
            found = _scales(_fill(draft, fixed), space, d, values, notes)
            rows += [{"d": d, **row} for row in found]
            if found:
                proved = draft.kind.status is Status.PROVED
                label = draft.kind.name + ("" if proved else " (no such guarantee)")
                _add(curves, label, found, "line" if proved else "dashed")
            if asked.progress:
                asked.progress((place + (number + 1) / len(chosen)) / len(dims))
        unit = "embedding units" if space else "units of C"
        panels.append(
            Panel(
                f"Noise at the same guarantee, d = {d}",
                "LDP epsilon (nats)",
                f"standard deviation per coordinate ({unit})",
                tuple(Series(", ".join(c.labels), c.x, c.y, style=c.style) for c in curves),
                log_x=True,
                log_y=True,
            )
        )
    if not rows:
        raise UsageError("none of these mechanisms has a noise scale", next(iter(notes), ""))
    where = (
        "units of the clipping radius C, sensitivities 2·C in L2 and 2·sqrt(d)·C in L1"
        if space is None
        else f"{space.n:,} words in {space.d} dimensions, "
        + (f"clipped at {own['clip']}" if "clip" in own else "not clipped")
    )
    return Result(
        name="variance",
        source="[TrLap] Theorem 4, [TLDP] Table V",
        order=("mechanism", "status", "d", "epsilon_ldp", "delta", "epsilon", "std"),
        rows=rows,
        summary={"delta": delta},
        parameters={
            "mechanisms": [
                {"name": draft.kind.name, "parameters": dict(_fill(draft, fixed).values)}
                for draft in chosen
            ],
            "epsilons": list(values),
            "d": list(dims),
            "delta": delta,
            "clip": own.get("clip"),
        },
        panels=panels,
        caption=f"Standard deviation of the noise per coordinate at the same LDP epsilon, with "
        f"delta {delta:g} where a mechanism needs one; {where}.",
        notes=tuple(notes),
    )


@dataclass
class _Curve:
    """Mechanisms with the same noise."""

    labels: list[str]
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: str


def _add(curves: list[_Curve], label: str, rows: Sequence[Mapping[str, Any]], style: str) -> None:
    """Add a curve, or its name to one that looks the same."""
    x, y = (tuple(row[key] for row in rows) for key in ("epsilon_ldp", "std"))
    for curve in curves:
        alike = zip(curve.y, y, strict=False)
        if curve.x == x and curve.style == style and all(map(_close, *zip(*alike, strict=True))):
            curve.labels.append(label)
            return
    curves.append(_Curve([label], x, y, style))


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=5e-3)


def _fill(draft: Draft, fixed: Mapping[str, float]) -> Draft:
    """With delta where the mechanism cannot do without, and with the clipping radius."""
    known = draft.kind.parameters()
    more = {
        name: value
        for name, value in fixed.items()
        if name in known and (known[name].required or name == "clip")
    }
    return replace(draft, values={**more, **draft.values})


def _scales(
    draft: Draft,
    space: MetricSpace | None,
    d: int,
    epsilons: Sequence[float],
    notes: dict[str, None],
) -> list[dict[str, Any]]:
    """Rows of one mechanism; what it has no value for goes to the notes."""
    name, out = draft.kind.name, list[dict[str, Any]]()
    failed: dict[float, str] = {}
    for epsilon in epsilons:
        try:
            if space is not None:
                mechanism, std = _scale(draft, space, epsilon)
            else:
                mechanism, std = _scale(draft, opposite(d), epsilon)
                if std is not None and not _same(std, draft, d, epsilon):
                    notes[f"{name} left out: its noise depends on the words, give -E FILE"] = None
                    return []
        except UsageError as error:
            failed[epsilon] = error.message
            continue
        if std is None:
            notes[f"{name} left out: it has no noise scale"] = None
            return []
        guarantee = mechanism.guarantee(space or opposite(d))
        if guarantee.status is not Status.PROVED:
            notes[f"{name}: epsilon as published; true is the delta in its rows"] = None
        loss = guarantee.at(epsilon)
        out.append(
            {
                "mechanism": name,
                "status": str(guarantee.status),
                "epsilon_ldp": loss.epsilon,
                "delta": loss.delta,
                "epsilon": mechanism.epsilon,
                "std": std,
            }
        )
    if failed:
        where = ", ".join(f"{epsilon:g}" for epsilon in failed)
        notes[f"{name} has no value at epsilon {where}: {next(iter(failed.values()))}"] = None
    if out and "dimensions" in draft.kind.parameters():
        notes[f"{name}: per coordinate of its own few dimensions"] = None
    return out


def _scale(draft: Draft, space: MetricSpace, wanted: float) -> tuple[Mechanism, float | None]:
    """The mechanism at an LDP epsilon and its noise; at its own epsilon where that is in nats."""
    mechanism = draft.at(wanted if draft.kind.is_ldp() else epsilon_for_ldp(draft, space, wanted))
    return mechanism, mechanism.noise_scale(space)


def _same(std: float, draft: Draft, d: int, epsilon: float) -> bool:
    """Whether other words within the same bounds get the same noise."""
    other = _scale(draft, opposite(d, more=True), epsilon)[1]
    return other is not None and _close(std, other)
