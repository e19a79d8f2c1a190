"""Decode drawn words into a text that reads: words of large expected cosine that fit each other.

The posterior of the inputs comes from the outputs, the language model and what the words of a unit
are about.  At each position a word is worth its expected cosine to the input (minimum Bayes risk),
and each pair of neighbours that is written is worth a little of its ln p by the language model.
The drawn word has a weight beside the posterior, because the model is too sure of itself.  So a
word must be the likelier, the less it resembles the drawn one.

Everything here is a function of outputs and public data, so each word keeps its guarantee
(post-processing, docs/proofs.md 4.9).  No function has an argument for an input.  Nothing here
learns which words were out of vocabulary: ⊥ is one more candidate, with its own likelihood.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes import distributions, text_likelihood
from dpsan.outcomes.lattice import Candidates, best_path, parts, posteriors, unit_ends
from dpsan.outcomes.ngrams import Ngrams
from dpsan.space.arrays import Floats, Floats32, Ids, Ints, Mask, norms
from dpsan.space.metric_space import MetricSpace

# Coherence of a word with the others of its unit, in whatever order they stand.
#
# A word is the likelier, the nearer its vector is to the sum of the others' vectors.  Each vector
# has the mean of running text taken off, and counts by the word's rarity a/(a + p), the weight of
# Arora, Liang and Ma (A Simple but Tough-to-Beat Baseline for Sentence Embeddings, 2017).  They
# take off a principal component instead, and compare sentences; a word beside its sentence is
# dpsan's own use. An n-gram model sees two words to each side; this sees all of them.

_RARE: Final = 0.0015
"""Probability of a word that has half of the weight of the rarest ones."""
_NUMBERS: Final = 1 << 18
"""Numbers of vectors that are gathered at once."""
_SHORTEST: Final = 1e-6
"""Length below which a sum says nothing."""


@dataclass(frozen=True, eq=False)
class Coherence:
    """Vectors of n words, as they are compared."""

    vectors: Floats32
    """Unit vectors, shape (n, d)."""
    rarity: Floats32
    """Weight of each word, shape (n,)."""
    centre: Floats32
    """Mean vector of running text, shape (d,)."""
    weight: float
    """Nats that a cosine of 1 is worth."""

    @classmethod
    def of(cls, vectors: Floats32, model: Ngrams, weight: float) -> "Coherence":
        """Return the vectors of a vocabulary, with the frequencies of a model."""
        shares = np.exp(model.unigrams[: model.n])
        centre = shares @ vectors / shares.sum()
        rarity = _RARE / (_RARE + shares)
        return cls(vectors, rarity.astype(np.float32), centre.astype(np.float32), weight)

    def contexts(self, words: Ids, kinds: Ids) -> Floats32:
        """Return what stands beside each of m words, shape (m, d): vectors of length 1, or 0.

        Args:
            words: rows of the vocabulary, elsewhere a word that says nothing, shape (m,).
            kinds: of the gaps before each word and after the last, shape (m + 1,).
        """
        says = (words >= 0) & (words < len(self.vectors))
        rows = np.where(says, words, 0)
        weights = np.where(says, self.rarity[rows], 0)[:, None]
        weighted = weights * (self.vectors[rows] - self.centre)
        ends = unit_ends(kinds)
        sums = (
            np.add.reduceat(weighted, np.append(0, ends[:-1]), axis=0) if len(words) else weighted
        )
        others = np.repeat(sums, np.diff(ends, prepend=0), axis=0) - weighted
        lengths = np.sqrt(np.einsum("md,md->m", others, others))
        others /= np.maximum(lengths, _SHORTEST)[:, None]
        return np.asarray(others)

    def logs(self, states: Ids, contexts: Floats32) -> Floats32:
        """Return ln of the factor of each word that is considered, shape (m, s); 0 for others.

        Args:
            states: rows of the vocabulary, elsewhere no words, shape (m, s).
            contexts: of each position, shape (m, d).
        """
        words = (states >= 0) & (states < len(self.vectors))
        rows = np.where(words, states, 0)
        out = np.empty(rows.shape, dtype=np.float32)
        step = max(1, _NUMBERS // max(1, rows.shape[1] * self.vectors.shape[1]))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            near = np.matmul(self.vectors[rows[part]], contexts[part, :, None])[:, :, 0]
            out[part] = near - (contexts[part] @ self.centre)[:, None]
        out *= np.float32(self.weight) * self.rarity[rows]
        out[~words] = 0
        return out


SECOND: Final = 8
"""Inputs considered for each output in the second stage."""
_CHOICES: Final = 8
"""Words of largest expected cosine of which one is written."""
_TWICE: Final = 0.3
"""Expected cosine that a word must have more than others to be written twice in a row."""
LEAST_EPSILON: Final = 7.0
"""Below this LDP epsilon outputs say too little, and decoding invents a text."""
_FEW: Final = 9.0
"""LDP epsilon up to which a mechanism has few outputs, and they say little."""
_NO_OUTPUT: Final = 0.15
"""Expected cosine that a word must have more than others if it is none of these few."""
_SHORT: Final = 15
"""Words of a unit in which the drawn word weighs twice as much as in a long one.

A short unit says little about its words."""
_WORDS: Final = 320
"""Words that are decoded at once, about."""
_GATHERED: Final = 64
"""Words whose candidates' vectors are held at once."""
_ROUNDED: Final = 1e-3
"""Difference from length 1 that rounding leaves."""
_NEVER: Final = np.float32(-2)


@dataclass(frozen=True, eq=False)
class Tables:
    """Public tables of a mechanism on a vocabulary."""

    model: Ngrams
    likeliest: Ints
    """Inputs that explain each output best, ⊥ last, shape (q, s); -1 fills up."""
    scores: Floats32
    """ln P(output|input) of those, shape (q, s)."""
    number: Ints
    """Number 0 ... q - 1 of each row that is an output, else -1, shape (n,)."""
    coherence: Coherence
    """Unit vectors of all words, and what words of one unit have to do with each other."""
    costs: Floats32
    """Expected cosine that each word must have more than others to be written, shape (n,)."""
    stays: Mask
    """Words that are written wherever they were drawn, shape (n,)."""
    tau: float
    """Power of the model's probabilities."""
    fit: float
    """Expected cosine that a nat of a written bigram's probability is worth."""
    drawn: float
    """Weight of the drawn word in a long unit; all words of the posterior together weigh 1."""


def tables_for(
    mechanism: Mechanism, space: MetricSpace, model: Ngrams, epsilon: float, stays: Ids
) -> Tables:
    """Return the tables that decode the outputs of a mechanism.

    Up to epsilon 9 the model weighs more, and an output is written sooner than another word; above,
    the drawn word weighs more.  All numbers were chosen on training texts, so that no text loses.

    Args:
        mechanism: resolved.
        epsilon: LDP epsilon of a word.
        stays: rows of words that are written only where they were drawn.

    Raises:
        UsageError: P(u|w) is not known.
    """
    if not distributions.has_distribution(mechanism.prepare(space)):
        unknown = f"{mechanism.name}: its output probabilities are not known"
        hint = "optimal-response, knn-response and other table mechanisms have them"
        raise UsageError(f"fluent output is not for {unknown}", hint)
    likeliest = text_likelihood.likeliest_inputs(mechanism, space)
    outputs = likeliest["outputs"]
    number = np.full(space.n, -1, dtype=np.int32)
    number[outputs] = np.arange(len(outputs))
    few = epsilon <= _FEW
    costs = np.where(few & (number < 0), _NO_OUTPUT, 0.0).astype(np.float32)
    kept = np.zeros(space.n, dtype=np.bool_)
    kept[stays] = True
    vectors, lengths = space.vectors, norms(space.vectors)
    if np.abs(lengths - 1).max() >= _ROUNDED:  # else no copy
        vectors = np.asarray(vectors / np.maximum(lengths, 1e-9)[:, None], dtype=np.float32)
    tau, fit, drawn, near = (1.06, 0.03, 0.07, 5.0) if few else (1.0, 0.01, 0.25, 8.0)
    read = model, likeliest["inputs"], likeliest["scores"], number
    coherence = Coherence.of(vectors, model, near)
    return Tables(*read, coherence, costs, kept, tau, fit, drawn)


def decode(rows: Ids, kinds: Ids, tables: Tables) -> Ids:
    """Return the row that is written for each word, shape (m,).

    Args:
        rows: of the drawn words, shape (m,); where nothing was drawn ``~symbol`` of the word that
            stands there.
        kinds: of the gaps before each word and after the last, shape (m + 1,).
    """
    out = rows.copy()
    sizes = np.diff(unit_ends(kinds), prepend=0)
    weights = np.repeat(tables.drawn * (1 + _SHORT / np.maximum(sizes, 1)), sizes)
    for part in parts(unit_ends(kinds), _WORDS):
        line, between = rows[part], kinds[part.start : part.stop + 1]
        free = np.flatnonzero(_decodable(line, tables))
        q = _read(line, between, tables)[free]
        choices = _choices(line, free, *_expected(line[free], q, weights[part][free], tables))
        chosen = best_path(choices, between, tables.model, tables.fit, _TWICE)
        out[part][free] = choices.states[free, chosen[free]]
    return out


def guesses(rows: Ids, kinds: Ids, tables: Tables) -> Ids:
    """Return the likeliest word for each drawn one, shape (m,).

    This is what an attacker with this language model reads back.  A word that was not drawn is its
    own guess, -1 if it is not in the vocabulary.

    Args:
        rows: see :func:`decode`.
        kinds: see :func:`decode`.
    """
    out = np.where(rows >= 0, rows, ~rows)
    for part in parts(unit_ends(kinds), _WORDS):
        line, between = rows[part], kinds[part.start : part.stop + 1]
        free = np.flatnonzero(_decodable(line, tables))
        states = tables.likeliest[tables.number[line[free]]]
        best = _read(line, between, tables)[free, :-1].argmax(axis=1)  # ⊥, the last, is no word
        out[part.start + free] = states[np.arange(len(free)), best]
    return np.where(out < tables.model.n, out, -1)


def _decodable(rows: Ids, tables: Tables) -> Mask:
    """Return which words may be written otherwise, (m,)."""
    listed = np.maximum(rows, 0)
    return (rows >= 0) & (tables.number[listed] >= 0) & ~tables.stays[listed]


def _read(rows: Ids, kinds: Ids, tables: Tables) -> Floats32:
    """Return q of the likeliest inputs of each drawn word, (m, s)."""
    free = _decodable(rows, tables)
    words = np.where(rows >= 0, rows, ~rows)
    # A word that is written only where it was drawn says little about the others.
    says = np.where(np.append(tables.stays, False)[np.minimum(words, len(tables.stays))], -1, words)
    states = np.full((len(rows), tables.likeliest.shape[1]), -1, dtype=np.int64)
    scores = np.full(states.shape, -1e30, dtype=np.float32)
    states[:, 0], scores[:, 0] = words, 0.0
    number = tables.number[rows[free]]
    states[free], scores[free] = tables.likeliest[number], tables.scores[number]
    contexts = tables.coherence.contexts(says, kinds)
    scores[free] += tables.coherence.logs(states[free], contexts[free])
    return posteriors(Candidates(states, scores), kinds, tables.model, (tables.tau,), SECOND)[0]


def _choices(line: Ids, free: Ids, columns: Ids, values: Floats32) -> Candidates:
    """Return the words of largest expected cosine at each position, and what each is worth.

    Args:
        line: see :func:`decode`, shape (m,).
        free: indices of the words that may be written otherwise.
        columns: what may be written for these; see :func:`_expected`.
        values: expected cosines.
    """
    best = np.argpartition(-values, _CHOICES - 1, axis=1)[:, :_CHOICES]
    states = np.full((len(line), _CHOICES), -1, dtype=np.int64)
    worth = np.full(states.shape, _NEVER, dtype=np.float32)
    states[:, 0], worth[:, 0] = np.where(line >= 0, line, ~line), 0.0
    states[free] = np.take_along_axis(columns, best, axis=1)
    worth[free] = np.take_along_axis(values, best, axis=1)
    states[worth == _NEVER] = -1
    worth[worth == _NEVER] = -1e30
    return Candidates(states, worth)


def _expected(line: Ids, q: Floats32, weights: Floats, tables: Tables) -> tuple[Ids, Floats32]:
    """Return the words that may be written for each drawn one, and their expected cosines.

    Args:
        line: rows of the drawn words, shape (m,).
        q: posterior of the likeliest inputs of each, shape (m, s).
        weights: of each drawn word, beside that posterior, shape (m,).

    Returns:
        The candidates and, last, the drawn word; both of shape (m, s + 1).  What may not be
        written, and the drawn word where it stands among the candidates, is worth _NEVER.
    """
    states = tables.likeliest[tables.number[line]].astype(np.int64)
    words = (states >= 0) & (states < tables.model.n)
    ids = np.concatenate([np.where(words, states, line[:, None]), line[:, None]], axis=1)
    q = np.concatenate([np.where(words, q, 0), weights[:, None]], axis=1, dtype=np.float32)
    values = np.empty(q.shape, dtype=np.float32)
    for start in range(0, len(q), _GATHERED):
        part = slice(start, start + _GATHERED)
        vectors = tables.coherence.vectors[ids[part]]
        mean = np.matmul(q[part, None, :], vectors)
        values[part] = np.matmul(vectors, mean.transpose(0, 2, 1))[:, :, 0]
    others = ids[:, :-1]
    may = words & ~tables.stays[others] & (others != line[:, None])
    values[:, :-1] -= tables.costs[others]
    values[:, :-1][~may] = _NEVER
    return ids, values
