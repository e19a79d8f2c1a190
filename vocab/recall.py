r"""Measure which annotated spans the classes of vocab/classes cover.

    python vocab/recall.py ../shared/data/eval/pii/presidio_synth_dataset_v2.json \
        --news ../shared/data/eval/ag_news/test.csv
    python vocab/recall.py --names names.txt

A span is covered if ``rewrite --only sensitive`` draws all of its words and strings.  For names,
one a line, it prints the share of which all words but titles are drawn.
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

from dpsan import Sanitizer  # noqa: E402

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="JSON", help="annotated documents")
    parser.add_argument("--news", type=Path, metavar="CSV", help="text in the third column")
    parser.add_argument("--names", type=Path, action="append", default=[], metavar="FILE")
    options = parser.parse_args(arguments)
    sanitizer = Sanitizer(only="sensitive")
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
        grouping, n = sanitizer.grouping, sanitizer.space.n
        assert grouping is not None
        kinds = grouping.kinds(n)
        with options.news.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for word, code in sanitizer.inputs_of(row[2]):
                    if word.isalpha() and word == word.lower():
                        words += 1
                        if code >= 0:
                            name = None if code == n else grouping.classes[kinds[code]]
                            drawn[name or "unknown words"] += 1
        print(f"lower-case words of {options.news.name} that are drawn, of {words:,}")
        for name, count in drawn.most_common():
            print(f"  {name:<20} {count / words:.4f}")
    for path in options.names:
        names = [sanitizer.inputs_of(line) for line in path.read_text("utf-8").splitlines()]
        whole = [all(c >= 0 or w.lower() in _TITLES for w, c in name) for name in names if name]
        print(f"{path.name}, {len(whole):,} names: drawn whole {sum(whole) / len(whole):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
