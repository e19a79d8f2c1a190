"""Build the list of brands: vocab/only/brands.txt.

    npm pack name-suggestion-index@6.0.20250817
    python vocab/brands.py FOLDER       # folder with the archive; seconds

They are the shops, restaurants, banks, insurers, hotels, clinics and power companies of countries
that speak English, of those that Wikidata knows.  A brand of several words is a phrase.  If all
its words are ordinary (*first direct*, *premier inn*) its label ends in ?: in small letters it
needs a word such as *from* before it.  A brand of one word is listed only where it would pass
with a capital: rarer words (*enterprise*), and coined ones that are made of words (*worldpay*).
Names of persons (*Jenny Craig*) are left out, as the names of persons find them, and so are
phrases that begin with a function word, have a word of health or have common words alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tarfile
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any, Final

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from lists import SOURCES, build, plain_words, vocabulary  # noqa: E402

from dpsan.only.lexicon import Lexicon  # noqa: E402
from dpsan.only.view import TITLE  # noqa: E402

INDEX: Final = "name-suggestion-index-6.0.20250817.tgz"
PINNED: Final = "5b37d3d84099b64cc3335969fdc8e90ff93d494be356bf72b4b9a8bd67719075"
"""Archive of the index of npm, and its SHA-256."""
ENGLISH: Final = "001 au ca gb gh ie in ke ng nz ph sg us za"
SORTS: Final = {
    "bank": "amenity/bank amenity/atm amenity/bureau_de_change amenity/money_transfer",
    "insurer": "office/insurance",
    "clothing": "shop/clothes shop/shoes",
    "telecom": "shop/mobile_phone shop/telecommunication",
    "shop": "amenity/fast_food amenity/restaurant amenity/cafe amenity/pub amenity/pharmacy",
}
"""Branches of the tree of brands by the group of their words; other shops are shops."""
OTHERS: Final = ("shop", "amenity", "office", "tourism", "leisure", "craft", "healthcare")
OPERATORS: Final = ("hospital", "clinic", "social_facility", "plant", "line")
RARE: Final = 1000
"""Occurrences of an ordinary word that is listed as a brand of one word, at most."""
COMMON: Final = 2000
"""Words that make no phrase alone."""
HEALTH: Final = ("ill", "symp", "medicine", "proc", "injury", "wound")
_NOTE: Final = (
    "Brands of the name suggestion index (BSD-3-Clause, Copyright 2025 name-suggestion-index"
    " contributors, package name-suggestion-index) in countries that speak English. Made by"
    " vocab/brands.py, which is of this project (Apache-2.0)."
)


def sort(path: str) -> str | None:
    """Return the group of the brands of a branch of the index; None: they are not taken."""
    tree, key, value = path.split("/")
    if tree == "operators":
        return "firm" if value in OPERATORS else None
    for group, branches in SORTS.items():
        if f"{key}/{value}" in branches.split():
            return group
    return None if tree != "brands" or key not in OTHERS else "shop" if key == "shop" else "firm"


def english(item: Mapping[str, Any]) -> bool:
    """Return whether a brand is one of a country that speaks English, and Wikidata knows it."""
    places = (str(place).lower() for place in item["locationSet"].get("include", ()))
    known = any(tag.endswith("wikidata") for tag in item["tags"])
    return known and any(re.split("[-.]", place)[0] in ENGLISH.split() for place in places)


def brands(index: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each brand in small letters, without accents, and its group."""
    for path, branch in sorted(index.items()):
        group = sort(path)
        for item in branch.get("items", ()) if group else ():
            name = re.sub(r" \(.*?\)", "", item["displayName"]).lower().replace("’", "'")
            parts = unicodedata.normalize("NFD", name.replace(" & ", " and "))
            name = "".join(char for char in parts if not unicodedata.combining(char))
            if group and english(item) and re.fullmatch("[a-z']+(?:[ -][a-z']+){0,3}", name):
                yield name, group


def head(lexicon: Lexicon, closed: set[str], name: str, group: str) -> str | None:
    """Return the labels of a brand; None: it is left out."""
    words = re.split("[ -]", name)
    titles = [lexicon.label(word, TITLE) or "" for word in words]
    if len(words) == 1:
        made = lexicon.unlisted(name, TITLE) if lexicon.table.row(name) < 0 else ""
        if made in ("derived", "plain") and len(name) > 3:
            return group
        rare = vocabulary().get(name, (0, ""))[0] <= RARE
        return ". shop? ." if titles == ["plain"] and rare and len(name) > 3 else None
    person = len(words) == 2 and titles[0].startswith("given") and titles[1].startswith("surname")
    if words[0] in closed or person or any(title.startswith(HEALTH) for title in titles):
        return None
    if not all(lexicon.plain(word) or word in closed for word in words):
        return group
    common = frequent().issuperset(words) or (len(words) == 2 and closed & {*words})
    return None if common else "firm?"


@cache
def frequent() -> frozenset[str]:
    """Return the most frequent words, of which phrases are language: *best friends*."""
    counts = vocabulary()
    return frozenset(sorted(counts, key=lambda word: (-counts[word][0], word))[:COMMON])


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with the archive")
    options = parser.parse_args()
    data = (options.folder / INDEX).read_bytes()
    assert hashlib.sha256(data).hexdigest() == PINNED, "another archive"
    with tarfile.open(options.folder / INDEX) as archive:
        file = archive.extractfile("package/dist/nsi.min.json")
        assert file is not None
        index = json.load(file)["nsi"]
    path = SOURCES / "brands.txt"
    path.write_text("[firm?]\n")
    build(SOURCES / "lists")
    lexicon, closed = Lexicon(), {*plain_words(_HERE / "public" / "function.txt")}
    heads: dict[str, set[str]] = {}
    taken: set[str] = set()
    for name, group in brands(index):
        labels = head(lexicon, closed, name, group)
        if labels and name not in taken:
            taken.add(name)
            heads.setdefault(labels, set()).add(name)
    notes = fill(_NOTE, 98, initial_indent="# ", subsequent_indent="# ")
    blocks = (f"[{labels}]\n{_wrapped(names)}\n" for labels, names in sorted(heads.items()))
    path.write_text("\n".join([f"{notes}\n", *blocks]), encoding="utf-8")
    print({labels: len(names) for labels, names in heads.items()})


def _wrapped(names: set[str]) -> str:
    words = " ".join(name.replace(" ", "_") for name in sorted(names))
    return fill(words, 100, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main()
