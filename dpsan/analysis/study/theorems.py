"""``theorems``: what refuted theorems claim against what is true.

* [TrLap] Theorem 3 claims delta = 4^-d; the true delta is the largest mass of a box of noise
  outside the shifted box.
* [TLDP] Algorithms 1 and 2 claim pure epsilon-LDP for I coordinates; shown is the delta with which
  the claimed epsilon is true, for two inputs that differ by the range Delta in every coordinate.
* [TGumbel] Algorithm 2 claims epsilon per unit of distance; shown is the exactly audited epsilon
  over the claimed one, on n-1 words at equal distances and one word at twice that distance.

Knows the published mechanisms and their truths.  Must not know how these are proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.request import dimensions
from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.sampling.keep_or_noise import PaperTensor, keep_probability, true_delta
from dpsan.mechanisms.tgumbel_paper import TGumbelPaper, least_epsilon
from dpsan.mechanisms.tldp_paper_g import TLDPPaperG
from dpsan.mechanisms.tldp_paper_l import TLDPPaperL
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.outcomes.calibrate import Draft
from dpsan.privacy.guarantee import Guarantee
from dpsan.space.metric_space import MetricSpace

__all__ = ["run", "simplex"]

_KINDS: Final[tuple[type[Mechanism], ...]] = (TrLaplacePaper, TLDPPaperL, TLDPPaperG, TGumbelPaper)
_DIMENSIONS: Final = (50, 100, 300)
_EPSILONS: Final = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)
_TENSOR_EPSILONS: Final = (0.001, 0.01, 0.1, 1.0)
_AUDITED: Final = (20, 60, 100, 200)
_EDGES: Final = (1.01, 1.5)
"""Epsilon over the least one for which the noise of [TGumbel] is defined."""
_CURVE: Final = 120
_TENSOR_CURVE: Final = 31


@dataclass(frozen=True)
class _Part:
    """What one mechanism contributes."""

    rows: list[dict[str, Any]]
    panel: Panel
    largest: float
    """Of the figure that should be 0 (delta) or at most 1 (ratio)."""
    caption: str


def simplex(n: int) -> MetricSpace:
    """n-1 words at distance sqrt 2 from each other, and one at twice that from all, ascending."""
    vectors = np.zeros((n, n), dtype=np.float32)
    vectors[np.arange(n - 1), np.arange(n - 1)] = 1
    vectors[n - 1, n - 1] = math.sqrt(7)
    return MetricSpace(Embeddings([str(i) for i in range(n)], vectors, "", f"simplex-{n}"))


def run(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed and true delta or epsilon over epsilon and dimension (or number of words).

    Args:
        space: its dimension and range are used; None: the parameter ``d``, default 50, 100, 300,
            and range 1.
        asked: of it are used
            mechanisms: which of the published ones; default all.
            epsilons: of the rows; default: the grids of the papers.
            words: the largest vocabulary that is audited, default 200 (time grows as its cube).
            parameters: ``d``.

    Raises:
        UsageError: a mechanism that has no refuted numerical claim here.
    """
    dims = dimensions(asked.parameters.get("d"), (space.d,) if space else _DIMENSIONS)
    most = _AUDITED[-1] if asked.words is None else asked.words
    if most < 3:
        raise UsageError(f"--words must be >= 3 (got {most})")
    known = ", ".join(kind.name for kind in _KINDS)
    chosen = {draft.kind: draft for draft in asked.mechanisms or map(Draft, _KINDS)}
    parts = []
    for place, (kind, draft) in enumerate(chosen.items()):

        def progress(share: float, place: int = place) -> None:
            if asked.progress:
                asked.progress((place + share) / len(chosen))

        if issubclass(kind, TrLaplacePaper):
            parts.append(_truncated(draft, dims, asked.epsilons or _EPSILONS))
        elif kind in _KINDS and issubclass(kind, PaperTensor):
            parts.append(_tensor(draft, space, dims, asked.epsilons or _TENSOR_EPSILONS, progress))
        elif issubclass(kind, TGumbelPaper):
            parts.append(_gumbel(draft, most, progress))
        else:
            raise UsageError(f"study theorems knows nothing of {kind.name}", f"known: {known}")
        progress(1.0)
    captions = [part.caption for part in parts]
    columns = ("mechanism", "d", "n", "epsilon", "quantity", "claimed", "true")
    return Result(
        name="theorems",
        source="[TrLap] Theorem 3, [TLDP] Algorithms 1 and 2, [TGumbel] Algorithm 2",
        columns=columns,
        rows=tuple({"d": None, "n": None, **row} for part in parts for row in part.rows),
        summary={
            "worst": {kind.name: part.largest for kind, part in zip(chosen, parts, strict=True)}
        },
        parameters={
            "mechanisms": [
                {"name": kind.name, "parameters": dict(draft.values)}
                for kind, draft in chosen.items()
            ],
            "d": list(dims),
            "epsilons": list(asked.epsilons),
            "largest_vocabulary": most,
        },
        panels=tuple(part.panel for part in parts),
        caption=" ".join(["Dashed: what is claimed; lines: what is true.", *captions]),
        notes=("all values are exact: closed forms, convolution or quadrature; nothing is drawn",),
    )


def _truncated(draft: Draft, dims: Sequence[int], epsilons: Sequence[float]) -> _Part:
    """True delta of the published truncated Laplace noise; the claim is 4^-d or as given."""

    def at(epsilon: float, d: int) -> tuple[Guarantee, bool]:
        # The guarantee reads the dimension alone: delta does not depend on the unit of length.
        mechanism = draft.at(epsilon)
        assert isinstance(mechanism, TrLaplacePaper)  # noqa: S101 - for the type checker
        return mechanism.guarantee(_corner(d)), mechanism.dimensions(d) > d

    rows, series = [], []
    grid = np.geomspace(min(epsilons), max(epsilons), _CURVE).tolist()
    for d in dims:
        curve = [(x, found.delta) for x in grid for found, padded in [at(x, d)] if not padded]
        beyond = []
        for epsilon in epsilons:
            found, padded = at(epsilon, d)
            assert found.claimed is not None  # noqa: S101 - it always has a claim
            rows.append(_row(draft, d, epsilon, "delta", found.claimed.delta, found.delta))
            beyond += [(epsilon, found.delta)] if padded else []
        label = f"d = {d}"
        if curve:
            series.append(_pairs(label, curve, "line"))
        if beyond:
            series.append(_pairs(f"{label}, padded", beyond, "points"))
    largest = max(row["claimed"] for row in rows)
    series.append(_claim(grid, 0.0 if largest < 1e-3 else largest, f"claimed: ≤ {largest:.1g}"))
    panel = _panel(draft.kind, "true delta", series)
    caption = (
        f"{draft.kind.name} in d dimensions: true delta where two inputs are farthest apart; "
        "padded: with dummy dimensions, which extend its domain to larger epsilon, as published."
    )
    return _Part(rows, panel, max(row["true"] for row in rows), caption)


def _tensor(
    draft: Draft,
    space: MetricSpace | None,
    dims: Sequence[int],
    epsilons: Sequence[float],
    progress: Callable[[float], None],
) -> _Part:
    """Delta with which the claimed epsilon holds for a tensor of d coordinates."""
    mechanism = draft.at(1.0)
    assert isinstance(mechanism, PaperTensor)  # noqa: S101 - for the type checker
    noise = mechanism.noise
    if space is not None:
        range_ = mechanism.coordinate_range(space)
    else:
        range_ = 1.0 if isinstance(mechanism.range, str) else mechanism.range

    def at(epsilon: float, d: int) -> float:
        return true_delta(noise, epsilon, keep_probability(noise, epsilon, range_, d), d)

    rows = [
        _row(draft, d, epsilon, "delta", 0.0, at(epsilon, d)) for d in dims for epsilon in epsilons
    ]
    grid = np.geomspace(min(epsilons), max(epsilons), _TENSOR_CURVE).tolist()
    series = []
    for place, d in enumerate(dims):
        series.append(Series(f"d = {d}", tuple(grid), tuple(at(epsilon, d) for epsilon in grid)))
        progress((place + 1) / len(dims))
    series.append(_claim(grid, 0.0, "claimed: 0"))
    panel = _panel(draft.kind, "true delta at the claimed epsilon", series)
    caption = (
        f"{draft.kind.name}: d coordinates of range {range_:.4g}, all of which differ by the range."
    )
    return _Part(rows, panel, max(row["true"] for row in rows), caption)


def _gumbel(draft: Draft, most: int, progress: Callable[[float], None]) -> _Part:
    """Audited epsilon over claimed epsilon, for vocabularies of 20 to ``most`` words."""
    sizes = [n for n in _AUDITED if n < most] + [most]
    total = sum(n**3 for n in sizes) * len(_EDGES)
    rows, series, done = [], [], 0
    for edge in _EDGES:
        ratios = []
        for n in sizes:
            words = simplex(n)
            epsilon = edge * least_epsilon(n, float(words.nearest_distances()[0]))
            found = draft.at(epsilon).certificate(words)
            if found is None or found.epsilon_metric is None:
                raise UsageError(f"--words {n}: too many words for an exact audit")
            true = found.epsilon_metric
            ratios.append(true / epsilon)
            rows.append({**_row(draft, None, epsilon, "epsilon", epsilon, true), "n": n})
            done += n**3
            progress(done / total)
        label = f"epsilon {edge:g} × the least allowed"
        series.append(Series(label, tuple(map(float, sizes)), tuple(ratios)))
    series.append(_claim([float(n) for n in sizes], 1.0, "claimed: at most 1"))
    panel = Panel(
        draft.kind.name,
        "words n",
        "true / claimed epsilon per unit of distance",
        tuple(series),
    )
    caption = (
        f"{draft.kind.name}: exact audit of all pairs of n-1 words at equal distances and one at "
        "twice that distance."
    )
    return _Part(rows, panel, max(row["true"] / row["claimed"] for row in rows), caption)


def _corner(d: int) -> MetricSpace:
    """Two words in d dimensions."""
    vectors = np.zeros((2, d), dtype=np.float32)
    vectors[0, 0] = vectors[1, 1] = 1.0
    return MetricSpace(Embeddings(["", " "], vectors, "", f"corner-{d}"))


def _row(
    draft: Draft, d: int | None, epsilon: float, quantity: str, claimed: float, true: float
) -> dict[str, Any]:
    return {
        "mechanism": draft.kind.name,
        "d": d,
        "epsilon": epsilon,
        "quantity": quantity,
        "claimed": claimed,
        "true": true,
    }


def _pairs(label: str, points: Sequence[tuple[float, float]], style: str) -> Series:
    x, y = zip(*points, strict=True)
    return Series(label, x, y, style=style)


def _claim(x: Sequence[float], value: float, label: str) -> Series:
    return Series(label, (x[0], x[-1]), (value, value), style="dashed")


def _panel(kind: type[Mechanism], y_label: str, series: Sequence[Series]) -> Panel:
    return Panel(
        kind.name,
        "claimed epsilon (nats)",
        y_label,
        tuple(series),
        log_x=True,
        y_limits=(-0.03, 1.03),
    )
