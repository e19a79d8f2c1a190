"""The words, their vectors and their public classes, as every loader returns them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

_OFFSET = 2.7
"""Mandelbrot's: the first ranks of a text are less frequent than Zipf's 1/rank says."""


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings:
    """A vocabulary of n words with vectors of d dimensions, in frequency order.

    The names follow gensim's ``KeyedVectors``.
    """

    index_to_key: list[str]
    """The words, all different."""
    vectors: NDArray[np.float32]
    """Shape (n, d), C order, finite, no zero row."""
    source: str
    """The file's name, or ``bundled:en``; for messages."""
    digest: str
    """SHA-256 (hex) of the file's bytes and the options that change what is read from them."""
    counts: NDArray[np.int64] | None = None
    """Public corpus counts, shape (n,), where the file has them; else rank order is all we know."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of the file left out, by reason (duplicate, non-finite, zero, empty, ...)."""
    spellings: list[str] | None = None
    """Usual spelling of each word (Paris), shape (n,); None if unknown."""
    english: bool = False
    """True if the words are known to be English, so that *a* and *an* are articles."""
    classes: NDArray[np.int8] | None = None
    """Public class of each word, shape (n,), where that is known: see :func:`read_classes`."""

    def __repr__(self) -> str:
        return f"<{self.n} words of {self.d} dimensions from {self.source!r}>"

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """Return row number of each word."""
        return dict(zip(self.index_to_key, range(self.n), strict=True))

    @cached_property
    def n(self) -> int:
        """Number of words."""
        return len(self.index_to_key)

    @cached_property
    def d(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    def told(self) -> dict[str, str | int]:
        """Return what an answer says of them: where they are from, and how many."""
        name = Path(self.source).name
        return {"source": name, "digest": self.digest, "words": self.n, "dimensions": self.d}


def word_frequencies(n: int, counts: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Public frequencies of n words, shape (n,); they sum to 1.

    Args:
        counts: corpus counts (n,), where the embedding file has them; otherwise Zipf's law by row
            number, since files list their words by falling frequency.
    """
    weights = 1 / (np.arange(n) + _OFFSET) if counts is None else np.maximum(counts, 1) * 1.0
    return np.asarray(weights / weights.sum())


Progress = Callable[[float], None]
"""Called with the share of a work that is done, 0 ... 1."""
Watch = Callable[[str], AbstractContextManager[Progress]]
"""Shows progress: takes a description, and its body gets a function of the share that is done."""
T = TypeVar("T")


def no_progress(share: float) -> None:
    """Show nothing."""


def unseen(what: str) -> AbstractContextManager[Progress]:
    """Show nothing."""
    return nullcontext(no_progress)


WATCH: Final = ContextVar[Watch]("watch", default=unseen)
"""Shows what is made once for a vocabulary and takes long; a command sets it."""


def shown(what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items of a work, and show the share of them that is done."""
    with WATCH.get()(what) as progress:
        for done, item in enumerate(items, 1):
            yield item
            progress(done / len(items))


# Public classes of words: groups of people, people in general, and words that harm.
#
# In a near set, an output that insults a group, or that says something violent, sexual or bad, must
# not stand for the name of a group.  Near sets are public, and a guarantee holds for any of them,
# so the classes decide which outputs are taken first: see :func:`tiers`.

Classes = NDArray[np.int8]

NEUTRAL: Final = 0
"""No class: most words, and all words of other vocabularies."""
HARM: Final = 1
"""Says something violent, sexual, bad or degrading."""
PERSON: Final = 2
"""Names people and no group: *person*, *citizen*."""
AMBIGUOUS: Final = 3
"""Names a group and often something else: *black*, *old*."""
NAME: Final = 4
"""Names a person: *maria*.  The first group."""
GROUP: Final = 5
"""Names any other group: *muslim*, *woman*.  Each group has a number from here on."""
_NAMED: Final = {"harm": HARM, "person": PERSON, "ambiguous": AMBIGUOUS, "name": NAME}


def read_classes(data: bytes, row_of: Mapping[str, int]) -> Classes:
    """Return the class of each word, shape (n,).

    Args:
        data: lines of word TAB class, in UTF-8; a class that is not named above is a group.
    """
    lines = [line.split("\t") for line in data.decode().removesuffix("\n").split("\n")]
    groups = sorted({name for _, name in lines} - set(_NAMED))
    number = _NAMED | {name: GROUP + at for at, name in enumerate(groups)}
    out = np.zeros(len(row_of), dtype=np.int8)
    for word, name in lines:
        out[row_of[word]] = number[name]
    return out


def tiers(own_class: int, outputs: Classes) -> list[NDArray[np.int64]]:
    """Return the positions of outputs by tier, for words of one class.

    An output of a tier is in a near set only if all outputs of the tiers before it are.

    Args:
        own_class: class of the words.
        outputs: classes of the outputs, shape (k,).
    """
    first: list[tuple[int, ...]] = []
    if own_class >= NAME:
        first = [(own_class,), (PERSON,), (NEUTRAL,)]
    elif own_class in (AMBIGUOUS, HARM):
        first = [(NEUTRAL, PERSON, own_class)]
    chosen = [np.isin(outputs, classes) for classes in first]
    chosen.append(~np.isin(outputs, [number for classes in first for number in classes]))
    return [np.flatnonzero(classes) for classes in chosen if classes.any()]


def in_tiers(
    words: Classes | None, outputs: Classes | None, m: int, k: int
) -> list[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
    """Return the positions of words that share their tiers of outputs, with these tiers.

    Args:
        words: classes of m words; None: nobody has a class.
        outputs: classes of k outputs.
    """
    if words is None or outputs is None:
        return [(np.arange(m), [np.arange(k)])]
    alike = np.where(words == PERSON, NEUTRAL, words)
    return [
        (np.flatnonzero(alike == number), tiers(number, outputs))
        for number in np.bincount(alike).nonzero()[0].tolist()
    ]


def wanted_outputs(classes: Classes, frequent: int) -> NDArray[np.int64]:
    """Return the rows of the words that name a group, and of the names among the frequent words.

    Args:
        frequent: so many words from the first on.
    """
    rare_name = (classes == NAME) & (np.arange(len(classes)) >= frequent)
    return np.flatnonzero((classes >= AMBIGUOUS) & ~rare_name)
