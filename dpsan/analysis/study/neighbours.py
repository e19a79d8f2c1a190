"""``neighbours``: how far words are from their neighbours, and how far these are apart.

Noise must carry a point half the distance to the nearest word to change the word at all, but once
it is carried past rank 1 towards rank 101 it needs hardly more: with x and y the neighbours of
ranks i and j, the projected point prefers y to x when the noise along y - x exceeds
(d_y² - d_x²)/(2·d_xy).

Knows vectors and ranks.  Must not know mechanisms.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.errors import UsageError
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

__all__ = ["SOURCE", "chosen_words", "gaps", "run"]

SOURCE: Final = "[Curse] Table 2"
_WORDS: Final = 5000
_BATCH: Final = 512
_RANKS: Final = {"gap_1_2": 2, "gap_1_101": 101}
_LABELS: Final = {
    "half_nearest": "half the distance to the nearest word",
    "gap_1_2": "gap of ranks 1 and 2",
    "gap_1_101": "gap of ranks 1 and 101",
}
_SHARES: Final = np.linspace(0.005, 0.995, 100)


def chosen_words(n: int, count: int, seed: str) -> NDArray[np.int64]:
    """``count`` different words, every set equally likely; all of them for 0 or count >= n."""
    if count == 0 or count >= n:
        return np.arange(n)
    key = randomness.seeded_key(f"dpsan study neighbours {seed}")
    order = np.argsort(randomness.streams_for(key, [0], [n]).bits("words")[:, 0], kind="stable")
    return np.sort(order[:count])


def gaps(space: MetricSpace, ids: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
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


def run(space: MetricSpace | None, asked: Asked) -> Result:
    """Means over random words of half the nearest distance and of two gaps.

    Args:
        space: the vocabulary.
        asked: of it are used
            words: how many random words, different ones; 0: all; default 5,000.
            seed: of the choice of words.

    Raises:
        UsageError: fewer than 2 words, or a negative number of words.
    """
    if space is None or space.n < 2:
        raise UsageError("study neighbours needs at least 2 words")
    count = _WORDS if asked.words is None else asked.words
    if count < 0:
        raise UsageError(f"--words must be >= 0 (got {count})")
    ids = chosen_words(space.n, count, asked.seed)
    parts = []
    for at in range(0, len(ids), _BATCH):
        parts.append(gaps(space, ids[at : at + _BATCH]))
        if asked.progress:
            asked.progress(min(1.0, (at + _BATCH) / len(ids)))
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
    if "gap_1_101" not in found:
        notes.append("fewer than 102 words: ranks up to 101 do not exist")
    which = "all" if len(ids) == space.n else f"{len(ids):,} random of"
    return Result(
        name="neighbours",
        source=SOURCE,
        columns=("quantity", "words", "mean", "standard_error", "p5", "p50", "p95"),
        rows=tuple(rows),
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
        ),
        caption=f"Half the distance to the nearest word, and (d_y² - d_x²)/(2·d_xy) for its "
        f"neighbours x, y of the ranks named: {which} {space.n:,} words, {space.d} dimensions.",
        notes=tuple(notes),
    )


def _row(values: NDArray[np.float64], n: int) -> dict[str, Any]:
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
