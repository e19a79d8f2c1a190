"""Verify whether a configuration keeps its guarantee on a vocabulary.

A certificate or a proof shows that a guarantee is kept.  Sampling, by the code of ``rewrite``, can
disprove it and never prove it.  Both are about drawn words.  The verdict is about the whole
configuration, so settings with infinite loss decide first.  Public words are left out as first
inputs.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, zip_longest
from typing import Final

import numpy as np

from dpsan.analysis.verify.checks import Check, Exposure, exposures, unknown_words
from dpsan.analysis.verify.lower_bounds import Finding, Question, search
from dpsan.analysis.verify.program import check_program
from dpsan.errors import refuse
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.registry import finite
from dpsan.mechanisms.tables import Table
from dpsan.privacy import randomness
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee, Status
from dpsan.privacy.rounding import float64_delta
from dpsan.run.workers import Workers
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

Grade = tuple[str | None, float | None, float | None]
"""Arithmetic for which a guarantee is kept, and, where they are known, a bound on the total
variation distance between the drawn distribution and the proved one, and the delta of the claimed
LDP epsilon with that gap."""


def grade(sanitizer: Sanitizer, certificate: Certificate | None, claim: Claim) -> Grade:
    """Return the grade of a guarantee that is kept.

    Args:
        sanitizer: the mechanism under test, with its sampler and vocabulary.
        certificate: certificate of its integers, or of anything else.
        claim: the claim that is kept.
    """
    mechanism = sanitizer.mechanism
    gap = mechanism.float64_gap(sanitizer.space)
    whole = isinstance(sanitizer.sampler, Table)  # else the certificate is of probabilities
    if mechanism.arithmetic is Arithmetic.INTEGERS and certificate is not None and whole:
        return "certified on the sampled integers", gap, None
    covered = "proved" if sanitizer.guarantee.status is Status.PROVED else "certified"
    if gap is None:
        return f"{covered} for real numbers only", None, None
    # Rounded up in print, as every bound is.
    name = f"{covered}; float64 gap at most {1.05 * gap:.2g}"
    if not gap or claim.metric is not None:
        return name, gap, None
    return name, gap, float64_delta(claim.epsilon, claim.delta, gap)


_TOLERANCE: Final = 1e-9
"""Nats by which a float64 certificate may exceed a claim that it equals."""
_SURVEYED: Final = 2000
"""Number of words that are searched for extreme ones."""


class Verdict(StrEnum):
    """Outcome of a verification."""

    KEPT = "kept"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Verification:
    """Claim, certificate and empirical finding.

    Claim and certificates are about drawn words; ``configuration`` is about the settings.
    """

    verdict: Verdict
    reviewed: bool
    """False for a third party's mechanism."""
    grade: str | None
    """Arithmetic for which the guarantee is kept; None where it is not."""
    float64_gap: float | None
    """See :data:`Grade`."""
    float64_delta: float | None
    claimed: Claim
    public_words: int
    """Number of public words, which the verdict leaves out."""
    method: str
    """The strongest method that applied."""
    certified: float | None
    """Upper bound of the LDP epsilon by that method; None where there is none."""
    certified_metric: float | None
    certified_slack: float
    """Nats that rounding adds to ``certified_metric`` times the distance."""
    certified_delta: float | None
    """Smallest delta with which the claimed epsilon holds."""
    certified_pair: tuple[str, str] | None
    """Worst-case pair of the certificate, with ⊥ for OOV words."""
    empirical: Finding
    configuration: tuple[Exposure, ...]
    """Settings with infinite loss."""
    checks: tuple[Check, ...]
    """Tests of what is drawn: its distribution, and that draws are independent."""
    seconds: float


def claim_of(guarantee: Guarantee) -> Claim:
    """Return the claim under test: the guarantee that dpsan vouches for, else the published one."""
    if guarantee.status is Status.PROVED or guarantee.claimed is None:
        if guarantee.metric == "euclidean" and guarantee.epsilon_metric is not None:
            return Claim(guarantee.epsilon_metric, guarantee.delta, guarantee.metric)
        return Claim(guarantee.epsilon_ldp, guarantee.delta)
    return guarantee.claimed


def probe_words(space: MetricSpace, words: int) -> Ids:
    """Return row numbers where violations hide, most telling first, without repetition.

    Nearest pairs, farthest pairs, isolated words, hubs, frequent words.

    Args:
        words: number of rows, at most.
    """
    n = min(space.n, _SURVEYED)
    points = space.points(np.arange(n))
    squares = np.square(points).sum(axis=1)
    apart = squares[:, None] + squares - 2 * points @ points.T
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argmin(axis=1)
    by_gap = np.argsort(apart[np.arange(n), nearest], kind="stable")
    hubs = np.argsort(-np.bincount(nearest, minlength=n), kind="stable")
    far = [int(by_gap[-1])]
    for _ in range(7):  # each step goes to the farthest word: the diameter, or nearly
        far.append(int(np.argmax(space.distances(np.array(far[-1:]))[0])))
    # Long vectors in unlike directions are far apart too.
    norms = np.linalg.norm(space.vectors[:n] - space.centroid, axis=1)
    far += np.argsort(-norms, kind="stable")[: words // 4].tolist()
    close = np.stack([by_gap, nearest[by_gap]], axis=1).ravel()
    ways = (np.array(far[::2]), np.array(far[1::2]), close, by_gap[::-1], hubs, np.arange(n))
    every = chain.from_iterable(zip_longest(*(way.tolist() for way in ways)))
    return np.array([*dict.fromkeys(w for w in every if w is not None)][:words], dtype=np.int64)


def _group_words(groups: Sequence[Ids], words: int) -> Ids:
    """Return rows of words of every group in turn, frequent and rare ones.

    Args:
        groups: row numbers of each.
        words: number of rows, about.
    """
    out, every = [], sum(map(len, groups))
    for rows in groups:
        most = min(len(rows), max(2, words * len(rows) // every))
        out.append(rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)])
    return np.concatenate(out)


def _inputs(
    sanitizer: Sanitizer, words: int, certificate: Certificate | None
) -> tuple[list[str], Ids]:
    """Return input strings, and the row number of each."""
    space = sanitizer.space
    worst = [] if certificate is None else [w for w in certificate.pair if w < space.n]
    probes = probe_words(space, words)
    if sanitizer.grouping.classed:
        groups, kinds = sanitizer.grouping, sanitizer.grouping.kinds[: space.n]
        several = [np.array(group.rows) for group in groups.rows]
        several.append(np.flatnonzero(kinds == groups.other))
        probes = _group_words(several, words)
    ids = list(dict.fromkeys([*worst, *probes.tolist()]))
    keys = sanitizer.embeddings.index_to_key
    # Words that the tokenizer takes apart would be several words to the mechanism.
    single = [w for w in ids if sanitizer.input_of(keys[w]) == w]
    inputs = [keys[w] for w in single]
    rows = single.copy()
    cased = next((w for w in single if sanitizer.input_of(keys[w].capitalize()) == w), None)
    if cased is not None and keys[cased] != keys[cased].capitalize():
        inputs.append(keys[cased].capitalize())
        rows.append(cased)
    free = [keys[row] for row in sanitizer.public[:1]]  # one of them must be among the inputs
    for word in (*unknown_words(sanitizer), *sorted(sanitizer.spec.keep)[:2], *free):
        row = sanitizer.input_of(word)
        if row is not None:  # else it is no token, and no input
            inputs.append(word)
            rows.append(space.n if row < 0 else row)
    return inputs, np.array(rows, dtype=np.int64)


def _allowed(sanitizer: Sanitizer, claim: Claim, rows: Ids) -> Callable[..., float]:
    """Return the loss that the claim permits between two inputs, by their positions."""
    space, guarantee = sanitizer.space, sanitizer.guarantee
    points = space.points(rows)
    unknown = rows == space.n
    # ⊥ is the centroid for mechanisms that add noise to points; for distributions over the
    # vocabulary it counts as half a diameter from every word.
    apart = space.diameter / 2 if sanitizer.mechanism.family == "table" else None
    public = np.isin(rows, sanitizer.public)
    named = claim.metric not in (None, "euclidean")
    other = sanitizer.mechanism.claim_distances(space, rows) if named else None
    kinds = sanitizer.grouping.kinds if sanitizer.grouping.classed else None
    groups = len(guarantee.groups)

    def allowed(x: int, y: int) -> float:
        if public[x]:
            return math.inf
        if kinds is not None:
            first, second = map(int, kinds[rows[[x, y]]])
            return 0.0 if first == second < groups else claim.epsilon
        if claim.metric is None:
            return claim.epsilon
        if named:  # where its distances are not known, no loss refutes it
            return math.inf if other is None else claim.epsilon * float(other[x, y])
        if rows[x] == rows[y]:
            return 0.0
        distance = float(np.linalg.norm(points[x] - points[y]))
        if apart is not None and unknown[x] != unknown[y]:
            distance = apart
        proved = guarantee.status is Status.PROVED
        return guarantee.epsilon(distance) if proved else claim.epsilon * distance

    return allowed


def verify(
    sanitizer: Sanitizer,
    *,
    words: int = 40,
    draws: int = 100_000,
    confidence: float = 0.999,
    spans: bool = False,
    workers: Workers | None = None,
) -> Verification:
    """Verify the guarantee of a sanitizer's mechanism on its vocabulary.

    Args:
        sanitizer: with OOV words, letter case and keep list as in the planned run.
        words: number of vocabulary words whose outputs are compared.
        draws: budget of the empirical bound.
        confidence: confidence of the empirical bound.
        spans: True if only words in spans would be drawn.
        workers: processes whose draws are compared with those of this one.

    Raises:
        UsageError: the sanitizer has a seed, so its draws are public.
    """
    refuse(sanitizer.seeded, "NOT PRIVATE: a seed makes the random numbers public", "leave it out")
    started = time.perf_counter()
    guarantee, space = sanitizer.guarantee, sanitizer.space
    claim = claim_of(guarantee)
    certificate = certify(sanitizer.mechanism, space)
    inputs, rows = _inputs(sanitizer, words, certificate)
    single, towards = sanitizer.by_text(), space.points(rows).T

    def draw(text: str, count: int, phase: int) -> Sequence[str]:
        return single.sanitize([text] * count, randomness.new_key()).lines

    def positions(outputs: Sequence[str]) -> Floats:
        """Project outputs on the direction of each input."""
        # Other strings than words (kept, masked, re-cased) count as the centroid.
        numbers = map(sanitizer.row_of, outputs)
        ids = np.array([space.n if row is None else row for row in numbers], dtype=np.int64)
        return np.asarray(space.points(ids) @ towards, dtype=np.float64)

    allowed = _allowed(sanitizer, claim, rows)
    checks = check_program(sanitizer, inputs, rows, draws=draws, workers=workers)
    same = np.equal.outer(rows, rows)
    question = Question(inputs, allowed, claim.delta, positions, lambda x, y: bool(same[x, y]))
    finding = search(draw, question, draws=draws, confidence=confidence)
    event = tuple(output for output in finding.event if sanitizer.row_of(output) is not None)
    finding = replace(finding, event=event, event_other=len(finding.event) - len(event))
    exposed = exposures(sanitizer, spans=spans)
    verdict = _verdict(claim, guarantee, certificate, finding)
    if not all(item.stated for item in exposed) or any(check.held is False for check in checks):
        verdict = Verdict.VIOLATED
    elif verdict is Verdict.KEPT and any(check.held is None for check in checks):
        verdict = Verdict.INCONCLUSIVE
    worth: Grade = (None, None, None)
    if verdict is Verdict.KEPT:
        worth = grade(sanitizer, certificate, claim)
    pair = None  # where all pairs have the same loss
    if certificate is not None and certificate.pair[0] != certificate.pair[1]:
        keys = [*sanitizer.embeddings.index_to_key, "⊥"]
        pair = keys[certificate.pair[0]], keys[certificate.pair[1]]
    claimed = claim, len(sanitizer.public), *_upper(claim, certificate, guarantee), pair
    results = *worth, *claimed, finding, exposed, checks, time.perf_counter() - started
    return Verification(verdict, guarantee.reviewed, *results)


def _upper(
    claim: Claim, certificate: Certificate | None, guarantee: Guarantee
) -> tuple[str, float | None, float | None, float, float | None]:
    """Return method, LDP epsilon, metric epsilon, its slack, and delta at the claimed epsilon."""
    statement: Certificate | Guarantee = certificate or guarantee
    if certificate is not None or guarantee.status is Status.PROVED:
        method = "analytic: closed form" if certificate is None else certificate.method
        upper = finite(statement.epsilon_ldp)
        return method, upper, statement.epsilon_metric, statement.slack, statement.delta
    if not guarantee.delta and math.isinf(guarantee.epsilon_ldp):
        return "empirical only", None, None, 0.0, None
    method, loss = "analytic: true guarantee", guarantee.at(claim.epsilon)
    if claim.metric is None and loss.epsilon <= claim.epsilon:
        return method, loss.epsilon, None, 0.0, loss.delta
    return method, finite(guarantee.epsilon_ldp), None, 0.0, None


def _verdict(
    claim: Claim, guarantee: Guarantee, certificate: Certificate | None, finding: Finding
) -> Verdict:
    if finding.violated:
        return Verdict.VIOLATED
    if certificate is not None:
        if claim.metric is not None and certificate.epsilon_metric is not None:
            # Its slack is beside it, in nats, and printed; it is not an epsilon per unit.
            kept = certificate.epsilon_metric <= claim.epsilon * (1 + _TOLERANCE)
        elif claim.metric is not None:
            kept = guarantee.status is Status.PROVED
        else:
            kept = certificate.epsilon_ldp <= claim.epsilon + _TOLERANCE + certificate.slack
        if claim.delta and certificate.delta <= claim.delta * (1 + _TOLERANCE):
            kept = True
        return Verdict.KEPT if kept else Verdict.VIOLATED
    if guarantee.status is Status.PROVED:
        return Verdict.KEPT
    true = guarantee.at(claim.epsilon).delta
    if guarantee.status is Status.REFUTED and true > claim.delta * (1 + 1e-6):
        return Verdict.VIOLATED  # the exact true delta at the claimed epsilon is larger
    return Verdict.INCONCLUSIVE
