"""This project's own studies: utility and attacks at equal privacy, refuted claims, noise.

python docs/studies/own.py frontier --vocab-size 10000 --plot frontier.svg
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

import tgumbel
from common.claims import PARAMETERS as CLAIMS
from common.claims import delta_part, dims_of, together
from common.command import main
from common.equal_losses import Equal, at_equal_losses
from common.frontier import bounds, by_draws, by_laws, ceiling, comparable
from common.noise import PARAMETERS as NOISE
from common.noise import noise
from common.panels import Panel, Series
from common.steps import in_steps, part_of
from common.study import ALL, Asked, Result, Studies
from common.sweeps import about, label, parameters, repeated
from common.values import at_least, whole
from common.words import (
    grouped,
    line,
    lines,
    random_words,
    whole_words,
)

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.clipped_noise import TrLaplacePaper
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tgumbel_paper import TGumbelPaper
from dpsan.mechanisms.tldp import (
    TLDPPaperG,
    TLDPPaperGWeighted,
    TLDPPaperL,
    TLDPPaperLWeighted,
)
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import has_distribution
from dpsan.outcomes.text_likelihood import (
    CANDIDATES,
    LONGEST,
    TEXTS,
    linked_by_words,
)
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()

# -- frontier: utility and attack at equal certified epsilon --------------------------------------

_FRONTIER: Final = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)
_CEILING: Final = (
    "bayes_high is what no mechanism of this LDP epsilon exceeds, "
    "(e^epsilon + (n-1) delta)/(e^epsilon + n - 1)"
)
_LIMIT: Final = "bound of every LDP mechanism"
_BOUNDS, _SEARCH, _MECHANISM_TABLES = 0.2, 0.5, 0.85
"""Shares of the work after the bounds, after finding epsilons, and after the distributions."""


@STUDIES.add("this project", least_words=3, uses=ALL)
def frontier(space: MetricSpace, asked: Asked) -> Result:
    """Utility and attack success at equal certified LDP epsilon.

    Close share (rank 1 ... 100), share of unchanged words, mean cosine of output and true word, and
    the success of the optimal adversary who sees one output and has a uniform prior: (1/n)·sum over
    u of max over w of P(u|w).  These means are uniform over the words.  The mean cosine is also
    weighted by public word frequency, as a text has them: no epsilon-LDP mechanism that draws each
    word by itself has more of it than ``cosine_bound``, up to the rounding of directions.
    """
    count = at_least(asked.draws, 2, 2000, "--draws")
    key = randomness.seeded_key(f"dpsan study frontier {asked.seed}")
    ids = random_words(space.n, at_least(asked.words, 0, whole_words(space.n), "--words"), key)
    wanted = tuple(asked.epsilons) or _FRONTIER
    drafts, notes = (list(asked.mechanisms), []) if asked.mechanisms else comparable(space)
    limits = bounds(space, wanted, part_of(asked.progress, 0.0, _BOUNDS))
    progress = part_of(asked.progress, _BOUNDS, _SEARCH)
    equals, skipped = at_equal_losses(drafts, space, wanted, progress)
    notes += skipped
    ceilings = [ceiling(space, each) for _, each in equals]
    samplers = {at: each.mechanism.prepare(space) for at, (_, each) in enumerate(equals)}
    known = {at: each for at, each in samplers.items() if has_distribution(each)}
    others = {at: each for at, each in samplers.items() if at not in known}
    progress = part_of(asked.progress, _SEARCH, _MECHANISM_TABLES)
    figures = by_laws(space, ids, known, ceilings, key, progress)
    if others:
        progress = part_of(asked.progress, _MECHANISM_TABLES, 1.0)
        figures |= by_draws(space, others, ceilings, count, key, progress)
    rows = []
    for at, (draft, equal) in enumerate(equals):
        limit = None if limits is None else limits[equal.wanted]
        words = len(ids) if at in known else None
        rows.append(_frontier_row(draft, equal, space, figures[at], limit, words, count))
    if limits is None:
        notes.append(
            f"cosine_bound is left out: it looks at all pairs of {space.n:,} words (--vocab-size)"
        )
    if others:
        notes.append(
            "rows with draws: bayes is the success of guessing the output itself, a lower bound "
            f"of the best attack, not in the last panel; {_CEILING}"
        )
    if known and len(ids) < space.n:
        notes.append(
            f"distributions of {len(ids):,} random words of {space.n:,}: bayes is that of guessing "
            f"the output itself, or of the best attack on those words alone if larger; {_CEILING}"
        )
    return Result(
        rows=rows,
        parameters=repeated(asked, drafts, epsilons=list(wanted), words=len(ids), draws=count),
        panels=_frontier_panels(rows, limits),
        caption="Every mechanism at the same certified LDP epsilon (pure unless delta is given): "
        "outputs among the 100 nearest words, mean cosine of output and true word by public word "
        "frequency with its bound for words drawn by themselves under pure LDP, and success of the "
        f"optimal one-word adversary with uniform prior; {space.n:,} words, {space.d} "
        "dimensions"
        + (f"; bands and rows with draws: {count:,} draws, 95 % limits." if others else "."),
        notes=notes,
    )


def _frontier_row(
    draft: Draft,
    equal: Equal,
    space: MetricSpace,
    figures: Mapping[str, float],
    limit: float | None,
    words: int | None,
    draws: int,
) -> Mapping[str, Any]:
    mechanism = equal.mechanism
    delta = mechanism.guarantee(space).delta
    return {
        "mechanism": label(draft),
        "parameters": parameters(mechanism, space),
        "epsilon_ldp": equal.wanted,
        "certified": equal.certified,
        "certificate": "exact" if equal.exact else "guarantee",
        "delta": delta,
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        **figures,
        "cosine_bound": None if delta else limit,  # it is for pure LDP
        "words": words,
        "draws": draws if words is None else None,
    }


def _frontier_panels(
    rows: Sequence[Mapping[str, Any]], limits: Mapping[float, float] | None
) -> tuple[Panel, ...]:
    nats, close = "certified LDP epsilon (nats)", "share of outputs of rank 1 to 100"
    bayes = "success of the optimal adversary"
    similar = lines(rows, "epsilon_ldp", "weighted_cosine")
    if limits:
        similar += (Series(_LIMIT, tuple(limits), tuple(limits.values()), style="dashed"),)
    panels = [
        Panel("Close words", nats, close, lines(rows, "epsilon_ldp", "close"), y_limits=(0.0, 1.0)),
        Panel("Similarity", nats, "mean cosine by word frequency", similar),
    ]
    # Of mechanisms without a distribution only bounds of that success are known.
    across = lines([row for row in rows if row["draws"] is None], "bayes", "close")
    if across:
        panels.append(
            Panel("Close words by attack", bayes, close, across, log_x=True, y_limits=(0.0, 1.0))
        )
    return tuple(panels)


# -- linkage: whole texts linked to their originals -----------------------------------------------

_LINKAGE: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
_LENGTHS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_SAFE: Final = (12, 40, 200, 1000)
"""Lengths of texts, in words, for which the largest harmless epsilon is said."""


@STUDIES.add(
    "this project",
    least_words=3,
    uses=ALL,
    parameters={"candidates": "how many texts the attacker holds; default 1000"},
)
def linkage(space: MetricSpace, asked: Asked) -> Result:
    """Whole texts linked to their originals, by words and epsilon.

    Every word has its epsilon; a text has that of all its words together.  An attacker who holds
    some candidates takes the one under which the output is likeliest.  Assumption: words are drawn
    independently by their public frequencies (:mod:`dpsan.outcomes.text_likelihood`).
    """
    held = whole(asked.parameters, "candidates", CANDIDATES, 2, 10_000)
    texts = at_least(asked.draws, 1, min(TEXTS, held), "--draws")
    if texts > held:
        raise UsageError(f"--draws must be at most the number of candidates, {held:,}")
    longest = at_least(asked.words, 1, LONGEST, "--words")
    epsilons = tuple(asked.epsilons) or _LINKAGE
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
        rows += _linkage_rows(draft, mechanism, space, shares, held)
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
        panels=_linkage_panels(rows, held),
        caption=f"A reader holds {held:,} equally likely candidates, texts of words drawn by their "
        "public frequencies, and takes the one under which the sanitized text is likeliest, word "
        f"for word. Share of {texts:,} texts whose original is found, with 95 % limits.",
        notes=notes,
    )


def linked_at_most(words: int, epsilon: float, candidates: int) -> float:
    """Return a bound on linked texts, whatever they are, for any mechanism of a pure LDP epsilon.

    A text of l words has epsilon l·E against any other, so the right one of c equally likely
    candidates is found with probability e^(l·E)/(e^(l·E) + c - 1) at most.  Also, the divergence
    of two outputs of a word is at most E·tanh(E/2), so all l outputs tell no more than that l
    times, and Fano's inequality bounds the success by (information + ln 2)/ln c.

    Args:
        words: of the text.
        epsilon: LDP epsilon of a word, nats.
        candidates: c >= 2, the original among them.
    """
    odds = 1 / (1 + (candidates - 1) * math.exp(-min(words * epsilon, 700.0)))
    told = words * epsilon * math.tanh(epsilon / 2)
    return min(1.0, odds, (told + math.log(2)) / math.log(candidates))


def largest_epsilon(words: int, candidates: int = CANDIDATES) -> float:
    """Return the epsilon per word up to which nobody links more than half of such texts."""
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        unlinked = linked_at_most(words, middle, candidates) <= 0.5
        low, high = (middle, high) if unlinked else (low, middle)
    return low


def _down(epsilon: float) -> str:
    """Two figures, never rounded up."""
    return f"{int(epsilon * 1000) / 1000:g}"


def _linkage_rows(
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


def _linkage_panels(rows: Sequence[Mapping[str, Any]], candidates: int) -> tuple[Panel, ...]:
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


# -- theorems, variance: all papers together ------------------------------------------------------


@STUDIES.add(
    "[TrLap] Theorem 3, [TLDP] Algorithms 1 and 2, Theorem 3, [TGumbel] Algorithm 2, Appendix C",
    uses=frozenset({"epsilons", "words"}),
    parameters=CLAIMS,
)
def theorems(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed against true guarantee of refuted mechanisms."""
    dims = dims_of(space, asked)
    most = at_least(asked.words, 3, 200, "--words")
    kinds: tuple[type[Mechanism], ...] = (
        TrLaplacePaper,
        TLDPPaperL,
        TLDPPaperG,
        TLDPPaperLWeighted,
        TLDPPaperGWeighted,
        TGumbelPaper,
    )
    parts = {}
    for kind, step in in_steps(asked.progress, kinds):
        if kind is TGumbelPaper:
            parts[kind.name] = tgumbel.audited(Draft(kind), most, step)
        else:
            parts[kind.name] = delta_part(Draft(kind), space, dims, asked.epsilons, step)
    parts[TGumbelPaper.name].rows.extend(tgumbel.staying(Draft(TGumbelPaper), space, asked))
    return together(parts, asked, d=list(dims), largest_vocabulary=most)


@STUDIES.add(
    "[TrLap] Theorem 4, [TLDP] Table V",
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters=NOISE,
)
def variance(space: MetricSpace | None, asked: Asked) -> Result:
    """Noise of mechanisms at the same true guarantee."""
    drafts = [Draft(kind) for kind in MECHANISMS.values() if kind.family != "table"]
    return noise(space, asked, drafts)


if __name__ == "__main__":
    main(STUDIES, __doc__)
