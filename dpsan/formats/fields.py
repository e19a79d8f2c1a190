r"""Parse ``--field``: a path to strings inside a record.

Grammar::

    field = path ["?"]                     "?": the field may be absent from every record
    path  = step *("." step)
    step  = name *"[]" / 1*"[]"            "[]": every item of a list
    name  = any characters; a backslash before . [ ] ? or another takes it literally

A name that no record has gets a hint: the name that is nearly the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from dpsan.errors import UsageError

_MOST_STEPS: Final = 100
"""Longest path: each step is a call inside another when a record is read."""
_SHOWN: Final = 80
"""Characters of a wrong path in a message."""
_STEP: Final = re.compile(r"((?:[^.\\?\[\]]|\\.)*)((?:\[\])*)", re.DOTALL)

_CUTOFF: Final = 0.75
"""Least similarity of a near name."""


class Field(NamedTuple):
    """One ``--field``."""

    name: str
    """Name as given, for messages."""
    steps: tuple[str | None, ...]
    """Names from the outside in; None stands for every item of a list."""
    optional: bool = False


def parse_field(text: str) -> Field:
    """Return the path that a user wrote.  Raises UsageError."""
    steps: list[str | None] = []
    at = 0
    while True:
        match = _STEP.match(text, at)
        if match is None or match.end() == at:
            raise _bad(text)
        name, lists = match.groups()
        if name:
            steps.append(re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL))
        elif steps:
            raise _bad(text)
        steps += [None] * (len(lists) // 2)
        if len(steps) > _MOST_STEPS:
            raise UsageError(f"--field has more than {_MOST_STEPS} steps")
        at = match.end()
        if at == len(text):
            return Field(text, tuple(steps))
        if text[at:] == "?":
            return Field(text[:-1], tuple(steps), optional=True)
        if text[at] != ".":
            raise _bad(text)
        at += 1


def _bad(text: str) -> UsageError:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return UsageError(f"--field: not a path: {shown}", "such as text, a.b or messages[].content")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the hint that names the nearest name; empty if no name is near."""
    import difflib

    names = [*names]
    near = difflib.get_close_matches(name, names, n=1, cutoff=_CUTOFF) or [
        each for each in names if each.casefold() == name.casefold()
    ]
    return f"did you mean '{near[0]}'?" if near else ""


def near_path(name: str, paths: Iterable[str]) -> str:
    """Return the hint that names a path whose steps are all near those of a name, or nothing."""
    steps = name.split(".")
    for path in paths:
        others = path.split(".")
        if len(others) == len(steps) and all(map(did_you_mean, steps, zip(others, strict=True))):
            return f"did you mean '{path}'?"
    return ""
