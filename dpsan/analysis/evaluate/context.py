"""A reader who attacks a line as a whole: a hidden Markov model of the words behind it.

Knows row numbers, likelihoods and a bigram model.  Must not know texts.

The hidden words follow the bigram model, each output follows the mechanism's law.  The guess for a
word is the likeliest input given all outputs of its line (forward-backward: no other rule makes
more words right under this model).  At each place only some inputs are considered: those that
explain the output best, and those that public text often has beside the likeliest words to the
left and right; ⊥ is a state that is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.language import Bigrams
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.likeliest import Likeliest

__all__ = ["decode"]

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

BEST: Final = 50
"""Inputs that explain an output best."""
BESIDE: Final = 25
"""Inputs from the public text, for each side."""
_WORDS: Final = 20_000
"""Words whose candidates are held at once."""
_LINE: Final = 256
"""Longest line decoded at once; a longer one is cut, which bounds memory at 256·s² numbers."""
_LOW: Final = -1e30


def decode(
    text: Ids,
    outputs: Ids,
    emissions: Emissions,
    candidates: Likeliest,
    model: Bigrams,
    progress: Callable[[float], None] | None = None,
) -> Ids:
    """The guess for each word, shape (m,).

    Args:
        text: number of the line of each word, ascending, (m,).
        outputs: rows; negative where the output tells nothing, (m,).
        emissions: the law.
        candidates: of all outputs that occur, at least :data:`BEST` each (or all words).
        model: the language.
    """
    guesses = np.full(len(outputs), -1, dtype=np.int64)
    after, before = model.neighbours(BESIDE)
    for start, end in _chunks(text):
        part = outputs[start:end]
        states = _states(text[start:end], part, candidates, after, before, model.n)
        scores = _emitted(states, part, emissions)
        bounds = [0, *(np.flatnonzero(np.diff(text[start:end])) + 1), len(part)]
        for first, last in pairwise(bounds):
            for a in range(first, last, _LINE):
                b = min(a + _LINE, last)
                guesses[start + a : start + b] = _posterior(states[a:b], scores[a:b], model)
        if progress:
            progress(end / len(outputs))
    return guesses


def _chunks(text: Ids) -> Iterator[tuple[int, int]]:
    """Stretches of whole lines, about :data:`_WORDS` words each."""
    starts = np.append(np.flatnonzero(np.diff(text, prepend=-1)), len(text))
    at = 0
    while at < len(text):
        beyond = int(np.searchsorted(starts, at + _WORDS, side="right")) - 1
        end = int(starts[beyond])
        if end <= at:  # one long line
            end = int(starts[beyond + 1])
        yield at, end
        at = end


def _states(
    text: Ids,
    outputs: Ids,
    candidates: Likeliest,
    after: NDArray[np.int32],
    before: NDArray[np.int32],
    n: int,
) -> Ids:
    """The inputs considered at each place, ascending, ⊥ always; -1 fills up.  Shape (m, s)."""
    seen = outputs >= 0
    rows = np.searchsorted(candidates.outputs, np.where(seen, outputs, 0))
    rows = np.minimum(rows, len(candidates.outputs) - 1)
    best = candidates.inputs[rows][:, :BEST].astype(np.int64)
    best[~seen] = -1
    likely = np.where(seen, best[:, 0], n)
    first = np.diff(text, prepend=-1) != 0
    last = np.append(first[1:], True)
    left = np.where(first, n + 1, np.roll(likely, 1))
    right = np.where(last, n + 1, np.roll(likely, -1))
    unknown = np.full((len(outputs), 1), n)
    states = np.concatenate([best, after[left], before[right], unknown], axis=1)
    states[~seen, :-1] = -1  # nothing is known of the word: it is left open
    states.sort(axis=1)
    states[:, 1:][states[:, 1:] == states[:, :-1]] = -1
    states.sort(axis=1)
    return states


def _emitted(states: Ids, outputs: Ids, emissions: Emissions) -> Floats:
    """Ln P(output|state), (m, s)."""
    out = np.full(states.shape, _LOW)
    real = states >= 0
    repeated = np.broadcast_to(outputs[:, None], states.shape)
    readable = real & (repeated >= 0)
    keys, places = np.unique(
        states[readable] * (emissions.space.n + 1) + repeated[readable], return_inverse=True
    )
    inputs, seen = np.divmod(keys, emissions.space.n + 1)
    out[readable] = emissions.pairs(inputs, seen)[places]
    out[real & (repeated < 0)] = 0.0
    return out


def _posterior(states: Ids, scores: Floats, model: Bigrams) -> Ids:
    """The likeliest input at each place of one line, (t,); -1 where only ⊥ is open."""
    end = model.n + 1
    used = (states >= 0).any(axis=0)
    states, scores = states[:, used], scores[:, used]
    ids = np.maximum(states, 0)
    m, s = states.shape
    steps = np.exp(model.log(ids[:-1, :, None], ids[1:, None, :]))
    emitted = np.exp(scores - scores.max(axis=1, keepdims=True))
    forward = np.empty((m, s))
    forward[0] = emitted[0] * np.exp(model.log(np.array(end), ids[0]))
    forward[0] /= forward[0].sum()
    for at in range(1, m):
        forward[at] = (forward[at - 1] @ steps[at - 1]) * emitted[at]
        forward[at] /= forward[at].sum()
    behind = np.exp(model.log(ids[-1], np.array(end)))
    posterior = np.empty((m, s))
    for at in range(m - 1, -1, -1):
        posterior[at] = forward[at] * behind
        if at:
            behind = steps[at - 1] @ (emitted[at] * behind)
            behind /= behind.max()
    posterior[(states < 0) | (states == model.n)] = -1.0
    chosen = np.argmax(posterior, axis=1)
    rows = np.arange(m)
    return np.where(posterior[rows, chosen] >= 0, states[rows, chosen], -1)
