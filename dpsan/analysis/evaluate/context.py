"""The attack by context: what a reader with a language model concludes from all outputs of a text.

The guess for a word is the likeliest input given all outputs of its unit (forward-backward: no
other rule makes more words right under this model).  At each position only some inputs are
considered: those that explain the output best, and those that public text often has beside the
likeliest words to the left and right; ⊥ is one of them that is never guessed.

A model of little text is too sure of itself, so it is read with its probabilities to the power tau,
for every tau in :data:`TAUS`; and with and without what the other words of a unit are about
(coherence.py), which noise hides at a small epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from dpsan.outcomes.emissions import Emissions, Likeliest, Observations
from dpsan.outcomes.language import Gap
from dpsan.outcomes.language.decoding import Coherence
from dpsan.outcomes.language.lattice import Candidates, parts, posteriors, unit_ends
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.space.arrays import Floats32, Ids, unit_rows

BEST: Final = 50
"""Inputs that explain an output best."""
BESIDE: Final = 25
"""Inputs from the public text, for each side."""
KNOWN: Final = 100
"""The same where the words beside are known."""
TAUS: Final = (1.0, 0.75, 0.5)
"""Powers of the model's probabilities that are tried."""
_NEAR: Final = (5.0, 0.0)
"""Weights of coherence that are tried with each power."""
_SECOND: Final = 12
"""Inputs of each position that are compared by trigrams."""
_WORDS: Final = 20_000
"""Words whose candidates are held at once."""
_LOW: Final = np.float32(-1e30)


Guesses = Mapping[tuple[float, float], Ids]
"""Guesses for m words by each power and weight of coherence."""


@dataclass
class Reader:
    """Reads a text whose outputs are known.

    Args:
        kinds: of the gaps before each word and after the last, shape (m + 1,).
        seen: the outputs of m words.
        candidates: of all observations, at least :data:`BEST` each (or all words).
    """

    kinds: Ids
    seen: Observations
    emissions: Emissions
    candidates: Likeliest
    model: Ngrams

    def __post_init__(self) -> None:
        self._beside = self.model.neighbours(KNOWN)
        vectors = unit_rows(self.emissions.space.vectors)
        self._coherence = Coherence.of(vectors, self.model, 1.0)

    def context(self) -> Guesses:
        """Return the guesses for m words; -1 for none."""
        outputs = self.seen.of
        likely = np.where(outputs >= 0, self.candidates.inputs[:, 0][outputs], self.model.n)
        return self._read(likely, BESIDE, informed=False)

    def informed(self, inputs: Ids) -> Guesses:
        """Return the guesses of an attacker who knows all other words of the text.

        No attacker who has to guess those words too is right more often, if this model is the
        truth. An attacker with a better model may be.

        Args:
            inputs: the true words, (m,).
        """
        return self._read(inputs, KNOWN, informed=True)

    def _read(self, words: Ids, beside: int, *, informed: bool) -> Guesses:
        """Return the guesses for m words, which stand beside each other or are likely there.

        Args:
            beside: how many inputs of public text are considered for each side.
            informed: the words beside are known.
        """
        guesses = np.full((len(TAUS), len(_NEAR), len(words)), -1, dtype=np.int64)
        for part in parts(unit_ends(self.kinds), _WORDS):
            kinds = self.kinds[part.start : part.stop + 1]
            line = _Line(words[part], kinds, self.model.n)
            considered = self._considered(self.seen.of[part], line, beside)
            states, contexts = considered.states, self._coherence.contexts(words[part], kinds)
            coherence = self._coherence.logs(states, contexts)
            known = line.logs(states, self.model) if informed else np.zeros(0, np.float32)
            for at, weight in enumerate(_NEAR):
                scores = considered.scores + np.float32(weight) * coherence
                if informed:
                    every = [scores + np.float32(tau) * known for tau in TAUS]
                else:
                    read = Candidates(states, scores)
                    every = posteriors(read, kinds, self.model, TAUS, _SECOND)
                for number, q in enumerate(every):
                    guesses[number, at, part] = self._guess(states, q)
        pairs = product(enumerate(TAUS), enumerate(_NEAR))
        return {(tau, weight): guesses[i, j] for (i, tau), (j, weight) in pairs}

    def _considered(self, outputs: Ids, line: _Line, beside: int) -> Candidates:
        """Return the inputs considered at each position: ascending, ⊥ always, -1 fills up.

        Args:
            outputs: observation at each position, negative where nothing is known of the word.
            line: words to the left and right.
            beside: how many inputs of public text are considered for each side.
        """
        shown = outputs >= 0
        best = self.candidates.inputs[outputs][:, :BEST].astype(np.int64)
        after, before = (ids[:, :beside] for ids in self._beside)
        near = (best, after[line.left], before[line.right])
        unknown = np.full((len(outputs), 1), self.model.n)
        states = np.concatenate([*near, unknown], axis=1).astype(np.int64)
        states[~shown, :-1] = -1  # it is left open
        states.sort(axis=1)
        states[:, 1:][states[:, 1:] == states[:, :-1]] = -1
        states.sort(axis=1)
        return Candidates(states, self._emitted(states, outputs))

    def _emitted(self, states: Ids, outputs: Ids) -> Floats32:
        """Ln P(what is seen|state), (m, s)."""
        out = np.full(states.shape, _LOW)
        real = states >= 0
        repeated = np.broadcast_to(outputs[:, None], states.shape)
        readable = real & (repeated >= 0)
        size = self.seen.outputs.shape[1]
        pairs = states[readable] * (size + 1) + repeated[readable]
        keys, indices = np.unique(pairs, return_inverse=True)
        inputs, numbers = np.divmod(keys, size + 1)
        logs = self.emissions.seen(inputs, self.seen.outputs[:, numbers])
        out[readable] = logs[indices].astype(np.float32)
        out[real & (repeated < 0)] = 0.0
        return out

    def _guess(self, states: Ids, likely: Floats32) -> Ids:
        """Return the likeliest word of the vocabulary, -1 where none is considered, (m,)."""
        words = (states >= 0) & (states < self.model.n)
        best = np.where(words, likely, _LOW).argmax(axis=1)
        rows = np.arange(len(best))
        return np.where(words[rows, best], states[rows, best], -1)


class _Line:
    """Words and the gaps that are symbols, in a row.

    Args:
        words: shape (m,).
        kinds: of the gaps before each and after the last, shape (m + 1,).
    """

    def __init__(self, words: Ids, kinds: Ids, n: int) -> None:
        kinds = kinds.copy()
        kinds[[0, -1]] = np.maximum(kinds[[0, -1]], Gap.LINE)
        steps = (kinds > 0).astype(np.int64)
        self.at = np.arange(len(words)) + np.cumsum(steps)[:-1] + 1
        """Index of each word among the symbols."""
        self.symbols = np.full(len(words) + int(steps.sum()) + 3, n + Gap.LINE, dtype=np.int64)
        self.symbols[self.at] = words
        gaps = np.flatnonzero(kinds)
        after = np.append(self.at - 1, self.at[-1] + 1)
        self.symbols[after[gaps]] = n + kinds[gaps]
        self.left, self.right = self.symbols[self.at - 1], self.symbols[self.at + 1]

    def logs(self, states: Ids, model: Ngrams) -> Floats32:
        """Ln of all that a state at each position makes likely beside it, (m, s)."""
        listed = np.maximum(states, 0)
        out = np.zeros(states.shape, dtype=np.float32)
        for step in range(3):
            symbols: Sequence[Ids] = [
                listed if back == step else self.symbols[self.at + step - back][:, None]
                for back in (2, 1, 0)
            ]
            first, second, third = np.broadcast_arrays(*symbols)
            below, _ = model.pairs(second, third)
            out += model.triples(model.pairs(first, second)[1], third, below)
        return out
