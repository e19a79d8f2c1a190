"""Words of a text counted in its sanitized version, by groups: how often that is right.

python docs/studies/estimate.py FILE... -k text --by label -e 8,6,4 --list oil=oil,crude
python docs/studies/estimate.py ag_news/test.csv -k 2 -k 3 --no-header --by 1 -e 8

Lists are the 1, 5, 20 and 60 nearest words of random words of the text.  Their true counts decide
which lists are judged: at least 20 occurrences, and rates in two groups that differ 2 times.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import read_labels
from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.errors import DpsanError
from dpsan.formats.base import ReadOptions
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids, unit_rows

SIZES: Final = (1, 5, 20, 60)
LISTS: Final = 80
"""Lists of each size."""
RARE: Final = 20
"""Occurrences below which a list is not judged."""
COMMON: Final = 100
"""Words of the vocabulary that no list begins with."""


def main(given: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("-k", "--field", action="append", required=True)
    parser.add_argument("--by", help="field with the group of a record (default: its file)")
    parser.add_argument("--no-header", action="store_true")
    parser.add_argument("-e", "--epsilon", default="8", help="LDP epsilons (8)")
    parser.add_argument("--list", action="append", default=[], metavar="NAME=WORD,WORD")
    parser.add_argument("--seeds", type=int, default=1, help="runs that are judged together (1)")
    asked = parser.parse_args(given)
    try:
        texts, labels = read(asked)
        for epsilon in map(float, asked.epsilon.split(",")):
            counting(epsilon, texts, labels, asked)
    except DpsanError as error:
        print(f"estimate.py: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def read(asked: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return texts, and the group of each."""
    texts: list[str] = []
    labels: list[str] = []
    options = ReadOptions(fields=tuple(asked.field), header=not asked.no_header, force_text=True)
    inputs = Inputs("auto", options)
    for path in asked.texts:
        held = [" ".join(each.texts) for each in records(path, inputs)]
        texts += held
        labels += (
            [path.name] * len(held)
            if asked.by is None
            else read_labels(path, asked.by, inputs, "--by")
        )
    return texts, labels


def occurrences(sanitizer: Sanitizer, texts: Sequence[str], labels: Sequence[str]) -> Floats:
    """Return how often each word occurs in each group, shape (groups, n + 1)."""
    vocabulary = Vocabulary(sanitizer.embeddings, sanitizer.spec.tokenizer)
    out = np.zeros((len(set(labels)), vocabulary.n + 1))
    groups = np.unique(labels, return_inverse=True)[1]
    for text, group in zip(texts, groups, strict=True):
        np.add.at(out[group], vocabulary.inputs(text)[1], 1)
    return out


def lists_near(sanitizer: Sanitizer, words: Ids, seed: int) -> list[Ids]:
    """Return the nearest words of random words, for each size."""
    units = unit_rows(sanitizer.space.vectors)
    chosen = np.random.default_rng(seed).choice(words, (len(SIZES), LISTS))
    return [
        np.argsort(-(units @ units[word]), kind="stable")[:size]
        for size, row in zip(SIZES, chosen, strict=True)
        for word in row
    ]


def log_ratios(counts: Floats, lists: Sequence[Ids]) -> Iterator[tuple[float, float]]:
    """Yield log ratio and occurrences of each list in each pair of groups; 5 are added to both."""
    sizes = counts.sum(axis=1)
    for words in lists:
        held = counts[:, words].sum(axis=1)
        rates = np.log((held + 10 * sizes / sizes.sum()) / sizes)
        for a, b in itertools.combinations(range(len(counts)), 2):
            yield rates[a] - rates[b], held[a] + held[b]


def counting(
    epsilon: float, texts: Sequence[str], labels: Sequence[str], asked: argparse.Namespace
) -> None:
    """Print how often counting words of the output says which group has more of a list."""
    right = np.zeros(0, dtype=bool)
    for seed in range(1, asked.seeds + 1):
        sanitizer = Sanitizer(epsilon=epsilon, seed=seed)
        true = occurrences(sanitizer, texts, labels)
        written = occurrences(sanitizer, sanitizer.rewrite(texts), labels)
        frequent = np.flatnonzero(true.sum(axis=0)[:-1] >= RARE)
        lists = lists_near(sanitizer, frequent[frequent >= COMMON], seed)
        pairs = np.array([*log_ratios(true, lists)])
        counted = np.array([*log_ratios(written, lists)])[:, 0]
        clear = (abs(pairs[:, 0]) >= np.log(2)) & (pairs[:, 1] >= RARE)
        right = np.append(right, np.sign(counted[clear]) == np.sign(pairs[clear, 0]))
        for name, _, words in (each.partition("=") for each in asked.list if seed == 1):
            rows = [sanitizer.embeddings.key_to_index[word] for word in words.split(",")]
            for group, *values in zip(sorted(set(labels)), true, written, strict=True):
                held = [int(each[rows].sum()) for each in values]
                print(f"epsilon {epsilon:g}: {name} in {group}: {held[0]} true, {held[1]} counted")
    print(f"epsilon {epsilon:g}: counting is right in {right.mean():.2f} of {len(right)} pairs")


if __name__ == "__main__":
    sys.exit(main())
