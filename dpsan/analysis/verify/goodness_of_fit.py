"""Test whether draws have the distribution that the certificate is about.

A lower bound from draws shows nothing above ln(draws/130): a sampler that ignores its certificate
goes unseen at epsilon 8.  Compared with a known distribution it does not.  There are six families
of tests:

1. Some inputs are drawn often, and their outputs counted in many cells.
2. Many inputs are drawn a few times, and counted in four cells each.
3. The inputs that look worst are drawn afresh.  So are words whose few draws agree on something
   unlikely (:func:`far_repeats`), chosen from the whole vocabulary, or from a random share of it
   where every word needs a row of the distribution.
4. The outputs of all inputs of family 2 are counted together.
5. E-processes (:mod:`dpsan.outcomes.intervals`) combine all draws but those of the screen.  They
   show what deviates in one way everywhere, and too little to see in any cell.
6. The same over fresh draws of the words that deviated most, each in its own direction.

A sampler with the certified distribution is refuted with probability at most ERROR in a run,
whatever the number of draws.  Families 1 to 4 use the bounds of Chernoff
(:mod:`dpsan.outcomes.intervals`), 5 and 6 that of Markov for products of mean 1.  Each family gets
a sixth of ERROR.  What chooses the words of 3 and 6 is no evidence itself: they are judged by draws
that were made after the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dpsan.analysis.verify import base
from dpsan.analysis.verify.base import Check
from dpsan.mechanisms.samplers.base import PointSampler, Sampler
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.outcomes.intervals import EProcess, log_tail_of_cells, log_tail_of_share, surprise
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.privacy.rounding import NoiseDistribution
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids

ERROR: Final = 1e-9
"""Probability that a sampler which has its distribution is refuted."""
_CELLS: Final = 32
_DEEP: Final = 12
"""Vocabulary words that are drawn often, besides an OOV word and a public one."""
_SWEPT: Final = 2048
"""Most words that are drawn a few times."""
_SUSPECTS: Final = 8
"""Number of suspects that are drawn afresh, for each reason to suspect them."""
_SCREENED: Final = 512
"""Number of words whose probabilities are computed because their few draws agree."""
_ENTRIES: Final = 1 << 24
"""Probabilities computed for these words; a sixteenth of them at once."""
_CELLS_SCREENED: Final = 1 << 28
"""Words screened times n, where the first draw of a word needs a row: 5 seconds."""
_SCREEN_DRAWS: Final = 3
"""Draws of each word of the screen."""
_BATCH: Final = 8192
"""Draws at once."""
_FEW: Final = (16, 8192)
"""Least and largest number of draws of one of many inputs."""


def goodness_of_fit(
    sanitizer: Sanitizer,
    stated: Sampler,
    inputs: Sequence[str],
    rows: Ids,
    *,
    draws: int,
    key: bytes,
) -> Check:
    """Compare draws with the probabilities that ``stated`` gives.

    Args:
        sanitizer: the program under test; each text is a unit of its own.
        stated: the mechanism's sampler, of which only the probabilities are used.
        inputs: strings that are drawn.
        rows: row number of each input.
        draws: approximate number of draws.
        key: fresh.
    """
    name, n = "goodness of fit", sanitizer.space.n
    if not has_distribution(stated):
        return Check(name, None, "no distribution is known with which draws could be compared")
    everything, signed = EProcess(), EProcess()
    deep = _telling(rows, n, sanitizer.public)
    often = max(_BATCH // 64, draws // 3 // len(deep))
    tails, made = [], 0

    def drawn(row: int, text: str, many: int, key: bytes, sign: int | None = None) -> float:
        """Draw one input often, and return the bound on its outputs."""
        nonlocal made
        made += many
        word, sampled = np.array([row]), base.drawn_rows(sanitizer, [text] * many, key)
        pmf = distributions(stated, word)
        tail = _tail(pmf[0], sampled)
        if not math.isinf(tail):
            everything.add(pmf, word, sampled[None])
            if sign is not None:
                signed.add(pmf, word, sampled[None], np.array([sign]))
        return tail

    for number, at in enumerate(deep.tolist()):
        tails.append(drawn(int(rows[at]), inputs[at], often, derive_key(key, "often", number)))
    most = min(_SWEPT, max(64, _ENTRIES // n))
    words = base.words_at_random(sanitizer, most, derive_key(key, "words"))
    few = int(np.clip(draws // 2 // max(1, len(words)), *_FEW))
    own = derive_key(key, "few")
    each_word, together, nats, gains, signs = _sweep(sanitizer, stated, words, few, own, everything)
    made += few * len(words)
    # The words that look worst are drawn afresh: one word of thousands may be the broken one.  So
    # are those that deviate most in the one way that adds up, all of them in one direction.
    keys = sanitizer.embeddings.index_to_key
    leaning = np.argsort(-gains, kind="stable")[:_SUSPECTS]
    sign = dict(zip(words[leaning].tolist(), signs[leaning].tolist(), strict=True))
    odd = words[np.lexsort((-nats, each_word))[:_SUSPECTS]].tolist()
    screened = 0
    if len(words) < n:
        most = min(draws // _SCREEN_DRAWS, _CELLS_SCREENED // n if stated.makes_rows else n)
        some = base.words_at_random(sanitizer, most, derive_key(key, "all"))
        screened = len(some)
        odd += _unlikely(sanitizer, stated, some, derive_key(key, "screen"))
    suspects = list(dict.fromkeys([*sign, *odd]))
    again = []
    for row in suspects:
        # Four times as many draws of those that are judged together, in the same direction.
        many = max(_BATCH // 64, (4 if row in sign else 1) * draws // (4 * _SUSPECTS))
        again.append(drawn(row, keys[row], many, derive_key(key, "again", row), sign.get(row)))
    # Six families of tests, each with a sixth of the error, and Bonferroni in each.
    families = {
        "often": np.array(tails),
        "few": each_word,
        "again": np.array(again),
        "sums": together,
        "bets": np.array([everything.log_tail()]),
        "signs": np.array([signed.log_tail()]),
    }
    worst, log = base.bonferroni(families)
    compared = len(np.unique(np.concatenate([rows[deep], words])))
    figures: dict[str, float] = {"draws": made, "inputs": compared, "words_of_the_vocabulary": n}
    figures |= {"words_screened": screened, "log10_probability": base.log10(log)}
    if log > math.log(ERROR):
        sentence = f"{made:,} draws of {compared:,} inputs have the certified distribution"
        sentence += f"; {screened:,} of {n:,} words were screened" if screened else ""
        return Check(name, True, sentence, figures)
    if worst in ("often", "few", "again"):
        given = {"often": rows[deep], "few": words, "again": np.array(suspects)}[worst]
        what = base.name_of(sanitizer, int(given[int(np.argmin(families[worst]))]))
    else:
        many = {"sums": len(words), "bets": compared, "signs": len(sign)}[worst]
        kind = {"sums": "words", "bets": "inputs", "signs": "suspicious words"}[worst]
        what = f"{many:,} {kind} together"
    sentence = f"draws of {what} do not have the certified distribution"
    return Check(name, False, f"{sentence}: {base.probability(log)} by chance", figures)


def _telling(rows: Ids, n: int, public: Sequence[int]) -> Ids:
    """Return the positions of the inputs that are drawn often: words, ⊥ and a public word."""
    kinds = ((rows < n, _DEEP), (rows == n, 1), (np.isin(rows, public), 1))
    return np.unique(np.concatenate([np.flatnonzero(kind)[:most] for kind, most in kinds]))


def _tail(pmf: Floats, sampled: Ids) -> float:
    """Return a bound on ln P(outputs that deviate so much from their distribution)."""
    if (sampled < 0).any() or (pmf[sampled] <= 0).any():
        return -math.inf  # an impossible output
    order = np.argsort(-pmf, kind="stable")
    # The likeliest outputs have a cell each, all others share cells of about equal probability.
    single = min(_CELLS // 2, int((pmf[order] * len(sampled) >= 5).sum()), len(pmf) - 1)
    rest = np.cumsum(pmf[order[single:]])
    cell = np.empty(len(pmf), dtype=np.int64)
    cell[order[:single]] = np.arange(single)
    group = np.minimum(rest / max(rest[-1], 1e-300) * (_CELLS - single), _CELLS - single - 1)
    cell[order[single:]] = single + group.astype(np.int64)
    p = np.bincount(cell, weights=pmf, minlength=_CELLS)
    counts = np.bincount(cell[sampled], minlength=_CELLS)
    return float(log_tail_of_cells(counts[None], p[None] / p.sum())[0])


def _sweep(
    sanitizer: Sanitizer, stated: Sampler, swept: Ids, few: int, key: bytes, everything: EProcess
) -> tuple[Floats, Floats, Floats, Floats, Ids]:
    """Draw each word a few times, and add the draws to the e-process.

    The four cells of a word are the word itself, the eight likeliest other outputs, and two halves
    of the rest.

    Returns:
        Bounds on ln P of the outputs of each word, and of those of all words together; the
        deviation of each word in nats, before it is a bound; its gain at its best tilt, and the
        sign of that tilt.
    """
    n, keys = sanitizer.space.n, sanitizer.embeddings.index_to_key
    counts, p = np.zeros((len(swept), 4), dtype=np.int64), np.zeros((len(swept), 4))
    outputs, expected = np.zeros(n), np.zeros(n)
    gains, signs = np.zeros(len(swept)), np.ones(len(swept), dtype=np.int64)
    impossible = np.zeros(len(swept), dtype=np.bool_)
    block = max(1, min(_BATCH // few, _ENTRIES // 16 // n))
    for at in range(0, len(swept), block):
        ids = swept[at : at + block]
        pmf = distributions(stated, ids)
        texts = [keys[w] for w in ids.tolist() for _ in range(few)]
        sampled = base.drawn_rows(sanitizer, texts, derive_key(key, at)).reshape(len(ids), few)
        expected += pmf.sum(axis=0)
        outputs += np.bincount(sampled[sampled >= 0], minlength=n)
        seen = np.take_along_axis(pmf, np.maximum(sampled, 0), 1)
        bad = ((sampled < 0) | (seen <= 0)).any(axis=1)
        impossible[at : at + len(ids)] = bad
        good = np.flatnonzero(~bad)
        gains[at + good], signs[at + good] = everything.add(pmf[good], ids[good], sampled[good])
        for row, (word, own) in enumerate(zip(ids.tolist(), pmf, strict=True)):
            cell = 2 + (np.cumsum(own) > own.sum() / 2)
            top = min(9, n)
            cell[np.argpartition(-own, top - 1)[:top]] = 1
            cell[word] = 0
            p[at + row] = np.bincount(cell, weights=own, minlength=4)
            counts[at + row] = np.bincount(cell[sampled[row]], minlength=4)
    p /= p.sum(axis=1, keepdims=True)
    words = log_tail_of_cells(counts, p)
    words[impossible] = -np.inf
    nats = surprise(counts.astype(np.float64), few * p).sum(axis=1)
    if not len(swept):
        return words, words, nats, gains, signs
    together = np.concatenate([counts.sum(axis=0), outputs])
    mean = np.concatenate([p.mean(axis=0), expected / len(swept)])
    tails = log_tail_of_share(together, few * len(swept), mean)
    return words, tails, nats, gains, signs


def _unlikely(sanitizer: Sanitizer, stated: Sampler, words: Ids, key: bytes) -> list[int]:
    """Return the words whose outputs repeat what is least likely to be repeated."""
    words, outputs, again = far_repeats(sanitizer, words, _SCREENED, key)
    log_p = np.empty(len(words))
    for at in range(0, len(log_p), 64):
        here = slice(at, at + 64)
        pmf, seen = distributions(stated, words[here]), outputs[here]
        p = np.where(seen < 0, 0.0, pmf[np.arange(len(pmf)), np.maximum(seen, 0)])
        log_p[here] = np.log(np.maximum(p, 1e-300))
    return [int(word) for word in words[np.argsort(again * log_p, kind="stable")[:_SUSPECTS]]]


def far_repeats(sanitizer: Sanitizer, words: Ids, most: int, key: bytes) -> tuple[Ids, Ids, Ids]:
    """Return words whose outputs look fixed: a screen that proves nothing.

    Each word is drawn a few times.  In a sound program an output that repeats is near the word, or
    frequent as the output of many words.  Chosen are words whose repeated output is farthest away,
    or is the output of the fewest other words.  No distribution is computed, since for each word of
    a large vocabulary that takes longer than draws.

    Args:
        sanitizer: the program under test; each text is a unit of its own.
        words: rows of the words that are drawn.
        most: number of words to return, at most.
        key: fresh.

    Returns:
        Words, their repeated outputs, and the numbers of repetitions.
    """
    keys, space = sanitizer.embeddings.index_to_key, sanitizer.space
    parts = []
    for at in range(0, len(words), _BATCH):
        texts = [keys[w] for w in words[at : at + _BATCH].tolist() for _ in range(_SCREEN_DRAWS)]
        parts.append(base.drawn_rows(sanitizer, texts, derive_key(key, at)))
    sampled = np.concatenate([np.empty(0, dtype=np.int64), *parts]).reshape(-1, _SCREEN_DRAWS)
    first, second, third = sampled.T
    again = (first == second).astype(np.int64) + (first == third)
    late = (again == 0) & (second == third)
    output, again = np.where(late, second, first), again + late
    # An output outside the vocabulary counts as infinitely far away.
    away = np.linalg.norm(space.points(words) - space.points(np.maximum(output, 0)), axis=1)
    away[output < 0] = np.inf
    own = (sampled == output[:, None]).sum(axis=1)
    others = np.bincount(sampled.ravel() + 1, minlength=space.n + 1)[output + 1] - own
    repeated = np.flatnonzero((again > 0) & (away > 0))
    far = repeated[np.argsort(-(again * away)[repeated], kind="stable")]
    alone = repeated[np.lexsort((-away[repeated], others[repeated]))]
    chosen = np.unique(np.concatenate([far[: most // 2], alone[: most // 2]]))
    return words[chosen], output[chosen], again[chosen]


_VALUES: Final = 1 << 19
"""Most coordinates of noise that are tested."""
_VECTORS: Final = (256, 1 << 15)
"""Least and largest number of noise vectors."""
_NOISE_CELLS: Final = 16


def noise_fit(
    sanitizer: Sanitizer,
    stated: PointSampler,
    distribution: NoiseDistribution,
    *,
    draws: int,
    key: bytes,
) -> Check:
    """Test noise vectors of the program.

    Radius, direction or coordinates are counted in equal cells of their distribution functions.
    The signs of adjacent coordinates, and of one coordinate of two words, agree half of the time.
    """
    d = stated.space.d
    m = int(np.clip(min(draws // 4, _VALUES // d), *_VECTORS)) // 2 * 2
    made = getattr(sanitizer.sampler, "noise", stated.noise)(streams_for(key, range(m), [1] * m), d)
    figures: dict[str, float] = {"vectors": m, "dimensions": d}
    if made.shape != (m, d) or not np.isfinite(made).all():
        return Check("noise", False, "the shape of the noise is not that of the points", figures)
    noise = distribution.whitened(made)
    families: dict[str, Floats] = {}
    for name, values in distribution.uniforms(noise).items():
        inside = (values >= 0) & (values <= 1)
        if not inside.all():
            families[name] = np.array([-math.inf])
            continue
        cells = np.minimum(values * _NOISE_CELLS, _NOISE_CELLS - 1).astype(np.int64)
        counts = np.stack([np.bincount(each, minlength=_NOISE_CELLS) for each in cells.T])
        if name == "coordinates":  # all independent: together they say most
            counts = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
        families[name] = log_tail_of_cells(counts, np.full(counts.shape, 1 / _NOISE_CELLS))
    above = noise > 0
    if d > 1:
        agree = (above == np.roll(above, 1, axis=1)).sum(axis=0)[: None if d > 2 else 1]
        families["signs of coordinates"] = log_tail_of_share(agree, m, np.full(len(agree), 0.5))
    same = float((above[::2] == above[1::2]).sum())
    families["signs of two words"] = log_tail_of_share(np.array([same]), m // 2 * d, np.array(0.5))
    worst, log = base.bonferroni(families)
    figures["log10_probability"] = base.log10(log)
    if log > math.log(ERROR):
        sentence = f"{m:,} vectors of {d} dimensions have the distribution of the proof"
        return Check("noise", True, sentence, figures)
    sentence = f"{m:,} vectors do not have the {worst} of the proof"
    return Check("noise", False, f"{sentence}: {base.probability(log)} by chance", figures)
