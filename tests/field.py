"""The tables of docs/field.md: ``python tests/field.py`` writes them anew, in under a minute.

Everything on the page is computed by the program on the most frequent words of its own vocabulary.
"""

import math
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

import faiss
import numpy as np
import page_parts
from page_parts import ROOT, table

from dpsan.embeddings.store import Store
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.registry import sections
from dpsan.outcomes.calibrate import Draft, per_nat, solve
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.privacy.randomness import seeded_key
from dpsan.space.cached_index import open_space

PAGE: Final = ROOT / "docs" / "field.md"
WORDS: Final = 1000
DRAWS: Final = 4000
EPSILONS: Final = {
    "tgumbel-paper": None,  # 1 % above the least that is defined
    **dict.fromkeys(("trlaplace-paper", "gaussian-classical"), 1.0),
    **dict.fromkeys(("diffractor", "diffractor-paper"), 1.0),
    **dict.fromkeys(("geodesic", "char-response"), 4.0),
}
"""At which epsilon a claim is shown, where it is neither of the two below."""
_PER_DISTANCE: Final = 10.0
_NATS: Final = 8.0
_COMPARED: Final = (
    *("optimal-response", "knn-response", "zipf-response", "geodesic", "exponential", "tem"),
    *("bucket-exponential", "char-response", "krr", "clusant", "custext", "santext-plus"),
    *("diffractor", "diffractor-paper"),
)
TARGET: Final = 0.5
CERTIFIED: Final = 10.0
_PAIRS: Final = 50
_DELTA: Final = 1e-3
"""Of the guarantee of a system that bounds Rényi divergences."""
INTEGRALS = {"tgumbel-paper", "rantext-paper"}
"""Mechanisms whose distribution takes an integral, and their certificate minutes."""


def opened() -> Any:
    """The space of the most frequent words."""
    with tempfile.TemporaryDirectory() as folder:
        return open_space(None, WORDS, Store(Path(folder)))[1]


def short(value: float | None) -> str:
    """Three digits, or a dash."""
    if value is None or math.isinf(value):
        return "–"
    return f"{value:.3f}".lstrip("0") if 0.001 <= value < 1 else f"{value:.3g}"


def mechanism_at(name: str, space: Any) -> Any:
    """A mechanism at the epsilon that its claim is shown for."""
    kind = MECHANISMS[name]
    epsilon = EPSILONS.get(name, _NATS if kind.is_ldp() else _PER_DISTANCE)
    epsilon = epsilon or round(1.01 * kind.least_epsilon(space), 1)
    needed = {key: each.example for key, each in kind.parameters().items() if each.required}
    return kind.build(epsilon, needed)


def proof_link(name: str) -> str:
    """The paragraph of docs/proofs.md that the docstring of a mechanism names."""
    found = re.search(r"proofs\.md (\d(?:\.\d+)*)", sections(name)["Proof"])
    return f"[{found[1]}](proofs.md)" if found else "–"


def claim_row(name: str, space: Any) -> tuple[str, ...]:
    """One mechanism: claim, truth, what comes out."""
    from common.draws import Draws, from_draws
    from common.outcomes import from_pmfs

    mechanism = mechanism_at(name, space)
    guarantee = mechanism.guarantee(space)
    claimed, _, true = guarantee.summary().partition(", ")
    claimed = claimed.removeprefix("claimed ")
    if true.startswith("delta"):
        delta, _, true = true.partition(", ")
        claimed = f"{claimed}, {delta}"
    if guarantee.epsilon_metric is not None and guarantee.metric:
        true = f"epsilon {guarantee.epsilon_metric:g} per {guarantee.metric}; {true}"
    sampler = mechanism.prepare(space)
    exact = "–"
    if mechanism.name not in INTEGRALS and math.isfinite(guarantee.epsilon_ldp):
        found = certify(mechanism, space)
        exact = "–" if found is None else short(found.epsilon_ldp)
    if mechanism.name not in INTEGRALS and has_distribution(sampler):
        (out,) = from_pmfs(space, np.arange(space.n), [sampler], near=False, similar=True)
        unchanged, cosine = float(out.unchanged.mean()), float(out.cosine.mean())
    else:
        words = Draws(space, DRAWS, seeded_key("dpsan field"), similar=True)
        drawn, share, _, _ = from_draws(words, sampler)
        unchanged, cosine = share.value, float(words.cosines(drawn).mean())
    cells = (f"`{name}`", str(mechanism.status), claimed, true.replace("true ", ""), exact)
    return (*cells, proof_link(name), f"{unchanged:.3f}", f"{cosine:.3f}")


def claims(space: Any) -> str:
    """Every mechanism at one epsilon."""
    head = ("mechanism", "status", "claim", "what holds", "exact", "proof", "stay", "cosine")
    return table(head, *(claim_row(name, space) for name in MECHANISMS))


def pairs_at(space: Any, ids: Any) -> Any:
    """For each word (m,) another, at about the median distance to the tenth neighbour."""
    lengths = space.distances(ids)
    distance = np.median(np.partition(lengths, 10, axis=1)[:, 10])
    gaps = np.abs(lengths - distance)
    gaps[np.arange(len(ids)), ids] = math.inf
    return np.argmin(gaps, axis=1)


def apart(sampler: Any, first: Any, second: Any) -> Any:
    """Total variation of the outputs of pairs of inputs, (m,): exact."""
    one, other = distributions(sampler, first), distributions(sampler, second)
    return np.maximum(one - other, 0).sum(axis=1)


def at_target(draft: Any, space: Any, pairs: Any, target: float) -> Any:
    """The mechanism with that mean total variation, or up to 0.2 % less; UsageError: none."""

    def variation(epsilon: float) -> float:
        mechanism = draft.at(epsilon)
        mechanism.guarantee(space)  # finds what does not fit this vocabulary
        return float(apart(mechanism.prepare(space), *pairs).mean())

    # Two words are told apart once epsilon times their distance is about 1.
    start = 1.0 if draft.kind.is_ldp() else 8 * per_nat(draft, space)
    what = f"total variation {target:g}"
    epsilon, reached = solve(variation, target, start, what=what, tolerance=2e-3, step=math.log(2))
    if reached < target * 0.98:
        raise UsageError(f"{what} is jumped over")
    return draft.at(epsilon)


def at_certified(draft: Any, space: Any, wanted: float) -> Any:
    """The mechanism with that certified LDP epsilon; UsageError: it has none."""
    from common.equal_losses import at_equal_loss

    if not math.isfinite(draft.anywhere(space)[1]):
        raise UsageError("no finite LDP epsilon")
    return at_equal_loss(draft, space, wanted).mechanism


def equal(space: Any) -> str:
    """Where two words are told apart equally well, and at one certified epsilon."""
    from common.outcomes import from_pmfs
    from common.words import random_words

    first = random_words(space.n, _PAIRS, seeded_key("dpsan study equal 1"))
    pairs = first, pairs_at(space, first)

    def figures(made: Any) -> tuple[str, ...]:
        """Certified epsilon, mean total variation, share unchanged, cosine."""
        try:
            mechanism = made()
        except UsageError:
            return ("–",) * 4
        loss = mechanism.guarantee(space).epsilon_ldp
        if math.isfinite(loss) and (found := certify(mechanism, space)) is not None:
            loss = min(loss, found.epsilon_ldp)
        sampler = mechanism.prepare(space)
        (out,) = from_pmfs(space, first, [sampler], similar=True)
        means = (apart(sampler, *pairs).mean(), out.unchanged.mean(), out.cosine.mean())
        return ("none" if math.isinf(loss) else short(loss), *(short(float(x)) for x in means))

    rows = []
    for name in _COMPARED:
        draft = Draft(MECHANISMS[name])
        certified, _, *left = figures(partial(at_target, draft, space, pairs, TARGET))
        _, *right = figures(partial(at_certified, draft, space, CERTIFIED))
        rows.append((f"`{name}`", certified, *left, *right))
    head = ("mechanism", "certified epsilon", "stay", "cosine", "variation", "stay", "cosine")
    return table(head, *rows)


def characters(space: Any) -> str:
    """char-response at three epsilons: how often the output has as many characters as the word."""
    lengths = (space.letters > 0).sum(axis=1)
    rows = []
    for epsilon in (1.0, 2.0, 4.0, 6.0):
        kind = MECHANISMS["char-response"](epsilon)
        law = np.asarray(kind.prepare(space).probabilities(np.arange(space.n)))
        found = certify(kind, space)
        same = (law * (lengths[:, None] == lengths)).sum(axis=1)
        cells = (found.epsilon_ldp if found else None, law.trace() / space.n, same.mean())
        rows.append((f"{epsilon:g}", *map(short, cells)))
    return table(("epsilon per character", "certified epsilon", "stay", "same length"), *rows)


def lengths(_: Any) -> str:
    """What the length of a word tells, of running words: all words of the vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        space = open_space(None, None, Store(Path(folder)))[1]
    sizes, shares = (space.letters > 0).sum(axis=1), space.frequencies
    groups = [sizes == size for size in range(1, sizes.max() + 1)]
    mass = np.array([shares[own].sum() for own in groups])
    bits = -sum(share * math.log2(share) for share in mass if share)
    named = sum(shares[own].max(initial=0) for own in groups)
    cells = (f"{1 - (mass**2).sum():.3f}", f"{bits:.2f}", f"{shares.max():.3f}", f"{named:.3f}")
    heads = ("pairs of running words of two lengths", "bits that the length tells")
    guesses = ("a guess names a word", "with its length known")
    return table((*heads, *guesses), cells)


def largest_loss(first: tuple[float, ...], second: tuple[float, ...], n: int) -> float:
    """Largest ln P(o|x)/P(o|y) of texts whose words all differ, each with the budget of its place.

    Words are drawn by k-ary randomized response over n words.
    """
    total = 0.0
    for one, other in zip(first, second, strict=True):
        norms = (math.exp(other) + n - 1) / (math.exp(one) + n - 1)
        total += one + math.log(norms)  # the word itself comes out of the first text
    return total


def budgets(_: Any) -> str:
    """Largest loss of two texts whose words have budgets that depend on the words: exact."""
    rows = []
    for name, n, first, second in (
        ("2 words, 8 in all", 50, (8.0, 0.0), (4.0, 4.0)),
        ("4 words, 8 in all", 5, (8.0, 0.0, 0.0, 0.0), (2.0,) * 4),
        ("a name 1, other words 8", 1000, (8.0,), (1.0,)),
    ):
        worst = max(largest_loss(first, second, n), largest_loss(second, first, n))
        rows.append((name, f"{n:,}", _spent(first), _spent(second), f"{worst:.2f}"))
    return table(("budget", "words of the vocabulary", "one text", "other text", "loss"), *rows)


def within(bound: float, base: Any) -> tuple[Any, Any]:
    """Largest and smallest chance of a token, at Rényi divergences of order 2 up to a bound.

    Divergences are those of two-valued laws from that of chance ``base`` < 1/2 and back: both of
    (p - q)² / (q(1 - q)) and (p - q)² / (p(1 - p)) are at most e^bound - 1.
    """
    k = math.expm1(bound)
    middle = 2 * base + k
    lowest = 2 * base**2 / (middle + np.sqrt(middle**2 - 4 * (1 + k) * base**2))
    return base + np.sqrt(k * base * (1 - base)), lowest


def fusion(_: Any) -> str:
    """What a bound on divergences from a redacted text says of two texts: exact, for one token."""
    rows = []
    for bound in (0.02, 0.1, 0.5, 1.0):
        base = np.logspace(-9, -1.5, 2000)
        high, low = within(bound, base)
        claim = 2 * bound - math.log(_DELTA)  # 4·(bound/order) + ln(1/delta)/(order - 1)
        deltas = high - math.exp(claim) * low
        at = deltas.argmax()
        between = np.log(high**2 / low + (1 - high) ** 2 / (1 - low))[at]
        cells = (bound, 2 * bound, between, claim, _DELTA, deltas[at])
        rows.append((*(f"{each:.3g}" for each in cells),))
    heads = ("bound, from the redacted text", "claimed, of two texts", "true")
    return table((*heads, "claimed epsilon", "with delta", "true delta"), *rows)


def _spent(budget: tuple[float, ...]) -> str:
    return ", ".join(f"{each:g}" for each in budget)


if __name__ == "__main__":
    faiss.omp_set_num_threads(1)
    space = opened()
    made = (claims, equal, characters, lengths, budgets, fusion)
    parts = {each.__name__: partial(each, space) for each in made}
    page_parts.write(PAGE, parts, sys.argv[1:])
