r"""Measure which annotated spans the classes of vocab/classes cover.

    python vocab/recall.py ../shared/data/eval/pii/presidio_synth_dataset_v2.json \
        --news ../shared/data/eval/ag_news/test.csv
    python vocab/recall.py --text chats.txt
    python vocab/recall.py --names names.txt

A span is covered if ``rewrite --only sensitive`` draws all of its words and strings.  For each
class it also prints how many words an attacker names who knows the class, the distribution and the
public word frequencies: from the output, and without it.

For names, one a line, it prints the share of which all words but titles are drawn.

For a text, a record a line, it prints what two levels (2 within a class, 12 between) cost: the
expected cosine of input and output beside that at epsilon 12 without classes, over the running
words of the vocabulary.
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
from dpsan.mechanisms.optimal.class_response import ClassSampler  # noqa: E402

_TITLES = frozenset(re.findall(r"\w+", "mr mrs ms miss dr jr sr ii iii iv v md phd dds dvm"))
_BLOCK = 256
"""Words whose distributions are held at a time."""


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


def levels(lines: Iterable[str]) -> tuple[int, float, float, float]:
    """Return words, expected cosine without classes and with, and words of no class unchanged."""
    one, two = Sanitizer(epsilon=12.0), Sanitizer(epsilon=12.0, classes="sensitive=2")
    codes, vectors, n = two.class_codes, two.space.vectors, two.space.n
    assert codes is not None
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    count = Counter(code for line in lines for _, code in two.inputs_of(line) if 0 <= code < n)
    ids, weights = np.array([*count]), np.array([*count.values()])
    cosines, same = np.zeros((2, len(ids))), np.zeros(len(ids))
    for at in range(0, len(ids), _BLOCK):
        some = ids[at : at + _BLOCK]
        for row, each in enumerate((one, two)):
            pmf = each.sampler.probabilities(some)
            same[at : at + _BLOCK] = pmf[np.arange(len(some)), some]  # of two levels, drawn last
            cosines[row, at : at + _BLOCK] = np.einsum("md,md->m", pmf @ vectors, vectors[some])
    without, inside = np.average(cosines, axis=1, weights=weights)
    plain = np.array([name is None for name, _ in codes.kinds])[codes.kind[ids]]
    stay = np.average(same[plain], weights=weights[plain])
    return int(weights.sum()), float(without), float(inside), float(stay)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="JSON", help="annotated documents")
    parser.add_argument("--news", type=Path, metavar="CSV", help="text in the third column")
    parser.add_argument("--names", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--text", type=Path, action="append", default=[], metavar="FILE")
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
                        if 0 <= code <= sanitizer.space.n:
                            unknown = code == sanitizer.space.n
                            name = None if unknown else codes.kinds[int(codes.kind[code])][0]
                            drawn[name or "unknown words"] += 1
        print(f"lower-case words of {options.news.name} that are drawn, of {words:,}")
        for name, count in drawn.most_common():
            print(f"  {name:<20} {count / words:.4f}")
    for path in options.names:
        names = [sanitizer.inputs_of(line) for line in path.read_text("utf-8").splitlines()]
        whole = [all(c >= 0 or w.lower() in _TITLES for w, c in name) for name in names if name]
        print(f"{path.name}, {len(whole):,} names: drawn whole {sum(whole) / len(whole):.3f}")
    for path in options.text:
        words, without, inside, same = levels(path.read_text(encoding="utf-8").splitlines())
        print(f"{path.name}, {words:,} words: cosine at 12, with classes at 2, lost;")
        print("  share of words of no class that stay")
        print(f"  {without:.3f} {inside:.3f} {without - inside:.3f} {same:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
