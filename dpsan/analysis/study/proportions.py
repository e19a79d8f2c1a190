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
from dpsan.analysis.study.choice import about, label, sweeps
from dpsan.analysis.study.request import whole
from dpsan.analysis.study.sample import (
    at_least,
    line,
    mean_of_words,
    random_words,
    spread,
    whole_words,
)
from dpsan.errors import UsageError
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.rank_softmax import RankSoftmax
from dpsan.mechanisms.tldp import principal_components
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.shares import Draws, from_draws, from_pmfs
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

SOURCE: Final = "[Curse] Figures 2, 8, 9"
_FLAT: Final = "[Curse] Figure 1"
DRAWS: Final = 10_000
_KINDS: Final = (Laplace, RankSoftmax, Exponential, KnnResponse)
_SHARES: Final = ("unchanged", "close", "distant")


def run(space: MetricSpace | None, asked: Asked) -> Result:
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
        UsageError: fewer than 3 words, or a mechanism that is not defined at any epsilon.
    """
    if space is None or space.n < 3:
        raise UsageError("study proportions needs a vocabulary of at least 3 words")
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
        own: list[Mapping[str, Any]] = []
        if each.exact:
            found = from_pmfs(space, ids, each.samplers, progress=each.progress)
            for mechanism, out in zip(each.mechanisms, found, strict=True):
                distant = (1 - out.unchanged - out.close).clip(0)
                means = [
                    mean_of_words(values, space.n) for values in (out.unchanged, out.close, distant)
                ]
                row = {"words": len(ids), "draws": None}
                own.append({**about(each.draft, mechanism, space), **_shares(means), **row})
        else:
            drawn = drawn or Draws(space, count, key)
            for at, mechanism in enumerate(each.mechanisms):
                _, *shares = from_draws(drawn, each.samplers[at], each.step(at))
                row = {"words": space.n, "draws": count}
                own.append({**about(each.draft, mechanism, space), **_shares(shares), **row})
        rows += own
        panels.append(_panel(each.draft, own))
    all_words = len(ids) == space.n
    over = "all words" if all_words else f"{len(ids):,} random words, with 95 % limits"
    return Result(
        name="proportions",
        source=_FLAT if "d" in asked.parameters else SOURCE,
        rows=rows,
        summary=_summary(rows),
        parameters={
            "mechanisms": [label(draft) for draft in drafts],
            "epsilons": list(asked.epsilons) or "a grid for each mechanism",
            "words": len(ids),
            "d": space.d,
            "draws": count,
            "seed": asked.seed,
        },
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


def _shares(shares: Sequence[Estimate]) -> Mapping[str, float]:
    return spread(**dict(zip(_SHARES, shares, strict=True)))


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The largest share of close outputs of each mechanism: the papers' question."""
    out: dict[str, float] = {}
    for row in rows:
        name = row["mechanism"]
        out[name] = max(out.get(name, 0.0), row["close"])
    return {"largest_close": out}


def _panel(draft: Draft, rows: Sequence[Mapping[str, Any]]) -> Panel:
    names = {
        "unchanged": "original word",
        "close": "100 close neighbours",
        "distant": "distant words",
    }
    x = tuple(row["epsilon"] for row in rows)
    return Panel(
        title=label(draft),
        x_label=f"epsilon ({draft.kind.unit_label()})",
        y_label="share of outputs",
        series=tuple(line(text, rows, "epsilon", name) for name, text in names.items()),
        log_x=not draft.kind.is_ldp() or max(x) > 100,
        y_limits=(0.0, 1.0),
    )
