"""``proportions``: how many outputs are the original word, a close neighbour, a distant word.

An output is close if it has rank 1 ... 100 among the neighbours of the true word.  Where the
distribution of a mechanism is known the shares are its means over the words; else they are counted
in draws from uniform random words, with Clopper-Pearson limits.  "Close" is that of [Curse] §2.

With ``d`` the words lie at their first d principal components: in one dimension noise passes the
near words on its way to far ones, in 300 it does not ([Curse] Figure 1).

Knows mechanisms and shares.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpsan.analysis.study.base import Asked, Panel, Result
from dpsan.analysis.study.choice import about, label, repeated, sweeps
from dpsan.analysis.study.request import whole
from dpsan.analysis.study.sample import (
    at_least,
    grouped,
    line,
    mean_of_words,
    random_words,
    spread,
    whole_words,
)
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.rank_softmax import RankSoftmax
from dpsan.mechanisms.tldp import principal_components
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.shares import Draws, Outcomes, from_draws, from_pmfs, in_steps
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

DRAWS: Final = 10_000
_KINDS: Final = (Laplace, RankSoftmax, Exponential, KnnResponse)
_SHARES: Final = {
    "unchanged": "original word",
    "close": "100 close neighbours",
    "distant": "distant words",
}


def run(space: MetricSpace, asked: Asked) -> Result:
    """Shares of unchanged, close and distant outputs against epsilon.

    Args:
        asked: of it are used
            mechanisms: any; default: the papers' baseline, its repair, and two exact distributions.
            epsilons: in the unit of each mechanism; default: a grid for each, over which it goes
                from nearly all words changed to nearly all unchanged.
            words: over how many random words distributions are averaged; 0: all; default: all where
                n² allows.
            draws: for each epsilon of a mechanism without a distribution; default 10,000.
            seed: of the choice of words and of the draws.
            parameters: ``d``.

    Raises:
        UsageError: a mechanism that is not defined at any epsilon.
    """
    if "d" in asked.parameters:
        space = _flattened(space, whole(asked.parameters, "d", space.d, 1, space.d))
    count = at_least(asked.draws, 1, DRAWS, "--draws")
    key = randomness.seeded_key(f"dpsan study proportions {asked.seed}")
    ids = random_words(space.n, at_least(asked.words, 0, whole_words(space.n), "--words"), key)
    drafts = list(asked.mechanisms) or [Draft(kind) for kind in _KINDS]
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
                from_draws(drawn, sampler, progress)[1:]
                for sampler, progress in in_steps(each.progress, each.samplers)
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
        panels.append(_panel(each.draft, own))
    # The papers' question.
    most = {
        name: max(row["close"] for row in own) for name, own in grouped(rows, "mechanism").items()
    }
    over = "all words" if len(ids) == space.n else f"{len(ids):,} random words, with 95 % limits"
    return Result(
        source="[Curse] Figure 1" if "d" in asked.parameters else "[Curse] Figures 2, 8, 9",
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


def _flattened(space: MetricSpace, d: int) -> MetricSpace:
    """The words at their first principal components."""
    if d == space.d:
        return space
    # An orthogonal projection, but for rounding.
    return space.transformed(f"components-{d}", principal_components(space, d))


def _means(found: Outcomes, n: int) -> tuple[Estimate, Estimate, Estimate]:
    """Those of :data:`_SHARES`."""
    distant = (1 - found.unchanged - found.close).clip(0)
    unchanged, close, far = (
        mean_of_words(values, n) for values in (found.unchanged, found.close, distant)
    )
    return unchanged, close, far


def _panel(draft: Draft, rows: Sequence[Mapping[str, Any]]) -> Panel:
    return Panel(
        title=label(draft),
        x_label=f"epsilon ({draft.kind.unit_label()})",
        y_label="share of outputs",
        series=tuple(line(text, rows, "epsilon", name) for name, text in _SHARES.items()),
        log_x=not draft.kind.is_ldp() or max(row["epsilon"] for row in rows) > 100,
        y_limits=(0.0, 1.0),
    )
