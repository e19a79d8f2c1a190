"""Leave slurs out of a vocabulary and write the public classes of its words.

    python vocab/classes.py     # seconds; then python vocab/respond.py

Writes classes.tsv, and words.tsv and vectors.npy without the words of slurs.txt.  If rows go, the
tables go too: they hold row numbers.  A build does this as its last step.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.classes import classes_of, read_slurs  # noqa: E402
from recipe.package import drop_words, read_spellings, write_classes  # noqa: E402


def classify(folder: Path) -> dict[str, str]:
    """Drop the slurs of a vocabulary, write its classes, and return them."""
    drop_words(folder, read_slurs(_HERE))
    classes = classes_of(_HERE, read_spellings(folder))
    write_classes(folder, classes)
    return classes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=_HERE / "en", help="of the vocabulary")
    classes = classify(parser.parse_args(arguments).folder)
    for name in sorted(set(classes.values())):
        print(f"{name}: {sum(each == name for each in classes.values())} words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
