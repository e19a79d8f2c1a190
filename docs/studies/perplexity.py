"""The readability of a sanitized text, as JSON: its perplexity beside that of the original.

python docs/studies/perplexity.py letter.txt safe.txt
python docs/studies/perplexity.py -k body tickets.csv safe.csv

Perplexity is e^(-mean of ln p(word|what is before it)) over all words of all texts, under the
trigram model of the bundled vocabulary.  All words that the vocabulary lacks are one symbol, which
favours the original.  The anchor is the original with the words of each text in random order: what
has the right words and says nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.loading import load
from dpsan.errors import DpsanError
from dpsan.formats.base import ReadOptions
from dpsan.outcomes.ngrams import Gap, Ngrams, gap_kinds, model_for, symbols_of
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids

_SHUFFLED: Final = 20_000
"""Words of the shuffled text at least: a short text is shuffled again and again."""


@dataclass(frozen=True)
class Readability:
    """Perplexities; None of a text without words."""

    original: float | None
    sanitized: float | None
    shuffled: float | None
    """The words of each original text in random order."""
    public_words: int
    """Number of words that the model was trained on."""

    @property
    def verdict(self) -> str | None:
        """Return a warning if the sanitized text has no word order left, else None."""
        if self.sanitized is None or self.shuffled is None or self.sanitized < self.shuffled:
            return None
        return "no more readable than the original's words in random order"

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        values = {"original": self.original, "sanitized": self.sanitized}
        values["original_shuffled"] = self.shuffled
        return {"public_words": self.public_words, "perplexity": values, "verdict": self.verdict}


def readability(
    original: Sequence[str], sanitized: Sequence[str], vocabulary: Vocabulary, model: Ngrams
) -> Readability:
    """Return the perplexities of two versions of a text and of the shuffled original."""
    batch = vocabulary.lookup.batch(original)
    kinds, words = gap_kinds(batch), batch.codes
    text = np.repeat(np.arange(len(batch.sizes)), batch.sizes)
    first = perplexity(words, kinds, model)
    other = vocabulary.lookup.batch(sanitized)
    second = perplexity(other.codes, gap_kinds(other), model)
    again = -(-_SHUFFLED // len(words)) if len(words) else 1
    size = int(text[-1]) + 1 if len(words) else 0
    text = (text + size * np.arange(again)[:, None]).ravel()
    words, kinds = np.tile(words, again), np.append(np.tile(kinds[:-1], again), kinds[-1])
    # A public key: the figure says nothing of the sanitizer, and is the same every time.
    key = randomness.seeded_key("dpsan evaluate readability")
    bits = randomness.streams_for(key, [0], [len(words)]).bits("order")[:, 0]
    shuffled = perplexity(words[np.lexsort((bits, text))], kinds, model)
    return Readability(first, second, shuffled, model.words)


def perplexity(words: Ids, kinds: Ids, model: Ngrams) -> float | None:
    """Return the perplexity of words (m,) with kinds of gaps (m + 1,); None without words."""
    if not len(words):
        return None
    symbols = np.append(model.n + Gap.LINE, symbols_of(words, kinds, model.n))
    below, _ = model.pairs(symbols[1:-1], symbols[2:])
    logs = model.triples(model.pairs(symbols[:-2], symbols[1:-1])[1], symbols[2:], below)
    return math.exp(-float(logs[symbols[2:] <= model.n].mean()))


def main(given: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("original", type=Path, metavar="ORIGINAL")
    parser.add_argument("sanitized", type=Path, metavar="SANITIZED")
    parser.add_argument("-k", "--field", help="of a container")
    parser.add_argument("--no-header", action="store_true")
    asked = parser.parse_args(given)
    fields = () if asked.field is None else (asked.field,)
    inputs = Inputs("auto", ReadOptions(fields=fields, header=not asked.no_header))
    words = load(None)
    model, _ = model_for(words) or (None, "")
    assert model is not None  # noqa: S101 - the bundled vocabulary has one
    try:
        original, sanitized = (
            [text for record in records(path, inputs) for text in record.texts]
            for path in (asked.original, asked.sanitized)
        )
    except DpsanError as error:
        print(f"perplexity.py: {error}", file=sys.stderr)
        return error.exit_status
    print(
        json.dumps(readability(original, sanitized, Vocabulary(words, "unicode"), model).as_json())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
