"""[Curse] d_X-privacy for text and the curse of dimensionality: its figures, table and theorems.

python docs/studies/curse.py figure-1 -E FILE --plot figure-1.svg
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from common.command import main
from common.draws import Draws, from_draws
from common.laplace_laws import (
    compared,
    curves,
    disc,
    draws,
    intervals,
    length_curves,
    length_tails,
    mean_tails,
    moments_and_tails,
    noisy_tail,
)
from common.outcomes import Outcomes, from_pmfs, unit_label
from common.panels import Panel, Series
from common.steps import in_steps, part_of
from common.study import ALL, Asked, Result, Studies
from common.sweeps import about, label, repeated, sweeps
from common.values import at_least, dimensions, positive, whole
from common.words import (
    below,
    grouped,
    line,
    mean_of_words,
    random_words,
    share_of_draws,
    spread,
    whole_words,
)

from dpsan.errors import UsageError
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.laplace import Laplace, RankSoftmax
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tldp import principal_components
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy import randomness
from dpsan.privacy.rounding import SphericalLaplace
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()

# -- Figures 1, 2, 8, 9: shares of original, close and distant outputs ----------------------------

_SHARES: Final = {
    "unchanged": "original word",
    "close": "100 close neighbours",
    "distant": "distant words",
}


@STUDIES.add(
    "[Curse] Figure 1",
    uses=ALL,
    parameters={
        "value": "true value among the positive integers; default 1000",
        "near": "farthest integer that counts as close; default 50",
        "d": "principal components that are kept of the words of a vocabulary; default 1",
    },
)
def figure_1(space: MetricSpace | None, asked: Asked) -> Result:
    """Original, close and distant outputs against epsilon, in one dimension.

    Without a vocabulary it is the paper's: Laplace noise of scale 1/epsilon on a positive integer,
    rounded.  With one it is made of words: in one dimension noise passes the near words on its way
    to far ones; in 300 it does not.
    """
    if space is None:
        return _integers(asked)
    d = whole(asked.parameters, "d", 1, 1, space.d)
    if d < space.d:  # an orthogonal projection, but for rounding
        space = space.transformed(f"components-{d}", principal_components(space, d))
    return _proportions(space, asked, (Laplace,))


def _integers(asked: Asked) -> Result:
    """Exact shares of a true value, its neighbours and other positive integers."""
    value = whole(asked.parameters, "value", 1000)
    near = whole(asked.parameters, "near", 50)
    rows = []
    for epsilon in asked.epsilons or (0.01, 0.05, 0.1, 0.5, 1.0, 5.0):
        # P(|noise| >= x) is e^(-epsilon·x); what would fall below 1 is rounded to 1.
        stays, farther = -math.expm1(-epsilon / 2), math.exp(-epsilon * (near + 0.5))
        if near >= value - 1:
            farther /= 2
        shares = {"unchanged": stays, "close": 1 - stays - farther, "distant": farther}
        rows.append({"value": value, "near": near, "epsilon": epsilon, **shares})
    return Result(
        rows=rows,
        parameters={"value": value, "near": near, "epsilons": list(asked.epsilons)},
        panels=(_panel("Laplace noise on an integer", "epsilon", rows, log_x=True),),
        caption=f"Laplace noise of scale 1/epsilon on {value:,}, rounded to a positive integer: "
        f"the value, others within {near}, and more distant ones; exact.",
    )


@STUDIES.add("[Curse] Figures 2, 8, 9", least_words=3, uses=ALL)
def figure_2(space: MetricSpace, asked: Asked) -> Result:
    """Original, close and distant outputs against epsilon."""
    return _proportions(space, asked, (Laplace, RankSoftmax, Exponential, KnnResponse))


def _proportions(space: MetricSpace, asked: Asked, kinds: Sequence[type[Mechanism]]) -> Result:
    """Shares of unchanged outputs, of ranks 1 ... 100 ("close", §2), and of more distant ones.

    Where the distribution of a mechanism is known the shares are its means over the words; else
    they are counted in draws from uniform random words, with Clopper-Pearson limits.
    """
    count = at_least(asked.draws, 1, 10_000, "--draws")
    key = randomness.seeded_key(f"dpsan study proportions {asked.seed}")
    ids = random_words(space.n, at_least(asked.words, 0, whole_words(space.n), "--words"), key)
    drafts = list(asked.mechanisms) or [Draft(kind) for kind in kinds]
    drawn: Draws | None = None
    rows: list[Mapping[str, Any]] = []
    panels, notes = [], []
    for each in sweeps(asked, space, drafts):
        notes += each.notes
        seen: dict[str, int | None]
        if each.exact:
            found = from_pmfs(space, ids, each.samplers, progress=each.progress)
            shares = [_means(out, space.n) for out in found]
            seen = {"words": len(ids), "draws": None}
        else:
            drawn = drawn or Draws(space, count, key)
            shares = [
                from_draws(drawn, sampler)[1:]
                for sampler, _ in in_steps(each.progress, each.samplers)
            ]
            seen = {"words": space.n, "draws": count}
        own = [
            {
                **about(each.draft, mechanism, space),
                **spread(**dict(zip(_SHARES, some, strict=True))),
                **seen,
            }
            for mechanism, some in zip(each.mechanisms, shares, strict=True)
        ]
        rows += own
        across = f"epsilon ({unit_label(each.draft.kind)})"
        wide = not each.draft.kind.is_ldp() or max(row["epsilon"] for row in own) > 100
        panels.append(_panel(label(each.draft), across, own, log_x=wide))
    most = {
        name: max(row["close"] for row in own) for name, own in grouped(rows, "mechanism").items()
    }
    over = "all words" if len(ids) == space.n else f"{len(ids):,} random words, with 95 % limits"
    return Result(
        rows=rows,
        summary={"largest_close": most},
        parameters=repeated(
            asked,
            drafts,
            epsilons=list(asked.epsilons) or "a grid for each mechanism",
            words=len(ids),
            d=space.d,
            draws=count,
        ),
        panels=panels,
        caption="Share of outputs that are the original word, one of its 100 nearest neighbours, "
        f"or a more distant word; {space.n:,} words, {space.d} dimensions. Known "
        f"distributions: exact, means over {over}. Others: {count:,} draws for each epsilon, 95 % "
        "Clopper-Pearson.",
        notes=notes,
    )


def _means(found: Outcomes, n: int) -> tuple[Estimate, ...]:
    """Means of :data:`_SHARES`."""
    distant = (1 - found.unchanged - found.close).clip(0)
    return tuple(mean_of_words(values, n) for values in (found.unchanged, found.close, distant))


def _panel(title: str, across: str, rows: Sequence[Mapping[str, Any]], *, log_x: bool) -> Panel:
    series = tuple(line(text, rows, "epsilon", name) for name, text in _SHARES.items())
    return Panel(title, across, "share of outputs", series, log_x=log_x, y_limits=(0.0, 1.0))


# -- Table 2, Figure 6: distances that noise has to cover -----------------------------------------

_RANKS: Final = {"gap_1_2": 2, "gap_1_101": 101}
_QUANTILES: Final = np.linspace(0.0, 1.0, 101)
_LABELS: Final = {
    "half_nearest": "half the distance to the nearest word",
    "gap_1_2": "gap of ranks 1 and 2",
    "gap_1_101": "gap of ranks 1 and 101",
}


def gaps(space: MetricSpace, ids: Ids) -> dict[str, Floats]:
    """Return half the distance to the nearest word and the gaps of each word, by name, (m,) each.

    Noise must carry a point half the distance to the nearest word to change the word at all, but
    once it is carried past rank 1 towards rank 101 it needs hardly more: with x and y the
    neighbours of ranks i and j, the projected point prefers y to x when the noise along y - x
    exceeds (d_y² - d_x²)/(2·d_xy).  A gap is nan where the two neighbours are at one point; names
    whose rank exceeds the number of other words are left out.
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


def _lengths(space: MetricSpace, asked: Asked) -> tuple[Ids, dict[str, Floats], list[str]]:
    """Random words, the lengths of :data:`_LABELS` without nan, and notes on what is left out."""
    count = at_least(asked.words, 0, 5000, "--words")
    ids = random_words(
        space.n, count, randomness.seeded_key(f"dpsan study neighbours {asked.seed}")
    )
    parts, progress = [], part_of(asked.progress, 0.0, 1.0)
    for at in range(0, len(ids), 512):
        parts.append(gaps(space, ids[at : at + 512]))
        progress((at + 512) / len(ids))
    out, notes = {}, []
    for name, text in _LABELS.items():
        if name not in parts[0]:
            continue
        values = np.concatenate([part[name] for part in parts])
        out[name] = values[~np.isnan(values)]
        if len(out[name]) < len(ids):
            notes.append(
                f"{text}: {len(ids) - len(out[name])} words left out, neighbours at a point"
            )
    if "gap_1_101" not in out:
        notes.append("fewer than 102 words: ranks up to 101 do not exist")
    return ids, out, notes


@STUDIES.add("[Curse] Table 2", least_words=2, uses=frozenset({"words"}))
def table_2(space: MetricSpace, asked: Asked) -> Result:
    """How far words are from their neighbours, and how far these are apart."""
    ids, found, notes = _lengths(space, asked)
    rows = [{"quantity": name, **_row(found.get(name, np.zeros(0)), space.n)} for name in _LABELS]
    series = [below(_LABELS[name], np.quantile(each, _QUANTILES)) for name, each in found.items()]
    panel = _shares_below("Distances that noise has to cover", "units of the embedding", series)
    which = "all" if len(ids) == space.n else f"{len(ids):,} random of"
    return Result(
        rows=rows,
        summary={row["quantity"]: row["mean"] for row in rows} | {"words": len(ids)},
        parameters={"words": len(ids), "seed": asked.seed},
        panels=(panel,),
        caption=f"Half the distance to the nearest word, and (d_y² - d_x²)/(2·d_xy) for its "
        f"neighbours x, y of the ranks named: {which} {space.n:,} words, {space.d} dimensions.",
        notes=notes,
    )


def _shares_below(title: str, across: str, series: Sequence[Series]) -> Panel:
    return Panel(title, across, "share of words below", tuple(series), y_limits=(0.0, 1.0))


def _row(values: Floats, n: int) -> dict[str, Any]:
    """Mean, its standard error (of a sample without replacement: 0 for all words), quantiles."""
    m = len(values)
    if not m:
        return {"words": 0} | dict.fromkeys(("mean", "standard_error", "p5", "p50", "p95"))
    deviation = float(values.std(ddof=1)) if m > 1 else 0.0
    p5, p50, p95 = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
    return {
        "words": m,
        "mean": float(values.mean()),
        "standard_error": deviation * max(0.0, 1 / m - 1 / n) ** 0.5,
        "p5": p5,
        "p50": p50,
        "p95": p95,
    }


@STUDIES.add("[Curse] Figure 6", least_words=2, uses=frozenset({"words", "epsilons"}))
def figure_6(space: MetricSpace, asked: Asked) -> Result:
    """Why noise skips near words: P(Z <= length) for the mean lengths of Table 2.

    With Z the noise of multivariate Laplace mechanisms along a fixed direction, P(Z <= half the
    nearest distance) is near 1 where P(Z <= gap) is still near 1/2: where the word changes at all,
    far words are as easily reached as near ones.
    """
    ids, found, notes = _lengths(space, asked)
    means = {name: float(values.mean()) for name, values in found.items() if len(values)}
    epsilons = tuple(asked.epsilons) or (5.0, 10.0, 20.0, 30.0)
    rows = [
        {"epsilon": epsilon, "length": name, "mean": mean, "probability": below}
        for name, mean in means.items()
        for epsilon, below in zip(epsilons, _below(mean, epsilons, space.d), strict=True)
    ]
    rows.sort(key=lambda row: float(str(row["epsilon"])))
    grid = np.geomspace(min(epsilons) / 2, max(epsilons) * 2, 61).tolist()
    panel = Panel(
        "Noise Z along a direction",
        "epsilon (per unit of distance)",
        "P(Z ≤ mean length)",
        tuple(
            Series(_LABELS[name], tuple(grid), _below(mean, grid, space.d))
            for name, mean in means.items()
        ),
        log_x=True,
        y_limits=(0.45, 1.02),
    )
    return Result(
        rows=rows,
        parameters={"words": len(ids), "epsilons": list(epsilons), "seed": asked.seed},
        panels=(panel,),
        caption="Probability that the noise of the Laplace mechanism along a direction stays below "
        f"mean lengths of {len(ids):,} words of {space.n:,}, {space.d} dimensions.",
        notes=[
            *notes,
            "near words are skipped where the first is near 1 and the gaps' still near 1/2",
        ],
    )


def _below(length: float, epsilons: Sequence[float], d: int) -> tuple[float, ...]:
    """P(Z <= length) for noise of each epsilon."""
    return tuple((1 - noisy_tail(length * np.array(epsilons), d)).tolist())


# -- Chapters 4 to 6, Figures 3, 4, 10: noise and its product with a direction -------------

_DIMENSIONS: Final = {"d": "dimensions, separated by commas; default 50,100,300"}


def _drawn(
    space: MetricSpace | None, asked: Asked
) -> tuple[list[tuple[int, Floats, Floats, Floats]], dict[str, Any]]:
    """For each dimension t = <u, e>, epsilon·<z, e> and epsilon·|z|; and what repeats them."""
    given = asked.parameters.get("d")
    dims = dimensions(given, (50, 100, 300) if space is None else (space.d,))
    count = at_least(asked.draws, 2, 20_000, "--draws")
    found = [
        (d, *draws(d, count, asked.seed, progress))
        for d, progress in in_steps(asked.progress, dims)
    ]
    more = {"epsilons": list(asked.epsilons or (1.0,)), "draws": count, "confidence": 0.99}
    return found, {"d": list(dims), **more, "seed": asked.seed}


@STUDIES.add("[Curse] Figures 4, 10", uses=frozenset({"epsilons", "draws"}), parameters=_DIMENSIONS)
def figure_4(space: MetricSpace | None, asked: Asked) -> Result:
    """Length of the noise of the Laplace mechanism: its density is that of a Gamma(d) number.

    The last row is Figure 10's: the length of a uniform point of a disc has the density 2r.
    """
    found, parameters = _drawn(space, asked)
    rows, series = [], []
    for d, _, _, r in found:
        for epsilon in asked.epsilons or (1.0,):
            row = compared(f"E |z| at epsilon {epsilon:g}", d / epsilon, r / epsilon)
            rows.append({"d": d, **row})
        series += length_curves(d, r)
    rows.append({"d": 2, **disc(int(parameters["draws"]), asked.seed)})
    title = "Length of the noise: density"
    return Result(
        rows=rows,
        parameters=parameters,
        panels=(Panel(title, "epsilon·|z|", "density", tuple(series)),),
        caption="Length of the noise z of the multivariate Laplace mechanism in d dimensions. "
        f"Points: {parameters['draws']:,} draws; lines: density of a Gamma(d) number.",
        notes=("low and high are 99 % confidence limits of the Monte Carlo value",),
    )


@STUDIES.add(
    "[Curse] Theorems 5.1 to 5.9, Corollaries 5.6, 5.10",
    uses=frozenset({"epsilons", "draws"}),
    parameters={**_DIMENSIONS, "share": "mass of Theorem 5.8's interval; default 0.99"},
)
def chapter_5(space: MetricSpace | None, asked: Asked) -> Result:
    """Noise along a fixed direction: density, moments, tail bounds, closed forms and draws.

    The bounds are proved in common/laplace_laws.py.
    """
    share = positive(asked.parameters.get("share", 0.99), "--share")
    if share >= 1:
        raise UsageError(f"--share must be below 1 (got {share:g})")
    found, parameters = _drawn(space, asked)
    epsilons = asked.epsilons or (1.0,)
    rows = [
        row
        for d, t, x, r in found
        for row in (
            *moments_and_tails(d, t, x, epsilons),
            *length_tails(d, r),
            *intervals(d, x, share),
            *mean_tails(d, x, epsilons),
        )
    ]
    shown = [curves(d, t, x) for d, t, x, _ in found]
    variances = [row for row in rows if row["quantity"] == "E U^2"]
    titles = (
        ("Angular part: density", "<u, e>", "density", False),
        ("Angular part: tail", "s", "P(<u, e> ≥ s)", True),
        ("Noisy dot product: density", "epsilon·<z, e>, |e| = 1", "density", False),
        ("Noisy dot product: tail", "s (units of 1/epsilon)", "P(<z, e> ≥ s)", True),
    )
    return Result(
        order=("d", "item", "quantity", "closed_form", "monte_carlo", "low", "high", "bound"),
        rows=rows,
        summary={"angular_variance": {str(row["d"]): row["monte_carlo"] for row in variances}},
        parameters={**parameters, "share": share},
        panels=[
            Panel(title, across, up, tuple(chain(*each)), log_y=log)
            for (title, across, up, log), *each in zip(titles, *shown, strict=True)
        ],
        caption="Noise z = r·u of the multivariate Laplace mechanism (r ~ Gamma(d, 1/epsilon), u "
        f"uniform on the sphere) along a fixed unit vector e. Points: {parameters['draws']:,} "
        "draws for each dimension d with 99 % intervals; lines: closed forms; dashed: bounds that "
        "hold for every d, exp(-d s²/2) for u and Chernoff's for z.",
        notes=(
            "U = <u, e>, Z = <z, e>, R = |z|; low and high are 99 % confidence limits of the Monte "
            "Carlo value",
            "bound is the paper's, but for the tails of Z: the least exp(-l s)·E exp(l·x), which "
            "is ours; proofs in docs/studies/common/laplace_laws.py",
        ),
    )


@STUDIES.add(
    "[Curse] Theorems 4.1, 4.2, 6.1, equation 20",
    least_words=3,
    uses=frozenset({"epsilons", "words", "draws"}),
)
def theorem_6_1(space: MetricSpace, asked: Asked) -> Result:
    """Noise that makes one word nearer than another: what is drawn beside the theorems.

    For random words w with their nearest two words x and y.  4.1: w is the nearest word of the
    noisy point where <z, v-w>/|v-w| < |v-w|/2 for every other word v.  6.1: the losses L(x) and
    L(y) are in order with probability P(Z <= (|w-y|² - |w-x|²)/(2|x-y|)), Z the noise along a
    direction; E L(x) = |w-x|².  Equation 20: P(w stays) <= P(Z <= |w-x|/2).
    """
    count, many = at_least(asked.draws, 1, 200, "--draws"), at_least(asked.words, 1, 30, "--words")
    key = randomness.seeded_key(f"dpsan study loss {asked.seed}")
    ids = random_words(space.n, many, key)
    near = space.neighbors(ids, 3)
    everything = space.points(np.arange(space.n))
    rows: list[dict[str, Any]] = []
    for epsilon, progress in in_steps(asked.progress, asked.epsilons or (40.0,)):
        totals, expected, exceptions = np.zeros(4), np.zeros(4), 0
        for place, (row, others) in enumerate(zip(ids.tolist(), near[:, 1:], strict=True)):
            own = randomness.derive_key(key, f"{epsilon:g}")
            streams = randomness.streams_for(own, [place], [count])
            z = SphericalLaplace(epsilon)(streams, space.d)
            apart = everything - everything[row]
            square = (apart**2).sum(axis=1)
            along = z @ apart.T
            loss = square - 2 * along  # |w* - v|² less |w* - w|²
            with np.errstate(divide="ignore", invalid="ignore"):
                inside = along / np.sqrt(square) < np.sqrt(square) / 2
            loss[:, row], inside[:, row] = math.inf, True
            stays = loss.min(axis=1) > 0
            exceptions += int((stays != inside.all(axis=1)).sum())
            first, second = others.tolist()
            between = np.linalg.norm(everything[first] - everything[second])
            gap = (square[second] - square[first]) / (2 * between) if between else 0.0
            half = math.sqrt(square[first]) / 2
            below = _below(half, (epsilon,), space.d) + _below(gap, (epsilon,), space.d)
            ordered = loss[:, first] <= loss[:, second]
            drawn = (loss[:, first] > 0, ordered, stays, loss[:, first] / square[first])
            totals += [float(each.mean()) for each in drawn]
            expected += [*below, below[0], 1.0]
            progress((place + 1) / len(ids))
        names = ("L(w) < L(x)", "L(x) <= L(y)", "w stays", "E L(x) over |w-x|²")
        items = ("6.1, eq. 18", "6.1, eq. 19", "eq. 20", "6.1")
        rows += [
            {
                "epsilon": epsilon,
                "item": item,
                "quantity": name,
                "theorem": float(theirs) / len(ids),
                "drawn": float(total) / len(ids),
            }
            for item, name, theirs, total in zip(items, names, expected, totals, strict=True)
        ]
        rows.append(
            {
                "epsilon": epsilon,
                "item": "4.1",
                "quantity": "draws against the theorem",
                "theorem": 0.0,
                "drawn": float(exceptions),
            }
        )
    points = [row for row in rows if row["item"] != "4.1"]
    both = tuple(line(name, points, "epsilon", name, "points") for name in ("theorem", "drawn"))
    return Result(
        rows=rows,
        parameters={"words": len(ids), "draws": count, "seed": asked.seed},
        panels=(Panel("Theorem 6.1", "epsilon", "probability", both),),
        caption=f"Means over {len(ids):,} random words of {space.n:,} with {count:,} draws each, "
        f"{space.d} dimensions.",
        notes=("equation 20 is a bound: the word stays less often than that",),
    )


@STUDIES.add("[Curse] Figure 3", uses=frozenset({"epsilons", "draws"}))
def figure_3(space: MetricSpace | None, asked: Asked) -> Result:
    """A far point and a central one in the plane: the same noise moves only one of them.

    A map like the paper's: 48 states on a grid of 12 by 4, and one far from all.
    """
    grid = np.array([(5.0 * x, 6.25 * y) for x in range(12) for y in range(4)])
    states = np.concatenate([grid, [[95.0, 9.4]]])
    central, far = 5 * 4 + 1, len(states) - 1
    count = at_least(asked.draws, 1, 20_000, "--draws")
    key = randomness.seeded_key(f"dpsan study map {asked.seed}")
    rows = []
    for epsilon, step in in_steps(asked.progress, asked.epsilons or (0.1, 0.3, 1.0)):
        streams = randomness.streams_for(randomness.derive_key(key, f"{epsilon:g}"), [0], [count])
        z = SphericalLaplace(epsilon)(streams, 2)
        row: dict[str, Any] = {"epsilon": epsilon}
        for name, state in (("far", far), ("central", central)):
            apart = np.linalg.norm((states[state] + z)[:, None] - states, axis=2)
            same = int((apart.argmin(axis=1) == state).sum())
            row |= spread(**{name: share_of_draws(same, count)})
        rows.append(row)
        step(1.0)
    names = {"far": "the far point", "central": "a central point"}
    both = tuple(line(text, rows, "epsilon", name) for name, text in names.items())
    axes = ("epsilon (per unit of distance)", "share that stays")
    return Result(
        rows=rows,
        parameters={"draws": count, "seed": asked.seed},
        panels=(Panel("Points of a plane", *axes, both, log_x=True, y_limits=(0.0, 1.0)),),
        caption="Share of outputs that are the point itself, 49 points of a plane.",
    )


@STUDIES.add("[Curse] Figure 7", least_words=4, uses=frozenset({"words"}))
def figure_7(space: MetricSpace, asked: Asked) -> Result:
    """Ranks of neighbours are no metric: neither symmetric nor bound by a triangle.

    k(w, x) is the rank of x among the words by distance from w.  With x the nearest word of w and y
    that of x, a metric would have k(w, y) <= 2.  The last row is on distances: of the nearest word
    over that of the farthest, near 1 where distances concentrate.
    """
    count = at_least(asked.words, 0, 1500, "--words")
    key = randomness.seeded_key(f"dpsan study ranks {asked.seed}")
    ids = random_words(space.n, count, key)
    first = space.neighbors(ids, 2)[:, 1]
    second = space.neighbors(first, 2)[:, 1]
    largest, ratios, broken = 0.0, [], 0
    for word, last in zip(ids.tolist(), second.tolist(), strict=True):
        apart = space.distances(np.array([word]))[0]
        apart = np.delete(apart, word) if last == word else apart
        if last != word:
            rank = float((apart < apart[last]).sum())
            broken += rank > 2
            largest = max(largest, rank)
            apart = np.delete(apart, word)
        ratios.append(float(apart.min() / apart.max()))
    rows = [
        {"quantity": "nearest word has another nearest one", "value": (second != ids).mean()},
        {"quantity": "k(w, x) = k(x, y) = 1 and k(w, y) > 2", "value": broken / len(ids)},
        {"quantity": "largest k(w, y) of these", "value": largest},
        {"quantity": "nearest over farthest distance, median", "value": float(np.median(ratios))},
    ]
    series = below("words", np.array(ratios))
    return Result(
        rows=rows,
        parameters={"words": len(ids), "seed": asked.seed},
        panels=(_shares_below("Concentration of distances", "nearest over farthest", [series]),),
        caption=f"{len(ids):,} random words of {space.n:,}, {space.d} dimensions.",
    )


if __name__ == "__main__":
    main(STUDIES, __doc__)
