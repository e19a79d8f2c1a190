"""Test the words of the whole vocabulary whose few draws agree on something unlikely.

Each word is drawn a few times.  In a sound program an output that repeats is near the word, or
frequent as the output of many words.  Words whose repeated output is farthest away, or is the
output of the fewest other words, are drawn again, and the draws that repeat it once more are
counted.  What chooses the words is no evidence itself.  A sound program is refuted with probability
at most ERROR.
"""

import math

import numpy as np

from checks import KEY
from dpsan.analysis.verify.checks import drawn_rows, name_of, words_at_random
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.outcomes.intervals import log_tail_of_share
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

ERROR = 1e-9
_DRAWS = 3
"""Draws of each word of the screen."""
_CELLS = 1 << 28
"""Words screened times n, where the first draw of a word needs a row: 5 seconds."""
_SCREENED = 512
"""Number of words whose probabilities are computed because their few draws agree."""
_SUSPECTS = 8
_AGAIN = 1000
"""Draws of each suspect."""
_BATCH = 8192


def repeats(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Draw all words a few times, or a random share of them where every word needs a row."""
    n, stated = sanitizer.space.n, sanitizer.mechanism.prepare(sanitizer.space)
    if not has_distribution(stated):
        return ""
    single, keys = sanitizer.by_text(), sanitizer.embeddings.index_to_key
    most = _CELLS // n if stated.makes_rows else n
    words = words_at_random(single, most, derive_key(key, "all"))
    words, outputs, again = _far_repeats(single, words, derive_key(key, "screen"))
    if not len(words):
        return ""
    pmf = np.concatenate([distributions(stated, words[at : at + 64]) for at in _parts(len(words))])
    p = np.where(outputs < 0, 0.0, pmf[np.arange(len(words)), np.maximum(outputs, 0)])
    order = np.argsort(again * np.log(np.maximum(p, 1e-300)), kind="stable")[:_SUSPECTS]
    for at in order.tolist():
        own = derive_key(key, "again", at)
        drawn = drawn_rows(single, [keys[words[at]]] * _AGAIN, own)
        hits = np.array([(drawn == outputs[at]).sum()])
        tail = float(log_tail_of_share(hits, _AGAIN, p[at : at + 1])[0])
        if tail <= math.log(ERROR / _SUSPECTS):
            return f"{name_of(sanitizer, int(words[at]))} gives one output too often or seldom"
    return ""


def _parts(many: int) -> range:
    return range(0, many, 64)


def _far_repeats(sanitizer: Sanitizer, words: Ids, key: bytes) -> tuple[Ids, Ids, Ids]:
    """Return words whose outputs look fixed, these outputs, and the numbers of repetitions."""
    keys, space = sanitizer.embeddings.index_to_key, sanitizer.space
    parts = []
    for at in range(0, len(words), _BATCH):
        texts = [keys[w] for w in words[at : at + _BATCH].tolist() for _ in range(_DRAWS)]
        parts.append(drawn_rows(sanitizer, texts, derive_key(key, at)))
    sampled = np.concatenate([np.empty(0, dtype=np.int64), *parts]).reshape(-1, _DRAWS)
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
    chosen = np.unique(np.concatenate([far[: _SCREENED // 2], alone[: _SCREENED // 2]]))
    return words[chosen], output[chosen], again[chosen]
