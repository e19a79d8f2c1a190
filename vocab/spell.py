"""Learn how the words of a vocabulary are usually written, and put it into words.tsv.

    python vocab/spell.py     # seven minutes on two cores

Vectors, counts and tables stay as they are.
A build does this too; alone it needs no training.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.corpus import SOURCES  # noqa: E402
from recipe.options import parser_of  # noqa: E402
from recipe.package import read_package, write_spellings  # noqa: E402
from recipe.spelling import count_spellings, usual_spellings  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = parser_of(__doc__)
    options = parser.parse_args(arguments)
    if not options.corpus.is_dir():
        parser.error(f"no folder {options.corpus}: give --corpus DIR")
    words, _, _ = read_package(options.folder)
    found = {}
    for source in SOURCES:
        found[source.name] = count_spellings(source, options.corpus, words, options.processes)
        print(f"{source.name}: {found[source.name].alone.total():,} words", flush=True)
    spellings = usual_spellings(found, SOURCES, words)
    write_spellings(options.folder, spellings)
    print(f"{sum(map(str.__ne__, words, spellings))} words with capitals")
    return 0


if __name__ == "__main__":
    sys.exit(main())
