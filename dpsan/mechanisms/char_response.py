"""``char-response``: randomized response on every character, where a word comes out.

Definition
    Words are filled up with blanks to the length L of the longest one.  h(w, u) is the number of
    positions at which two of them differ.  P(u|w) is proportional to exp(-epsilon·h(w, u)/2) over
    all n words: the distribution of randomized response on each of the L positions (a character
    stays with odds of e^(epsilon/2) to 1 against every other one), given that a word comes out.
    ⊥ gives a uniform word.  Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon per character that differs, and LDP epsilon·L.  h is a metric, so each weight,
    and so their sum, changes by at most exp(epsilon·h/2) between two inputs.
    Words of other lengths differ in the blanks, so lengths are protected too.
Proof
    docs/proofs.md 2.14
Source
    [CharDP], of which the abstract was read: each character of a word is drawn by randomized
    response, and a language model restores words.
Cost
    A row of n·L comparisons per distinct word of a batch.
Not to be confused with
    randomized response on the characters that a word has: the output shows how many these are,
    an infinite loss between words of two lengths, and is seldom a word.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.tables.dense import DistanceWeights
from dpsan.privacy.certificate import Metric
from dpsan.space.metric_space import Floats, Ids, MetricSpace


def differing(letters: NDArray[np.uint32], words: Ids) -> Floats:
    """Return at how many positions words (m,) and every word differ, shape (m, n).

    Args:
        letters: code points of all words, see :attr:`MetricSpace.letters`.
    """
    out = np.zeros((len(words), len(letters)))
    for position in letters.T:
        out += position[words, None] != position
    return out


class CharResponse(DistanceWeights):
    """Randomized response on characters."""

    levels = True

    def metric(self, space: MetricSpace) -> Metric:
        """Return the number of characters that differ."""
        distances = partial(differing, space.letters)
        return Metric("character", distances, float(space.letters.shape[1]))
