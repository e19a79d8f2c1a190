r"""Measure which annotated spans the classes of vocab/classes cover.

    python vocab/recall.py ../shared/data/eval/pii/presidio_synth_dataset_v2.json \
        --news ../shared/data/eval/ag_news/test.csv

A span is covered if ``rewrite --only sensitive`` draws all of its words and strings.  For each
class it also prints how many words an attacker names who knows the class, the distribution and the
public word frequencies: from the output, and without it.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parent))  # dpsan of this source tree

import numpy as np  # noqa: E402

from dpsan import Sanitizer  # noqa: E402
from dpsan.mechanisms.optimal.class_response import ClassSampler  # noqa: E402


def spans(documents: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield type and text of each span, of Presidio's layout or of TAB's."""
    for each in documents:
        if "spans" in each:
            yield from ((span["entity_type"], span["entity_value"]) for span in each["spans"])
            continue
        annotator = next(iter(each["annotations"].values()))
        for mention in annotator["entity_mentions"]:
            yield mention["entity_type"], mention["span_text"]


def read_back(sanitizer: Sanitizer) -> Iterator[tuple[str, float, float, float]]:
    """Yield class, share unchanged, and share of words read back with and without the output."""
    sampler, frequencies = sanitizer.sampler, sanitizer.space.frequencies
    assert isinstance(sampler, ClassSampler)
    sums: dict[str, list[float]] = {}
    for each in sampler.parts:
        rows = np.array(each.rows)
        joint = frequencies[rows][:, None] * sampler.probabilities(rows)[:, list(each.outputs)]
        own = float(frequencies[rows] @ sampler.unchanged(rows))
        shares = [frequencies[rows].sum(), own, joint.max(axis=0).sum(), frequencies[rows].max()]
        sums[each.name] = [
            a + b for a, b in zip(sums.get(each.name, [0.0] * 4), shares, strict=True)
        ]
    for name, (total, own, seen, blind) in sums.items():
        yield name, own / total, seen / total, blind / total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="JSON", help="annotated documents")
    parser.add_argument("--news", type=Path, metavar="CSV", help="text in the third column")
    parser.add_argument("-e", "--epsilon", type=float, default=2.0, metavar="X")
    options = parser.parse_args(arguments)
    sanitizer = Sanitizer(epsilon=options.epsilon, only="sensitive")
    print(f"epsilon {options.epsilon:g}: unchanged, read back from the output, without it")
    for name, own, seen, blind in read_back(sanitizer):
        print(f"  {name:<20} {own:.3f} {seen:.3f} {blind:.3f}")
    for path in options.files:
        every, covered = Counter[str](), Counter[str]()
        for kind, text in spans(json.loads(path.read_text(encoding="utf-8"))):
            every[kind] += 1
            covered[kind] += all(code >= 0 for _, code in sanitizer.inputs_of(text))
        print(path.name)
        for kind in sorted(every):
            print(f"  {kind:<20} {covered[kind] / every[kind]:.3f} of {every[kind]:,}")
    if options.news is not None:
        drawn, words = Counter[str](), 0
        codes = sanitizer.class_codes
        assert codes is not None
        with options.news.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for word, code in sanitizer.inputs_of(row[2]):
                    if word.isalpha() and word == word.lower():
                        words += 1
                        if 0 <= code < sanitizer.space.n:
                            drawn[codes.kinds[int(codes.kind[code])][0]] += 1
        print(f"lower-case words of {options.news.name} that are drawn, of {words:,}")
        for name, count in drawn.most_common():
            print(f"  {name:<20} {count / words:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
