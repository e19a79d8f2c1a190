"""What --fluent changes: words drawn, and words written, on a text of one's own, as JSON.

python docs/studies/fluent.py letters.txt -e 8,10,12
python docs/studies/fluent.py tickets.csv -k "Ticket Description" --judge other.txt

The judge of perplexity is the model of the vocabulary, or one of other public text (--judge).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "vocab"))

from perplexity import perplexity
from recipe.kneser_ney import model_of

from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.words import Embeddings, no_progress
from dpsan.errors import DpsanError
from dpsan.formats.base import ReadOptions
from dpsan.outcomes.ngrams import Ngrams, gap_kinds, model_for
from dpsan.privacy.randomness import derive_key, seeded_key
from dpsan.sanitize.result import AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_CONTENT: Final = 100
"""Rank, by public counts, from which on words count as content words."""


def main(given: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("-e", "--epsilon", default="8,10,12", help="LDP epsilons (8,10,12)")
    parser.add_argument("-k", "--field", help="of a container")
    parser.add_argument("--no-header", action="store_true")
    parser.add_argument("--max-records", type=int, default=300, help="of each file (300)")
    parser.add_argument("--class", dest="classes", help="CLASS,...: groups as inputs")
    parser.add_argument("--judge", type=Path, nargs="+", default=(), help="other public text")
    parser.add_argument("--draws", type=int, default=3, help="runs whose mean is taken (3)")
    parser.add_argument("--seed", default="fluent", help="of the draws")
    asked = parser.parse_args(given)
    try:
        print(json.dumps([row for path in asked.texts for row in measured(path, asked)]))
    except DpsanError as error:
        print(f"fluent.py: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def model_for_judge(public: Sequence[Path], words: Embeddings) -> Ngrams | None:
    """Return the model of public text, or of the bundled vocabulary."""
    if public:
        return model_of(public, words, "unicode", no_progress)
    model, _ = model_for(words) or (None, "")
    return model


def texts_of(path: Path, asked: argparse.Namespace) -> list[str]:
    """Return the texts of a file."""
    fields = () if asked.field is None else (asked.field,)
    options = ReadOptions(fields=fields, header=not asked.no_header)
    found = islice(records(path, Inputs("auto", options)), asked.max_records)
    return [text for record in found for text in record.texts]


def sanitizers(epsilon: float, asked: argparse.Namespace) -> tuple[Sanitizer, Sanitizer]:
    """Return the sanitizer without and with decoding."""
    given: dict[str, Any] = {"epsilon": epsilon, "classes": asked.classes}
    return Sanitizer(**given), Sanitizer(**given, fluent=True)


def measured(path: Path, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each epsilon."""
    texts = texts_of(path, asked)
    rows = []
    judge: Ngrams | None = None
    for epsilon in map(float, asked.epsilon.split(",")):
        plain, fluent = sanitizers(epsilon, asked)
        words = Vocabulary(plain.embeddings, "unicode")
        if judge is None:
            judge = model_for_judge(asked.judge, plain.embeddings)
        sums: Counter[str] = Counter()
        fluent.warm_up()
        for run in range(asked.draws):
            key = derive_key(seeded_key(asked.seed), path.name, run)
            drawn = plain.sanitize(texts, key, audit=True)
            started = time.perf_counter()
            fluent.sanitize(texts, key)
            seconds = time.perf_counter() - started
            written = fluent.sanitize(texts, key, audit=True)
            assert drawn.records is not None  # noqa: S101 - requested
            assert written.records is not None  # noqa: S101 - requested
            found = kept(drawn.records, written.records, plain)
            found["words_per_second"] = len(written.records) / seconds
            if judge is not None:
                of = judged(texts, words, judge)
                found["perplexity"] = judged(drawn.lines, words, judge) / of
                found["perplexity_fluent"] = judged(written.lines, words, judge) / of
            sums.update(found)
        means = {name: value / asked.draws for name, value in sums.items()}
        rows.append({"text": path.name, "epsilon": epsilon, **means})
    return rows


def kept(drawn: AuditTable, written: AuditTable, plain: Sanitizer) -> dict[str, float]:
    """Return mean cosines and shares of unchanged words, without and with decoding."""
    index, n = plain.embeddings.key_to_index, plain.space.n
    both = [
        np.array([index.get(folded(word), n) for word in table.outputs])
        for table in (drawn, written)
    ]
    known = (drawn.input_ids >= 0) & (drawn.input_ids < n) & (drawn.output_ids >= 0)
    known &= (both[0] < n) & (both[1] < n)
    inputs = drawn.input_ids[known]
    vectors = plain.space.vectors / np.linalg.norm(plain.space.vectors, axis=1, keepdims=True)
    content = inputs >= _CONTENT
    out: dict[str, float] = {"words": len(drawn)}
    for name, ids in zip(("", "_fluent"), both, strict=True):
        cosine = np.einsum("md,md->m", vectors[inputs], vectors[ids[known]])
        out[f"cosine{name}"] = float(cosine.mean())
        out[f"content{name}"] = float(cosine[content].mean())
        out[f"unchanged{name}"] = float((ids[known] == inputs).mean())
    return out


def judged(texts: Sequence[str], words: Vocabulary, judge: Ngrams) -> float:
    """Return the perplexity of texts."""
    batch = words.lookup.batch(texts)
    return perplexity(batch.codes, gap_kinds(batch), judge) or float("nan")


if __name__ == "__main__":
    sys.exit(main())
