"""The grammar of JSON (RFC 8259) on bytes: where values end, and where the chosen strings are.

Knows bytes and paths.  Must not know records or texts.  NaN and Infinity, as Python writes them,
pass too.
"""

from __future__ import annotations

import re
from typing import Final

from dpsan.formats.json_strings import parsed
from dpsan.text.patterns import compiled

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
"""The end of a list without items, from behind its bracket."""
_NEXT: Final = compiled(_SPACE + rb"([,\]}])")
_END: Final = compiled(_SPACE + rb"\Z")
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_PATTERN: Final = {b"{": _MEMBER, b"[": _ITEM}


class MalformedError(Exception):
    """Not JSON, at a byte."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class KindError(Exception):
    """A chosen field holds something else than text."""

    def __init__(self, path: str, found: bytes, wanted: str) -> None:
        super().__init__()
        self.path, self.found, self.wanted = path, found[:1], wanted


class Node:
    """A place inside a record that a field ends at or leads through."""

    __slots__ = ("field", "items", "keys", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.field: int | None = None
        self.keys: dict[str, Node] = {}
        self.items: Node | None = None

    def child(self, step: str | None) -> Node:
        """The place one step further in, made if need be."""
        if step is None:
            if self.items is None:
                self.items = Node(self.path + "[]")
            return self.items
        if step not in self.keys:
            self.keys[step] = Node(f"{self.path}.{step}" if self.path else step)
        return self.keys[step]

    @property
    def wanted(self) -> str:
        """What may stand here, for messages."""
        kinds = (
            ("a string", self.field is not None),
            ("an object", self.keys),
            ("a list", self.items),
        )
        return " or ".join(name for name, there in kinds if there)


class Scan:
    """The chosen strings of one record."""

    __slots__ = ("raw", "seen", "spans")

    def __init__(self, raw: bytes, root: Node) -> None:
        self.raw = raw
        self.spans: list[tuple[int, int]] = []
        self.seen: set[int] = set()
        match = _WHOLE.match(raw)
        if match is None:
            raise MalformedError(0)
        at = self._value(match, root)
        if _END.match(raw, at) is None:
            raise MalformedError(at)

    def _value(self, match: re.Match[bytes], node: Node | None) -> int:
        """Take the value that a pattern found; returns the place behind it."""
        opening = match[4]
        if opening is None:
            if node is not None:
                self._scalar(node, *match.span(2))
            return match.end()
        if node is None:
            return _skip(self.raw, match.end(), opening)
        if not (node.keys if opening == b"{" else node.items):
            raise KindError(node.path, opening, node.wanted)
        return self._walk(match.end(), opening, node)

    def _scalar(self, node: Node, start: int, end: int) -> None:
        first = self.raw[start : start + 1]
        if first == b'"' and node.field is not None:
            self.spans.append((start, end))
        elif first != b"n":
            raise KindError(node.path, first, node.wanted)
        if node.field is not None:
            self.seen.add(node.field)

    def _walk(self, at: int, opening: bytes, node: Node) -> int:
        """Go through an object or a list that leads to a field; at: behind its bracket."""
        empty = _EMPTY[opening].match(self.raw, at)
        if empty:
            return empty.end()
        pattern = _PATTERN[opening]
        while True:
            match = pattern.match(self.raw, at)
            if match is None:
                raise MalformedError(at)
            child = node.items if opening == b"[" else node.keys.get(_key(match[1]))
            at = self._value(match, child)
            follows = match[3]
            if follows is None:
                after = _NEXT.match(self.raw, at)
                if after is None:
                    raise MalformedError(at)
                follows, at = after[1], after.end()
            if follows != b",":
                if follows != _CLOSING[opening]:
                    raise MalformedError(at - 1)
                return at


def _key(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    return parsed(text)


def _skip(raw: bytes, at: int, opening: bytes) -> int:
    """The place behind a value that is not chosen; checks its grammar, at any depth."""
    open_ = [opening]
    first = True
    while True:
        empty = _EMPTY[open_[-1]].match(raw, at) if first else None
        if empty is None:
            match = _PATTERN[open_[-1]].match(raw, at)
            if match is None:
                raise MalformedError(at)
            at, first = match.end(), False
            if match[4] is not None:
                open_.append(match[4])
                first = True
                continue
            if match[3] == b",":
                continue
        else:
            at, first = empty.end(), False
        while True:
            open_.pop()
            if not open_:
                return at
            after = _NEXT.match(raw, at)
            if after is None:
                raise MalformedError(at)
            at = after.end()
            if after[1] == b",":
                break
            if after[1] != _CLOSING[open_[-1]]:
                raise MalformedError(at - 1)


def is_blank(raw: bytes, at: int = 0) -> bool:
    """Whether nothing but white space follows."""
    return _END.match(raw, at) is not None


def behind_space(raw: bytes, at: int) -> int:
    """The place behind the white space that begins here."""
    match = _BLANKS.match(raw, at)
    return match.end() if match else at


def opening_of(raw: bytes, at: int) -> int | None:
    """The place behind the bracket that begins a list, if one begins here."""
    match = _WHOLE.match(raw, at)
    return match.end() if match and match[4] == b"[" else None


def value_end(raw: bytes, at: int) -> int:
    """The place behind the value that begins here.  Raises MalformedError."""
    match = _WHOLE.match(raw, at)
    if match is None:
        raise MalformedError(at)
    return match.end() if match[4] is None else _skip(raw, match.end(), match[4])


def following(raw: bytes, at: int) -> tuple[int, bool]:
    """Behind an item of a list: where the next begins, and whether there is none.

    Raises:
        MalformedError: neither a comma nor a bracket.
    """
    match = _NEXT.match(raw, at)
    if match is None or match[1] == b"}":
        raise MalformedError(at)
    return match.end(), match[1] == b"]"
