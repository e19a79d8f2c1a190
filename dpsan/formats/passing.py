"""Parts of an input that are not sanitized: fields by name, other text by kind and number.

Names alone may stand in a message; values never do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dpsan.text.numerals import counted, number

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

    def merge(self, other: Fields) -> None:
        """Add the fields of another input."""
        self.chosen |= other.chosen
        self.others |= other.others
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

    def merge(self, other: Passing) -> None:
        """Add what passes in another input."""
        self.add(other.fields.values(), other.noted)

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind of field, and one for all other text."""
        for kind in self.fields.values():
            if kind.others:
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
        return {"fields": rows, "noted": dict(sorted(self.noted.items()))}


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
    """Return a name cut for a message; lone surrogates become U+FFFD."""
    name = name.encode(errors="replace").decode()
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
