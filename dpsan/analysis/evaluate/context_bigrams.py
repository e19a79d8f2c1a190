"""The attack by context, first half: a hidden Markov model of the words of a line.

The hidden words follow the bigram model, each output that of the mechanism.  The guess for a
word is the likeliest input given all outputs of its line (forward-backward: no other rule makes
more words right under this model).  At each position only some inputs are considered: those that
explain the output best, and those that public text often has beside the likeliest words to the
left and right; ⊥ is a state that is never guessed.  The second half, which decodes the best of
these candidates with longer n-grams, is
:mod:`dpsan.analysis.evaluate.context_fourgrams`.

A model of little text is too sure of itself, so each reader also takes its probabilities to the
power tau, for every tau in :data:`TAUS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.language import Bigrams
from dpsan.outcomes.emissions import Emissions, Likeliest, Observations
from dpsan.space.arrays import Floats, Ids

BEST: Final = 50
"""Inputs that explain an output best."""
BESIDE: Final = 25
"""Inputs from the public text, for each side."""
KNOWN: Final = 100
"""The same where the words beside are known."""
TAUS: Final = (1.0, 0.75, 0.5)
"""Powers of the model's probabilities that are tried."""
_KEPT: Final = 12
"""Inputs that are kept of each position for attackers whose model has longer n-grams."""
_WORDS: Final = 20_000
"""Words whose candidates are held at once."""
_LINE: Final = 256
"""Longest line decoded at once; a longer one is cut, which bounds memory at 256·s² numbers."""
_LOW: Final = -1e30


class Reading:
    """Likeliest inputs at m positions, best first, shape (m, c); empty before they are taken."""

    def __init__(self, m: int) -> None:
        self.states: Ids = np.full((m, _KEPT), -1, dtype=np.int64)
        """-1 where there is no other; ⊥ is never among them."""
        self.emitted: Floats = np.zeros((m, _KEPT))
        """Ln P(what is seen|state) of those."""

    @property
    def guesses(self) -> Ids:
        """Return the likeliest, -1 where there is none, (m,)."""
        return self.states[:, 0]

    def take(self, start: int, states: Ids, emitted: Floats, chances: Floats) -> None:
        """Return the inputs considered from ``start`` on, shape (t, s), and how likely each is."""
        order = np.argsort(-chances, axis=1, kind="stable")[:, :_KEPT]
        part = slice(start, start + len(states)), slice(0, order.shape[1])
        chosen = np.take_along_axis(states, order, axis=1)
        likely = np.isfinite(np.take_along_axis(chances, order, axis=1))
        self.states[part] = np.where(likely, chosen, -1)
        self.emitted[part] = np.take_along_axis(emitted, order, axis=1)


def decode(
    text: Ids,
    seen: Observations,
    emissions: Emissions,
    candidates: Likeliest,
    model: Bigrams,
    progress: Callable[[float], None] | None = None,
) -> list[Reading]:
    """Return the guesses for m words, by each power in :data:`TAUS`.

    Args:
        text: number of the line of each word, ascending, (m,).
        candidates: of all observations, at least :data:`BEST` each (or all words).
    """
    read = [Reading(len(text)) for _ in TAUS]
    after, before = model.neighbours(BESIDE)
    for start, end in chunks(text):
        part = seen.of[start:end]
        likely = np.where(part >= 0, candidates.inputs[:, 0][part], model.n)
        left, right = _beside(text[start:end], likely, model.n + 1)
        beside = [after[left], before[right]]
        states = _states(part, candidates, beside, model.n)
        scores = _emitted(states, part, seen, emissions)
        bounds = [0, *(np.flatnonzero(np.diff(text[start:end])) + 1), len(part)]
        for first, last in pairwise(bounds):
            for a in range(first, last, _LINE):
                b = min(a + _LINE, last)
                every = _posteriors(states[a:b], scores[a:b], model)
                for each, chances in zip(read, every, strict=True):
                    each.take(start + a, states[a:b], scores[a:b], chances)
        if progress:
            progress(end / len(text))
    return read


def informed(
    text: Ids,
    inputs: Ids,
    seen: Observations,
    emissions: Emissions,
    candidates: Likeliest,
    model: Bigrams,
) -> list[Reading]:
    """Return the guesses of an attacker who knows all other words of the line.

    No attacker who has to guess those words too is right more often, if this model is the truth. An
    attacker with a better model may be.  Arguments and result as for :func:`decode`, and the true
    words (m,).
    """
    read = [Reading(len(text)) for _ in TAUS]
    after, before = model.neighbours(KNOWN)
    for start, end in chunks(text):
        part = seen.of[start:end]
        left, right = _beside(text[start:end], inputs[start:end], model.n + 1)
        states = _states(part, candidates, [after[left], before[right]], model.n)
        ids = np.maximum(states, 0)
        scores = _emitted(states, part, seen, emissions)
        beside = model.log(left[:, None], ids) + model.log(ids, right[:, None])
        never = (states < 0) | (states == model.n)
        for each, tau in zip(read, TAUS, strict=True):
            each.take(start, states, scores, np.where(never, -np.inf, scores + tau * beside))
    return read


def chunks(text: Ids) -> Iterator[tuple[int, int]]:
    """Segments of whole lines, about :data:`_WORDS` words each."""
    starts = np.append(np.flatnonzero(np.diff(text, prepend=-1)), len(text))
    at = 0
    while at < len(text):
        beyond = int(np.searchsorted(starts, at + _WORDS, side="right")) - 1
        end = int(starts[beyond])
        if end <= at:  # one long line
            end = int(starts[beyond + 1])
        yield at, end
        at = end


def _beside(text: Ids, words: Ids, end: int) -> tuple[Ids, Ids]:
    """Return the words to the left and right of each word of its line, ``end`` beyond it, (m,)
    each.
    """
    first = np.diff(text, prepend=-1) != 0
    last = np.append(first[1:], True)
    return np.where(first, end, np.roll(words, 1)), np.where(last, end, np.roll(words, -1))


def _states(seen: Ids, candidates: Likeliest, beside: Sequence[NDArray[np.int32]], n: int) -> Ids:
    """Return the inputs considered at each position, ascending, ⊥ always; -1 fills up.  Shape (m,
    s).
    """
    known = seen >= 0
    best = candidates.inputs[seen][:, :BEST].astype(np.int64)
    best[~known] = -1
    unknown = np.full((len(seen), 1), n)
    states = np.concatenate([best, *beside, unknown], axis=1).astype(np.int64)
    states[~known, :-1] = -1  # nothing is known of the word: it is left open
    states.sort(axis=1)
    states[:, 1:][states[:, 1:] == states[:, :-1]] = -1
    states.sort(axis=1)
    return states


def _emitted(states: Ids, seen: Ids, every: Observations, emissions: Emissions) -> Floats:
    """Ln P(what is seen|state), (m, s)."""
    out = np.full(states.shape, _LOW)
    real = states >= 0
    repeated = np.broadcast_to(seen[:, None], states.shape)
    readable = real & (repeated >= 0)
    size = every.outputs.shape[1]
    keys, indices = np.unique(
        states[readable] * (size + 1) + repeated[readable], return_inverse=True
    )
    inputs, numbers = np.divmod(keys, size + 1)
    out[readable] = emissions.seen(inputs, every.outputs[:, numbers])[indices]
    out[real & (repeated < 0)] = 0.0
    return out


def _posteriors(states: Ids, scores: Floats, model: Bigrams) -> Iterator[Floats]:
    """Yield how likely each input is at each position of one line, (t, s); minus infinity for ⊥.

    By each power in :data:`TAUS`.
    """
    end = model.n + 1
    width, used = states.shape[1], (states >= 0).any(axis=0)
    states, scores = states[:, used], scores[:, used]
    ids = np.maximum(states, 0)
    m, s = states.shape
    between = model.log(ids[:-1, :, None], ids[1:, None, :])
    emitted = np.exp(scores - scores.max(axis=1, keepdims=True))
    for tau in TAUS:
        steps = np.exp(tau * between)
        forward = np.empty((m, s))
        forward[0] = emitted[0] * np.exp(tau * model.log(np.array(end), ids[0]))
        forward[0] /= forward[0].sum()
        for at in range(1, m):
            forward[at] = (forward[at - 1] @ steps[at - 1]) * emitted[at]
            forward[at] /= forward[at].sum()
        following = np.exp(tau * model.log(ids[-1], np.array(end)))
        posterior = np.empty((m, s))
        for at in range(m - 1, -1, -1):
            posterior[at] = forward[at] * following
            if at:
                following = steps[at - 1] @ (emitted[at] * following)
                following /= following.max()
        posterior[(states < 0) | (states == model.n)] = -np.inf
        out = np.full((m, width), -np.inf)
        out[:, used] = posterior
        yield out
