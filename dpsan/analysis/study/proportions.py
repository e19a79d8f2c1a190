"""``proportions``: how many outputs are the original word, a close neighbour, a distant word.

An output is close if it has rank 1 ... 100 among the neighbours of the true word.  Where the law
of a mechanism is known the shares are its means over the words; else they are counted in draws
from uniform random words, with Clopper-Pearson limits.

Knows mechanisms and shares.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpsan.analysis.study.base import Asked, Panel, Result
from dpsan.analysis.study.choice import defined, label, parameters, telling_epsilons
from dpsan.analysis.study.sample import (
    at_least,
    line,
    mean_of_words,
    random_words,
    spread,
    whole_words,
)
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.rank_softmax import RankSoftmax
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import has_distribution
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.shares import Draws, from_draws, from_laws, part_of
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

__all__ = ["DRAWS", "SOURCE", "run"]

SOURCE: Final = "[Curse] Figures 2, 8, 9"
DRAWS: Final = 10_000
_KINDS: Final = (Laplace, RankSoftmax, Exponential, KnnResponse)
_SHARES: Final = ("unchanged", "close", "distant")


def run(space: MetricSpace | None, asked: Asked) -> Result:
    """Shares of unchanged, close and distant outputs against epsilon.

    Args:
        space: the vocabulary.
        asked: of it are used
            mechanisms: any; default: the papers' baseline, its repair, and two exact laws.
            epsilons: in the unit of each mechanism; default: a grid for each, over which it goes
                from nearly all words changed to nearly all unchanged.
            words: over how many random words laws are averaged; 0: all; default: all where n²
                allows.
            draws: for each epsilon of a mechanism without a law; default 10,000.
            seed: of the choice of words and of the draws.

    Raises:
        UsageError: fewer than 3 words, or a mechanism that is not defined at any epsilon.
    """
    if space is None or space.n < 3:
        raise UsageError("study proportions needs a vocabulary of at least 3 words")
    count = at_least(asked.draws, 1, DRAWS, "--draws")
    key = randomness.seeded_key(f"dpsan study proportions {asked.seed}")
    ids = random_words(space.n, at_least(asked.words, 0, whole_words(space.n), "--words"), key)
    drafts = list(asked.mechanisms) or [Draft(kind) for kind in _KINDS]
    drawn: Draws | None = None
    rows: list[Mapping[str, Any]] = []
    panels, notes = [], []
    for at, draft in enumerate(drafts):
        progress = part_of(asked.progress, at / len(drafts), (at + 1) / len(drafts))
        grid = asked.epsilons or telling_epsilons(draft, space)
        progress(0.05)
        defined_ones, skipped = defined(draft, space, grid)
        notes += skipped
        samplers = [each.prepare(space) for each in defined_ones]
        own: list[Mapping[str, Any]] = []
        if has_distribution(samplers[0]):
            rest = part_of(progress, 0.05, 1.0)
            for each, out in zip(
                defined_ones, from_laws(space, ids, samplers, progress=rest), strict=True
            ):
                distant = 1 - out.unchanged - out.close
                means = [
                    mean_of_words(values, space.n)
                    for values in (out.unchanged, out.close, distant.clip(0))
                ]
                own.append(_row(draft, each, space, means, len(ids), None))
        else:
            drawn = drawn or Draws(space, count, key)
            for step, (each, sampler) in enumerate(zip(defined_ones, samplers, strict=True)):
                rest = part_of(
                    progress,
                    0.05 + 0.95 * step / len(samplers),
                    0.05 + 0.95 * (step + 1) / len(samplers),
                )
                _, *shares = from_draws(drawn, sampler, rest)
                own.append(_row(draft, each, space, shares, space.n, count))
        rows += own
        panels.append(_panel(draft, own))
    all_words = len(ids) == space.n
    laws = "all words" if all_words else f"{len(ids):,} random words, with 95 % limits"
    return Result(
        name="proportions",
        source=SOURCE,
        columns=(
            "mechanism",
            "parameters",
            "epsilon",
            "epsilon_unit",
            *(f"{name}{end}" for name in _SHARES for end in ("", "_low", "_high")),
            "words",
            "draws",
        ),
        rows=tuple(rows),
        summary=_summary(rows),
        parameters={
            "mechanisms": [label(draft) for draft in drafts],
            "epsilons": list(asked.epsilons) or "a grid for each mechanism",
            "words": len(ids),
            "draws": count,
            "seed": asked.seed,
        },
        panels=tuple(panels),
        caption="Share of outputs that are the original word, one of its 100 nearest neighbours, "
        f"or a more distant word; {space.n:,} words, {space.d} dimensions. Known laws: exact, "
        f"means over {laws}. Others: {count:,} draws for each epsilon, 95 % Clopper-Pearson.",
        notes=tuple(notes),
    )


def _row(
    draft: Draft,
    mechanism: Mechanism,
    space: MetricSpace,
    shares: Sequence[Estimate],
    words: int,
    draws: int | None,
) -> Mapping[str, Any]:
    return {
        "mechanism": label(draft),
        "parameters": parameters(mechanism, space),
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        **spread(**dict(zip(_SHARES, shares, strict=True))),
        "words": words,
        "draws": draws,
    }


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
