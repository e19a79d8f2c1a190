"""The chosen strings of a Python value, and the value with other strings in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dpsan.errors import UsageError
from dpsan.formats.json_scan import Chosen, KindError, Part, other_text
from dpsan.formats.passing import Fields
from dpsan.formats.paths import Field, Place, parse_fields, places
from dpsan.formats.positions import Position, Positions


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
        chosen, root = _parsed(
            (fields,) if isinstance(fields, str) else tuple(fields),
            (excluded,) if isinstance(excluded, str) else tuple(excluded),
        )
        self._positions = Positions(root, chosen, Fields("field"))
        self._value, self._chosen = value, Chosen()
        self.texts = self._chosen.texts
        self._parts: list[Part] = []
        """Choice within each string."""
        try:
            self._walk(value, self._positions.top, self._take)
        except KindError as error:
            what = f"the field '{error.path}'" if error.path else "the value"
            raise UsageError(f"{what} must be {error.wanted}") from None
        except RecursionError:
            raise UsageError("the value is too deep, or is inside of itself") from None
        for number, field in enumerate(chosen):
            if not field.optional and number not in self._chosen.seen:
                hint = "add ? to the name if it may be absent"
                raise UsageError(f"the value has no field '{field.name}'", hint)

    def with_texts(self, texts: Iterable[str]) -> Any:
        """Return the value with other texts, in the order of ``texts``; tuples stay tuples."""
        rest, parts = iter(texts), iter(self._parts)

        def other(text: str, _: Position) -> str:
            return other_text(text, next(parts), rest)

        return self._walk(self._value, self._positions.top, other)

    def _walk(self, value: Any, position: Position, leaf: Callable[[str, Position], str]) -> Any:
        """Return a value with what a function makes of its strings."""
        place = position.place
        if place is None or value is None:
            if place is not None and place.field is not None:
                self._chosen.seen.add(place.field)
            return value
        if isinstance(value, str):
            return leaf(value, position)
        if isinstance(value, list | tuple) and place.items:
            inside = self._positions.item(position)
            items = [self._walk(inner, inside, leaf) for inner in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, dict | Mapping) and place.members:  # a dict is told at once
            items_by_key = {}
            for key, inner in value.items():
                raw = str(key).encode("utf-8", "surrogatepass")
                member = position.names.get(raw) or self._positions.member(position, raw, str(key))
                items_by_key[key] = self._walk(inner, member, leaf)
            return items_by_key
        if not isinstance(value, Mapping | list | tuple | bool | int | float):
            kinds = "dicts, lists, strings, numbers, booleans and None"
            raise TypeError(f"a value may hold {kinds} (got {type(value).__name__})")
        if place.strict:
            raise KindError(position, b"")
        return value

    def _take(self, text: str, position: Position) -> str:
        """Take in a string."""
        self._parts.append(self._chosen.take(text, position, self._positions))
        return text


@lru_cache(64)
def _parsed(
    fields: tuple[str, ...], excluded: tuple[str, ...]
) -> tuple[Sequence[Field], Place | None]:
    """Return the paths of a call, and the outermost place: a hook has the same for each value."""
    chosen = parse_fields(fields, "fields")
    return chosen, places(chosen, parse_fields(excluded, "except_"))
