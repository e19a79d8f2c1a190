r"""Measure which annotated spans the classes of ``--class`` cover.

    python vocab/recall.py ../shared/data/eval/pii/presidio_synth_dataset_v2.json \
        --news ../shared/data/eval/ag_news/test.csv
    python vocab/recall.py --names names.txt
    python vocab/recall.py --mentions 8

A span is covered if all of its words and strings have a group with ``rewrite -e X --class
sensitive``, or are unknown: which of them stood there is then hidden completely.  For names, one a
line, it prints the share that is covered but for titles.  For mentions, it prints the share of
words that are read back from independent draws at an epsilon.  ``tests/finders.py`` measures what
``--only`` finds.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parent))  # dpsan of this source tree

import numpy as np  # noqa: E402

from dpsan import Sanitizer  # noqa: E402
from dpsan.privacy.randomness import seeded_key, streams_for  # noqa: E402

_TITLES = frozenset(re.findall(r"\w+", "mr mrs ms miss dr jr sr ii iii iv v md phd dds dvm"))


def spans(documents: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield type and text of each span, of Presidio's layout or of TAB's."""
    for each in documents:
        if "spans" in each:
            yield from ((span["entity_type"], span["entity_value"]) for span in each["spans"])
            continue
        annotator = next(iter(each["annotations"].values()))
        for mention in annotator["entity_mentions"]:
            yield mention["entity_type"], mention["span_text"]


def mentions(epsilon: float, words: int = 2000) -> Iterator[tuple[str, list[float]]]:
    """Yield what kind of words, and which share of them is read back from 1, 10 and 30 draws.

    Words come by public frequencies, and the attacker guesses the likeliest one: these frequencies
    times the exact probability of all draws.
    """
    sanitizer = Sanitizer(epsilon=epsilon, classes="sensitive")
    sampler, space, grouping = sanitizer.sampler, sanitizer.space, sanitizer.grouping
    assert grouping is not None
    outputs = np.flatnonzero(sampler.probabilities(np.array([space.n]))[0])
    logs = np.empty((len(outputs), space.n), dtype=np.float32)
    for first in range(0, space.n, 512):
        rows = np.arange(first, min(first + 512, space.n))
        logs[:, rows] = np.log(sampler.probabilities(rows)[:, outputs]).T
    prior, key = np.log(space.frequencies), seeded_key("mentions")
    random = np.random.default_rng(0)
    in_groups = np.isin(np.arange(space.n), [row for group in grouping.rows for row in group.rows])
    for kind, among in ("of no class", ~in_groups), ("of a class", in_groups):
        shares = np.where(among, space.frequencies, 0.0)
        inputs = random.choice(space.n, words, p=shares / shares.sum())
        right = np.zeros(3)
        for at, word in enumerate(inputs.tolist()):
            drawn = sampler.sample(np.full(30, word), streams_for(key, [at], [30]))
            told = logs[np.searchsorted(outputs, drawn)]
            right += [(prior + told[:many].sum(axis=0)).argmax() == word for many in (1, 10, 30)]
        yield kind, (right / words).tolist()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="JSON", help="annotated documents")
    parser.add_argument("--news", type=Path, metavar="CSV", help="text in the third column")
    parser.add_argument("--names", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--mentions", type=float, metavar="EPSILON")
    options = parser.parse_args(arguments)
    if options.mentions is not None:
        for kind, shares in mentions(options.mentions):
            print(f"words {kind}, read back from 1, 10 and 30 draws: {np.round(shares, 3)}")
    sanitizer = Sanitizer(epsilon=8, classes="sensitive")
    grouping, n = sanitizer.grouping, sanitizer.space.n
    assert grouping is not None
    names = ("unknown words", *(name or "of no class" for name in grouping.classes))
    kinds = grouping.kinds(n) + 1
    kinds[n] = 0

    def kinds_of(text: str) -> list[tuple[str, str]]:
        return [(word, names[kinds[code]]) for word, code in sanitizer.inputs_of(text)]

    for path in options.files:
        every, covered = Counter[str](), Counter[str]()
        for kind, text in spans(json.loads(path.read_text(encoding="utf-8"))):
            every[kind] += 1
            covered[kind] += all(found != "of no class" for _, found in kinds_of(text))
        print(path.name)
        for kind in sorted(every):
            print(f"  {kind:<20} {covered[kind] / every[kind]:.3f} of {every[kind]:,}")
    if options.news is not None:
        with options.news.open(encoding="utf-8", newline="") as file:
            texts = [row[2] for row in csv.reader(file)]
        words = [pair for text in texts for pair in kinds_of(text) if pair[0].isalpha()]
        drawn = Counter(kind for word, kind in words if word == word.lower())
        print(f"lower-case words of {options.news.name} by class, of {drawn.total():,}")
        for name, count in drawn.most_common():
            print(f"  {name:<20} {count / drawn.total():.4f}")
    for path in options.names:
        found = [kinds_of(line) for line in path.read_text("utf-8").splitlines()]
        whole = [
            all(kind != "of no class" or word.lower() in _TITLES for word, kind in name)
            for name in found
            if name
        ]
        print(f"{path.name}, {len(whole):,} names: covered whole {sum(whole) / len(whole):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
