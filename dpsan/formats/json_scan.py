"""JSON (RFC 8259) on bytes: where values end, where chosen strings are, the paths of all others.

NaN and Infinity, as Python writes them, pass too.  A string may hold JSON itself, such as
the arguments of a tool: where a path leads on into it, its own strings are chosen, it stays JSON.
"""

import json
import re
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final, TypeAlias

from dpsan.errors import MalformedError
from dpsan.formats.passing import Position, Positions
from dpsan.formats.paths import Place
from dpsan.text.shape import compiled


def parsed(text: str) -> str:
    """Return the value of a JSON string; escaped surrogates that stand alone stay as they are."""
    if "\\" not in text:
        return text[1:-1]
    return str(json.loads(text))


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

    def __init__(self, position: Position, value: bytes) -> None:
        super().__init__()
        self.path, self.found = position.path, value[:1]
        self.wanted = position.place.wanted if position.place else ""


class Scan:
    """The strings of a value that may be chosen, and its end.

    Args:
        position: where the value is in its record, and what is chosen there; None: nothing.
        positions: records the paths of values that pass; None: they are not recorded.
        at: where it begins, or white space before it.

    Raises:
        MalformedError: no JSON, at any depth.
        KindError: a chosen field holds something else than text.
    """

    __slots__ = ("end", "found", "positions", "raw", "seen")

    def __init__(
        self, raw: bytes, position: Position | None, positions: Positions | None = None, at: int = 0
    ) -> None:
        self.raw, self.positions = raw, positions
        self.found: list[tuple[int, int, Position]] = []
        """Where the strings begin and end."""
        self.seen: set[int] = set()
        """Fields that there are, also with null."""
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
            place = position.place if position is not None else None
            if opening is None:
                if position is not None and place is not None:
                    self._scalar(position, place, *match.span(2))
                elif positions and position and not position.named and match[2] != b"null":
                    positions.passes(position)
            else:
                if position and place and not (place.members if opening == b"{" else place.items):
                    raise KindError(position, opening)
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
            opened = _PATTERN[opening].match(raw, at)
            if opened is None:
                raise MalformedError(at)
            match, position = opened, None
            if positions and parent is not None:
                if opening == b"[":
                    position = parent.items or positions.item(parent)
                else:
                    key = opened[1]
                    position = parent.names.get(key) or positions.member(parent, key, name_of(key))
                    positions.persons += position.listed

    def _scalar(self, position: Position, place: Place, start: int, end: int) -> None:
        first = self.raw[start : start + 1]
        if first == b'"' and (place.enters or place.field is not None):
            self.found.append((start, end, position))
        elif first != b"n":
            passes(position, self.positions, first)
        if first in b'"n' and place.field is not None:
            self.seen.add(place.field)


def passes(position: Position, positions: Positions | None, first: bytes) -> None:
    """Take note that a value passes where something is chosen.  Raises KindError: it must not.

    Args:
        first: byte of the value.
    """
    if position.place is not None and position.place.strict:
        raise KindError(position, first)
    if positions is not None and not position.named:
        positions.passes(position)


def name_of(key: bytes) -> str:
    """Return the name that a key says."""
    return parsed(key.decode("utf-8", "replace"))


class Chosen:
    """Texts that are chosen, one after the other."""

    __slots__ = ("fields", "paths", "seen", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.fields: list[int] = []
        """The field of each text, and its path."""
        self.paths: list[str] = []
        self.seen: set[int] = set()
        """Fields that there are, also with null."""

    def take(self, text: str, position: Position, positions: Positions) -> "Part":
        """Take in a string, or what is chosen of the JSON object or list that it is.

        Args:
            position: where it stands.

        Raises:
            KindError: it must be something else.
        """
        place = position.place
        number = None if place is None else place.field
        if number is not None:
            self.seen.add(number)
        raw = _json_in(text, place)
        if raw is not None:
            inner = Strings(raw, position, positions, _decoded)
            self.texts += inner.texts
            self.fields += inner.fields
            self.paths += inner.paths
            self.seen |= inner.seen
            return inner
        if number is None:
            passes(position, positions, b'"')
            return None
        if not position.taken:
            positions.takes(position, number)
        self.texts.append(text)
        self.fields.append(number)
        self.paths.append(position.path)
        return text


class Strings(Chosen):
    """The chosen strings of a value, and of JSON inside of its strings.

    Args:
        raw: the value, and white space after it.
        position, positions: see :class:`Scan`, whose errors it raises.
        decode: returns the text of a part of ``raw``.
    """

    __slots__ = ("_parts", "end", "raw")

    def __init__(
        self, raw: bytes, position: Position, positions: Positions, decode: Callable[[bytes], str]
    ) -> None:
        super().__init__()
        scan = Scan(raw, position, positions)
        self.raw, self.end, self.seen = raw, scan.end, scan.seen
        self._parts: list[tuple[int, int, Strings | str]] = []
        for start, end, at in scan.found:
            part = self.take(parsed(decode(raw[start:end])), at, positions)
            if isinstance(part, str) or (part is not None and part.texts):
                self._parts.append((start, end, part))

    def written(self, texts: Iterator[str], *, keep_equal: bool = False) -> bytes:
        """Return the value with other texts.

        Args:
            keep_equal: a string that stays the same keeps its escapes.
        """
        out: list[bytes] = []
        at = 0
        for start, end, part in self._parts:
            old = part.text if isinstance(part, Strings) else part
            new = other_text(old, part, texts, keep_equal=keep_equal)
            # U+FFFD for invalid bytes is no white space.
            same = new == old and (keep_equal or not new.strip())
            out += (self.raw[at:start], self.raw[start:end] if same else written(new))
            at = end
        out.append(self.raw[at:])
        return b"".join(out)

    @property
    def text(self) -> str:
        """Return the value as text."""
        return _decoded(self.raw)


Part: TypeAlias = Strings | str | None
"""Choice within a string: some of the JSON inside of it, all of it, or nothing."""


def other_text(old: str, part: Part, texts: Iterator[str], *, keep_equal: bool = False) -> str:
    """Return a string with the next texts in place of what is chosen of it.

    Args:
        keep_equal: see :meth:`Strings.written`.
    """
    if isinstance(part, Strings):
        return _decoded(part.written(texts, keep_equal=keep_equal))
    return old if part is None else next(texts)


def _json_in(text: str, place: Place | None) -> bytes | None:
    """Return the bytes of a text that is a JSON object or list, if a path leads into it."""
    if place is None or not place.enters or text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    raw = text.encode("utf-8", "surrogatepass")
    try:  # first without a look at its names: of a text that is no JSON, none is told
        return raw if is_blank(raw, Scan(raw, None).end) else None
    except MalformedError:
        return None


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


TOO_DEEP: Final = "a value is too deep for --drop-other"


def pruned(raw: bytes, place: Place | None) -> bytes:
    """Return a value of valid JSON without all values in its objects and lists that are not chosen.

    Args:
        place: what is chosen of the value.

    Raises:
        RecursionError: it is too deep.
    """
    # Numbers are left out: no digits need be kept.
    value = json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=tuple, parse_int=float)
    return _pruned(value, place) or b"null"


def _pruned(value: Any, place: Place | None) -> bytes | None:
    """Return what is chosen of a value, whose objects are pairs; None for nothing."""
    if place is None:
        return None
    if value is None:
        return b"null"
    if isinstance(value, str):
        text = pruned_text(value, place)
        return None if text is None else written(text)
    if isinstance(value, tuple):
        members = ((name, _pruned(inner, place.child(name))) for name, inner in value)
        kept = (written(name) + b":" + part for name, part in members if part is not None)
        return b"{%b}" % b",".join(kept)
    if isinstance(value, list):
        items = (_pruned(inner, place.child(None)) for inner in value)
        return b"[%b]" % b",".join(part for part in items if part is not None)
    return None


def pruned_text(text: str, place: Place) -> str | None:
    """Return a text that is chosen, or what is chosen of the JSON inside of it; None: nothing."""
    inside = _json_in(text, place)
    if inside is None:
        return text if place.field is not None else None
    return _decoded(pruned(inside, place))


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
