"""Long strings that make patterns try again and again, under every setting: time must be linear."""

import re
import resource
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from dpsan.sanitize.sanitizer import Sanitizer
from scoreboard.base import Row, Size, dpsan, row

_SHORT, _TIMES = 12_000, 4
_MOST, _FREE = 9, 0.2
"""A string of four times the length may take nine times as long (a square: sixteen), and seconds
that nobody measures."""
_PIECES = re.findall(
    r"\S+",
    "a 0 a0 0a f3 @ a@ a@b. a. a/ 0. 0- 0/ 0: 0, 0( (0) +0 www. ://a a:/ a' 's e\u0301 \U0001f642 "
    "\u20ac0 0\u20ac 1,000 - _ a- a_ %0 #a &a a.a/ 0e \uff21 \u200b a\u200b",
)
_AROUND = (("", ""), ("", "x"), ("x", "0"), ("0", "/"), ("+", "x"), ("a@", ""))
_SETTINGS: dict[str, dict[str, Any]] = {
    "--class contacts,ids": {"classes": "contacts,ids"},
    "--tokenizer whitespace": {"tokenizer": "whitespace"},
    "--only": {"only": "sensitive"},
    "--numbers value": {"numbers": "value"},
    "--tokenizer ptb": {"tokenizer": "ptb"},
    "no option": {},
}


@row("linear", "long strings of one token × settings / not in linear time", "1,000 / 0")
def long_strings(row: Row, size: Size, folder: Path) -> None:
    """CPU time at two lengths."""
    every = size.of(1, 3, 1)  # a quick run takes the strings in turn, each with two settings
    for number, (name, options) in enumerate([*_SETTINGS.items()][: size.of(2, 6, 6)]):
        law: dict[str, Any] = {} if "only" in options else {"epsilon": 8.0}
        law |= {} if {"only", "classes"} & {*options} else {"mechanism": "krr"}
        sanitizer = Sanitizer(**law, **options, cache=folder / "cache")
        sanitizer.sanitize(["warm up 12"], b"k" * 32)
        pairs = zip(_strings(_SHORT), _strings(_SHORT * _TIMES), strict=True)
        for short, long in islice(pairs, number % every, None, every):
            times = []
            for text in (short, long):
                before = time.process_time()
                sanitizer.sanitize([text], b"k" * 32)
                times.append(time.process_time() - before)
            row.tried += 1
            row.count(f"{name}: not linear", times[1] > _MOST * times[0] + _FREE)
            if row.red:
                return  # the strings that follow may take hours
    if size is not Size.MUTANT:
        seconds = [_preview(folder, length) for length in (1, _SHORT, _SHORT * _TIMES)]
        row.tried += 1
        extra = [each - seconds[0] for each in seconds[1:]]
        row.count("preview: not linear", extra[1] > _MOST * max(extra[0], 0) + 5 * _FREE)


def _strings(length: int) -> Iterator[str]:
    """Yield strings of about this length, the same kinds for every length."""
    for piece in _PIECES:
        body = (piece * length)[:length]
        yield from (first + body + last for first, last in _AROUND)
    yield "".join(Random(3).choices("0123456789abcdef", k=length))


def _preview(folder: Path, length: int) -> float:
    """Return the seconds of CPU time for a file of hexadecimal digits among words."""
    *_, digits = _strings(length)
    (folder / "t.txt").write_text(f"Maria met John in Paris.\n{digits}\n" * 3)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert dpsan("preview -q -e 8 t.txt", folder).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
