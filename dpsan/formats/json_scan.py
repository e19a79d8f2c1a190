"""The grammar of JSON (RFC 8259) on bytes: where values end, and where the chosen strings are.

NaN and Infinity, as Python writes them, pass too.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final

from dpsan.errors import MalformedError
from dpsan.formats.json_positions import Node, Position, Positions, parsed
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
