"""Public classes of words: groups of people, people in general, and what harms.

Mechanisms with near sets keep harmful words out of the near sets of words that name a group
(``dpsan/embeddings/words.py``).  The lists are those of vocab/identity, vocab/harm,
vocab/polar (negative) and the names of vocab/kinds.  A word that is on several lists belongs to
the first class of this order: groups, people, harm, names.  A listed name counts only if its usual
spelling has a capital and it is on no other list of vocab/kinds: *may* and *houston* are no names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from recipe.words import read_list

__all__ = ["classes_of", "read_slurs"]

GROUPS: Final = (
    "religion",
    "origin",
    "migration",
    "gender",
    "orientation",
    "disability",
    "age",
)
_NAMES: Final = ("first_names", "surnames", "judged/names")


def read_slurs(root: Path) -> frozenset[str]:
    """Return the words that a vocabulary leaves out."""
    return frozenset(read_list(root / "slurs.txt"))


def classes_of(root: Path, spellings: Mapping[str, str]) -> dict[str, str]:
    """Return the class of each word that has one.

    Args:
        root: the folder vocab.
        spellings: how each word of the vocabulary is usually written.
    """
    kinds, identity = root / "kinds", root / "identity"
    other = {
        word for path in kinds.glob("*.txt") if path.stem not in _NAMES for word in read_list(path)
    }
    listed = [(name, read_list(identity / f"{name}.txt")) for name in (*GROUPS, "ambiguous")]
    listed.append(("person", read_list(identity / "people.txt")))
    harmful = [*sorted((root / "harm").glob("*.txt")), root / "polar" / "negative.txt"]
    listed.extend(("harm", read_list(path)) for path in harmful)
    names = [word for name in _NAMES for word in read_list(kinds / f"{name}.txt")]
    names += read_list(identity / "names.txt")
    listed.append(("name", [w for w in names if w not in other and spellings.get(w, w) != w]))
    classes: dict[str, str] = {}
    for name, words in listed:
        for word in words:
            if word in spellings:
                classes.setdefault(word, name)
    return classes
