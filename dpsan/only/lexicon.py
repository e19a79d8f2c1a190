"""Public lists of words: the label of each word and phrase, and the outputs of each group.

A folder of arrays that ``python vocab/lists.py`` makes; they are mapped into memory, so opening the
lists costs a few milliseconds and no word becomes a Python object::

    manifest.json  {"format": 1, "year": last year of the lists, "labels": [...], "groups": [...],
                    "sources": [...], "arrays": {name: [type, shape, offset], ...},
                    "sha256": {file: HEX, ...}}
    arrays.bin     the arrays, one after the other:
      tags         uint32 (n,), counts uint8 (buckets,): the table of words, see hashes.Table
      codes        uint16 (n, 3): label of each word in small letters, with a capital, in capitals
      alone        uint8 (n,): its group where no neighbour is read, with --class
      source       uint8 (n,): the list that decided
      flags        uint8 (n + 1,): OPENS, ORDINARY; the last entry is that of unlisted words
      phrase_tags, phrase_counts, phrase_codes: the same of phrases, one label each
      bits         uint8 (65536,): classes of code points
      folds        uint16 (k, 2): code points that fold, and to what
    frequent.txt, names.txt, compound.txt, fixed.txt, words.txt, phrases.txt  a word a line
    outputs.tsv    a group and its words a line; forms.tsv: beginnings and endings of words
    nations.tsv    a word for a nation and its country a line
    doses.tsv      a medicine, a unit and its doses a line; scenarios.tsv: an area, a group, words
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.embeddings.loading import directory
from dpsan.errors import EmbeddingError
from dpsan.only.hashes import Hashes, Table, Words64, lines, near_hashes
from dpsan.only.view import COLUMN, LOWER, MIXED, TITLE, UPPER, Array, Flags

OPENS: Final = 1
"""Flag of words with which a listed phrase begins."""
ORDINARY: Final = 2
"""Flag of words of the vocabulary and of the list of ordinary words."""
VOWELS: Final = frozenset("aeiouy")
LONGEST: Final = 40
"""Letters of the longest word that is looked at closely."""
STREETS: Final = ("streetde", "streetdem", "streetnl", "streetno")
"""Labels of streets that are one word, as in German: Lindenstraße, Kirchweg."""
ENDINGS: Final = (*STREETS, "medicine", "proc", "ill", "plain")
"""Labels that endings of unlisted words tell, in the order in which they are tried."""
ELISIONS: Final = ("d", "l", "qu", "jusqu", "dell", "all", "nell", "un")
ENCLITICS: Final = ("t", "ll", "re", "ve", "d", "m", "s", "n")


class Lexicon:
    """The lists of one folder.

    Attributes:
        labels: names of the labels; ``codes`` and ``phrase_codes`` hold their numbers.
        groups: names of the groups; ``alone`` holds their numbers, 0 for words of no group.
        table, phrases: rows of words and phrases.
        bits, fold: class bits and folded code point of the first 65,536 code points.
        opens_phrase: whether a listed phrase begins with the word of each row; the last entry is
            that of unlisted words.
        year: the last year of the lists; no output names a later one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or directory().parent / "only" / "lists"
        try:
            manifest = json.loads((self.folder / "manifest.json").read_bytes())
            self.labels: list[str] = manifest["labels"]
            self.groups: list[str] = manifest["groups"]
            self.sources: list[str] = manifest["sources"]
            self.year: int = manifest["year"]
            arrays = _mapped(self.folder / "arrays.bin", manifest["arrays"])
            self.table = Table(arrays["tags"], arrays["counts"])
            self.codes, self.alone = arrays["codes"], arrays["alone"]
            self.source = arrays["source"]
            self.phrases = Table(arrays["phrase_tags"], arrays["phrase_counts"])
            self.phrase_codes, folds = arrays["phrase_codes"], arrays["folds"]
            self.flags, self.bits = arrays["flags"], arrays["bits"]
        except (OSError, ValueError, LookupError, TypeError):
            raise EmbeddingError(
                str(self.folder), "the lists are damaged", "reinstall dpsan"
            ) from None
        self.code = {label: code for code, label in enumerate(self.labels)}
        self.opens_phrase: Flags = self.flags & OPENS != 0
        self.fold = np.arange(len(self.bits), dtype=np.uint32)
        self.fold[folds[:, 0]] = folds[:, 1]
        self.unknown: dict[int, int] = {}  # (hash, pattern) of unlisted words -> label code

    def text(self, name: str) -> str:
        """Return one of the stored texts."""
        return (self.folder / name).read_text(encoding="utf8").removesuffix("\n")

    def lines(self, name: str) -> list[str]:
        """Return the lines of a stored text."""
        return self.text(name).split("\n")

    @cached_property
    def outputs(self) -> Mapping[str, Sequence[str]]:
        """Output words of each group, each in its usual spelling."""
        cells = (line.split("\t") for line in self.lines("outputs.tsv"))
        return {group: words for group, *words in cells}

    @cached_property
    def nations(self) -> Mapping[str, str]:
        """The country of each word for a nation."""
        return dict(line.split("\t") for line in self.lines("nations.tsv"))

    @cached_property
    def doses(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """Usual doses of medicines in a unit, ascending."""
        cells = (line.split("\t") for line in self.lines("doses.tsv"))
        return {(medicine, unit): doses.split() for medicine, unit, doses in cells}

    @cached_property
    def scenarios(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """Words of an area of medicine and a group."""
        cells = (line.split("\t") for line in self.lines("scenarios.tsv"))
        rows = ((area, group, words.split()) for area, group, words in cells)
        return {(area, group): [w.replace("_", " ") for w in words] for area, group, words in rows}

    @cached_property
    def forms(self) -> Mapping[str, tuple[str, ...]]:
        """Endings of each label of ENDINGS; prefix, suffix and learned: forms of plain words."""
        cells = (line.split("\t") for line in self.lines("forms.tsv"))
        return {name: tuple(forms.split()) for name, forms in cells}

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Dotted abbreviations (without the last dot) and codes that pass."""
        return frozenset(self.lines("fixed.txt"))

    @cached_property
    def compound(self) -> frozenset[str]:
        """Words that make compounds."""
        return frozenset(self.lines("compound.txt"))

    @cached_property
    def frequent(self) -> frozenset[str]:
        """Frequent words."""
        return frozenset(self.lines("frequent.txt"))

    @cached_property
    def near_words(self) -> Words64:
        """Sorted hashes of the frequent words and of all that lack one of their letters."""
        return _shortened(self.text("frequent.txt"))

    @cached_property
    def near_names(self) -> Words64:
        """The same of names."""
        return _shortened(self.text("names.txt"))

    @cached_property
    def squeezed(self) -> frozenset[str]:
        """Frequent words without double letters."""
        return frozenset(re.findall("^.{5,}$", _single(self.text("frequent.txt")), re.M))

    def label(self, word: str, column: int) -> str | None:
        """Return the label of a folded word in a column of ``codes``; None if it is not listed."""
        row = self.table.row(word)
        return None if row < 0 else self.labels[self.codes[row, column]]

    def plain(self, word: str) -> bool:
        """Return whether a folded word is an ordinary one."""
        row = self.table.row(word)
        if row < 0 or not self.flags[row] & ORDINARY:
            return False
        label = self.labels[self.codes[row, 0]]
        return label in ("plain", "func", "title", "rank") or label.endswith("?")

    def near(self, word: str, hashes: Words64) -> bool:
        """Return whether a word is about one edit from a word of near_words or near_names."""
        tried = np.array(near_hashes(word), np.uint64)
        at = np.minimum(np.searchsorted(hashes, tried), len(hashes) - 1)
        return bool((hashes[at] == tried).any())

    def derived(self, word: str) -> bool:
        """Return whether a word is an English form or compound of ordinary words."""
        if any(
            word.startswith(prefix)
            and len(word) >= len(prefix) + 3
            and self.plain(word[len(prefix) :])
            for prefix in self.forms["prefix"]
        ):
            return True
        for suffix in self.forms["suffix"]:
            base = word[: -len(suffix)] if word.endswith(suffix) else ""
            if len(base) < 3:
                continue
            double = len(base) > 4 and base[-1] == base[-2] and self.plain(base[:-1])
            mute = suffix[0] in "eiayo" and len(base) >= 4 and self.plain(base + "e")
            if self.plain(base) or double or mute:
                return True
        if len(word) < 7:
            return False
        return word.endswith(self.forms["learned"]) or any(
            word[:i] in self.compound and self._second_part(word[i:])
            for i in range(3, len(word) - 2)
        )

    def _second_part(self, tail: str) -> bool:
        stem = tail.removesuffix("ing")
        return bool({tail, tail.rstrip("s"), stem, stem + "e"} & self.compound)

    def unlisted(
        self, word: str, caps: int, parts: Iterable[str] = (), plural: bool = False
    ) -> str:
        """Return the label of a folded word that no list has, from its letters and capitals.

        Args:
            parts: parts of a word with capitals inside, folded.
            plural: whether all letters but the last are capitals.
        """
        # In a script without capitals every word may be a name.
        if len(word) > LONGEST or not word.islower():
            return "surname"
        base, mark, tail = word.rpartition("'")
        if mark and tail in ENCLITICS and self.label(base, COLUMN[caps]) in ("func", "plain"):
            return "plain"
        elided, mark, tail = word.partition("'")
        if mark and elided in ELISIONS:
            if self.label(tail, 0) in ("func", "plain", "foreignw"):
                return "plain"
            name = self.label(tail, 1) or ""
            if caps == MIXED and name.startswith("given"):  # d'Élodie
                return name
        if len(word) >= 7 and caps != UPPER:
            for label in ENDINGS:
                if word.endswith(self.forms[label]):
                    return label
        if caps == LOWER:
            slavic = word.endswith(self.forms["slavic"])
            if len(word) >= 7 and word.endswith(self.forms["latin"]) and not slavic:
                return "rareadj"
            if len(word) >= 5 and word.endswith("in") and self.plain(word + "g"):  # puttin
                return "plain"
            if len(word) >= 6 and word.endswith(("ed", "ing")):
                return "plain"
            if 2 <= len(word) <= 4 and word.isascii() and not VOWELS.intersection(word):
                return "cons"
            if self.passes_small(word):
                return "plain"
        elif word.endswith("s") and self.label(word[:-1], 1) == "surname":
            return "surnamepl"
        parts = tuple(parts)
        if parts and parts[-1] in self.forms["error"]:
            return "plain"
        labels = [(part, self.label(part, 0) or "") for part in parts]
        if labels and all(
            len(part) == 1 or label in ("func", "plain", "title", "rank") or label.endswith("?")
            for part, label in labels
        ):
            return "camel" if caps == TITLE else "plain"
        if len(set(word)) == 1 or (
            caps == MIXED and word.endswith("s") and len(word) <= 6 and plural
        ):
            return "plain"
        if caps == TITLE and len(word) >= 6 and self.derived(word):
            return "unknown" if self.near(word, self.near_names) else "derived"
        return f"acr{len(word)}" if caps == UPPER and len(word) <= 5 else "unknown"

    def passes_small(self, word: str) -> bool:
        """Return whether an unlisted word in small letters is no name.

        That is a short word, an interjection, a misspelt word, or a derived one.
        """
        letters = set(word)
        short = len(word) <= 3 and word.isascii() and not letters & VOWELS
        if len(word) <= 2 or len(letters) <= 2 or short:
            return True
        twice = "".join(
            c for i, c in enumerate(word) if i < 2 or not c == word[i - 1] == word[i - 2]
        )
        if twice != word:
            single = _single(twice)
            if self.plain(twice) or self.plain(single) or self.label(single, 0) == "func":
                return True
        if len(word) >= 7 and word.endswith(self.forms["adjective"]):
            return True
        if len(word) >= 5 and any(swap in self.frequent for swap in _transposed(word)):
            return True
        derived = self.derived(word)
        if derived and len(word) >= 8:
            return True
        misspelt = len(word) >= 4 and (
            self.near(word, self.near_words) or _single(word) in self.squeezed
        )
        return (derived or misspelt) and not self.near(word, self.near_names)


def _mapped(path: Path, layout: Mapping[str, tuple[str, list[int], int]]) -> dict[str, Array]:
    """Map a file into memory; return its arrays."""
    data = np.asarray(np.memmap(path, np.uint8, "r"))
    out = {}
    for name, (kind, shape, offset) in layout.items():
        size = np.dtype(kind).itemsize * prod(shape)
        out[name] = data[offset : offset + size].view(kind).reshape(shape)
    return out


def _single(word: str) -> str:
    """Return words without double letters."""
    return re.sub(r"(.)\1+", r"\1", word)


def _transposed(word: str) -> Iterator[str]:
    """Yield a word with two neighbours of its letters exchanged, behind the first."""
    for i in range(1, len(word) - 1):
        if word[i] != word[i + 1]:
            yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def _shortened(text: str) -> Words64:
    """Return the hashes of the words of a text; of four letters or more, without any letter too."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    hashes, (start, end) = Hashes(points), lines(points)
    long = end - start > 3
    shorter = hashes.shortened(start[long], end[long])
    return np.sort(np.concatenate([hashes.of(start, end), shorter]))
