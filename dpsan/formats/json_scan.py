"""JSON (RFC 8259) on bytes: where values end, where chosen strings are, the paths of all others.

NaN and Infinity, as Python writes them, pass too.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final

from dpsan.errors import MalformedError
from dpsan.formats.passing import Fields
from dpsan.text.shape import compiled

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


# Possessive quantifiers: linear time on any bytes.
_SPACE: Final = rb"[ \t\r\n]*+"
_BLANKS: Final = compiled(_SPACE)
_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"'
_SCALAR: Final = (
    _STRING
    + rb"|-?+(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|Infinity)"
    + rb"|true|false|null|NaN"
)
# Groups: key, scalar, what follows it, opening bracket.
_MEMBER: Final = compiled(
    _SPACE + b"(" + _STRING + b")" + _SPACE + b":" + _SPACE
    + b"(?:(" + _SCALAR + b")" + _SPACE + rb"([,}])|([\[{]))"
)  # fmt: skip
_ITEM: Final = compiled(_SPACE + b"()(?:(" + _SCALAR + b")" + _SPACE + rb"([,\]])|([\[{]))")
_WHOLE: Final = compiled(_SPACE + b"()(?:(" + _SCALAR + b")()|" + rb"([\[{]))")
_EMPTY: Final = {b"{": compiled(_SPACE + rb"\}"), b"[": compiled(_SPACE + rb"\]")}
EMPTY_LIST: Final = _EMPTY[b"["]
"""The end of a list without items, from after its bracket."""
_NEXT: Final = compiled(_SPACE + rb"([,\]}])")
_END: Final = compiled(_SPACE + rb"\Z")
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_PATTERN: Final = {b"{": _MEMBER, b"[": _ITEM}


def written(text: str) -> bytes:
    """Return a text as a JSON string, with escapes only where JSON needs one.

    Others would tell which words were in the string that was read: of one that is unchanged, and
    of one that is written in ASCII where it could be.
    """
    try:
        return encode_basestring(text).encode()
    except UnicodeEncodeError:  # a lone surrogate exists in JSON as an escape only
        return encode_basestring_ascii(text).encode()


class KindError(Exception):
    """A chosen field holds something else than text."""

    def __init__(self, path: str, found: bytes, wanted: str) -> None:
        super().__init__()
        self.path, self.found, self.wanted = path, found[:1], wanted


class Scan:
    """The chosen strings of a value, and its end.

    Args:
        position: where the value is in its record, and what is chosen there; None: nothing.
        positions: records the paths of values that pass; None: they are not recorded.
        at: where it begins, or white space before it.

    Raises:
        MalformedError: no JSON, at any depth.
        KindError: a chosen field holds something else than text.
    """

    __slots__ = ("end", "fields", "positions", "raw", "seen", "spans")

    def __init__(
        self, raw: bytes, position: Position | None, positions: Positions | None = None, at: int = 0
    ) -> None:
        self.raw, self.positions = raw, positions
        self.spans: list[tuple[int, int]] = []
        self.fields: list[int] = []
        """The chosen field of each."""
        self.seen: set[int] = set()
        match = _WHOLE.match(raw, at)
        if match is None:
            raise MalformedError(at)
        self.end = self._walk(match, position)

    def _walk(self, match: re.Match[bytes], position: Position | None) -> int:
        """Go through the value that a pattern found; return the position after it."""
        raw, positions = self.raw, self.positions
        within: list[tuple[bytes, Position | None]] = []
        """The objects and lists that are open, by their brackets, and the position of each."""
        while True:
            at, follows, opening = match.end(), match[3], match[4]
            node = position.node if position is not None else None
            if opening is None:
                if node is not None:
                    self._scalar(node, *match.span(2))
                elif positions and position and not position.named and match[2] != b"null":
                    positions.passes(position)
            else:
                if node is not None and not (node.keys if opening == b"{" else node.items):
                    raise KindError(node.path, opening, node.wanted)
                if empty := _EMPTY[opening].match(raw, at):
                    at = empty.end()
                else:
                    within.append((opening, position))
                    follows = b","
            while within and follows != b",":
                if follows is None:
                    after = _NEXT.match(raw, at)
                    if after is None:
                        raise MalformedError(at)
                    follows, at = after[1], after.end()
                elif follows != _CLOSING[within.pop()[0]]:
                    raise MalformedError(at - 1)
                else:
                    follows = None
            if not within:
                return at
            opening, parent = within[-1]
            found = _PATTERN[opening].match(raw, at)
            if found is None:
                raise MalformedError(at)
            match, position = found, None
            if positions and parent is not None:
                if opening == b"[":
                    position = parent.items or positions.item(parent)
                else:
                    position = parent.names.get(found[1]) or positions.member(parent, found[1])

    def _scalar(self, node: Node, start: int, end: int) -> None:
        first = self.raw[start : start + 1]
        if first == b'"' and node.field is not None:
            self.spans.append((start, end))
            self.fields.append(node.field)
        elif first != b"n":
            raise KindError(node.path, first, node.wanted)
        if node.field is not None:
            self.seen.add(node.field)


def pruned(raw: bytes, node: Node | None, at: int = 0) -> bytes:
    """Return a value of valid JSON without the members of its objects that are not chosen.

    Args:
        node: what is chosen of the value.
    """
    return _pruned(raw, node, at)[0]


def _pruned(raw: bytes, node: Node | None, at: int) -> tuple[bytes, int]:
    """Return a value with its chosen members only, and the position after it."""
    match = _WHOLE.match(raw, at)
    assert match is not None  # noqa: S101 - the caller has scanned it
    opening = match[4]
    if opening is None or node is None:
        end = Scan(raw, None, at=at).end
        return raw[after_space(raw, at) : end], end
    at, out = match.end(), []
    if empty := _EMPTY[opening].match(raw, at):
        return opening + _CLOSING[opening], empty.end()
    while True:
        found = _PATTERN[opening].match(raw, at)
        assert found is not None  # noqa: S101
        at = found.start(2) if found[2] is not None else found.start(4)
        inner = node.items
        if opening == b"{":
            inner = node.keys.get(parsed(found[1].decode("utf-8", "replace")))
        value, at = _pruned(raw, inner, at)
        if opening == b"[":
            out.append(value)
        elif inner is not None:
            out.append(found[1] + b":" + value)
        after = _NEXT.match(raw, at)
        assert after is not None  # noqa: S101
        at = after.end()
        if after[1] == _CLOSING[opening]:
            return opening + b",".join(out) + _CLOSING[opening], at


def is_blank(raw: bytes, at: int = 0) -> bool:
    """Return whether nothing but white space follows."""
    return _END.match(raw, at) is not None


def after_space(raw: bytes, at: int) -> int:
    """Return the position after the white space that begins here."""
    match = _BLANKS.match(raw, at)
    return match.end() if match else at


def opening_of(raw: bytes, at: int) -> int | None:
    """Return the position after the bracket that begins a list, if a list begins here."""
    match = _WHOLE.match(raw, at)
    return match.end() if match and match[4] == b"[" else None


def following(raw: bytes, at: int) -> tuple[int, bool]:
    """Return where the next item of a list begins, and whether the list ends instead.

    Raises:
        MalformedError: neither a comma nor a bracket.
    """
    match = _NEXT.match(raw, at)
    if match is None or match[1] == b"}":
        raise MalformedError(at)
    return match.end(), match[1] == b"]"
