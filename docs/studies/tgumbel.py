"""[TGumbel] Differentially private adversarial robustness through randomized perturbations.

python docs/studies/tgumbel.py algorithm-2 --words 60
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
from common.attackers import ATTACKS, Attacks, IntervalClassifier, drawn_words, near_words
from common.claims import Part, claim_line, claim_row, together
from common.command import main
from common.outcomes import THREADS, unit_label
from common.panels import Panel, Series
from common.steps import in_steps, part_of
from common.study import ALL, Asked, Result, Studies
from common.sweeps import about, label, parameters, repeated, sweeps
from common.texts import PARAMETERS as TEXTS
from common.texts import labelled, sizes
from common.values import at_least, positive, whole
from common.words import line, lines, mean_of_words, random_words, share_of_draws, spread
from scipy.stats import rankdata

from dpsan.analysis.compare.measure import Corpus
from dpsan.analysis.evaluate.accuracy import classifier
from dpsan.embeddings.words import Embeddings, Progress
from dpsan.errors import UsageError
from dpsan.mechanisms.exponential import TEM
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tgumbel_paper import TGumbelPaper, few_candidates, least_epsilon, scale
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import distributions, draw
from dpsan.outcomes.text_likelihood import sanitized
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()

# -- Algorithms 1, 2: the claimed epsilon ---------------------------------------------------------

_AUDITED: Final = (20, 60, 100, 200)
_EDGES: Final = (1.01, 1.5)
"""Epsilon over the least one for which the noise is defined."""


def simplex(n: int) -> MetricSpace:
    """n-1 words at distance sqrt 2 from each other, and one at twice that from all, ascending."""
    vectors = np.eye(n, dtype=np.float32)
    vectors[n - 1, n - 1] = math.sqrt(7)
    return MetricSpace(Embeddings([str(i) for i in range(n)], vectors, "", f"simplex-{n}"))


@STUDIES.add("[TGumbel] Algorithms 1, 2", uses=frozenset({"words"}))
def algorithm_2(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed epsilon per unit of distance against the exactly audited one.

    The words are n-1 at equal distances and one at twice that distance; --words is the largest n
    (time grows as its cube).
    """
    most = at_least(asked.words, 3, _AUDITED[-1], "--words")
    part = audited(Draft(TGumbelPaper), most, part_of(asked.progress, 0.0, 1.0))
    return together({TGumbelPaper.name: part}, asked, largest_vocabulary=most)


def audited(draft: Draft, most: int, progress: Progress) -> Part:
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
            rows.append(claim_row(draft, "epsilon", epsilon, epsilon, found.epsilon_metric, n=n))
            done += n**3
            progress(done / total)
        series.append(
            Series(f"epsilon {edge:g} × the least allowed", tuple(map(float, sizes)), tuple(ratios))
        )
    series.append(claim_line([float(n) for n in sizes], 1.0, "claimed: at most 1"))
    axes = "words n", "true / claimed epsilon per unit of distance"
    panel = Panel(draft.kind.name, *axes, tuple(series))
    caption = (
        f"{draft.kind.name}: exact audit of all pairs of n-1 words at equal distances and one at "
        "twice that distance."
    )
    note = "N_w is above the truth by at most 2/n"
    return Part(rows, panel, max(row["true"] / row["claimed"] for row in rows), caption, note)


# -- Appendix C: the share of words that stay -----------------------------------------------------

_STAYS: Final = 0.367
_MANY: Final = (1000, 10_000, 100_000)
_PLACED: Final = {"equal distances": 1, "one far word": 2}
"""Diameter over the smallest distance."""
_LOOKED_AT: Final = 500
"""Words of a vocabulary that N_w is a mean over."""


@STUDIES.add("[TGumbel] Appendix C", uses=frozenset({"epsilons"}))
def appendix_c(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed least share N_w of words that stay, against the true one.

    Without a vocabulary n words are at equal distances d, or n-1 of them and one at 2d from all.
    The paper bounds N_w by e^(-e^(-d/b))·P(K >= 2), K the number of candidates, and that by .367.
    With a vocabulary N_w is the mean over its words.
    """
    rows = staying(Draft(TGumbelPaper), space, asked)
    series = (
        line("true", rows, "n", "true", "points"),
        line("claimed: at least", rows, "n", "claimed", "points"),
    )
    where = f"{space.n:,} words of a vocabulary" if space else "n words at equal distances"
    return Result(
        rows=rows,
        parameters={"epsilons": list(asked.epsilons), "seed": asked.seed},
        panels=(Panel("Words that stay", "words n", "N_w", series, log_x=True),),
        caption=f"Probability N_w that a word comes out as itself, {where}.",
        notes=("N_w is above the truth by at most 2/n",),
    )


def unchanged(b: float, delta: float, n: int, distances: Floats) -> Floats:
    """Upper bound on P(the output is the word itself), above the truth by at most 2/n.

    ``sum over k of P(K=k) · integral of f(x) · product over 1 < i <= k of (1 - F(x - d_i)) dx``
    (Gauss-Legendre).  Of a draw that takes all n words as candidates only the nearest few are
    looked at: more candidates can only win more.

    Args:
        delta: the noise is truncated to [-delta, delta].
        distances: of each word to its nearest others, ascending,
            (m, at least :func:`few_candidates` - 1).
    """
    from scipy.special import pdtr  # heavy import

    few = few_candidates(n)
    sizes = np.diff(pdtr(np.arange(few + 1), math.log(n)))  # P(K = 1 ... few)
    sizes[-1] += 1 - sizes.sum()
    x, weights = np.polynomial.legendre.leggauss(32)
    edges = np.linspace(-delta, delta, 65)
    x = (edges[:-1, None] + (x + 1) / 2 * (edges[1] - edges[0])).ravel()
    weights = np.tile(weights, 64) * (edges[1] - edges[0]) / 2
    low, high = (math.exp(-math.exp(-end / b)) for end in (-delta, delta))
    density = np.exp(-x / b - np.exp(-x / b)) / b / (high - low) * weights
    out = np.empty(len(distances))
    for row, apart in enumerate(distances):
        shifted = np.maximum(x[:, None] - apart[: few - 1], -delta)
        survival = (high - np.exp(-np.exp(-shifted / b))) / (high - low)
        ahead = np.cumprod(np.column_stack([np.ones(len(x)), survival]), axis=1)
        out[row] = density @ (ahead @ sizes)
    return np.minimum(out, 1.0)


def staying(draft: Draft, space: MetricSpace | None, asked: Asked) -> list[dict[str, Any]]:
    """Return rows of N_w on a vocabulary, or on made-up words, beside the claims."""
    if space is not None:
        return _staying_words(draft, space, asked)
    rows: list[dict[str, Any]] = []
    for name, n, epsilon, b, delta, distances in _made_up(asked, _MANY, _PLACED):
        true = float(unchanged(b, delta, n, distances).mean())
        side = distances.min()
        # K = 0 means n candidates.
        bound = math.exp(-math.exp(-side / b)) * (1 - math.log(n) / n)
        # The proof's two candidates without truncation: more candidates lower N_w, and truncation
        # raises it.
        two = 1 / (1 + math.exp(-side / b))
        claims = {"N_w": _STAYS, "inequality": bound, "two candidates": two}
        rows += [
            claim_row(draft, f"{what}, {name}", epsilon, value, true, n=n)
            for what, value in claims.items()
        ]
    return rows


_Case = tuple[str, int, float, float, float, Floats]
"""Name, n, epsilon, b, Delta and distances of words to their nearest others."""


def _made_up(asked: Asked, sizes: Sequence[int], placed: Mapping[str, float]) -> Iterator[_Case]:
    """Yield words at equal distances; Delta is so many times these."""
    side = math.sqrt(2)
    for n, (name, far) in product(sizes, placed.items()):
        distances = np.full((1, min(n, 100) - 1), side)
        for epsilon in _allowed(asked, least_epsilon(n, side), _EDGES):
            yield name, n, epsilon, scale(epsilon, n, side, far * side), far * side, distances


def _of_vocabulary(draft: Draft, space: MetricSpace, asked: Asked, cases: Any) -> Iterator[_Case]:
    """Yield the words of each case by name, and edges."""
    edges, words = cases
    least = draft.kind.least_epsilon(space)
    for epsilon, (name, ids) in product(_allowed(asked, least, edges), words.items()):
        mechanism = draft.at(epsilon)
        assert isinstance(mechanism, TGumbelPaper)  # noqa: S101 - for the type checker
        yield name, space.n, epsilon, *mechanism.constants(space), _apart(space, ids)


def _allowed(asked: Asked, least: float, edges: Sequence[float]) -> list[float]:
    allowed = [each for each in asked.epsilons if each > least]
    return allowed or [edge * least for edge in edges]


def _staying_words(draft: Draft, space: MetricSpace, asked: Asked) -> list[dict[str, Any]]:
    key = randomness.seeded_key(f"dpsan study theorems {asked.seed}")
    cases = _EDGES, {"N_w, mean": random_words(space.n, _LOOKED_AT, key)}
    return [
        claim_row(draft, name, epsilon, _STAYS, float(unchanged(b, delta, n, apart).mean()), n=n)
        for name, n, epsilon, b, delta, apart in _of_vocabulary(draft, space, asked, cases)
    ]


@STUDIES.add(
    "[TGumbel] Appendix C, Laplace noise",
    least_words=3,
    uses=frozenset({"epsilons", "words", "draws"}),
)
def appendix_c_laplace(space: MetricSpace, asked: Asked) -> Result:
    """Claimed share of words that stay under Laplace noise, 1 - exp(-epsilon·d/4), and that drawn.

    d is the distance to the nearest word.  The formula is that of one-dimensional noise at half the
    epsilon; the mechanism that it is compared with has noise in all dimensions.
    """
    count = at_least(asked.draws, 1, 4000, "--draws")
    key = randomness.seeded_key(f"dpsan study laplace stays {asked.seed}")
    ids = random_words(space.n, at_least(asked.words, 0, 1000, "--words"), key)
    near = space.points(space.neighbors(ids, 2)[:, 1])
    apart = np.linalg.norm(near - space.points(ids), axis=1)
    rows = []
    for epsilon, _ in in_steps(asked.progress, asked.epsilons or (1.0, 5.0, 20.0)):
        sampler = Draft(Laplace).at(epsilon).prepare(space)
        taken = np.resize(ids, count)
        stays = draw(sampler, taken, randomness.derive_key(key, f"{epsilon:g}")) == taken
        drawn = spread(drawn=share_of_draws(int(stays.sum()), count))
        formula = float((-np.expm1(-epsilon * apart / 4)).mean())
        rows.append({"epsilon": epsilon, "claimed": formula, **drawn})
    both = tuple(line(name, rows, "epsilon", name) for name in ("claimed", "drawn"))
    axes = ("epsilon (per unit of distance)", "share of words that stay")
    return Result(
        rows=rows,
        parameters={"words": len(ids), "draws": count, "seed": asked.seed},
        panels=(Panel("Laplace noise", *axes, both, log_x=True, y_limits=(0.0, 1.0)),),
        caption=f"Words that stay, {len(ids):,} random words of {space.n:,}, {space.d} dimensions.",
    )


@STUDIES.add("[TGumbel] Lemma 1", uses=frozenset({"epsilons"}))
def lemma_1(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed largest share of words that stay, exp(-exp(-2·Delta/b)), against the true one.

    Without a vocabulary: n words at equal distances.  With one: its most isolated word, and the
    mean of its words.  The lemma speaks of every string, so one word that stays more often refutes
    it.  ``least`` is below the truth.
    """
    draft = Draft(TGumbelPaper)
    rows: list[dict[str, Any]] = []
    for name, n, epsilon, b, delta, distances in _lemma_cases(draft, space, asked):
        at_most = unchanged(b, delta, n, distances)
        claimed = math.exp(-math.exp(-2 * delta / b))
        row = claim_row(draft, f"N_w, {name}", epsilon, claimed, float(at_most.mean()), n=n)
        rows.append({**row, "least": row["true"] - 2 / n})
    both = (
        line("true, at least", rows, "", "least", "points"),
        line("claimed: at most", rows, "", "claimed", "points"),
    )
    return Result(
        rows=rows,
        parameters={"epsilons": list(asked.epsilons), "seed": asked.seed},
        panels=(Panel("Words that stay", "row of the table", "N_w", both, y_limits=(0.0, 1.0)),),
        caption="Share of draws in which a word comes out as itself, and the lemma's bound.",
    )


def _lemma_cases(draft: Draft, space: MetricSpace | None, asked: Asked) -> Iterator[_Case]:
    if space is None:
        return _made_up(asked, (100, 1000, 100_000), {"equal distances": 1})
    some = random_words(space.n, _LOOKED_AT, randomness.seeded_key(f"dpsan lemma {asked.seed}"))
    words = {"most isolated word": _most_isolated(space), "mean of words": some}
    return _of_vocabulary(draft, space, asked, (_EDGES[:1], words))


def _most_isolated(space: MetricSpace) -> Ids:
    """The word whose nearest other word is the farthest, (1,)."""
    apart = np.empty(space.n)
    for at in range(0, space.n, 1024):
        ids = np.arange(at, min(at + 1024, space.n))
        near = space.points(space.neighbors(ids, 2)[:, 1])
        apart[ids] = np.linalg.norm(near - space.points(ids), axis=1)
    return np.array([int(apart.argmax())])


def _apart(space: MetricSpace, ids: Ids) -> Floats:
    """Distances of words to their nearest others, ascending."""
    near = space.points(space.neighbors(ids, min(space.n, 100)).ravel())
    apart = near.reshape(len(ids), -1, space.d) - space.points(ids)[:, None]
    return np.linalg.norm(apart, axis=2)[:, 1:]


# -- Figures 1, 2: N_w and S_w --------------------------------------------------------------------

_WORDS: Final = 1000
_DRAWN_WORDS: Final = 50
"""Words of a mechanism without a distribution: each costs 1,000 draws for each epsilon."""
_STEPS: Final = 8
_BLOCK: Final = 64
_QUANTILES: Final = {"p5": 0.05, "p50": 0.5, "p95": 0.95}


@STUDIES.add("[TGumbel] Figures 1, 2", least_words=3, uses=ALL)
def figures_1_2(space: MetricSpace, asked: Asked) -> Result:
    """Words unchanged and distinct outputs: N_w, S_w.

    N_w is the probability that the output is the word itself, S_w the number of distinct outputs in
    1,000 draws.  A mechanism is deniable where N_w is small and S_w large.  Where the distribution
    is known, N_w is exact and S_w is its expectation, sum over u of 1 - (1 - P(u|w))^1000.
    """
    count = at_least(asked.draws, 2, 1000, "--draws")
    at_least(asked.words, 0, 0, "--words")
    key = randomness.seeded_key(f"dpsan study deniability {asked.seed}")
    drafts = list(asked.mechanisms) or [Draft(TGumbelPaper)]
    rows: list[Mapping[str, Any]] = []
    notes: list[str] = []
    for each in sweeps(asked, space, drafts, _STEPS):
        notes += each.notes
        many = (_WORDS if each.exact else _DRAWN_WORDS) if asked.words is None else asked.words
        ids = random_words(space.n, many, key)
        if each.exact:
            pairs = _known(each.samplers, ids, count, each.progress)
        else:
            own = randomness.derive_key(key, "outputs")
            pairs = [
                _drawn(sampler, ids, count, own)
                for sampler, _ in in_steps(each.progress, each.samplers)
            ]
        rows += [
            {
                **about(each.draft, mechanism, space),
                **_deniable_row(space, *pair, each.exact, count),
            }
            for mechanism, pair in zip(each.mechanisms, pairs, strict=True)
        ]
    return Result(
        rows=rows,
        parameters=repeated(
            asked,
            drafts,
            epsilons=list(asked.epsilons) or "a grid for each mechanism",
            words="default" if asked.words is None else asked.words,
            draws=count,
        ),
        panels=_deniable_panels(drafts, rows, count),
        caption=f"N_w: probability that a word stays; S_w: distinct outputs in {count:,} draws; "
        f"means over random words of {space.n:,} ({space.d} dimensions), bands: 95 % limits of "
        "the mean. Known distributions: N_w exact for each word, S_w its expectation.",
        notes=notes,
    )


def _known(
    samplers: Sequence[Sampler], ids: Ids, count: int, progress: Progress
) -> list[tuple[Floats, Floats]]:
    """N_w and the expectation of S_w of each word under known distributions, (m,) each."""

    def figures(sampler: Sampler) -> tuple[Floats, Floats]:
        stays, distinct = np.empty(len(ids)), np.empty(len(ids))
        for at in range(0, len(ids), _BLOCK):
            part = ids[at : at + _BLOCK]
            pmf = distributions(sampler, part)
            stays[at : at + _BLOCK] = pmf[np.arange(len(part)), part]
            with np.errstate(divide="ignore"):  # certain outputs: ln 0
                misses = count * np.log1p(-np.minimum(pmf, 1.0))
            distinct[at : at + _BLOCK] = -np.expm1(misses).sum(axis=1)
        return stays, distinct

    pairs = []
    with ThreadPoolExecutor(THREADS) as pool:
        for pair in pool.map(figures, samplers):
            pairs.append(pair)
            progress(len(pairs) / len(samplers))
    return pairs


def _drawn(sampler: Sampler, ids: Ids, count: int, key: bytes) -> tuple[Floats, Floats]:
    """N_w and S_w counted in ``count`` draws of each word, (m,) each."""
    drawn = draw(sampler, np.repeat(ids, count), key).reshape(len(ids), count)
    drawn.sort(axis=1)
    distinct = 1.0 + (np.diff(drawn, axis=1) > 0).sum(axis=1)
    return (drawn == ids[:, None]).mean(axis=1), distinct


def _deniable_row(
    space: MetricSpace, unchanged: Floats, distinct: Floats, exact: bool, draws: int
) -> Mapping[str, Any]:
    # Draws have a spread of their own, which is left over when all words are taken.
    population = space.n if exact else math.inf
    stays = mean_of_words(unchanged, population)
    if not exact:  # where hardly a draw stays, words look more alike than they are
        pooled = share_of_draws(round(float(unchanged.sum()) * draws), len(unchanged) * draws)
        stays = replace(stays, low=min(stays.low, pooled.low), high=max(stays.high, pooled.high))
    outputs = mean_of_words(distinct, population, (1.0, float(min(draws, space.n))))
    quantiles = {
        f"{name}_{end}": float(np.quantile(values, share))
        for name, values in (("unchanged", unchanged), ("distinct", distinct))
        for end, share in _QUANTILES.items()
    }
    means = spread(unchanged=stays, distinct=outputs)
    return {**means, **quantiles, "words": len(unchanged), "draws": draws, "exact": exact}


def _deniable_panels(
    drafts: Sequence[Draft], rows: Sequence[Mapping[str, Any]], draws: int
) -> tuple[Panel, ...]:
    """N_w and S_w against epsilon for each unit of epsilon, and S_w against N_w for all."""
    stays, differ = "N_w: probability unchanged", f"S_w: distinct outputs in {draws:,} draws"
    panels = []
    for ldp in dict.fromkeys(each.kind.is_ldp() for each in drafts):
        kinds = {label(each): each.kind for each in drafts if each.kind.is_ldp() == ldp}
        own = [row for row in rows if row["mechanism"] in kinds]
        across = f"epsilon ({unit_label(next(iter(kinds.values())))})"
        share, distinct = (lines(own, "epsilon", name) for name in ("unchanged", "distinct"))
        panels += [
            Panel("N_w against epsilon", across, stays, share, log_x=not ldp, y_limits=(0.0, 1.0)),
            Panel("S_w against epsilon", across, differ, distinct, log_x=not ldp),
        ]
    both = lines(rows, "unchanged", "distinct")
    return *panels, Panel("S_w against N_w", stays, differ, both)


@STUDIES.add("[TGumbel] Table 1", least_words=2, parameters=TEXTS)
def table_1(space: MetricSpace, asked: Asked) -> Result:
    """How many texts and words the data have that stand for those of the paper."""
    return sizes(space, asked)


# -- §6.3, §6.4, Tables 2, 3: accuracy under attack -----------------------------------------------


@STUDIES.add(
    "[TGumbel] Tables 2, 3",
    least_words=3,
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters={
        **TEXTS,
        "copies": "rewrites of each training text; default 2",
        "attacked": "number of test texts that are attacked, the first ones; default 100",
        "near": "nearest words that an attacker may put in a word's place; default 8",
        "changed": "share of the words that an attacker may replace; default 0.2, and 1 with draws",
        "attack": "near: by the nearest words; mechanism: by draws of the row's mechanism, as in "
        "the paper; default near",
    },
    libraries=("sklearn",),
)
def tables_2_3(space: MetricSpace, asked: Asked) -> Result:
    """Accuracy under attack of classifiers trained on rewrites (needs dpsan[evaluate]).

    The paper trains on randomized copies of the texts.  Here every row is a classifier (TF-IDF and
    logistic regression): one trained on the texts as they are, and for each mechanism one trained
    on them and on ``copies`` rewrites of each.  Attackers see the probabilities of the classifier
    and replace a share of a text's words by some of their nearest words.
    """
    train, test = labelled(asked)
    values, embeddings = asked.parameters, asked.embeddings
    assert embeddings is not None  # noqa: S101 - the texts were split by it
    attack = str(values.get("attack", "near"))
    if attack not in ("near", "mechanism"):
        raise UsageError(f"--attack must be near or mechanism (got {attack})")
    draws = attack == "mechanism"
    copies = whole(values, "copies", 4 if draws else 2)
    near = whole(values, "near", 8)
    changed = positive(values.get("changed", 1.0 if draws else 0.2), "--changed")
    attacked = min(whole(values, "attacked", 100), len(test.words))
    kinds = (TGumbelPaper, Laplace) if draws else (Laplace, TEM, KnnResponse)
    chosen = list(asked.mechanisms) or [Draft(kind) for kind in kinds]
    key = randomness.seeded_key(f"dpsan study robustness {asked.seed}")
    epsilons = asked.epsilons or (8.0, 20.0)
    pairs = list(product(chosen, epsilons))
    alone = part_of(asked.progress, 0.0, 1 / (len(pairs) + 1))
    rewritten = part_of(asked.progress, 1 / (len(pairs) + 1), 1.0)
    plain = classifier(train.originals, train.labels)
    sets = partial(near_words, space, embeddings, near=near)
    interval = IntervalClassifier(train, sets(train), embeddings)

    def row(name: str, model: Any, attacks: Attacks, own: Draft | None, step: Progress) -> None:
        mechanism = None if own is None else own.at(at)
        rows.append(
            {
                "trained_on": name,
                "parameters": "" if mechanism is None else parameters(mechanism, space),
                "epsilon": None if mechanism is None else at,
                "epsilon_unit": None if mechanism is None else mechanism.epsilon_unit,
                **attacks.judge(model, step),
            }
        )

    rows: list[dict[str, Any]] = []
    at = 0.0
    fixed = Attacks(sets(test, most=attacked), test, changed, key)
    if not draws:
        row("the texts alone", plain, fixed, None, alone)
    for (draft, at), progress in in_steps(rewritten, pairs):
        mechanism = draft.at(at)
        texts = train.originals
        for copy in range(copies):
            own = randomness.derive_key(key, f"copy {copy}")
            texts += _rewritten(mechanism, space, asked, train, own)
        model = classifier(texts, [*train.labels] * (copies + 1))
        attacks = fixed
        if draws:
            drawn = drawn_words(mechanism, space, embeddings, test, attacked, key)
            attacks = Attacks(drawn, test, changed, key)
            against = f"against {label(draft)}"
            row(f"the texts alone, {against}", plain, attacks, draft, part_of(progress, 0, 0.3))
            step = part_of(progress, 0.3, 0.5)
            row(f"the texts alone, intervals, {against}", interval, attacks, draft, step)
        row(f"{label(draft)}, {copies} copies", model, attacks, draft, part_of(progress, 0.5, 1))
    certified = interval.certified(test, sets(test, most=attacked))
    return Result(
        rows=rows,
        parameters=repeated(
            asked,
            chosen,
            epsilons=list(epsilons),
            training_texts=len(train.words),
            attacked=attacked,
            copies=copies,
            near=near,
            changed=changed,
            attack=attack,
        ),
        summary={"certified": certified},
        panels=_attacked_panels(rows),
        caption=f"Accuracy of TF-IDF and logistic regression on {attacked:,} test texts as they "
        f"are and under attackers who replace up to {changed:.0%} of the words by "
        + ("draws of the mechanism" if draws else f"one of the {near} nearest")
        + f"; trained on {len(train.words):,} texts and {copies} rewrites of each. "
        "95 % limits.",
        notes=(
            "random rewrites are only an upper bound of the accuracy under attack; greedy and "
            "genetic search for a text that is read wrong, and may miss one that exists",
            f"intervals: {certified:.3f} of the texts are read right whatever of their words is "
            f"replaced by one of the {near} nearest, which no search can lower",
        ),
    )


def _rewritten(
    mechanism: Mechanism, space: MetricSpace, asked: Asked, texts: Corpus, key: bytes
) -> list[str]:
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    mechanism.guarantee(space)  # finds what does not fit this vocabulary
    drawn = sanitized(mechanism.prepare(space), texts.words, key)
    return texts.strings([asked.embeddings.index_to_key[row] for row in drawn.tolist()])


@STUDIES.add(
    "[TGumbel] the privacy of a classifier's training texts",
    least_words=3,
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters=TEXTS,
    libraries=("sklearn",),
)
def membership(space: MetricSpace, asked: Asked) -> Result:
    """Texts that a classifier was trained on, told by its answers (needs dpsan[evaluate]).

    The classifier learns a random half of the training texts.  The attacker holds all of them as
    they are, and guesses that it learnt those whose label it finds most likely (Yeom et al. 2018).
    ``auc``: how often a text that it learnt is above one that it did not; .5 is a coin.
    """
    train, test = labelled(asked)
    chosen = list(asked.mechanisms) or [Draft(kind) for kind in (Laplace, TEM, KnnResponse)]
    key = randomness.seeded_key(f"dpsan study membership {asked.seed}")
    chance = randomness.streams_for(key, [1], [len(train.labels)]).uniform("members")[:, 0]
    members = chance < np.median(chance)
    rows: list[dict[str, Any]] = []
    for each, step in in_steps(asked.progress, [None, *product(chosen, asked.epsilons or (8.0,))]):
        texts, name, epsilon = train.originals, "the texts alone", None
        if each is not None:
            name, epsilon = label(each[0]), each[1]
            texts = _rewritten(each[0].at(epsilon), space, asked, train, key)
        mine = [(text, tag) for text, tag, own in zip(texts, train.labels, members) if own]
        model = classifier(*zip(*mine))
        if set(model.classes_) != set(train.labels):
            raise UsageError("a label is too rare among the training texts: --records N")
        shares = model.predict_proba(train.originals)
        found = shares[
            np.arange(len(shares)), [[*model.classes_].index(tag) for tag in train.labels]
        ]
        ranks = rankdata(found)[members].mean() - (members.sum() + 1) / 2
        right = model.predict(test.originals) == np.array(test.labels)
        figures = {"auc": float(ranks / (~members).sum()), "accuracy": float(right.mean())}
        rows.append({"trained_on": name, "epsilon": epsilon, **figures})
        step(1.0)
    points = line("auc", rows, "", "auc", "points")
    return Result(
        rows=rows,
        parameters=repeated(asked, chosen, members=int(members.sum())),
        panels=(Panel("Members found", "row of the table", "auc", (points,), y_limits=(0.0, 1.0)),),
        caption="TF-IDF and logistic regression trained on rewrites of half of "
        f"{len(train.words):,} texts; accuracy on {len(test.words):,} other texts.",
    )


def _attacked_panels(rows: Sequence[Mapping[str, Any]]) -> tuple[Panel, ...]:
    series = []
    for row in rows:
        at = "" if row["epsilon"] is None else f", epsilon {row['epsilon']:g}"
        shares = tuple(row[each] for each in ("clean", *ATTACKS))
        series.append(Series(f"{row['trained_on']}{at}", (0.0, 1.0, 2.0, 3.0), shares))
    order = "0: as they are, 1: random, 2: greedy, 3: genetic"
    title = "Accuracy under attack"
    return (Panel(title, order, "accuracy", tuple(series), y_limits=(0.0, 1.0)),)


if __name__ == "__main__":
    main(STUDIES, __doc__)
