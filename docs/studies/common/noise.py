"""The noise that point and tensor mechanisms add for the same true guarantee.

Every mechanism is set to the same LDP epsilon (with the same delta where it needs one), and its
standard deviation per coordinate is compared.  Without a vocabulary lengths are in units of the
clipping radius C and every sensitivity has its fallback value: 2·C in L2, 2·sqrt(d)·C in L1.  Two
opposite words on the main diagonal have exactly these.  What TLDP keeps has no noise: its expected
noise, the square of what is shown, is (1-p) times the variance ([TLDP] Table V).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from common.panels import Panel, Series
from common.steps import in_steps
from common.study import Asked, Result
from common.values import dimensions, positive
from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.calibrate import Draft, Target, calibrate
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


PARAMETERS: Final = {
    "d": "dimensions without a vocabulary, separated by commas; default 300",
    "delta": "delta of mechanisms that need one; default 1e-6",
    "clip": "radius that the vectors of a vocabulary are clipped to, a length",
}


def noise(space: MetricSpace | None, asked: Asked, drafts: Sequence[Draft]) -> Result:
    """Return the standard deviation of the noise per coordinate over the LDP epsilon.

    Args:
        space: the vocabulary; None: units of the clipping radius.
        asked: epsilons are LDP epsilons in nats.
        drafts: used where none is asked for.

    Raises:
        UsageError: a parameter outside its domain, or nothing to show.
    """
    own = dict(asked.parameters)
    if space is not None and "d" in own:
        raise UsageError("d is the vocabulary's own: leave out --d or the vocabulary")
    if space is None and "clip" in own:
        raise UsageError("--clip needs a vocabulary; without one, C is the unit")
    dims = dimensions(own.get("d"), (space.d if space else _DIMENSION,))
    delta = positive(own.get("delta", _DELTA), "delta")
    fixed = {"delta": delta}
    if "clip" in own:
        fixed["clip"] = positive(own["clip"], "clip")
        # All mechanisms see the clipped words, also those that do not clip by themselves.
        space = None if space is None else clipped(space, fixed["clip"])[0]
    chosen = tuple(asked.mechanisms) or tuple(drafts)
    values = tuple(asked.epsilons) or _EPSILONS
    rows, panels, notes = list[dict[str, Any]](), list[Panel](), dict[str, None]()
    for d, progress in in_steps(asked.progress, dims):
        curves: list[Series] = []
        for draft, step in in_steps(progress, chosen):
            found = _scales(_fill(draft, fixed), space, d, values, notes)
            rows += [{"d": d, **row} for row in found]
            if found:
                proved = draft.kind.status is Status.PROVED
                label = draft.kind.name + ("" if proved else " (no such guarantee)")
                x, y = (tuple(row[key] for row in found) for key in ("epsilon_ldp", "std"))
                _add(curves, Series(label, x, y, style="line" if proved else "dashed"))
            step(1.0)
        unit = "embedding units" if space else "units of C"
        axes = "LDP epsilon (nats)", f"standard deviation per coordinate ({unit})"
        title, lines = f"Noise at the same guarantee, d = {d}", tuple(curves)
        panels.append(Panel(title, *axes, lines, log_x=True, log_y=True))
    if not rows:
        raise UsageError("none of these mechanisms has a noise scale", next(iter(notes), ""))
    where = (
        "units of the clipping radius C, sensitivities 2·C in L2 and 2·sqrt(d)·C in L1"
        if space is None
        else f"{space.n:,} words in {space.d} dimensions, "
        + (f"clipped at {own['clip']}" if "clip" in own else "not clipped")
    )
    return Result(
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


def _add(curves: list[Series], new: Series) -> None:
    """Add a curve, or its name to one that looks the same."""
    for at, curve in enumerate(curves):
        alike = curve.x == new.x and curve.style == new.style
        if alike and all(map(_close, curve.y, new.y)):
            curves[at] = replace(curve, label=f"{curve.label}, {new.label}")
            return
    curves.append(new)


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
    words = space or opposite(d)
    for epsilon in epsilons:
        try:
            mechanism, std = _scale(draft, words, epsilon)
            if space is None and std is not None and not _same(std, draft, d, epsilon):
                notes[f"{name} left out: its noise depends on the words, give -E FILE"] = None
                return []
        except UsageError as error:
            failed[epsilon] = error.message
            continue
        if std is None:
            notes[f"{name} left out: it has no noise scale"] = None
            return []
        guarantee = mechanism.guarantee(words)
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
    if draft.kind.is_ldp():
        mechanism = draft.at(wanted)
    else:
        mechanism = calibrate(draft, space, Target.EPSILON_LDP, wanted).mechanism
    return mechanism, mechanism.noise_scale(space)


def _same(std: float, draft: Draft, d: int, epsilon: float) -> bool:
    """Whether other words within the same bounds get the same noise."""
    other = _scale(draft, opposite(d, more=True), epsilon)[1]
    return other is not None and _close(std, other)
