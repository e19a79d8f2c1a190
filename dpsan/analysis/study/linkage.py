"""``linkage``: how often a whole text is linked to its original, by its words and epsilon.

Every word has its epsilon; a text has that of all its words together.  A reader who holds some
candidates takes the one under which the output is likeliest.  Assumption: words are drawn
independently by their public frequencies (:mod:`dpsan.outcomes.linked_words`).

Knows mechanisms and their outcomes.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

from dpsan.analysis.study.base import Asked, Panel, Result
from dpsan.analysis.study.choice import about, label, repeated
from dpsan.analysis.study.request import whole
from dpsan.analysis.study.sample import at_least, grouped, line
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import has_distribution
from dpsan.outcomes.linked_words import (
    CANDIDATES,
    LONGEST,
    TEXTS,
    largest_epsilon,
    linked_at_most,
    linked_by_words,
)
from dpsan.outcomes.shares import in_steps
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

EPSILONS: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
_LENGTHS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_SAFE: Final = (12, 40, 200, 1000)
"""Lengths of texts, in words, for which the largest harmless epsilon is said."""


def run(space: MetricSpace, asked: Asked) -> Result:
    """The table and figure of linked texts.

    Args:
        asked: of it are used
            mechanisms: those to compare; default: optimal-response and knn-response.
            epsilons: per word, in the unit of each mechanism; default 1, 2, 4 ... 10.
            words: of the longest texts; default 64.
            draws: how many texts are sanitized; default 250, at most the candidates.
            seed: of texts and draws.
            parameters: ``candidates``, how many the reader holds; default 1,000.

    Raises:
        UsageError: a number out of range.
    """
    held = whole(asked.parameters, "candidates", CANDIDATES, 2, 10_000)
    texts = at_least(asked.draws, 1, min(TEXTS, held), "--draws")
    if texts > held:
        raise UsageError(f"--draws must be at most the number of candidates, {held:,}")
    longest = at_least(asked.words, 1, LONGEST, "--words")
    epsilons = tuple(asked.epsilons) or EPSILONS
    drafts = list(asked.mechanisms) or [Draft(OptimalResponse), Draft(KnnResponse)]
    key = randomness.seeded_key(f"dpsan study linkage {asked.seed}")
    rows: list[Mapping[str, Any]] = []
    notes = []
    pairs = list(product(drafts, epsilons))
    for (draft, epsilon), progress in in_steps(asked.progress, pairs):
        mechanism = draft.at(epsilon).resolved(space)
        found = linked_by_words(
            mechanism, space, longest=longest, key=key, candidates=held, texts=texts
        )
        shares = []
        for share in found:
            shares.append(share)
            progress(len(shares) / longest)
        rows += _rows(draft, mechanism, space, shares, held)
        if epsilon == epsilons[-1] and not has_distribution(mechanism.prepare(space)):
            notes.append(
                f"{label(draft)}: its distribution is not known; the reader judges by the density "
                "of the noise, so more texts can be linked than that"
            )
    safe = {words: largest_epsilon(words, held) for words in _SAFE}
    notes.append(
        f"no reader links more than half of the texts among {held:,}, whatever the mechanism of "
        "pure LDP, up to epsilon "
        + ", ".join(f"{_down(most)} for {words:,} words" for words, most in safe.items())
    )
    return Result(
        rows=rows,
        summary={"epsilon_not_linked": {str(words): most for words, most in safe.items()}},
        parameters=repeated(
            asked, drafts, epsilons=list(epsilons), words=longest, draws=texts, candidates=held
        ),
        panels=_panels(rows, held),
        caption=f"A reader holds {held:,} equally likely candidates, texts of words drawn by their "
        "public frequencies, and takes the one under which the sanitized text is likeliest, word "
        f"for word. Share of {texts:,} texts whose original is found, with 95 % limits.",
        notes=notes,
    )


def _down(epsilon: float) -> str:
    """Two figures, never rounded up."""
    return f"{int(epsilon * 1000) / 1000:g}"


def _rows(
    draft: Draft,
    mechanism: Mechanism,
    space: MetricSpace,
    shares: Sequence[Any],
    candidates: int,
) -> list[Mapping[str, Any]]:
    half = next(
        (at for at, each in enumerate(shares, start=1) if 2 * each.hits >= each.total), None
    )
    promise, longest = mechanism.guarantee(space), len(shares)
    named = about(draft, mechanism, space)
    return [
        {
            **named,
            "words": words,
            "linked": shares[words - 1].value,
            "linked_low": shares[words - 1].interval[0],
            "linked_high": shares[words - 1].interval[1],
            "at_most": None
            if promise.delta
            else linked_at_most(words, promise.epsilon_ldp, candidates),
            "half_linked": half,
        }
        for words in sorted({*(each for each in _LENGTHS if each < longest), longest})
    ]


def _panels(rows: Sequence[Mapping[str, Any]], candidates: int) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            name,
            "words of the text that the reader sees",
            f"texts linked, among {candidates:,}",
            tuple(
                line(f"epsilon {epsilon:g} per word", some, "words", "linked")
                for epsilon, some in grouped(own, "epsilon").items()
            ),
            log_x=True,
            y_limits=(0.0, 1.02),
        )
        for name, own in grouped(rows, "mechanism").items()
    )
