"""Positions inside JSON records: where chosen fields are, and the paths of all other values."""

from __future__ import annotations

import json
from typing import Final

from dpsan.formats.passing import Fields
from dpsan.text.patterns import compiled

_DEEPEST: Final = 32
"""Steps of a path; what is deeper has the same one."""
_MOST_POSITIONS: Final = 10_000
"""Positions that are distinguished in an input."""
_MOST_NAMES: Final = 64
"""Different names in one object above which they are taken for data: ``*`` stands for all."""
_SPECIAL: Final = compiled(r"([.\\?\[\]])")


def parsed(text: str) -> str:
    """Return the value of a JSON string; escaped surrogates that stand alone stay as they are."""
    if "\\" not in text:
        return text[1:-1]
    return str(json.loads(text))


class Node:
    """A position inside a record that a field ends at or leads through."""

    __slots__ = ("field", "items", "keys", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.field: int | None = None
        self.keys: dict[str, Node] = {}
        self.items: Node | None = None

    def child(self, step: str | None) -> Node:
        """Return the position one step further in; make it if need be."""
        if step is None:
            self.items = self.items or Node(self.path + "[]")
            return self.items
        return self.keys.setdefault(step, Node(_below(self.path, step)))

    @property
    def wanted(self) -> str:
        """Kinds of values that are allowed here, for messages."""
        kinds = {"a string": self.field is not None, "an object": self.keys, "a list": self.items}
        return " or ".join(name for name, there in kinds.items() if there)


class Position:
    """A position inside the records of an input, whether or not something is chosen there."""

    __slots__ = ("depth", "items", "named", "names", "node", "path")

    def __init__(self, path: str, node: Node | None, depth: int = 0) -> None:
        self.path, self.node, self.depth = path, node, depth
        self.names: dict[bytes, Position] = {}
        """Members by their names, spelled as in the input; ``b""`` stands for all others."""
        self.items: Position | None = None
        self.named = False
        """True if values are known to pass here."""


class Positions:
    """All positions of an input, and the paths of those whose values pass.

    Args:
        root: what is chosen.
        fields: gets the paths.
    """

    def __init__(self, root: Node, fields: Fields) -> None:
        self.top, self.fields, self._many = Position("", root), fields, 0

    def item(self, position: Position) -> Position:
        """Return the position of a list's items."""
        if position.items is None:
            node = position.node.items if position.node else None
            below = Position(position.path + "[]", node, position.depth + 1)
            position.items = below if node or position.depth < _DEEPEST else position
        return position.items

    def member(self, position: Position, raw: bytes) -> Position:
        """Return the position of an object's member by its name, which stands between quotes."""
        name = parsed(raw.decode("utf-8", "replace"))
        node = position.node.keys.get(name) if position.node else None
        if node is None:
            if b"" in position.names:
                return position.names[b""]
            if position.depth >= _DEEPEST:
                return position
            if len(position.names) >= _MOST_NAMES or self._many >= _MOST_POSITIONS:
                return self._any(position)
        self._many += 1
        step = _SPECIAL.sub(r"\\\1", name)
        found = Position(_below(position.path, step), node, position.depth + 1)
        position.names[raw] = found
        return found

    def passes(self, position: Position) -> None:
        """Take note that a value passes here."""
        position.named = True
        self.fields.others[position.path] = None

    def _any(self, position: Position) -> Position:
        """Replace all names of an object by one position that stands for any."""
        every = Position(_below(position.path, "*"), None, position.depth + 1)
        kept = {raw: each for raw, each in position.names.items() if each.node}
        data = [each.path for each in position.names.values() if not each.node]
        position.names = {**kept, b"": every}
        names: dict[str, None] = {}
        for name in self.fields.others:
            inside = next((each for each in data if _within(name, each)), None)
            names[name if inside is None else every.path + name[len(inside) :]] = None
        self.fields.others = names
        return every


def _below(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def _within(name: str, path: str) -> bool:
    return name.startswith(path) and name[len(path) : len(path) + 1] in ("", ".", "[")
