"""Strings of one shape, under every tokenizer and option: the same draws, the same passed text."""

import re
from itertools import product
from pathlib import Path
from typing import Any

from checks.shapes import KINDS, compared

from dpsan.privacy.randomness import new_key
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import TOKENIZERS
from scoreboard.base import ROOT, Row, Size, row

_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"numbers": "value"},
    {"keep": ["maria", "o'brien", "7"]},
    {"unknown": "mask"},
    {"consistent": "record"},
)


@row("shape", "pairs of strings of one shape / cut in two ways", "100,000 / 0")
def one_shape(row: Row, size: Size, folder: Path) -> None:
    """Pairs of strings that differ in letters and digits only, in and out of the vocabulary."""
    settings = list(product(TOKENIZERS, _OPTIONS, (False, True)))
    pairs = size.of(3_000, 1_000, 4_000)
    for tokenizer, options, spans in settings if size is not Size.MUTANT else settings[:3:2]:
        sanitizer = Sanitizer(epsilon=8.0, tokenizer=tokenizer, cache=folder / "cache", **options)
        kinds = (*KINDS, *_kinds_of_the_page())
        found = compared(sanitizer, key=new_key(), pairs=pairs, kinds=kinds, spans=spans)
        row.tried += found.pairs
        wrong = {"other draws": found.draws, "other characters": found.characters}
        for kind, many in (wrong | {"other lines than in the audit": found.otherwise}).items():
            row.bad[kind] = row.bad.get(kind, 0) + many
        if found.example:
            row.count(f"{tokenizer}, {options}, spans {spans}: {found.example}", True)
    row.note = f"{len(settings)} settings"


def _kinds_of_the_page() -> list[str]:
    """The examples of docs/strings.md with A for each letter and 0 for each digit."""
    page = (ROOT / "docs" / "strings.md").read_text().split("<!-- generated")[1]
    examples = re.findall(r"^\| [^|]+ \| `([^`<]+)`", page, re.M)
    literal = r"(?<=\w)['’]s\b|\bwww\b|\w['’]t\b|(?<=\d)[^\W\d]+"
    one = re.compile(rf"({literal})|([^\W\d_])|\d")
    out = [one.sub(lambda found: found[1] or "0A"[bool(found[2])], each) for each in examples]
    return [each for each in out if "A" in each or "0" in each]
