"""Places inside JSON records: where chosen fields are, and the paths of all other values."""

from __future__ import annotations

import json
from typing import Final

from dpsan.formats.passing import Fields
from dpsan.text.patterns import compiled

_DEEPEST: Final = 32
"""Steps of a path; what is deeper has the same one."""
_MOST_PLACES: Final = 10_000
"""Places that are told apart in an input."""
_MOST_NAMES: Final = 64
"""Different names in one object above which they are taken for data: ``*`` stands for all."""
_SPECIAL: Final = compiled(r"([.\\?\[\]])")


def parsed(text: str) -> str:
    """Return the value of a JSON string; escaped surrogates that stand alone stay as they are."""
    if "\\" not in text:
        return text[1:-1]
    value: str = json.loads(text)
    return value


class Node:
    """A place inside a record that a field ends at or leads through."""

    __slots__ = ("field", "items", "keys", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.field: int | None = None
        self.keys: dict[str, Node] = {}
        self.items: Node | None = None

    def child(self, step: str | None) -> Node:
        """Return the place one step further in; make it if need be."""
        if step is None:
            if self.items is None:
                self.items = Node(self.path + "[]")
            return self.items
        if step not in self.keys:
            self.keys[step] = Node(f"{self.path}.{step}" if self.path else step)
        return self.keys[step]

    @property
    def wanted(self) -> str:
        """Kinds of values that are allowed here, for messages."""
        kinds = (
            ("a string", self.field is not None),
            ("an object", self.keys),
            ("a list", self.items),
        )
        return " or ".join(name for name, there in kinds if there)


class Place:
    """A place inside the records of an input, whether or not something is chosen there."""

    __slots__ = ("depth", "items", "named", "names", "node", "path")

    def __init__(self, path: str, node: Node | None, depth: int = 0) -> None:
        self.path, self.node, self.depth = path, node, depth
        self.names: dict[bytes, Place] = {}
        """Members by their names, spelled as in the input; ``b""`` stands for all others."""
        self.items: Place | None = None
        self.named = False
        """True if values are known to pass here."""


class Places:
    """All places of an input, and the paths of those whose values pass.

    Args:
        root: what is chosen.
        fields: gets the paths.
    """

    def __init__(self, root: Node, fields: Fields) -> None:
        self.top, self.fields, self._many = Place("", root), fields, 0

    def item(self, place: Place) -> Place:
        """Return the place of a list's items."""
        if place.items is None:
            node = place.node.items if place.node else None
            if node is None and place.depth >= _DEEPEST:
                place.items = place
            else:
                place.items = Place(place.path + "[]", node, place.depth + 1)
        return place.items

    def member(self, place: Place, raw: bytes) -> Place:
        """Return the place of an object's member by its name, which stands between quotes."""
        name = parsed(raw.decode("utf-8", "replace"))
        node = place.node.keys.get(name) if place.node else None
        if node is None:
            if b"" in place.names:
                return place.names[b""]
            if place.depth >= _DEEPEST:
                return place
            if len(place.names) >= _MOST_NAMES or self._many >= _MOST_PLACES:
                return self._any(place)
        self._many += 1
        step = _SPECIAL.sub(r"\\\1", name)
        place.names[raw] = Place(
            f"{place.path}.{step}" if place.path else step, node, place.depth + 1
        )
        return place.names[raw]

    def passes(self, place: Place) -> None:
        """Take note that a value passes here."""
        place.named = True
        self.fields.others[place.path] = None

    def _any(self, place: Place) -> Place:
        """Replace all names of an object by one place that stands for any."""
        every = Place(f"{place.path}.*" if place.path else "*", None, place.depth + 1)
        kept = {raw: each for raw, each in place.names.items() if each.node}
        data = [each.path for each in place.names.values() if not each.node]
        place.names = {**kept, b"": every}
        names: dict[str, None] = {}
        for name in self.fields.others:
            inside = next((each for each in data if _within(name, each)), None)
            names[name if inside is None else every.path + name[len(inside) :]] = None
        self.fields.others.clear()
        self.fields.others.update(names)
        return every


def _within(name: str, path: str) -> bool:
    return name.startswith(path) and name[len(path) : len(path) + 1] in ("", ".", "[")
