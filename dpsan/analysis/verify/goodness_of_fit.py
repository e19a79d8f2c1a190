"""Whether draws have the distribution that the certificate is about.

Knows samplers whose distribution is known, and strings that go in and come out.  Must not know how
words are drawn.

A lower bound from draws says nothing above ln(draws/130): a sampler that ignores its certificate
goes unseen at epsilon 8.  Compared with a known distribution it does not.  Some inputs are drawn
often, and their outputs counted in many cells; many inputs are drawn a few times, and counted in
four cells each; those that look worst are drawn afresh; and over all of the many it is counted how
often every output came.  A sampler that
has its distribution is refuted with probability at most ERROR in a run, whatever the number of
draws: each bound is Chernoff's (:mod:`dpsan.outcomes.tail_bounds`), and they are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.verify.check import Check
from dpsan.analysis.verify.inputs import drawn_rows, name_of, words_at_random
from dpsan.mechanisms.sampling.samplers import Sampler
from dpsan.outcomes.tail_bounds import log_tail_of_cells, log_tail_of_share
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.distribution_matrix import pairwise_losses
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.sanitizer import Sanitizer

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Share = Callable[[float], None]

ERROR: Final = 1e-9
"""Probability that a sampler which has its distribution is refuted."""
_CELLS: Final = 32
_DEEP: Final = 12
"""Vocabulary words that are drawn often, besides an unknown and a public one."""
_SWEPT: Final = 2048
"""Most words that are drawn a few times."""
_SUSPECTS: Final = 16
"""Of those, how many are drawn afresh."""
_ENTRIES: Final = 1 << 26
"""Probabilities computed for those, and at once a sixteenth of them."""
_BATCH: Final = 8192
"""Draws at once."""
_FEW: Final = (16, 8192)
"""Draws of one of many inputs: at least, at most."""


def goodness_of_fit(
    sanitizer: Sanitizer,
    stated: Sampler,
    inputs: Sequence[str],
    rows: Ids,
    *,
    draws: int,
    key: bytes,
    progress: Share = lambda _: None,
) -> Check:
    """Compare draws with the probabilities that ``stated`` gives.

    Args:
        sanitizer: the program under test; each text is a unit of its own.
        stated: the mechanism's sampler, of which only the probabilities are used.
        inputs: strings that are drawn, and ``rows`` the inputs that they stand for.
        draws: how many, about.
        key: fresh.
        progress: called with the share done.
    """
    name, n = "goodness of fit", sanitizer.space.n
    if stated.probabilities(rows[:1]) is None:
        return Check(name, None, "no distribution of the draws is known that they could have")
    deep = _telling(rows, n, sanitizer.public)
    often = max(_BATCH // 64, draws // 3 // len(deep))
    tails, made = [], 0
    for place, at in enumerate(deep.tolist()):
        law = _law(stated, rows[at : at + 1])[0]
        came = drawn_rows(sanitizer, [inputs[at]] * often, derive_key(key, "often", place))
        tails.append(_tail(law, came))
        made += often
        progress(made / draws / 2)
    swept = words_at_random(
        sanitizer, min(_SWEPT, max(64, _ENTRIES // n)), derive_key(key, "words")
    )
    few = int(np.clip(draws // 2 // max(1, len(swept)), *_FEW))
    words, shares = _sweep(sanitizer, stated, swept, few, derive_key(key, "few"), progress)
    made += few * len(swept)
    # The words that look worst are drawn afresh: one word of thousands may be the broken one.
    suspects, again = swept[np.argsort(words, kind="stable")[:_SUSPECTS]], []
    many = max(_BATCH // 64, draws // 8 // _SUSPECTS)
    for row in suspects.tolist():
        texts = [sanitizer.embeddings.index_to_key[row]] * many
        came = drawn_rows(sanitizer, texts, derive_key(key, "again", row))
        again.append(_tail(_law(stated, np.array([row]))[0], came))
        made += many
    # Four families of tests, each with a quarter of the error, and Bonferroni in each.
    families = [np.array(tails), words, np.array(again), shares]
    best = [
        float(each.min()) + math.log(len(families) * len(each)) if len(each) else 0.0
        for each in families
    ]
    worst = int(np.argmin(best))
    held = best[worst] > math.log(ERROR)
    figures = {
        "draws": made,
        "inputs": len(deep) + len(swept),
        "words_of_the_vocabulary": n,
        "log10_probability": max(-1e6, min(best[worst], 0.0) / math.log(10)),
    }
    chance = probability(best[worst])
    if held:
        sentence = (
            f"{made:,} draws of {len(deep) + len(swept):,} inputs have the distribution that is "
            "certified"
        )
        return Check(name, True, sentence, figures)
    what = [
        lambda: name_of(sanitizer, int(rows[deep[int(np.argmin(families[0]))]])),
        lambda: name_of(sanitizer, int(swept[int(np.argmin(families[1]))])),
        lambda: name_of(sanitizer, int(suspects[int(np.argmin(families[2]))])),
        lambda: f"{len(swept):,} words together",
    ][worst]()
    sentence = f"draws of {what} do not have the certified distribution: {chance} by chance"
    return Check(name, False, sentence, figures)


def probability(log: float) -> str:
    """A bound on a probability in words, from its logarithm."""
    if log > math.log(0.001):
        return f"probability {min(1.0, math.exp(log)):.2g}"
    return f"probability below 1e{math.ceil(max(log, -1e6) / math.log(10))}"


def stated_losses(
    stated: Sampler,
    rows: Ids,
    public: Sequence[int],
    certificate: Certificate | None,
    allowed: Callable[[int, int], float],
) -> Check:
    """Whether the probabilities that draws are compared with keep to the certificate.

    Args:
        stated: the mechanism's sampler.
        rows: inputs.
        public: row numbers that the certificate leaves out as first inputs.
        certificate: of the mechanism, if it has one.
        allowed: positions of two inputs -> the loss that the guarantee permits, where it has none.
    """
    name = "stated distribution"
    chosen = np.unique(rows, return_index=True)[1][: 2 * _DEEP]
    law = _law(stated, rows[chosen])
    losses = pairwise_losses(law)
    if certificate is not None:
        most = np.full(losses.shape, certificate.epsilon_ldp)
    else:
        most = np.array([[allowed(x, y) for y in chosen.tolist()] for x in chosen.tolist()])
    losses[np.isin(rows[chosen], public)] = 0
    with np.errstate(invalid="ignore"):
        over = np.where(losses > 0, losses - most, -most)
    worst = float(np.nanmax(over)) if np.isfinite(over).any() else math.inf
    at = np.unravel_index(int(np.argmax(over)), over.shape)
    figures = {"loss": float(losses[at]), "allowed": float(most[at])}
    held = not worst > 1e-6
    relation = "at most" if held else "more than"
    sentence = (
        f"largest loss of {len(chosen)} inputs {losses[at]:.6f}, {relation} the {most[at]:.6f} of "
        f"the {'certificate' if certificate else 'guarantee'}"
    )
    return Check(name, held, sentence, figures)


def _law(stated: Sampler, ids: Ids) -> Floats:
    law = stated.probabilities(ids)
    assert law is not None  # noqa: S101 - the caller has asked
    return law


def _telling(rows: Ids, n: int, public: Sequence[int]) -> Ids:
    """Places of the inputs that are drawn often: words, ⊥ and a public word."""
    some = np.flatnonzero(rows < n)[:_DEEP]
    unknown = np.flatnonzero(rows == n)[:1]
    free = np.flatnonzero(np.isin(rows, public))[:1]
    return np.unique(np.concatenate([some, unknown, free]))


def _tail(law: Floats, came: Ids) -> float:
    """Bound on ln P(outputs that are so unlike their distribution)."""
    if (came < 0).any() or (law[came] <= 0).any():
        return -math.inf  # an output that cannot come
    order = np.argsort(-law, kind="stable")
    # The likeliest outputs have a cell each, all others share cells of about equal probability.
    single = min(_CELLS // 2, int((law[order] * len(came) >= 5).sum()), len(law) - 1)
    rest = np.cumsum(law[order[single:]])
    cell = np.empty(len(law), dtype=np.int64)
    cell[order[:single]] = np.arange(single)
    group = np.minimum(rest / max(rest[-1], 1e-300) * (_CELLS - single), _CELLS - single - 1)
    cell[order[single:]] = single + group.astype(np.int64)
    p = np.bincount(cell, weights=law, minlength=_CELLS)
    counts = np.bincount(cell[came], minlength=_CELLS)
    return float(log_tail_of_cells(counts[None], p[None] / p.sum())[0])


def _sweep(
    sanitizer: Sanitizer, stated: Sampler, swept: Ids, few: int, key: bytes, progress: Share
) -> tuple[Floats, Floats]:
    """Bounds on ln P of each word's outputs, and of what all words together gave.

    The four cells of a word: itself; the eight likeliest others; two halves of the rest.
    """
    n, keys = sanitizer.space.n, sanitizer.embeddings.index_to_key
    counts, p = np.zeros((len(swept), 4), dtype=np.int64), np.zeros((len(swept), 4))
    outputs, expected = np.zeros(n), np.zeros(n)
    impossible = np.zeros(len(swept), dtype=np.bool_)
    block = max(1, min(_BATCH // few, _ENTRIES // 16 // n))
    for at in range(0, len(swept), block):
        ids = swept[at : at + block]
        law = _law(stated, ids)
        texts = [keys[w] for w in ids.tolist() for _ in range(few)]
        came = drawn_rows(sanitizer, texts, derive_key(key, at)).reshape(len(ids), few)
        expected += law.sum(axis=0)
        outputs += np.bincount(came[came >= 0], minlength=n)
        for row, (word, own) in enumerate(zip(ids.tolist(), law, strict=True)):
            impossible[at + row] = (came[row] < 0).any() or (own[came[row]] <= 0).any()
            cell = 2 + (np.cumsum(own) > own.sum() / 2)
            top = min(9, n)
            cell[np.argpartition(-own, top - 1)[:top]] = 1
            cell[word] = 0
            p[at + row] = np.bincount(cell, weights=own, minlength=4)
            counts[at + row] = np.bincount(cell[came[row]], minlength=4)
        progress(0.5 + 0.5 * min(1.0, (at + block) / len(swept)))
    words = log_tail_of_cells(counts, p / p.sum(axis=1, keepdims=True))
    words[impossible] = -np.inf
    if not len(swept):
        return words, words
    draws = few * len(swept)
    together = np.concatenate([counts.sum(axis=0), outputs])
    mean = np.concatenate([p.mean(axis=0), expected / len(swept)])
    return words, log_tail_of_share(together, draws, mean)
