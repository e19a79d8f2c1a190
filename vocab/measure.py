"""Measure a vocabulary: similarity, hubs, text classification, kinds of neighbours.

python vocab/measure.py                      # vocab/en; prints, writes vocab/quality.json
python vocab/measure.py --dir /tmp/v --json /tmp/v.json --neighbours /tmp/v.txt
python vocab/measure.py bias                 # only: do names of groups become harmful words?
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.bias import control_nouns, shares  # noqa: E402
from recipe.kinds import SHOWN, kind_predicates  # noqa: E402
from recipe.package import read_package  # noqa: E402
from recipe.quality import (  # noqa: E402
    classification,
    hubs,
    kinds_of_neighbours,
    nearest,
    read_ag_news,
    read_sst2,
    similarity,
)

from dpsan.embeddings.loading import load_bundled  # noqa: E402
from dpsan.mechanisms.optimal_response import OptimalResponse  # noqa: E402
from dpsan.mechanisms.randomized_response import KnnResponse  # noqa: E402
from dpsan.space.metric_space import MetricSpace  # noqa: E402

_MOST = 2.0
"""A term may become a harmful word so many times as often as its controls."""
_DATA = _HERE.parent.parent / "shared" / "data"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure a vocabulary that build.py wrote.")
    add = parser.add_argument
    add("part", nargs="?", choices=["bias"], help="measure and print this alone, write nothing")
    add("--dir", type=Path, default=_HERE / "en", help="the vocabulary (default: vocab/en)")
    add("--data", type=Path, default=_DATA, help="folder with similarity/ and eval/")
    add("--json", type=Path, help="figures (default: vocab/quality.json for vocab/en)")
    add(
        "--neighbours",
        type=Path,
        help="ten nearest words of 200 words (default: vocab/neighbours.txt for vocab/en)",
    )
    add("--epsilon", type=float, default=8.0, help="of knn-response (default: 8)")
    add("--nearest", type=int, default=20, help="K of knn-response (default: 20)")
    add("--seeds", type=int, default=5, help="sanitized training sets (default: 5)")
    add("--intrinsic", action="store_true", help="leave text classification out")
    options = parser.parse_args(arguments)
    if options.part is None and options.dir == _HERE / "en":
        options.json = options.json or _HERE / "quality.json"
        options.neighbours = options.neighbours or _HERE / "neighbours.txt"
    return options


def neighbours_table(words: list[str], near: np.ndarray) -> str:
    """The ten nearest words of each word shown, by kind."""
    ids = {word: at for at, word in enumerate(words)}
    lines = []
    for kind, shown in SHOWN.items():
        lines.append(f"# {kind}")
        for word in shown.split():
            if word in ids:
                lines.append(f"{word}: " + " ".join(words[at] for at in near[ids[word], :10]))
            else:
                lines.append(f"{word}: (not in the vocabulary)")
        lines.append("")
    return "\n".join(lines)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All figures; writes the neighbours if asked to."""
    words, _, vectors = read_package(options.dir)
    ids = {word: at for at, word in enumerate(words)}
    near = nearest(vectors, 20)
    worst = hubs(words, near)
    listed = {kind: shown.split() for kind, shown in SHOWN.items()}
    judges = kind_predicates(_HERE / "kinds")
    figures: dict[str, Any] = {
        "words": len(words),
        "similarity": similarity(ids, vectors, options.data / "similarity"),
        "hubs": dict(worst),
        "same kind among the ten nearest": kinds_of_neighbours(words, near, listed, judges),
        # Monday has but six others.
        "same kind among the six nearest": kinds_of_neighbours(words, near, listed, judges, 6),
    }
    if not options.intrinsic:
        texts = {
            "AG News": read_ag_news(options.data / "eval" / "ag_news"),
            "SST-2": read_sst2(options.data / "eval" / "sst2", 20_000, np.random.default_rng(0)),
        }
        table = near if options.nearest == 21 else nearest(vectors, options.nearest - 1)
        for name, text in texts.items():
            figures[name] = classification(
                text, ids, vectors, table, options.epsilon, range(options.seeds)
            )
    if options.neighbours:
        options.neighbours.write_text(neighbours_table(words, near), encoding="utf-8")
    return figures


def print_bias(folder: Path) -> bool:
    """Print the shares of harmful outputs, and return whether all are below twice the controls."""
    embeddings = load_bundled(folder=folder)
    space, nouns = MetricSpace(embeddings), control_nouns(_HERE / "kinds")
    good = True
    for kind, epsilon in product((OptimalResponse, KnnResponse), (6.0, 8.0, 10.0)):
        found = shares(embeddings, kind(epsilon).prepare(space), nouns)
        print(f"\n{kind.name}, epsilon {epsilon:g}")
        print(f"{'harmful share of':18}{'outputs':>8}{'control':>8}{'sentences':>10}{'control':>8}")
        for each in found:
            print(
                f"{each.term:18}{each.own:8.4f}{each.control:8.4f}"
                f"{each.sentences:10.4f}{each.control_sentences:8.4f}"
            )
        worst = max(found, key=lambda each: each.ratio)
        print(f"largest ratio to the controls: {worst.ratio:.2f} ({worst.term})")
        good = good and worst.ratio <= _MOST
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    options = parse(arguments)
    if options.part == "bias":
        return 0 if print_bias(options.dir) else 1
    text = json.dumps(measure(options), indent=2, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
