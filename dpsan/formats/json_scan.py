"""The grammar of JSON (RFC 8259) on bytes: where values end, and where the chosen strings are.

Knows bytes and paths.  Must not know records or texts.  NaN and Infinity, as Python writes them,
pass too.
"""

from __future__ import annotations

import re
from typing import Final

from dpsan.errors import MalformedError
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
    """The chosen strings of a value, and its end.

    Args:
        root: what is chosen; None: nothing.
        at: where it begins, or white space before it.

    Raises:
        MalformedError: no JSON, at any depth.
        KindError: a chosen field holds something else than text.
    """

    __slots__ = ("end", "raw", "seen", "spans")

    def __init__(self, raw: bytes, root: Node | None, at: int = 0) -> None:
        self.raw = raw
        self.spans: list[tuple[int, int]] = []
        self.seen: set[int] = set()
        match = _WHOLE.match(raw, at)
        if match is None:
            raise MalformedError(at)
        self.end = self._walk(match, root)

    def _walk(self, match: re.Match[bytes], node: Node | None) -> int:
        """Go through the value that a pattern found; returns the place behind it."""
        raw = self.raw
        within: list[tuple[bytes, Node | None]] = []
        """The objects and lists that are open, by their brackets, and what is chosen of each."""
        while True:
            at, follows, opening = match.end(), match[3], match[4]
            if opening is None:
                if node is not None:
                    self._scalar(node, *match.span(2))
            else:
                if node is not None and not (node.keys if opening == b"{" else node.items):
                    raise KindError(node.path, opening, node.wanted)
                if empty := _EMPTY[opening].match(raw, at):
                    at = empty.end()
                else:
                    within.append((opening, node))
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
            match, node = found, None
            if parent is not None and opening == b"[":
                node = parent.items
            elif parent is not None:
                node = parent.keys.get(parsed(found[1].decode("utf-8", "replace")))

    def _scalar(self, node: Node, start: int, end: int) -> None:
        first = self.raw[start : start + 1]
        if first == b'"' and node.field is not None:
            self.spans.append((start, end))
        elif first != b"n":
            raise KindError(node.path, first, node.wanted)
        if node.field is not None:
            self.seen.add(node.field)


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


def following(raw: bytes, at: int) -> tuple[int, bool]:
    """Behind an item of a list: where the next begins, and whether there is none.

    Raises:
        MalformedError: neither a comma nor a bracket.
    """
    match = _NEXT.match(raw, at)
    if match is None or match[1] == b"}":
        raise MalformedError(at)
    return match.end(), match[1] == b"]"
