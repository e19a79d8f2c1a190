"""Find the author of a sanitized text, with other texts of all candidate authors.

The attacker has clean texts of every author.  He sanitizes them himself, several times, as he knows
the mechanism, and learns from those copies what an author's texts look like afterwards: the
classifier of :mod:`dpsan.analysis.evaluate.accuracy`, with authors for labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import Labelled, judge
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.errors import UsageError
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import silent
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.text_likelihood import Texts, sanitized
from dpsan.privacy import randomness

_EVERY: Final = 5
"""Attribute every fifth text of an author, or the last one if there are fewer."""
_COPIES: Final = 3
"""Number of times that the attacker sanitizes each text."""


@dataclass(frozen=True)
class Authors:
    """Shares of texts whose author was found."""

    shares: dict[str, Share]
    """Share of each attacker."""
    authors: int
    known: int
    """Texts from which authors are learnt."""
    left_out: int
    """Texts of authors without another one."""

    @property
    def chance(self) -> float:
        """Return the probability of guessing an author at random."""
        return 1 / self.authors

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        readers = {name: share.as_json() for name, share in self.shares.items()}
        sizes = {"authors": self.authors, "known": self.known, "left_out": self.left_out}
        return {"chance": self.chance, "readers": readers, **sizes}


def attribution(
    pairs: Pairs, names: Sequence[str], sampler: Sampler, words: Sequence[str], seed: str
) -> Authors:
    """Find the authors of sanitized texts.

    Args:
        pairs: originals and sanitized texts; one text a record.

    Raises:
        UsageError: fewer than two authors with two texts.
        ExtraMissingError: scikit-learn is not installed.
    """
    held = Counter(names)
    met: Counter[str] = Counter()
    train: list[int] = []
    test: list[int] = []
    for at, name in enumerate(names):
        met[name] += 1
        last = held[name] < _EVERY and met[name] == held[name]
        if held[name] > 1:
            (test if last or met[name] % _EVERY == 0 else train).append(at)
    if len({names[at] for at in train}) < 2:
        raise UsageError("--authors needs two authors with at least two texts each")
    sizes = np.bincount(pairs.text, minlength=len(names))
    texts = Texts(pairs.inputs, np.append(0, np.cumsum(sizes))).of(np.array(train))
    key = randomness.seeded_key(f"dpsan authors {seed}")
    own = []
    for copy in range(_COPIES):
        ids = sanitized(sampler, texts, randomness.derive_key(key, copy), silent)
        parts = np.split(ids, texts.starts[1:-1])
        own += [" ".join(words[row] for row in part.tolist()) for part in parts]
    every = Labelled(pairs.original, pairs.sanitized, list(names))
    known = every.of(train)
    learnt = Labelled([*known.clean] * _COPIES, own, [*known.labels] * _COPIES)
    found = judge(learnt, every.of(test))
    return Authors(
        {
            "always the author of most texts": found.majority,
            "original texts": found.pairs["clean", "clean"],
            "sanitized, learnt from clean texts": found.pairs["clean", "sanitized"],
            "sanitized, learnt from own copies": found.pairs["sanitized", "sanitized"],
        },
        len(set(known.labels)),
        len(train),
        len(names) - len(train) - len(test),
    )
