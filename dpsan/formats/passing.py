"""Positions inside the records of an input, and the parts that are not sanitized, by name or kind.

Names alone may stand in a message; values never do.  Where an object has very many names, they are
taken for data: ``*`` stands for all of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from dpsan.errors import counted, number
from dpsan.formats.paths import Field, Place, below, is_person

PASSED: Final = "passed unchanged, and may hold text"
LEFT_OUT: Final = "left out"

SHOWN: Final = 20
"""Names of fields in a message."""
_LONGEST: Final = 64
"""Characters of a name in a message."""


@dataclass(slots=True)
class Fields:
    """The fields of an input that are sanitized, and the others.

    A reader of a stream adds fields as it finds them, so names are read at the end of the input.
    """

    kind: str
    """Singular noun for messages: ``column``, ``field``."""
    chosen: dict[str, None] = field(default_factory=dict)
    """Fields that are sanitized and occur in the input, in order."""
    others: dict[str, None] = field(default_factory=dict)
    """Fields that are not sanitized, in order."""
    requested: tuple[str, ...] = ()
    """Fields that the user named."""
    left_out: bool = False
    """True if the other fields are left out (``--drop-other``) instead of passing unchanged."""
    typed: dict[str, str] = field(default_factory=dict)
    """Chosen fields of which the name alone told the type (:func:`named_type`), and that type."""

    def merge(self, other: "Fields") -> None:
        """Add the fields of another input."""
        self.chosen |= other.chosen
        self.others |= other.others
        self.typed |= other.typed
        self.requested = tuple(dict.fromkeys([*self.requested, *other.requested]))

    def row(self) -> dict[str, Any]:
        """Return what is not sanitized as JSON values, with at most :data:`SHOWN` names."""
        return {
            "kind": self.kind,
            "of": len(self.chosen | self.others),
            "others": len(self.others),
            "names": [shortened(name) for name in list(self.others)[:SHOWN]],
            "left_out": self.left_out,
        }

    def twins(self) -> Iterator[tuple[str, str]]:
        """Yield each other field that differs from a chosen one in letter case, and that one."""
        requested = {name_requested.casefold(): name_requested for name_requested in self.requested}
        for name in self.others:
            if name.casefold() in requested and name not in self.chosen:
                yield name, requested[name.casefold()]


@dataclass(slots=True)
class Passing:
    """Parts of an input, or of all inputs of a run, that are not sanitized."""

    fields: dict[tuple[str, bool], Fields] = field(default_factory=dict)
    """By kind, and whether they are left out."""
    noted: Counter[str] = field(default_factory=Counter)
    """Other text: :data:`PASSED` or :data:`LEFT_OUT`, a colon and its kind, and how often."""

    def add(self, fields: Iterable[Fields] = (), noted: Mapping[str, int] | None = None) -> None:
        """Add what one reader found."""
        for kind in fields:
            at = kind.kind, kind.left_out
            self.fields.setdefault(at, Fields(kind.kind, left_out=kind.left_out)).merge(kind)
        self.noted.update(noted or {})

    def lines(self, *, keys: bool = True) -> Iterator[str]:
        """Yield a line for each kind of field, ``keys`` among them, and one for all other text."""
        for kind in self.fields.values():
            if kind.others and (keys or kind.kind != "key"):
                yield fields_line(kind.row())
            for name, near in kind.twins():
                yield (
                    f"{kind.kind} '{shortened(name)}' differs from --field '{shortened(near)}' in "
                    f"letter case and is {'left out' if kind.left_out else 'not sanitized'}"
                )
        yield from noted_lines(self.noted)

    def row(self) -> dict[str, Any]:
        """Return all of it as JSON values, for audit rows."""
        rows = [kind.row() for kind in self.fields.values() if kind.others]
        typed = [pair for kind in self.fields.values() for pair in kind.typed.items()][:SHOWN]
        by_name = {shortened(name): of for name, of in typed}
        return {"fields": rows, "noted": dict(sorted(self.noted.items())), "by_name": by_name}


def fields_line(row: Mapping[str, Any]) -> str:
    """Return the sentence that names the fields of a :meth:`Fields.row`."""
    single = row["others"] == 1
    many = f"{number(row['others'])} of {counted(row['of'], row['kind'])}"
    if row["others"] == row["of"]:
        many = counted(row["others"], row["kind"])
    if row["left_out"]:
        verb = "is left out" if single else "are left out"
    else:
        verb = "passes unchanged" if single else "pass unchanged"
    more = row["others"] - len(row["names"])
    return f"{many} {verb}: {', '.join(row['names'])}{f' and {number(more)} more' * (more > 0)}"


def noted_lines(noted: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for all kinds of text that pass, and one for all that are left out."""
    for what in (PASSED, LEFT_OUT):
        notes = [note for note in sorted(noted.items()) if note[0].startswith(what)]
        kinds = [counted(count, name.removeprefix(f"{what}:")) for name, count in notes]
        if kinds:
            yield f"{what}: {', '.join(kinds)}"


def named(names: Iterable[str]) -> list[str]:
    """Return different labels for columns: a number where a name is empty or occurs twice."""
    names = [*names]
    often = Counter(names)
    return [
        f"column {at}" if not name.strip() else name if often[name] == 1 else f"{name} ({at})"
        for at, name in enumerate(names, start=1)
    ]


def shown_names(names: Iterable[str]) -> str:
    """Return at most :data:`SHOWN` names for a message, and how many more there are."""
    names = [*names]
    more = f" and {number(len(names) - SHOWN)} more" if len(names) > SHOWN else ""
    return ", ".join(map(shortened, names[:SHOWN])) + more


def shortened(name: str) -> str:
    """Return a name cut for a message: lone surrogates become U+FFFD, one of a person ``*``."""
    if is_person(name):
        return "*"
    name = name.encode(errors="replace").decode()
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


_DEEPEST: Final = 32
"""Steps of a path; what is deeper has the same one."""
_LONGEST_NAME: Final = 1_000
_MOST_POSITIONS: Final = 10_000
"""Positions that are distinguished in an input."""
_MOST_NAMES: Final = 64
"""Different names in one object above which they are taken for data: ``*`` stands for all."""
PERSONS: Final = f"{PASSED}:identifying key"
"""Names of members that hold the name or address of a person, among what is noted of a record."""
_LINES: Final = (Path(__file__).parent / "field_types.tsv").read_text("utf-8").splitlines()[1:]
_PARTS: Final = dict(line.split("\t") for line in _LINES)
_OF_NAMES: Final = {
    of: re.sub("ROLES|DEEDS", lambda match: _PARTS[match[0]], pattern)
    for of, pattern in _PARTS.items()
    if of.islower()
}
"""Type of spans, and the columns and members whose values are nothing else."""
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+")


@lru_cache(1 << 12)
def named_type(name: str) -> str:
    """Return the type of the values of a column or member, told by its name or path alone.

    ``=`` stands before it, as nobody asked for it; empty: the name says nothing.
    """
    spelt = _WORDS.sub("_", name[:_LONGEST_NAME].removesuffix("[]")).lower()
    of = (of for of, pattern in _OF_NAMES.items() if re.fullmatch(pattern, spelt))
    return next(map("={}".format, of), "")


class Position:
    """A position inside the records of an input, whether or not something is chosen there."""

    __slots__ = ("depth", "items", "listed", "merged", "named", "names", "path", "place", "taken")

    def __init__(self, path: str, place: Place | None, depth: int = 0) -> None:
        self.path, self.place, self.depth = path, place, depth
        self.names: dict[bytes, Position] = {}
        """Members by their names, spelled as in the input."""
        self.merged: dict[Place | None, Position] = {}
        """Members whose names are data, by what is chosen there."""
        self.items: Position | None = None
        self.named = False
        """True if values are known to pass here."""
        self.taken = False
        """True if strings are known to be chosen here."""
        self.listed = False
        """True if its name holds the name or address of a person, and keys are named."""


class Positions:
    """All positions of an input, and the paths of those whose values pass.

    Args:
        root: what is chosen of a record.
        chosen: the fields.
        fields: gets the paths of values.
        keys: gets the paths of members, where their names pass; None: nobody asks.
    """

    def __init__(
        self,
        root: Place | None,
        chosen: Sequence[Field],
        fields: Fields,
        keys: Fields | None = None,
    ) -> None:
        self.top, self.chosen, self.fields, self.keys = Position("", root), chosen, fields, keys
        self._many = 0
        self.persons = 0
        """Number of names of members so far that held the name or address of a person."""

    def item(self, position: Position) -> Position:
        """Return the position of a list's items."""
        if position.items is None:
            place = position.place and position.place.child(None)
            if position.depth >= _DEEPEST:
                return _deepest(position, place)
            position.items = Position(below(position.path, None), place, position.depth + 1)
        return position.items

    def member(self, position: Position, raw: bytes, name: str) -> Position:
        """Return the position of an object's member.

        Args:
            raw: its name, spelled as in the input.
            name: the same, without escapes.
        """
        place = position.place and position.place.child(name)
        alike = [sibling for sibling in position.names.values() if sibling.place is place]
        shared = position.merged.get(place)
        if shared is None and position.depth >= _DEEPEST:
            shared = _deepest(position, place)
        elif shared is None and (len(alike) >= _MOST_NAMES or self._many >= _MOST_POSITIONS):
            shared = self._merge(position, place, alike)
        if shared is not None:
            self.persons += self.keys is not None and is_person(name)
            return shared
        self._many += 1
        person = is_person(name)
        path = _any(position.path) if person else below(position.path, name)
        member = Position(path, place, position.depth + 1)
        position.names[raw] = member
        if self.keys is not None:
            member.listed = person
            self.keys.others[path] = None
        return member

    def passes(self, position: Position) -> None:
        """Take note that a value passes here."""
        position.named = True
        self.fields.others[position.path] = None

    def takes(self, position: Position, number: int) -> None:
        """Take note that a string is chosen here by a field."""
        position.taken = True
        field = self.chosen[number]
        self.fields.chosen[position.path if field.wild else field.name] = None

    def _merge(self, position: Position, place: Place | None, alike: list[Position]) -> Position:
        """Replace the names of an object at which the same is chosen by one position."""
        every = Position(_any(position.path), place, position.depth + 1)
        position.names = {raw: at for raw, at in position.names.items() if at.place is not place}
        position.merged[place] = every

        lists = [self.fields] if self.keys is None else [self.fields, self.keys]
        for fields in lists:
            fields.others = _renamed(fields.others, alike, every.path)
            fields.chosen = _renamed(fields.chosen, alike, every.path)
        return every


def _deepest(position: Position, place: Place | None) -> Position:
    """Return a position that has the path of one above."""
    return position if place is position.place else Position(position.path, place, position.depth)


def _renamed(names: dict[str, None], alike: list[Position], path: str) -> dict[str, None]:
    """Return paths, where those inside of some positions begin with one path."""
    out: dict[str, None] = {}
    for name in names:
        inside = next((at for at in alike if _within(name, at.path)), None)
        out[name if inside is None else path + name[len(inside.path) :]] = None
    return out


def _any(path: str) -> str:
    return f"{path}.*" if path else "*"


def _within(name: str, path: str) -> bool:
    return name.startswith(path) and name[len(path) : len(path) + 1] in ("", ".", "[")
