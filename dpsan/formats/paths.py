r"""Paths to strings inside a record, as ``--field`` and ``--except`` write them.

Grammar::

    field = path ["?"]                     "?": the field may be absent from every record
    path  = step *("." step)
    step  = name *"[]" / 1*"[]"            "[]": every item of a list
    name  = literal / [literal] "*"        "*": any member or item, or members that begin so
          / "**"                           "**": any number of steps, and none
    literal: any characters; a backslash before . [ ] ? * or another takes it literally

``**`` takes every string of a record, ``content.**`` the string in ``content`` and every string
inside of it.  ``--except`` leaves out a place and all that is inside of it.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from dpsan.errors import UsageError, refuse

ITEMS: Final = "[]"
_MOST_STEPS: Final = 100
"""Longest path: each step is a call inside another when a record is read."""
_SHOWN: Final = 80
"""Characters of a wrong path in a message."""
_STEP: Final = re.compile(r"((?:[^.\\?\[\]*]|\\.)*)(\*{0,2})((?:\[\])*)", re.DOTALL)
_SPECIAL: Final = re.compile(r"([.\\?\[\]*])")
_CUTOFF: Final = 0.75
"""Least similarity of a near name."""


_LINES: Final = (Path(__file__).parent / "names.txt").read_text("utf-8").splitlines()
CODE, USUAL = (frozenset(line.split()) for line in _LINES)
"""Suffixes of programs and settings, whose keywords a mechanism would draw too; usual names of
columns: a row or an object that has one has names, not data."""


class Wild(NamedTuple):
    """A step that stands for several."""

    stem: str = ""
    """Names begin so; empty: any name, and the items of a list."""
    deep: bool = False
    """True for any number of steps."""


Step: TypeAlias = str | Wild | None
"""A name; None for every item of a list."""
_Live: TypeAlias = frozenset[tuple[int, int]]
_Made: TypeAlias = "dict[_Live, Place | None]"


class Field(NamedTuple):
    """One ``--field``."""

    name: str
    """Name as given, for messages."""
    steps: tuple[Step, ...]
    """From the outside in."""
    optional: bool = False

    @property
    def literal(self) -> int:
        """Return the number of steps before the first that stands for several."""
        wild = (at for at, step in enumerate(self.steps) if isinstance(step, Wild))
        return next(wild, len(self.steps))

    @property
    def wild(self) -> bool:
        """Return whether a step stands for several."""
        return self.literal < len(self.steps)

    def deep_at(self, at: int) -> bool:
        """Return whether a step stands for any number of steps."""
        step = self.steps[at] if at < len(self.steps) else None
        return isinstance(step, Wild) and step.deep


def parse_field(text: str, option: str = "--field") -> Field:
    """Return the path that a user wrote.  Raises UsageError."""
    steps: list[Step] = []
    at = 0
    while True:
        match = _STEP.match(text, at)
        if match is None or match.end() == at:
            raise _bad(text, option)
        name, stars, lists = match.groups()
        literal = re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL)
        if stars == "**" and name:
            raise _bad(text, option)
        if stars:
            steps.append(Wild(literal, deep=stars == "**"))
        elif name:
            steps.append(literal)
        elif steps:
            raise _bad(text, option)
        steps += [None] * (len(lists) // 2)
        refuse(len(steps) > _MOST_STEPS, f"{option} has more than {_MOST_STEPS} steps")
        at = match.end()
        ending = text[at:]
        if ending in ("", "?"):
            # Where no name is asked for, none can be misspelt.
            optional = bool(ending) or all(isinstance(step, Wild) for step in steps)
            return Field(text.removesuffix("?") if ending else text, tuple(steps), optional)
        if text[at] != ".":
            raise _bad(text, option)
        at += 1


def parse_fields(texts: Iterable[str], option: str = "--field") -> list[Field]:
    """Return the paths that a user wrote, each once: required if it is required once.

    Raises:
        UsageError: no path, or one that leaves out all.
    """
    given = [parse_field(text, option) for text in texts]
    for text in texts if option in ("--except", "except_") else ():
        what = f"{option} '{text}' leaves nothing to replace"
        refuse(text.rstrip("?") in ("*", "**"), what, f"such as {option} '**.role'")
    given.sort(key=lambda field: not field.optional)
    return [*{field.steps: field for field in given}.values()]


def unmatched(texts: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Return those of the paths that a user wrote which lead to none of the values of an input.

    Args:
        texts: paths of ``--except``.
        paths: of all values, for messages; one with ``*`` may be any.
    """
    every = [path for path in paths if "*" not in path]
    matched = [parse_field(path).steps for path in every]
    if len(matched) < len([*paths]):
        return []
    return [text for text in texts if not any(_leads(text, steps) for steps in matched)]


def _leads(text: str, steps: Sequence[Step]) -> bool:
    """Return whether a path leads to a value, or to what holds it."""
    place = places([parse_field(text)])
    for step in steps:
        place = place and place.child(step)
        if place is None or place.field is not None:
            break
    return place is not None and place.field is not None


def _bad(text: str, option: str) -> UsageError:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return UsageError(f"{option}: not a path: {shown}", "such as text, a.b or messages[].content")


def below(path: str, step: str | None) -> str:
    """Return the path of a member or, with None, of the items, for messages."""
    if step is None:
        return path + ITEMS
    name = _SPECIAL.sub(r"\\\1", step)
    return f"{path}.{name}" if path else name


def is_person(name: str) -> bool:
    """Return whether a name of a member or column holds the name or address of a person."""
    from dpsan.only.keys import holds_person  # numpy comes with it

    return name.casefold() not in USUAL and holds_person(name)


def usual(names: Iterable[str]) -> bool:
    """Return whether one of some names is a usual name of a column."""
    return any(name.casefold() in USUAL for name in names)


class Place:
    """Choice at a place of a record, and inside of it.

    Args:
        fields: of the record, and after them what is left out.
        chosen: how many are fields.
        live: numbers of those that lead here, and how many of their steps are behind.
        places: by the same, all places of the record: few, as places of equal choice are one;
            None: left out.
    """

    def __init__(self, fields: Sequence[Field], chosen: int, live: _Live, places: _Made) -> None:
        self._fields, self._chosen, self._live, self._places = fields, chosen, live, places
        ahead = [(fields[number], at) for number, at in live if number < chosen]
        ended = [
            (fields[number].wild, number)
            for number, at in live
            if number < chosen and at == len(fields[number].steps)
        ]
        self.field: int | None = min(ended)[1] if ended else None
        """Number of the field that a string here belongs to: one that names it before others."""
        self.strict = all(at < field.literal or not field.wild for field, at in ahead)
        """True if a value of another kind than the fields need is an error."""
        steps = [field.steps[at] for field, at in ahead if at < len(field.steps)]
        self.members = not self.strict or any(isinstance(step, str) for step in steps)
        """True if an object may stand here, ``items`` if a list."""
        self.items = not self.strict or None in steps
        self.enters = bool(steps) and (self.field is None or fields[self.field].deep_at(-1))
        """True if JSON inside of a string is looked into."""
        following = [fields[number].steps[at : at + 1] for number, at in live]
        self._following = {step for steps in following for step in steps}
        self._stems = any(isinstance(step, Wild) and step.stem for step in self._following)
        self._children: dict[Step, Place | None] = {}
        """By a step that a path has next; Wild() for all other names, where none has a stem."""

    def child(self, step: Step) -> "Place | None":
        """Return the place one step further in, None: nothing is chosen there.

        Args:
            step: a name, None for items, or ``Wild()`` for a name that no field has.
        """
        if self._stems:
            return self._child(step)
        alike = step if step is None or step in self._following else Wild()
        if alike not in self._children:
            self._children[alike] = self._child(step)
        return self._children[alike]

    def _child(self, step: Step) -> "Place | None":
        live = set[tuple[int, int]]()
        for number, at in self._live:
            steps = self._fields[number].steps
            if at == len(steps):
                continue
            wanted = steps[at]
            if isinstance(wanted, Wild):
                begins = isinstance(step, str) and step.startswith(wanted.stem)
                if wanted.deep or begins or not wanted.stem:
                    live.add((number, at + (not wanted.deep)))
            elif wanted == step:
                live.add((number, at + 1))
        return _place(self._fields, self._chosen, live, self._places)

    def unused(self) -> list[str]:
        """Return the names of what is to be left out, and was nowhere so far."""
        rest = {field for field in self._fields[self._chosen :] if not field.optional}
        if not rest:
            return []
        gone = (key for key, place in self._places.items() if place is None)
        used = {self._fields[number] for key in gone for number, _ in key}
        return sorted(field.name for field in rest - used)

    @property
    def wanted(self) -> str:
        """Kinds of values that are allowed here, for messages."""
        text = self.field is not None
        kinds = {"a string": text, "an object": self.members, "a list": self.items}
        return " or ".join(name for name, there in kinds.items() if there)


def places(fields: Sequence[Field], excluded: Iterable[Field] = ()) -> Place | None:
    """Return the outermost place of a record; None if nothing of it is chosen."""
    every = [*fields, *excluded]
    return _place(every, len(fields), {(number, 0) for number in range(len(every))}, {})


def _place(
    fields: Sequence[Field], chosen: int, live: set[tuple[int, int]], made: _Made
) -> Place | None:
    """Return the place that some fields lead to."""
    waiting = [*live]
    while waiting:
        number, at = waiting.pop()
        following = number, at + 1
        if fields[number].deep_at(at) and following not in live:
            live.add(following)
            waiting.append(following)
    out = any(number >= chosen and at == len(fields[number].steps) for number, at in live)
    key = frozenset(live)
    if out:  # only what ended here
        made[frozenset(at for at in live if at[1] == len(fields[at[0]].steps))] = None
    if out or all(number >= chosen for number, _ in live):
        return None
    if key not in made:
        made[key] = Place(fields, chosen, key, made)
    return made[key]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the hint that names the nearest name; empty if no name is near."""
    import difflib

    names = [*names]
    if not name.strip("*"):
        return "name each, with commas: -k a,b"
    if re.search(r"[*?]|\[.+\]", name):
        return "columns have no patterns: name each, with commas: -k a,b"
    if ":" in name and (before := name.rpartition(":")[0]) in names:
        return f"after the colon stands one class: {before}:names"
    if set(several := re.split(r"[\s;|]+", name)) <= {*names}:
        return f"did you mean '{','.join(several)}'?"
    near = difflib.get_close_matches(name, names, n=1, cutoff=_CUTOFF) or [
        other for other in names if other.casefold() == name.casefold()
    ]
    return f"did you mean '{near[0]}'?" if near and not is_person(near[0]) else ""


def near_path(name: str, paths: Iterable[str]) -> str:
    """Return the hint that names a path whose steps are all near those of a name, or nothing."""
    if name == "*":
        return "did you mean '**'?"
    steps = name.split(".")
    for path in paths:
        if name != path and name == path.replace("\\", ""):
            return f"did you mean '{path}'? A dot of a name has a backslash before it"
        others = path.split(".")
        if len(others) == len(steps) and all(map(did_you_mean, steps, zip(others, strict=True))):
            return f"did you mean '{path}'?"
    return ""
