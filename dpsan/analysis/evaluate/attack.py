"""The attacks on a sanitized text, from reading it to reading it with a model of the language."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.vocabulary import OTHER, Vocabulary, WordKind
from dpsan.formats.span_file import SpanFile
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes import decoding, distributions
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.lattice import Candidates, parts, posteriors, unit_ends
from dpsan.outcomes.ngrams import Gap, Ngrams
from dpsan.space.arrays import Floats32, Ids, Mask, unit_rows
from dpsan.space.metric_space import MetricSpace

_MOST: Final = 20
"""Largest number of outputs of one text for which impossible and unlikely ones are told apart."""
_IMPOSSIBLE: Final = -600.0
"""ln of a likelihood that only an output outside the distribution's support can have."""


@dataclass(frozen=True)
class Attack:
    """One way of reading, and how often it is right."""

    attack: str
    """``verbatim``, ``one-word``, ``context`` or ``informed``."""
    name: str
    right: Mask = field(repr=False)
    """True for each word that was read right, but for letter case, shape (m,)."""
    success: dict[WordKind, Share]


def attacks(
    pairs: Pairs,
    vocabulary: Vocabulary,
    space: MetricSpace,
    mechanism: Mechanism | None,
    model: Ngrams | None,
) -> tuple[tuple[Attack, ...], int]:
    """Attack the output words.

    A guess is right if it is the original word but for case.  An unknown word is never guessed,
    unless it was passed through.  Of the readers of one word, who differ in how frequent they hold
    words to be, the one is given who is right more often.

    Args:
        pairs: outputs to attack, and inputs to compare the guesses with.
        vocabulary: public words and frequencies.
        mechanism: resolved; None makes ``verbatim`` the only attack.
        model: of public text; None leaves out ``context`` and ``informed``.

    Returns:
        All attacks that could be made, and the number of outputs that the mechanism cannot give.
    """
    verbatim = _attack(pairs, "verbatim", "the output itself", pairs.same)
    if mechanism is None:
        return (verbatim,), 0
    # A reader may hold either prior: which one fits the text better is not known beforehand.
    priors = {}
    if model is not None:
        priors["public text"] = model.unigrams[: space.n].astype(np.float64)
    name_of_prior = "vocabulary counts" if vocabulary.counted else "vocabulary ranks"
    priors[name_of_prior] = np.log(vocabulary.frequencies)
    emissions = distributions.Emissions(mechanism, space)
    observed = distributions.Observations.combined((pairs.outputs, *pairs.more))
    if not observed.outputs.shape[1]:
        return (verbatim,), 0
    best = 1 if model is None else BEST
    likeliest = emissions.candidates(observed.outputs, list(priors.values()), best)
    readers = []
    for name, likely in zip(priors, likeliest, strict=True):
        guesses = np.where(observed.of >= 0, likely.guesses()[observed.of], -1)
        right = _right(pairs, vocabulary, guesses)
        readers.append(_attack(pairs, "one-word", f"{emissions.name}; prior: {name}", right))
    made = [verbatim, max(readers, key=lambda likely: int(likely.right.sum()))]
    if model is not None:
        reader = Reader(np.append(pairs.kinds, Gap.LINE), observed, emissions, likeliest[0], model)
        read = reader.context()
        made.append(_stronger(pairs, vocabulary, "context", "whole line", read))
        read = reader.informed(pairs.inputs)
        made.append(_stronger(pairs, vocabulary, "informed", "other words known", read))
    if len(observed.outputs) > _MOST:  # as unlikely as that by themselves
        return tuple(made), 0
    best_scores, first = likeliest[0].scores[:, 0], likeliest[0].inputs[:, 0]
    likelihood = best_scores - next(iter(priors.values()))[first]
    impossible = likelihood[observed.of[observed.of >= 0]] < _IMPOSSIBLE
    return tuple(made), int(impossible.sum())


def _stronger(
    pairs: Pairs, vocabulary: Vocabulary, key: str, beside: str, read: "Guesses"
) -> Attack:
    """Return the attacker with the most correct guesses, of those with each power and weight."""
    made = []
    for (tau, near), guesses in read.items():
        name = "trigrams and coherence" if near else "trigrams of public text"
        name += f", tau {tau:g}" * (tau < 1)
        right = _right(pairs, vocabulary, guesses)
        made.append(_attack(pairs, key, f"{name}; {beside}, with this model", right))
    return max(made, key=lambda attack: int(attack.right.sum()))


def _right(pairs: Pairs, vocabulary: Vocabulary, guesses: Ids) -> Mask:
    right = (guesses >= 0) & (pairs.inputs < vocabulary.n)
    right &= vocabulary.fold[guesses] == vocabulary.fold[np.minimum(pairs.inputs, vocabulary.n)]
    # What is no word of the vocabulary was passed through, and is read as it stands.
    return np.where(pairs.outputs == OTHER, pairs.same, right)


def _attack(pairs: Pairs, key: str, name: str, right: Mask) -> Attack:
    return Attack(key, name, right, {kind: Share.of(right[pairs.of(kind)]) for kind in WordKind})


def strongest(made: Sequence[Attack]) -> Attack:
    """Return the attack that was right most often, of those who know no word of the text."""
    readers = [attack for attack in made if attack.attack != "informed"]
    return max(readers, key=lambda attack: attack.success[WordKind.ALL].value or 0.0)


Recovery = dict[str, Share]
"""Shares of spans that one way of reading read back ``fully``, ``partly``, and not (``none``)."""


@dataclass
class SpanTable:
    """The words of each span that could be judged."""

    kinds: list[str]
    """Type of each span; empty for a span without a type."""
    first: Ids = field(repr=False)
    """First word of each span."""
    after: Ids = field(repr=False)
    """The word after its last one."""
    persons: Ids = field(repr=False)
    """Number of the person whom each span is about; -1 where nobody is named."""
    left_out: int
    """Spans in lines that could not be aligned, and spans without words."""

    def hits(self, right: Mask) -> Ids:
        """Return how many words of each span were read right, of (m,) words."""
        sums = np.concatenate([[0], np.cumsum(right)])
        return np.asarray(sums[self.after] - sums[self.first])


def locate(path: Path, pairs: Pairs) -> SpanTable:
    """Find the words that each span of a file covers: those that overlap it.

    Args:
        path: see :mod:`dpsan.formats.span_file`.
        pairs: the records.

    Raises:
        InputError: it cannot be read, or its spans are not those of these records.
    """
    bounds = np.searchsorted(pairs.text, np.arange(len(pairs.original) + 1))
    rows: list[tuple[str, int, int, int]] = []
    numbers: dict[tuple[int, str], int] = {}
    left_out = 0
    with closing(SpanFile(path)) as file:
        for number, (line, text) in enumerate(zip(pairs.lines, pairs.original, strict=True)):
            a, b = int(bounds[number]), int(bounds[number + 1])
            starts, ends = pairs.spans[a:b, 0], pairs.spans[a:b, 1]
            for span in file.of(line, text):
                low = int(np.searchsorted(ends, span.start, side="right"))
                high = int(np.searchsorted(starts, span.end, side="left"))
                left_out += low >= high
                if low < high:
                    who = number, span.subject
                    person = numbers.setdefault(who, len(numbers)) if who[1] else -1
                    rows.append((span.kind, a + low, a + high, person))
        file.end()
    first, after, persons = np.array([row[1:] for row in rows], np.int64).reshape(-1, 3).T
    return SpanTable([kind for kind, *_ in rows], first, after, persons, left_out)


def recovered(table: SpanTable, right: Mask) -> dict[str, Recovery]:
    """Spans read back fully (every word right), partly or not, by type; ``all`` comes first.

    Args:
        right: whether each word was read right, (m,).
    """
    hits = table.hits(right)
    full = hits == table.after - table.first
    parts = {"fully": full, "partly": (hits > 0) & ~full, "none": hits == 0}
    kinds = np.array(table.kinds, dtype=object)
    every = {"all": np.ones(len(kinds), np.bool_)}
    every |= {kind: kinds == kind for kind in sorted({*kinds} - {""})}
    return {
        kind: {part: Share.of(hit[of]) for part, hit in parts.items()} for kind, of in every.items()
    }


def hidden_persons(table: SpanTable, right: Mask) -> Share:
    """Return the share of persons of whom no word of any span was read right.

    Args:
        right: whether each word was read right, (m,).
    """
    named = table.persons >= 0
    return Share.of(np.bincount(table.persons[named], table.hits(right)[named]) == 0)


# The attack by context: what a reader with a language model concludes from all outputs of a text.
#
# The guess for a word is the likeliest input given all outputs of its unit (forward-backward: no
# other rule makes more words right under this model).  At each position only some inputs are
# considered: those that explain the output best, and those that public text often has beside the
# likeliest words to the left and right; ⊥ is one of them that is never guessed.
#
# A model of little text is too sure of itself, so it is read with its probabilities to the power
# tau, for every tau in :data:`TAUS`; and with and without what the other words of a unit are about
# (``Coherence``), which noise hides at a small epsilon.

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
    seen: distributions.Observations
    emissions: distributions.Emissions
    candidates: distributions.Likeliest
    model: Ngrams

    def __post_init__(self) -> None:
        self._beside = self.model.neighbours(KNOWN)
        vectors = unit_rows(self.emissions.space.vectors)
        self._coherence = decoding.Coherence.of(vectors, self.model, 1.0)

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
            of_words, rows = (states >= 0) & (states < self.model.n), np.arange(len(states))
            for at, weight in enumerate(_NEAR):
                scores = considered.scores + np.float32(weight) * coherence
                if informed:
                    every = [scores + np.float32(tau) * known for tau in TAUS]
                else:
                    read = Candidates(states, scores)
                    every = posteriors(read, kinds, self.model, TAUS, _SECOND)
                for number, q in enumerate(every):
                    best = np.where(of_words, q, _LOW).argmax(axis=1)
                    guesses[number, at, part] = np.where(
                        of_words[rows, best], states[rows, best], -1
                    )
        pairs = product(enumerate(TAUS), enumerate(_NEAR))
        return {(tau, weight): guesses[i, j] for (i, tau), (j, weight) in pairs}

    def _considered(self, outputs: Ids, line: "_Line", beside: int) -> Candidates:
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
