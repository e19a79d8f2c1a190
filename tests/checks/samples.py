"""Sample documents of public texts in formats whose records are lines."""

import csv
import io
import json
from collections.abc import Callable
from itertools import starmap
from typing import NamedTuple

_GAPS = (" ", ", ", " ", ". ", " ", '" ')


class Sample(NamedTuple):
    """Records of a format, written without the code that is verified."""

    format: str
    fields: tuple[str, ...]
    gaps: tuple[str, ...]
    """Gaps between the words, over and over."""
    record: Callable[[int, str], str]
    """A record as other programs write it, with quotes and escapes that its words need."""
    again: Callable[[int, str], str]
    """A record as it must be written, whatever the old text was."""
    text: Callable[[str], str]
    """Text of a record."""
    header: str = ""

    def written(self, texts: list[str]) -> bytes:
        """Return a document."""
        return "".join((self.header, *starmap(self.record, enumerate(texts)))).encode()

    def pieces(self, data: bytes) -> list[str]:
        """Return the records of a document, after the header."""
        lines = data.decode().removeprefix(self.header).split("\n")[:-1]
        return [f"{line}\n" for line in lines]


def _row(number: int, text: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerow([number, text])
    return out.getvalue()


SAMPLES = (
    Sample("text", (), _GAPS, lambda _, t: f"{t}\n", lambda _, t: f"{t}\n", lambda line: line[:-1]),
    Sample(
        "csv",
        ("text",),
        (" ", "; ", " ", ". "),  # nothing that needs quotes
        _row,
        _row,
        lambda line: next(csv.reader([line]))[-1],
        "id,text\n",
    ),
    Sample(
        "jsonl",
        ("text",),
        (*_GAPS, " \u2014 "),  # not to be escaped
        lambda number, t: json.dumps({"id": number, "text": t}) + "\n",
        lambda number, t: json.dumps({"id": number, "text": t}, ensure_ascii=False) + "\n",
        lambda line: str(json.loads(line)["text"]),
    ),
)
