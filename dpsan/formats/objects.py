"""The chosen strings of a Python value, and the value with other strings in their places."""

import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from threading import get_ident
from typing import Any

from dpsan.errors import UsageError
from dpsan.formats import json_scan, paths
from dpsan.formats.passing import Fields, Position, Positions, named_type
from dpsan.text.spanned_tokens import Spans


class ObjectStrings:
    """The strings of a value that paths choose, also in JSON inside of its strings.

    Args:
        value: mappings, lists and tuples of strings, numbers, booleans and None.
        fields: paths to the strings, see :mod:`dpsan.formats.paths`.
        excluded: paths to places that pass with all that is inside of them, of any type.

    Raises:
        UsageError: a wrong path, or one that leads to no string.
        TypeError: a type that is none of these.
    """

    def __init__(
        self, value: Any, fields: str | Iterable[str] = "**", excluded: str | Iterable[str] = ()
    ) -> None:
        self._positions = _positions(
            (fields,) if isinstance(fields, str) else tuple(fields),
            (excluded,) if isinstance(excluded, str) else tuple(excluded),
            get_ident(),
        )
        self._chosen = json_scan.Chosen()
        self.texts = self._chosen.texts
        self._parts: list[tuple[Any, Any, json_scan.Part]] = []
        """The list or dict that holds each string, its place there, and the choice within it."""
        self._tuples: list[tuple[Any, Any]] = []
        """The same of the lists that become tuples, from the inside out."""
        self._root = [value]
        try:
            self._root[0] = self._copied(value, self._positions.top, self._root, 0)
        except json_scan.KindError as error:
            what = f"the field '{error.path}'" if error.path else "the value"
            raise UsageError(f"{what} must be {error.wanted}") from None
        except RecursionError:
            raise UsageError("the value is too deep, or is inside of itself") from None
        for number, field in enumerate(self._positions.chosen):
            if not field.optional and number not in self._chosen.seen:
                hint = "add ? to the name if it may be absent"
                raise UsageError(f"the value has no field '{field.name}'", hint)
        if excluded and (place := self._positions.top.place) is not None:
            for name in place.unused():
                what = f"no value has the path '{name}' of except_"
                warnings.warn(f"{what} (add ? to it if it may be absent)", stacklevel=3)

    def spans(self) -> list[Spans] | None:
        """Return spans that hold all of the texts whose paths tell their class; None: no path."""
        rows = [*zip(self.texts, map(named_type, self._chosen.paths), strict=True)]
        spans: list[Spans] = [[(0, len(text), of)] if of and text else [] for text, of in rows]
        return spans if any(spans) else None

    def with_texts(self, texts: Iterable[str]) -> Any:
        """Return a copy of the value with other texts, in the order of ``texts``, once."""
        rest = iter(texts)
        for holder, at, part in self._parts:
            holder[at] = json_scan.other_text(holder[at], part, rest)
        for holder, at in self._tuples:
            holder[at] = tuple(holder[at])
        return self._root[0]

    def _copied(self, value: Any, position: Position, holder: Any, at: Any) -> Any:
        """Take in the strings of a value, and return a copy of its lists and dicts.

        Args:
            holder: gets it at ``at``.
        """
        place = position.place
        if place is None or value is None:
            if place is not None and place.field is not None:
                self._chosen.seen.add(place.field)
            return value
        if isinstance(value, str):
            self._parts.append((holder, at, self._chosen.take(value, position, self._positions)))
            return value
        if isinstance(value, (dict, Mapping)) and place.members:  # a dict is told at once
            items_by_key: dict[Any, Any] = {}
            for key, inner in value.items():
                raw = str(key).encode("utf-8", "surrogatepass")
                member = position.names.get(raw) or self._positions.member(position, raw, str(key))
                items_by_key[key] = inner
                if member.place is not None:
                    items_by_key[key] = self._copied(inner, member, items_by_key, key)
            return items_by_key
        if isinstance(value, (list, tuple)) and place.items:
            inside, items = self._positions.item(position), list[Any]()
            for index, inner in enumerate(value):
                items.append(self._copied(inner, inside, items, index))
            if isinstance(value, tuple):
                self._tuples.append((holder, at))
            return items
        if not isinstance(value, Mapping | list | tuple | bool | int | float):
            kinds = "dicts, lists, strings, numbers, booleans and None"
            path = position.path or "the value"
            raise TypeError(f"{path} must be of {kinds} (got {type(value).__name__})")
        if place.strict:
            raise json_scan.KindError(position, b"")
        return value


@lru_cache(16)
def _positions(fields: tuple[str, ...], excluded: tuple[str, ...], _thread: int) -> Positions:
    """Return the positions of a call: a hook has the same paths for each value, and most keys.

    Each thread has its own.
    """
    chosen = paths.parse_fields(fields, "fields")
    root = paths.places(chosen, paths.parse_fields(excluded, "except_"))
    return Positions(root, chosen, Fields("field"))
