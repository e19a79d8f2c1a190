"""``theorems``: what refuted theorems claim against what is true.

* [TrLap] Theorem 3 claims delta = 4^-d; the true delta is the largest mass of a box of noise
  outside the shifted box.
* [TLDP] Algorithm 1 (Laplace and Gaussian) and Algorithm 2 with Theorem 3 (both, weighted) claim
  pure epsilon-LDP for I coordinates; shown is the delta with which the claimed epsilon is true, for
  two inputs that differ by the range Delta in every coordinate, at Delta = 1 and at the paper's own
  scale, Delta = 256 and I = 784, where nothing is kept and I noises still add up.
* [TGumbel] Algorithm 2 claims epsilon per unit of distance; shown is the exactly audited epsilon
  over the claimed one, on n-1 words at equal distances and one word at twice that distance.
  Appendix C claims that a word stays with N_w >= 36.7 %; shown is N_w of words at equal distances,
  or of a vocabulary.

Knows guarantees, claims and certificates.  Must not know how mechanisms come to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.choice import label
from dpsan.analysis.study.request import dimensions
from dpsan.analysis.study.sample import at_least, random_words
from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.tgumbel_paper import TGumbelPaper, least_epsilon, scale, unchanged
from dpsan.mechanisms.tldp_paper import (
    TLDPPaperG,
    TLDPPaperGWeighted,
    TLDPPaperL,
    TLDPPaperLWeighted,
)
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.shares import in_steps
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

_SHOWN: Final[dict[str, type[Mechanism]]] = {
    kind.name: kind
    for kind in (
        TrLaplacePaper,
        TLDPPaperL,
        TLDPPaperG,
        TLDPPaperLWeighted,
        TLDPPaperGWeighted,
        TGumbelPaper,
    )
}
_DIMENSIONS: Final = (50, 100, 300)
_PAPER: Final = (784, 256.0)
"""Coordinates I and range Delta of the images of [TLDP]."""
_EPSILONS: Final = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)
_AUDITED: Final = (20, 60, 100, 200)
_EDGES: Final = (1.01, 1.5)
"""Epsilon over the least one for which the noise of [TGumbel] is defined."""
_CURVE: Final = 61
_STAYS: Final = 0.367
"""[TGumbel] Appendix C: least share of words that come out as themselves."""
_MANY: Final = (1000, 10_000, 100_000)
_WEIGHTED: Final = (
    "the lightest word counts, which is kept as often as without weights: the same truth"
)
_NOTES: Final = {
    TLDPPaperLWeighted.name: _WEIGHTED,
    TLDPPaperGWeighted.name: _WEIGHTED,
    TGumbelPaper.name: "N_w is above the truth by at most 2/n",
}
_LOOKED_AT: Final = 500
"""Words of a vocabulary that N_w is a mean over."""


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
    vectors = np.eye(n, dtype=np.float32)
    vectors[n - 1, n - 1] = math.sqrt(7)
    return MetricSpace(Embeddings([str(i) for i in range(n)], vectors, "", f"simplex-{n}"))


def _corners(d: int, edge: float) -> MetricSpace:
    """Two words that differ by the same length in each of d coordinates."""
    vectors = np.array([np.zeros(d), np.full(d, edge)], dtype=np.float32)
    return MetricSpace(Embeddings(["", " "], vectors, "", f"corners-{d}-{edge:g}"))


def run(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed and true delta or epsilon over epsilon and dimension (or number of words).

    Args:
        space: the vocabulary; None: two words that differ by 1 (or by the parameter ``range`` of a
            mechanism) in each of ``d`` coordinates, default 50, 100, 300.
        asked: of it are used
            mechanisms: which of the published ones; default all.
            epsilons: of the rows; default: the grids of the papers.
            words: the largest vocabulary that is audited, default 200 (time grows as its cube).
            parameters: ``d``.

    Raises:
        UsageError: a mechanism that has no refuted numerical claim here.
    """
    dims = dimensions(asked.parameters.get("d"), (space.d,) if space else _DIMENSIONS)
    most = at_least(asked.words, 3, _AUDITED[-1], "--words")
    chosen = {draft.kind.name: draft for draft in asked.mechanisms} or {
        name: Draft(kind) for name, kind in _SHOWN.items()
    }
    for name in chosen:
        if name not in _SHOWN:
            raise UsageError(
                f"study theorems knows nothing of {name}", "known: " + ", ".join(_SHOWN)
            )
    parts = []
    for draft, progress in in_steps(asked.progress, list(chosen.values())):
        if draft.kind.is_ldp():
            parts.append(_deltas(draft, space, dims, asked.epsilons or _EPSILONS, progress))
        else:
            parts.append(_audited(draft, most, progress))
    rows = [row for part in parts for row in part.rows]
    if TGumbelPaper.name in chosen:
        rows += _staying(chosen[TGumbelPaper.name], space, asked)
    return Result(
        source="[TrLap] Theorem 3, [TLDP] Algorithms 1 and 2, Theorem 3, [TGumbel] Algorithm 2, "
        "Appendix C",
        order=("mechanism", "d", "range", "n", "epsilon", "quantity", "claimed", "true"),
        rows=[{"d": None, "range": None, "n": None, **row} for row in rows],
        summary={"worst": {name: part.largest for name, part in zip(chosen, parts, strict=True)}},
        parameters={
            "mechanisms": [
                {"name": name, "parameters": dict(draft.values)} for name, draft in chosen.items()
            ],
            "d": list(dims),
            "epsilons": list(asked.epsilons),
            "largest_vocabulary": most,
        },
        panels=[part.panel for part in parts],
        caption=" ".join(
            ["Dashed: what is claimed; lines: what is true.", *(part.caption for part in parts)]
        ),
        notes=(
            "all values are exact: closed forms, convolution or quadrature; nothing is drawn",
            *(f"{name}: {_NOTES[name]}" for name in chosen if name in _NOTES),
        ),
    )


def _deltas(
    draft: Draft,
    space: MetricSpace | None,
    dims: Sequence[int],
    epsilons: Sequence[float],
    progress: Progress,
) -> _Part:
    """Delta with which the claimed epsilon holds, and the delta that is claimed with it."""
    given = draft.values.get("range", "auto")
    edge = 1.0 if given == "auto" else float(given)
    rows, series = [], []
    tensor = "range" in draft.kind.parameters()
    sizes = [(d, edge) for d in dims]
    if tensor and space is None and given == "auto" and tuple(dims) == _DIMENSIONS:
        sizes.append(_PAPER)
    grid = np.geomspace(min(epsilons), max(epsilons), _CURVE).tolist()
    for (d, side), step in in_steps(progress, sizes):
        words = space or _corners(d, side)
        found = {each: draft.at(each).guarantee(words) for each in {*epsilons, *grid}}
        for epsilon in epsilons:
            claimed, true = found[epsilon].claimed, found[epsilon].at(epsilon).delta
            size = {"d": d, "range": side} if tensor and space is None else {"d": d}
            rows.append(
                _row(draft, "delta", epsilon, claimed.delta if claimed else 0.0, true, **size)
            )
        # With dummy dimensions delta jumps as their number grows: points, no line.
        padded = {each for each in found if draft.at(each).pads(d)}
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
    series.append(_claim(grid, 0.0 if largest < 1e-3 else largest, f"claimed: ≤ {largest:.1g}"))
    panel = Panel(
        draft.kind.name,
        "claimed epsilon (nats)",
        "true delta at the claimed epsilon",
        tuple(series),
        log_x=True,
        y_limits=(-0.03, 1.03),
    )
    where = "of this vocabulary" if space else f"in d coordinates of range {edge:g}"
    caption = f"{label(draft)}: true delta of the worst pair of inputs {where}."
    if any(each.style == "points" for each in series):
        caption += " Padded: with dummy dimensions, which extend its domain to larger epsilon."
    return _Part(rows, panel, max(row["true"] for row in rows), caption)


def _audited(draft: Draft, most: int, progress: Progress) -> _Part:
    """Audited epsilon over claimed epsilon, for vocabularies of 20 to ``most`` words."""
    sizes = [n for n in _AUDITED if n < most] + [most]
    total = sum(n**3 for n in sizes) * len(_EDGES)
    rows, series, done = [], [], 0
    for edge in _EDGES:
        ratios = []
        for n in sizes:
            words = simplex(n)
            epsilon = edge * draft.kind.least_epsilon(words)
            found = draft.at(epsilon).certificate(words)
            if found is None or found.epsilon_metric is None:
                raise UsageError(f"--words {n}: too many words for an exact audit")
            ratios.append(found.epsilon_metric / epsilon)
            rows.append(_row(draft, "epsilon", epsilon, epsilon, found.epsilon_metric, n=n))
            done += n**3
            progress(done / total)
        series.append(
            Series(f"epsilon {edge:g} × the least allowed", tuple(map(float, sizes)), tuple(ratios))
        )
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


def _staying(draft: Draft, space: MetricSpace | None, asked: Asked) -> list[dict[str, Any]]:
    """Appendix C of [TGumbel]: N_w of words at equal distances, or the mean over a vocabulary's."""
    rows = []
    for n in (space.n,) if space else _MANY:
        if space is None:
            side = math.sqrt(2)
            least = least_epsilon(n, side)
            distances = np.full((1, min(n, 100) - 1), side)
        else:
            least = draft.kind.least_epsilon(space)
            key = randomness.seeded_key(f"dpsan study theorems {asked.seed}")
            ids = random_words(n, _LOOKED_AT, key)
            near = space.points(space.neighbors(ids, min(n, 100)).ravel()).reshape(
                len(ids), -1, space.d
            )
            distances = np.linalg.norm(near - space.points(ids)[:, None], axis=2)[:, 1:]
        allowed = [each for each in asked.epsilons if each > least]
        for epsilon in allowed or [edge * least for edge in _EDGES]:
            if space is None:
                b, delta = scale(epsilon, n, side, 2 * side), 2 * side
            else:
                mechanism = draft.at(epsilon)
                assert isinstance(mechanism, TGumbelPaper)  # noqa: S101 - for the type checker
                b, delta = mechanism.constants(space)
            true = float(unchanged(b, delta, n, distances).mean())
            rows.append(_row(draft, "N_w, at least", epsilon, _STAYS, true, n=n))
    return rows


def _row(
    draft: Draft, quantity: str, epsilon: float, claimed: float, true: float, **size: float
) -> dict[str, Any]:
    return {
        "mechanism": draft.kind.name,
        "epsilon": epsilon,
        "quantity": quantity,
        "claimed": claimed,
        "true": true,
        **size,
    }


def _claim(x: Sequence[float], value: float, label: str) -> Series:
    return Series(label, (x[0], x[-1]), (value, value), style="dashed")
