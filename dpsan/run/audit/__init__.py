"""The audit: one JSON row for each word, as secret as the input.

This module is its grammar, which rows there are and what their fields are, and reads it;
:mod:`~dpsan.run.audit.writer` writes it.

A header; ``word`` rows; a ``remembered`` row for all words of a text whose earlier output is
written again, at no cost; a ``file`` row after each input that was finished, and ``totals``.  A
run that stopped early has totals with ``"complete": false`` or none at all.  Keys, noise and noisy
vectors are never written.  In a guarantee and in sums, null stands for infinity.

The epsilon of a word is the header's; null where nothing was drawn and for public words, since no
epsilon bounds what such a word tells.  Where equal words have the same draw (``consistent``), the
first of them in a record has the epsilon and the others 0; totals count every draw of a file or of
a run once, so they may be less than the sum of the rows.  ``text`` numbers the texts (fields,
cells) of one record.  With ``spans`` only words that a span touches were drawn; the others are
``outside``.  Of the ``draws``, ``public`` were of public words; ``epsilon_sum``,
``epsilon_ldp_sum`` and ``delta_sum`` are of the others, the largest record and file count all
draws.

With ``only`` words of some classes were replaced, each by a word of its ``group``; ``rule`` is the
row of the rules that found it, and its epsilon is 0.  A number that was drawn by value has the
header's epsilon.  The others are ``plain``, and no guarantee covers them; ``passes`` names the list
or rule by which each of them passes.  With ``classes`` all words are drawn, with the header's
epsilon, and a word has its ``class``.

With ``fluent``, the digest of a language model, ``out`` was decoded from the words around it;
``drawn`` is the word that the mechanism drew, null where it drew none.

The header says which ``fields`` were chosen.  When it is written, no input has been read: which
other fields there are stands in ``passing`` of the rows after it.  Each kind of field has a number
(``others`` of all, ``of``), at most twenty names, and whether it was left out; ``noted`` counts
other text by kind, and ``by_name`` has the type of each chosen field that its name alone told, so
that ``--only`` drew its words as such where that class was chosen.

A reader yields rows of the grammar, in order, or one error that names the line; no message quotes a
row.
"""

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import Any, Final

import orjson

from dpsan.errors import InputError
from dpsan.files.compression import open_decompressed
from dpsan.formats import documents, text
from dpsan.mechanisms.registry import finite
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize.result import UNDRAWN, Action
from dpsan.sanitize.settings import SETTINGS

SCHEMA: Final = 16
"""Changes whenever rows do; a reader knows this one only."""

Row = dict[str, Any]
Fields = Mapping[str, tuple[Any, ...]]
"""By name what a value may be: types, fields of an object, or a list with the fields of each."""

_TYPES: Final[dict[str, tuple[Any, ...]]] = {
    **{kind.__name__: (kind,) for kind in (str, int, bool, list, dict)},
    "float": (float, int),
}


def _grammar() -> dict[str, Fields]:
    """Return the rows of ``grammar.txt``, and the objects inside of them, by name."""
    bodies = documents.sections(Path(__file__).parent / "grammar.txt")
    listed = {
        "actions": " ".join(f"{action}:int" for action in Action),
        "undrawn": " ".join(f"{action}:int" for action in UNDRAWN),
        "settings": " ".join(about.row for about in SETTINGS.values()),
    }
    listed["sums"] = bodies["sums"].format(**listed)
    out: dict[str, Fields] = {}
    for row, body in bodies.items():
        fields: dict[str, tuple[Any, ...]] = {}
        for field in body.format(**listed).split():
            name, kind = field.removesuffix("?").split(":")
            inner = out.get(kind.removesuffix("[]"))
            kinds = _TYPES.get(kind) or ([inner] if kind.endswith("[]") else inner,)
            fields[name] = (*kinds, NoneType) if field.endswith("?") else kinds
        out[row] = fields
    return out


ROWS: Final = _grammar()


class DamagedError(Exception):
    """Error in a row: names of fields, never a value."""


def guarantee_row(guarantee: Guarantee) -> Row:
    """Return a guarantee as JSON values."""
    return {
        **{name: getattr(guarantee, name) for name in ROWS["guarantee"]},
        "status": str(guarantee.status),
        "arithmetic": str(guarantee.arithmetic),
        "epsilon_ldp": finite(guarantee.epsilon_ldp),
        "epsilon_metric": finite(guarantee.epsilon_metric),
        "also": [list(pair) for pair in guarantee.also],
        "claimed": None if guarantee.claimed is None else asdict(guarantee.claimed),
    }


def checked(row: object, fields: Fields | None = None) -> Row:
    """Return the row, if it is one of the grammar.

    Args:
        fields: of the kind of row; default by its type.

    Raises:
        DamagedError: it is not.
    """
    if type(row) is not dict:
        raise DamagedError("not a row")
    if fields is None:
        if (kind := row.get("type")) not in ("header", "remembered", "file", "totals"):
            raise DamagedError("unknown type")
        fields = ROWS[kind]
        if kind == "header":
            row.setdefault("beside", None)  # audits of earlier versions do not tell it
    _match(row, fields)
    if fields is ROWS["header"] and (row["public"] is None) != (
        row["guarantee"]["public_words"] == 0
    ):
        raise DamagedError("public words in one place and not in another")
    return row


def _match(row: Row, fields: Fields) -> None:
    for name, kinds in fields.items():
        if name not in row:
            raise DamagedError(f"no {name}")
        value = row[name]
        if type(value) not in kinds and not any(_fits(value, kind) for kind in kinds):
            raise DamagedError(f"{name} is of another type")
    if len(row) != len(fields):
        raise DamagedError("fields that no such row has")


def _fits(value: object, kind: Any) -> bool:
    """Return whether a value is of a kind.  Raises DamagedError: one of its own fields is not."""
    if isinstance(kind, type):
        return type(value) is kind
    if isinstance(kind, list):
        return type(value) is list and all(_fits(item, kind[0]) for item in value)
    if type(value) is dict:
        _match(value, kind)
    return type(value) is dict


_ROW: Final = 16 << 20
_ACTIONS: Final = {*map(str, Action)} - {str(Action.REMEMBERED)}


def damaged(path: str | Path, line: int, what: str, hint: str = "") -> InputError:
    """Return the error of a damaged row."""
    return InputError(path, f"damaged audit row: {what}", hint, line=line)


_TORN: Final = (
    "its end is missing: was the run killed, or the copy? head -n {} takes the rows before it"
)


def read_header(path: Path) -> Row:
    """Return the first row of an audit.

    Raises:
        InputError: it cannot be read or is not an audit.
    """
    with closing(read_rows(path)) as rows:
        return next(rows)[1]


def read_rows(path: Path) -> Generator[tuple[int, Row]]:
    """Yield all rows of an audit with their lines, the header first; read once, one at a time.

    Raises:
        InputError: it cannot be read, or a row is damaged.
    """
    word: Fields | None = None
    ended = False
    with open_decompressed(path) as source:
        for number, raw, ending in filter(None, text.raw_records(source, _ROW)):
            try:
                if word is None:
                    row = checked(text.json_header(source.name, raw, "header", SCHEMA, "an audit"))
                    word = _word_of(row)
                elif ended:
                    raise DamagedError("a row behind the totals")
                else:
                    row = orjson.loads(raw)
                    ended = _check(row, word) == "totals"
            except (orjson.JSONDecodeError, DamagedError) as error:
                what = str(error) if isinstance(error, DamagedError) else "not JSON"
                torn = _TORN.format(number - 1) if word and not ending else ""
                raise damaged(source.name, number, what, torn) from None
            yield number, row
    if word is None:
        raise InputError(path, "not an audit: empty")
    # A run that was killed may have left a text without its last words: that is no damage.


def _word_of(header: Row) -> Fields:
    """Return the fields of a row of a word."""
    only, classes = header["only"] is not None, header["classes"] is not None
    more = {
        "fluent": header["fluent"] is not None,
        "only": only,
        "classes": classes and not only,
        "copies": header["copies"] > 1,
        "originals": header["originals"],
    }
    fields = dict(ROWS["word"])
    for row in (row for row, there in more.items() if there):
        fields.update(ROWS[row])
    return fields


def _check(row: Any, word: Fields) -> str:
    """Return the type of a row that may follow a header.  Raises DamagedError: it may not."""
    if type(row) is dict and row.get("type") == "word":
        if checked(row, word)["action"] not in _ACTIONS:
            raise DamagedError("unknown action")
    elif checked(row)["type"] == "header":
        raise DamagedError("a second header")
    return str(row["type"])
