"""Test whether draws have the distribution that the certificate is about.

A lower bound from draws shows nothing above ln(draws/130): a sampler that ignores its certificate
goes unseen at epsilon 8.  Compared with the rows of a known distribution it does not.  There are
six families of tests:

1. Some inputs are drawn often, and their outputs counted in cells.
2. So are many inputs that are drawn a few times.
3. So are the inputs of family 2 that look worst: they are drawn afresh.
4. The outputs of all inputs of family 2 are counted together.
5. E-processes (:mod:`dpsan.outcomes.intervals`) combine all draws.  They show what deviates in one
   way everywhere, and too little to see in any cell.
6. The same over the fresh draws of the words that deviated most, each in its own direction.

A sampler with the certified distribution is refuted with probability at most ERROR in a run,
whatever the number of draws.  Families 1 to 4 use the bounds of Chernoff
(:mod:`dpsan.outcomes.intervals`), 5 and 6 that of Markov for products of mean 1.  Each family gets
a sixth of ERROR.  What chooses the words of 3 and 6 is no evidence itself: they are judged by draws
that were made after the choice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.analysis.verify import checks
from dpsan.analysis.verify.checks import Check
from dpsan.mechanisms.tables import PointSampler, Sampler
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.outcomes.intervals import EProcess, log_tail_of_cells, log_tail_of_share, surprise
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.privacy.rounding import NoiseDistribution
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids

ERROR: Final = 1e-9
"""Probability that a sampler which has its distribution is refuted."""
_GROUPS: Final = 16
"""Likeliest outputs that have cells of their own, and cells of all others, at most."""
_ENOUGH: Final = 5
"""Expected draws of an output with a cell of its own."""
_DEEP: Final = 12
"""Vocabulary words that are drawn often, besides an OOV word and a public one."""
_SWEPT: Final = 2048
"""Most words that are drawn a few times."""
_SUSPECTS: Final = 8
"""Number of suspects that are drawn afresh, for each reason to suspect them."""
_ENTRIES: Final = 1 << 24
"""Probabilities computed for the swept words; a sixteenth of them at once."""
_BATCH: Final = 8192
"""Draws at once."""
_FEW: Final = (16, 8192)
"""Least and largest number of draws of one of many inputs."""


@dataclass(frozen=True)
class _Drawn:
    """Draws of some inputs beside their rows."""

    tails: Floats
    """Bounds on ln P of the outputs of each input, (m,)."""
    nats: Floats
    """Deviation of each input, before it is a bound, (m,)."""
    gains: Floats
    """Gain of each input at its best tilt, (m,)."""
    signs: Ids
    """Sign of that tilt, (m,)."""
    together: Floats
    """Bounds on ln P of each output over all inputs, (n,)."""


class _Comparison:
    """Draws of a program, compared with rows of probabilities."""

    def __init__(self, sanitizer: Sanitizer, stated: Sampler) -> None:
        self.sanitizer, self.stated = sanitizer, stated
        self.everything, self.signed = EProcess(), EProcess()
        self.draws = 0

    def draw(
        self, rows: Ids, texts: Sequence[str], many: int, key: bytes, signs: Ids | None = None
    ) -> _Drawn:
        """Draw each input so often, and add the draws to the e-processes.

        Args:
            rows: row number of each input, (m,).
            texts: the inputs.
            signs: of tilts, for the second e-process, (m,); 0 leaves an input out.
        """
        m, n = len(rows), self.sanitizer.space.n
        nats, tails, gains = np.zeros(m), np.zeros(m), np.zeros(m)
        fits, outputs, expected = np.ones(m, dtype=np.int64), np.zeros(n), np.zeros(n)
        block = max(1, min(_BATCH // many, _ENTRIES // 16 // n))
        for at in range(0, m, block):
            ids, part = rows[at : at + block], slice(at, at + block)
            pmf = distributions(self.stated, ids)
            repeated = [text for text in texts[part] for _ in range(many)]
            subkey = derive_key(key, at)
            sampled = checks.drawn_rows(self.sanitizer, repeated, subkey).reshape(len(ids), many)
            expected += pmf.sum(axis=0) * many
            outputs += np.bincount(sampled[sampled >= 0], minlength=n)
            cells = [_cells(*counted, many) for counted in zip(pmf, ids.tolist(), strict=True)]
            p, counts = np.zeros((2, len(ids), 2 * _GROUPS + 2))
            for row, (cell, mass, drawn) in enumerate(zip(cells, pmf, sampled, strict=True)):
                p[row] = np.bincount(cell, mass, p.shape[1])
                counts[row] = np.bincount(cell[drawn], minlength=p.shape[1])
            probabilities = np.take_along_axis(pmf, np.maximum(sampled, 0), 1)
            # Else an output is impossible.
            good = ((sampled >= 0) & (probabilities > 0)).all(axis=1)
            p /= p.sum(axis=1, keepdims=True)
            nats[part] = np.where(good, surprise(counts, many * p).sum(axis=1), np.inf)
            tails[part] = np.where(good, log_tail_of_cells(counts, p), -np.inf)
            gained = self.everything.add(pmf[good], ids[good], sampled[good])
            gains[at + np.flatnonzero(good)], fits[at + np.flatnonzero(good)] = gained
            if signs is not None:
                good &= signs[part] != 0
                self.signed.add(pmf[good], ids[good], sampled[good], signs[part][good])
        self.draws += m * many
        together = log_tail_of_share(outputs, m * many, expected / max(1, m * many))
        return _Drawn(tails, nats, gains, fits, together)


def _cells(pmf: Floats, word: int, many: int) -> Ids:
    """Return the cell of each output, (n,).

    The word itself has one, and so have those of the likeliest outputs that come often enough; the
    other likely ones share one.  All others are cut at quantiles.
    """
    n = len(pmf)
    groups = int(np.clip(many // 128, 2, _GROUPS))
    ends = np.cumsum(pmf)
    cell = _GROUPS + 2 + np.minimum(ends / ends[-1] * groups, groups - 1).astype(np.int64)
    likely = np.argpartition(-pmf, min(_GROUPS, n) - 1)[:_GROUPS]
    cell[likely] = 1
    single = likely[pmf[likely] * many >= _ENOUGH]
    cell[single] = 2 + np.arange(len(single))
    if word < n:
        cell[word] = 0
    return np.asarray(cell)


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
    keys, comparison = sanitizer.embeddings.index_to_key, _Comparison(sanitizer, stated)
    # Words, ⊥ and a public word are drawn often.
    kinds = ((rows < n, _DEEP), (rows == n, 1), (np.isin(rows, sanitizer.public), 1))
    deep = np.unique(np.concatenate([np.flatnonzero(kind)[:most] for kind, most in kinds]))
    often = max(_BATCH // 64, draws // 3 // len(deep))
    texts = [inputs[at] for at in deep.tolist()]
    first = comparison.draw(rows[deep], texts, often, derive_key(key, "often"))
    most = min(_SWEPT, max(64, _ENTRIES // n))
    words = checks.words_at_random(sanitizer, most, derive_key(key, "words"))
    few = int(np.clip(draws // 2 // max(1, len(words)), *_FEW))
    swept = comparison.draw(words, [keys[w] for w in words], few, derive_key(key, "few"))
    # The words that look worst are drawn afresh: one word of thousands may be the broken one.  So
    # are those that deviate most in the one way that adds up, all of them in one direction.
    leaning = np.argsort(-swept.gains, kind="stable")[:_SUSPECTS]
    odd = np.argsort(-swept.nats, kind="stable")[:_SUSPECTS]
    chosen = np.array([*dict.fromkeys([*leaning.tolist(), *odd.tolist()])], dtype=np.int64)
    suspects = words[chosen]
    signs = np.where(np.isin(chosen, leaning), swept.signs[chosen], 0)
    many = max(_BATCH // 64, 3 * draws // (4 * _SUSPECTS))
    subkey = derive_key(key, "again")
    again = comparison.draw(suspects, [keys[w] for w in suspects], many, subkey, signs)
    families = {
        "often": first.tails,
        "few": swept.tails,
        "again": again.tails,
        "sums": swept.together,
        "bets": np.array([comparison.everything.log_tail()]),
        "signs": np.array([comparison.signed.log_tail()]),
    }
    worst, log = checks.bonferroni(families)
    compared = len(np.unique(np.concatenate([rows[deep], words])))
    made = comparison.draws
    figures: dict[str, float] = {"draws": made, "inputs": compared, "words_of_the_vocabulary": n}
    figures |= {"log10_probability": checks.log10(log)}
    if log > math.log(ERROR):
        sentence = f"{made:,} draws of {compared:,} inputs have the certified distribution"
        return Check(name, True, sentence, figures)
    together = {
        "sums": f"{len(words):,} words together",
        "bets": f"{compared:,} inputs together",
        "signs": f"{len(leaning):,} suspicious words together",
    }
    if (what := together.get(worst)) is None:
        given = {"often": rows[deep], "few": words, "again": suspects}[worst]
        what = checks.name_of(sanitizer, int(given[int(np.argmin(families[worst]))]))
    sentence = f"draws of {what} do not have the certified distribution"
    return Check(name, False, f"{sentence}: {checks.probability(log)} by chance", figures)


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
        counts = np.stack([np.bincount(column, minlength=_NOISE_CELLS) for column in cells.T])
        if name == "coordinates":  # all independent: together they say most
            counts = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
        families[name] = log_tail_of_cells(counts, np.full(counts.shape, 1 / _NOISE_CELLS))
    above = noise > 0
    if d > 1:
        agree = (above == np.roll(above, 1, axis=1)).sum(axis=0)[: None if d > 2 else 1]
        families["signs of coordinates"] = log_tail_of_share(agree, m, np.full(len(agree), 0.5))
    same = float((above[::2] == above[1::2]).sum())
    families["signs of two words"] = log_tail_of_share(np.array([same]), m // 2 * d, np.array(0.5))
    worst, log = checks.bonferroni(families)
    figures["log10_probability"] = checks.log10(log)
    if log > math.log(ERROR):
        sentence = f"{m:,} vectors of {d} dimensions have the distribution of the proof"
        return Check("noise", True, sentence, figures)
    sentence = f"{m:,} vectors do not have the {worst} of the proof"
    return Check("noise", False, f"{sentence}: {checks.probability(log)} by chance", figures)
