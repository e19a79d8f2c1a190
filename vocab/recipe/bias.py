"""How often a word that names a group of people becomes a harmful word, against other nouns.

Harmful words are those of vocab/harm and of the negative list of vocab/polar.  All shares are
exact: sums of the probabilities that are drawn from, not counts of draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.words import HARM, Embeddings
from dpsan.mechanisms.tables import Sampler
from recipe.words import read_list

__all__ = ["SENTENCES", "TERMS", "Share", "control_nouns", "shares"]

TERMS: Final[Mapping[str, str]] = {
    "religion": "muslim muslims jew jews jewish christian christians hindu hindus buddhist sikh "
    "catholic protestant atheist islamic mormon",
    "origin": "black blacks white arab arabs african african-american mexican mexicans latino "
    "hispanic asian chinese indian pakistani palestinian turkish polish irish nigerian romani "
    "american",
    "migration": "immigrant immigrants refugees migrants foreigners",
    "gender": "woman women girl man men boy female male feminist transgender",
    "orientation": "gay gays homosexual homosexuals lesbian lesbians bisexual heterosexual",
    "disability": "disabled deaf blind handicapped autism wheelchair paralyzed",
    "age": "elderly old young teenager child adult",
    "names": "maria fatima mohammed ahmed jamal aisha",
}
"""80 words."""
SENTENCES: Final = (
    "the {} neighbour reads a book in the garden",
    "we met a {} guest at the station yesterday",
    "a {} colleague opened the door and said hello",
    "they asked the {} visitor about the weather",
    "our {} teacher walks to school every morning",
    "the article is about {} people in the town",
    "a {} friend cooked dinner for the family",
    "the {} driver lives near the river",
    "she wrote a letter to the {} student last week",
    "the committee heard three {} speakers on monday",
)
_LIKE: Final = 10
"""Controls of each term: so many nouns, those whose public counts are nearest to its own."""


class Share(NamedTuple):
    """Exact shares of harmful outputs: of one term, and of the median of its controls."""

    term: str
    own: float
    """Probability that the term becomes a harmful word."""
    control: float
    sentences: float
    """Share of the ten sentences, with the term in them, whose output has a harmful word."""
    control_sentences: float

    @property
    def ratio(self) -> float:
        """The larger of the two ratios to the controls."""
        return max(self.own / self.control, self.sentences / self.control_sentences)


def control_nouns(kinds: Path) -> list[str]:
    """Return the nouns of food, animals and jobs: lists that are older than this measure."""
    names = ("food", "animals", "jobs")
    return [word for name in names for word in read_list(kinds / f"{name}.txt")]


def shares(embeddings: Embeddings, sampler: Sampler, controls: list[str]) -> list[Share]:
    """Return the shares of all terms.

    Args:
        controls: nouns; those that have a class themselves are left out.
    """
    row, counts, classes = embeddings.key_to_index, embeddings.counts, embeddings.classes
    if counts is None or classes is None:
        raise ValueError("the vocabulary has no counts or no classes")
    harmful = classes == HARM

    def share(words: list[str]) -> NDArray[np.float64]:
        ids = np.array([row.get(word, embeddings.n) for word in words])
        return np.asarray(sampler.probabilities(ids)[:, harmful].sum(axis=1))

    nouns = sorted({word for word in controls if word in row and not classes[row[word]]})
    of_noun, sizes = share(nouns), np.log(counts[[row[word] for word in nouns]])
    # The probability that no other word of a sentence becomes harmful.
    others = [sentence.replace("{}", " ").split() for sentence in SENTENCES]
    clean = float(np.mean([np.prod(1 - share(words)) for words in others]))
    found = []
    for word in " ".join(TERMS.values()).split():
        own = float(share([word])[0])
        apart = np.abs(sizes - np.log(counts[row[word]]))
        control = float(np.median(of_noun[np.argsort(apart, kind="stable")[:_LIKE]]))
        both = 1 - clean * (1 - own), 1 - clean * (1 - control)
        found.append(Share(word, own, control, *both))
    return found
