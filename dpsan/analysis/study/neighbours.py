"""``neighbours``: how far words are from their neighbours, and how far these are apart.

Noise must carry a point half the distance to the nearest word to change the word at all, but once
it is carried past rank 1 towards rank 101 it needs hardly more: with x and y the neighbours of
ranks i and j, the projected point prefers y to x when the noise along y - x exceeds
(d_y² - d_x²)/(2·d_xy).

Figure 6 of [Curse] is their explanation: with Z the noise of multivariate Laplace mechanisms along
a fixed direction, P(Z <= half the nearest distance) is near 1 where P(Z <= gap) is still near 1/2:
where the word changes at all, far words are as easily reached as near ones.

Knows vectors and ranks.  Must not know mechanisms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.dot_product import noisy_tail
from dpsan.analysis.study.sample import at_least, random_words
from dpsan.errors import UsageError
from dpsan.outcomes.shares import part_of
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

_WORDS: Final = 5000
_BATCH: Final = 512
_RANKS: Final = {"gap_1_2": 2, "gap_1_101": 101}
_LABELS: Final = {
    "half_nearest": "half the distance to the nearest word",
    "gap_1_2": "gap of ranks 1 and 2",
    "gap_1_101": "gap of ranks 1 and 101",
}
_EPSILONS: Final = (5.0, 10.0, 20.0, 30.0)
_CURVE: Final = 61
_SHARES: Final = np.linspace(0.005, 0.995, 100)


def gaps(space: MetricSpace, ids: NDArray[np.int64]) -> dict[str, Floats]:
    """Half the distance to the nearest word and the gaps of each word, by name, each (m,).

    A gap is nan where the two neighbours are at one point; names whose rank exceeds the number of
    other words are left out.
    """
    ranks = {name: rank for name, rank in _RANKS.items() if rank < space.n}
    near = space.neighbors(ids, max([1, *ranks.values()]) + 1)
    points = space.points(ids)
    first = space.points(near[:, 1])
    d_x = np.linalg.norm(first - points, axis=1)
    out = {"half_nearest": d_x / 2}
    for name, rank in ranks.items():
        other = space.points(near[:, rank])
        d_y = np.linalg.norm(other - points, axis=1)
        d_xy = np.linalg.norm(other - first, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # (d_y + d_x)(d_y - d_x) loses less than the difference of squares.
            gap = (d_y + d_x) * (d_y - d_x) / (2 * d_xy)
        out[name] = np.where(d_xy > 0, gap, np.nan)
    return out


def run(space: MetricSpace, asked: Asked) -> Result:
    """Means over random words of half the nearest distance and of two gaps.

    Args:
        asked: of it are used
            words: how many random words, different ones; 0: all; default 5,000.
            epsilons: of the noise, per unit of distance; default 5, 10, 20, 30.
            seed: of the choice of words.

    Raises:
        UsageError: fewer than 2 words, or a negative number of words.
    """
    if space.n < 2:
        raise UsageError("study neighbours needs at least 2 words")
    count = at_least(asked.words, 0, _WORDS, "--words")
    key = randomness.seeded_key(f"dpsan study neighbours {asked.seed}")
    ids = random_words(space.n, count, key)
    parts, progress = [], part_of(asked.progress, 0.0, 1.0)
    for at in range(0, len(ids), _BATCH):
        parts.append(gaps(space, ids[at : at + _BATCH]))
        progress((at + _BATCH) / len(ids))
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rows, summary, series, notes = [], dict[str, Any](), [], []
    for name, label in _LABELS.items():
        values = found.get(name, np.zeros(0))
        values = values[~np.isnan(values)]
        if name in found and len(values) < len(ids):
            notes.append(f"{label}: {len(ids) - len(values)} words left out, neighbours at a point")
        rows.append({"quantity": name, **_row(values, space.n)})
        summary[name] = rows[-1]["mean"]
        if len(values):
            heights = np.quantile(values, _SHARES)
            series.append(Series(label, tuple(heights.tolist()), tuple(_SHARES.tolist())))
    means = {name: summary[name] for name in _LABELS if summary[name] is not None}
    epsilons = tuple(asked.epsilons) or _EPSILONS
    crossed = {name: _below(mean, epsilons, space.d) for name, mean in means.items()}
    for at, epsilon in enumerate(epsilons):
        for name, shares in crossed.items():
            row = {**_row(np.zeros(0), space.n), "words": len(ids), "mean": shares[at]}
            rows.append({"quantity": f"P(Z <= {name}), epsilon {epsilon:g}", **row})
    if "gap_1_101" not in found:
        notes.append("fewer than 102 words: ranks up to 101 do not exist")
    notes.append(
        "P(Z <= length): noise of the Laplace mechanism along a direction stays below the mean "
        "length; near words are skipped where the first is near 1 and the gaps' still near 1/2"
    )
    which = "all" if len(ids) == space.n else f"{len(ids):,} random of"
    return Result(
        order=("quantity", "words", "mean", "standard_error", "p5", "p50", "p95"),
        rows=rows,
        summary={**summary, "words": len(ids)},
        parameters={"words": len(ids), "seed": asked.seed},
        panels=(
            Panel(
                "Distances that noise has to cover",
                "length (units of the embedding)",
                "share of words below",
                tuple(series),
                y_limits=(0.0, 1.0),
            ),
            _crossings(means, epsilons, space.d),
        ),
        caption=f"Half the distance to the nearest word, and (d_y² - d_x²)/(2·d_xy) for its "
        f"neighbours x, y of the ranks named: {which} {space.n:,} words, {space.d} dimensions.",
        notes=notes,
    )


def _below(length: float, epsilons: Sequence[float], d: int) -> tuple[float, ...]:
    """P(Z <= length) for noise of each epsilon."""
    return tuple((1 - noisy_tail(length * np.array(epsilons), d)).tolist())


def _crossings(means: Mapping[str, float], epsilons: Sequence[float], d: int) -> Panel:
    """Figure 6: over epsilon, whether noise along a direction stays below the mean lengths."""
    grid = np.geomspace(min(epsilons) / 2, max(epsilons) * 2, _CURVE).tolist()
    return Panel(
        "Noise Z along a direction",
        "epsilon (per unit of distance)",
        "P(Z ≤ mean length)",
        tuple(
            Series(_LABELS[name], tuple(grid), _below(mean, grid, d))
            for name, mean in means.items()
        ),
        log_x=True,
        y_limits=(0.45, 1.02),
    )


def _row(values: Floats, n: int) -> dict[str, Any]:
    """Mean, its standard error (of a sample without replacement: 0 for all words), quantiles."""
    m = len(values)
    if not m:
        return {"words": 0} | dict.fromkeys(("mean", "standard_error", "p5", "p50", "p95"))
    spread = float(values.std(ddof=1)) if m > 1 else 0.0
    p5, p50, p95 = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
    return {
        "words": m,
        "mean": float(values.mean()),
        "standard_error": spread * max(0.0, 1 / m - 1 / n) ** 0.5,
        "p5": p5,
        "p50": p50,
        "p95": p95,
    }
