"""Check the outputs of chosen integers, where a draw is one integer below a total.

Draws cannot show that an output of probability 1e-6 never comes.  The integers can: the program is
given chosen integers in place of random ones, and its outputs are counted.

1. All integers of an input are tried where they are few, as those of ⊥ mostly are.
2. Else the total must be the certified one, and evenly spaced integers are tried.  The integers of
   an output form at most two intervals, its share of the base and that of the near set.  So the
   count of an output is within 4 of the expected one.
3. At both ends the integers are tried more densely than the smallest weight, and no output may hold
   more consecutive integers than its weight.
4. A few integers are tried of every word of the vocabulary, since one word of all may copy itself.
   The words with the fewest different outputs are compared as above.
5. Integers below that total are drawn.  Those that come from one more 64-bit number than the others
   must not be more likely.

Only the last test is random: it refutes a sound program with probability at most ERROR.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from checks import KEY
from dpsan.analysis.verify.checks import in_random_order, name_of, words_at_random
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.distributions import distributions
from dpsan.outcomes.intervals import log_tail_of_share
from dpsan.privacy.randomness import KEY_BYTES, Streams, derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids, Integers

ERROR = 1e-10
_DRAWS = 1 << 16
_ALL = 1 << 21
"""Most integers of one input, if all are tried."""
_LEAST = 1 << 16
"""Evenly spaced integers of one input: least number, usual number where rare outputs need too
many, and largest number."""
_USUAL = 1 << 17
_MOST = 1 << 20
_TRIED = 1 << 21
"""Integers of all inputs together."""
_WORDS = 4
_ENOUGH = 8
"""Expected count of an output, so that its absence is seen."""
_SLACK = 4
"""Largest deviation of a count: two intervals with two ends each."""
_DENSE = 4
"""Integers tried for each unit of the smallest weight, at both ends."""
_SCREENED = 50_000
"""Number of words of which a few integers are tried."""
_SUSPECTS = 4
_EVENLY = 8
_ENDS = (6, 8, 10, 12, 16, 20, 32, 64)
"""Number of evenly spaced integers, and powers of 1/2 at which the others end."""
_BATCH = 1 << 14


@dataclass(frozen=True)
class Chosen(Streams):
    """Streams that return chosen integers and record the totals."""

    numbers: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.uint64))
    totals: list[int | None] = field(default_factory=list)
    """Total of each call; None where something else than one integer was drawn."""

    def bits(self, label: str, width: int = 1) -> Integers:
        self.totals.append(None)
        return super().bits(label, width)

    def integers(self, label: str, bounds: Integers | int, at: Ids | None = None) -> Integers:
        totals = np.unique(np.asarray(bounds))
        self.totals.append(int(totals[0]) if at is None and len(totals) == 1 else None)
        return np.asarray(np.minimum(self.numbers, totals[0] - 1), dtype=np.uint64)


class _WrongError(Exception):
    """An input has other integers than the certified ones; the text ends the sentence."""


def integers(sanitizer: Sanitizer, rows: Ids | None = None, key: bytes = KEY) -> str:
    """Compare the outputs of chosen integers with the certified weights.

    A sampler that does not draw one integer below a total is not judged.

    Args:
        sanitizer: the program under test.
        rows: row numbers of the inputs; default some at random.
        key: fresh.
    """
    n, stated = sanitizer.space.n, sanitizer.mechanism.prepare(sanitizer.space)
    if not isinstance(stated, SparseTable) or _total(sanitizer.sampler, n) is None:
        return ""
    if rows is None:
        rows = words_at_random(sanitizer, _WORDS, key)
    order = in_random_order(n, derive_key(key, "screened"))[:_SCREENED]
    screened = order[~np.isin(order, sanitizer.public)]  # public words are mostly unchanged
    suspects = _suspects(sanitizer.sampler, screened)
    words = np.concatenate([suspects, np.unique(rows[rows < n])[:_WORDS]])
    totals = dict(zip(words.tolist(), stated.totals(words).tolist(), strict=True))
    tried, uniform = 0, set[int]()
    for row in dict.fromkeys([n, *words.tolist()]):
        total = _total(sanitizer.sampler, row)
        if total is None:
            return f"{name_of(sanitizer, row)} is not drawn from one integer"
        pmf = distributions(stated, np.array([row]))[0]
        try:
            if total not in uniform:
                _check_uniform(total, derive_key(key, row))
            tried += _compare(sanitizer.sampler, row, pmf, total, totals.get(row, total))
        except _WrongError as error:
            return f"the integers that {name_of(sanitizer, row)} is drawn from {error}"
        uniform.add(total)
        if tried > _TRIED + _ALL:
            break
    return ""


def _total(sampler: Sampler, row: int) -> int | None:
    """Return the number of integers of an input; None if it is not drawn from one integer."""
    try:
        return _outputs(sampler, np.array([row]), np.zeros(1, dtype=np.uint64))[1]
    except _WrongError:
        return None


def _outputs(sampler: Sampler, rows: Ids, numbers: Integers) -> tuple[Ids, int]:
    """Return the output of an integer of each input, and the total that the program uses."""
    out, totals = np.empty(len(numbers), dtype=np.int64), list[int | None]()
    for at in range(0, len(numbers), _BATCH):
        part = numbers[at : at + _BATCH]
        streams = streams_for(bytes(KEY_BYTES), [0], [len(part)])
        chosen = Chosen(streams.key, streams.blocks, 0, part)
        out[at : at + _BATCH] = sampler.sample(rows[at : at + _BATCH], chosen)
        totals += chosen.totals or [None]
    first = totals[0]
    if first is None or totals != [first] * -(-len(numbers) // _BATCH):
        raise _WrongError("are drawn in another way each time")
    return out, first


def _suspects(sampler: Sampler, words: Ids) -> Ids:
    """Return the words with the fewest different outputs."""
    total = _total(sampler, int(words[0])) if len(words) else None
    if total is None:
        return words[:0]
    few = [(2 * at + 1) * total // (2 * _EVENLY) for at in range(_EVENLY)]
    few += [total - 1 - (total >> power) for power in _ENDS]
    numbers = np.tile(np.array(few, dtype=np.uint64), len(words))
    try:
        outputs = _outputs(sampler, np.repeat(words, len(few)), numbers)[0]
    except _WrongError:  # totals differ: they are compared with the certified ones
        return words[:0]
    ordered = np.sort(outputs.reshape(len(words), len(few)), axis=1)
    different = (np.diff(ordered, axis=1) > 0).sum(axis=1)
    return words[np.argsort(different, kind="stable")[:_SUSPECTS]]


def _check_uniform(total: int, key: bytes) -> None:
    """Raise _WrongError if integers below a total are not equally likely."""
    more = (1 << 64) % total
    drawn = streams_for(key, [0], [_DRAWS]).integers("uniform", total)
    for below in filter(None, (more, total // 2)):
        count, share = int((drawn < np.uint64(below)).sum()), below / total
        tails = log_tail_of_share(np.array([count]), _DRAWS, np.array([share]))
        if float(tails[0]) <= math.log(ERROR / (2 * (1 + _WORDS + _SUSPECTS))):
            raise _WrongError("are not equally likely")


def _compare(sampler: Sampler, row: int, pmf: Floats, total: int, certified: int) -> int:
    """Return the number of integers that were tried.  Raises _WrongError."""
    if total != certified:
        raise _WrongError(f"are {total:,}, where {certified:,} are certified")
    smallest = float(pmf[pmf > 0].min())
    if total <= _ALL:
        count, slack = total, 0.01
    else:
        enough = _ENOUGH / smallest
        count = int(min(max(enough, _LEAST), total)) if enough <= _MOST else _USUAL
        slack = float(_SLACK)
    parts = np.arange(count, dtype=object)
    numbers = ((2 * parts + 1) * total // (2 * count)).astype(np.uint64)
    counts = np.bincount(_outputs(sampler, np.full(count, row), numbers)[0], minlength=len(pmf))
    away = np.abs(counts - count * pmf)
    if (away > slack).any() or (counts[pmf <= 0] > 0).any():
        worst = int(np.argmax(away / np.sqrt(count * pmf + 1)))
        wrong = f"give one output for {counts[worst]:,} of {count:,} that were tried"
        raise _WrongError(f"{wrong}, where it is certified for {count * pmf[worst]:,.1f}")
    if total <= _ALL:
        return count
    step = int(smallest * total) // _DENSE
    for first in (0, total - step * _BATCH) if step and step * _BATCH < total else ():
        numbers = np.arange(_BATCH, dtype=np.uint64) * np.uint64(step) + np.uint64(first)
        outputs = _outputs(sampler, np.full(_BATCH, row), numbers)[0]
        edges = np.flatnonzero(np.diff(outputs)) + 1
        # A run that is cut off by the edge of the window is too short, never too long.
        starts, ends = np.append(0, edges), np.append(edges, len(outputs))
        # One shorter interval of another output may be hidden inside.
        longer = (ends - starts - 2) * float(step) > pmf[outputs[starts]] * total * (1 + 1e-9)
        if longer.any():
            raise _WrongError("give an output at one end more often than is certified")
        count += len(outputs)
    return count
