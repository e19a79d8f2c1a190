"""Whether what is drawn for a word depends on any other word: exactly, through the whole program.

Knows documents before and after.  Must not know how words are drawn.

Documents of public words are rewritten as text, CSV and JSON Lines.  Then one token of every
second record is replaced by another one, and they are rewritten under the same key.  What was
written must be the same but for the output of the replaced token: every other word, every gap,
every other record, byte by byte.  Post-processing reads outputs, so one thing besides may change
with that output: *a* or *an* before it.  A string of several tokens is several words: where it
takes the place of one, the words behind it in its record are drawn anew, and all other records
stay as they were.  All of it is exact: a program that keeps words apart is never refuted.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dpsan.analysis.verify.check import Check
from dpsan.analysis.verify.engine import rewritten, words_of
from dpsan.analysis.verify.inputs import may_hold, unknown_strings, words_at_random
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.letter_case import LetterCase

_RECORDS: Final = 32
_WORDS: Final = 12
"""Words of a record."""
_GAPS: Final = (" ", ", ", " ", ". ", " ", '" ')
"""Between the words, over and over."""
_PLAIN_GAPS: Final = (" | ", " / ", " = ")
"""Where outputs could hold the others."""
_ARTICLES: Final = frozenset({"a", "an"})

Lines = list[list[str]]
"""Words of each record."""


_SAME: Final = -1
"""Nothing was replaced in the record."""
_SEVERAL: Final = -2
"""A string of several tokens was put there: the words behind it are drawn anew."""


class _Piece(NamedTuple):
    """A record as it was written."""

    raw: bytes
    rest: object
    """What it holds besides its text."""
    text: str


@dataclass(frozen=True)
class _Format:
    name: str
    fields: tuple[str, ...]
    write: Callable[[list[str]], bytes]
    pieces: Callable[[bytes], list[_Piece]]


def _written_text(texts: list[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def _written_csv(texts: list[str]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["id", "text"], *([at, text] for at, text in enumerate(texts))])
    return out.getvalue().encode()


def _written_json(texts: list[str]) -> bytes:
    rows = (json.dumps({"id": at, "text": text}) for at, text in enumerate(texts))
    return "".join(f"{row}\n" for row in rows).encode()


def _pieces_text(data: bytes) -> list[_Piece]:
    return [_Piece(line, None, line.decode()) for line in data.split(b"\n")[:-1]]


def _pieces_csv(data: bytes) -> list[_Piece]:
    rows = csv.reader(io.StringIO(data.decode(), newline=""))
    return [_Piece(repr(row).encode(), row[:-1], row[-1]) for row in rows if row][1:]


def _pieces_json(data: bytes) -> list[_Piece]:
    pieces = []
    for line in data.split(b"\n")[:-1]:
        value = json.loads(line)
        pieces.append(_Piece(line, value, value.pop("text")))
    return pieces


_FORMATS: Final = (
    _Format("text", (), _written_text, _pieces_text),
    _Format("csv", ("text",), _written_csv, _pieces_csv),
    _Format("jsonl", ("text",), _written_json, _pieces_json),
)


@dataclass
class _Tally:
    """What was compared, and what differed."""

    replaced: int = 0
    words: int = 0
    records: int = 0
    wrong_words: int = 0
    wrong_records: int = 0
    unread: int = 0


def interference(
    sanitizer: Sanitizer, *, key: bytes, progress: Callable[[float], None] = lambda _: None
) -> Check:
    """Replace tokens of public texts and compare what is written.

    Args:
        sanitizer: the program under test.
        key: fresh.
        progress: called with the share done.
    """
    name = "non-interference"
    # Chunks between white space are looked up as they are: nothing may stick to a word.
    whole = sanitizer.spec.tokenizer == "whitespace"
    plain = whole or any(may_hold(sanitizer, gap) for gap in {*_GAPS})
    gaps = _PLAIN_GAPS if plain else _GAPS
    pool = _pool(sanitizer, derive_key(key, "pool"))
    if len(pool) < 3 or any(may_hold(sanitizer, gap) for gap in {*gaps}):
        return Check(name, None, "no text is known whose words could be told apart when written")
    width = min(_WORDS, len(pool) - 1)
    between = [gaps[at % len(gaps)] for at in range(width - 1)]
    tally, single = _Tally(), sanitizer.by_text()
    articles = sanitizer.spec.case == LetterCase.NATURAL
    for number, kind in enumerate(_FORMATS):
        lines, changes = _documents(pool, width, derive_key(key, kind.name))
        run, texts = derive_key(key, "run", kind.name), _texts(lines, between)
        if single.sanitize(texts, run).drawn != [width] * len(texts):
            return Check(name, None, "no text is known whose tokens are those that it is made of")
        first = _rewritten(sanitizer, kind, texts, run)
        for changed, places in changes:
            second = _rewritten(sanitizer, kind, _texts(changed, between), run)
            _compare(tally, first, second, places, between, articles=articles)
        progress((number + 1) / len(_FORMATS))
    figures: dict[str, float] = {
        "replaced": tally.replaced,
        "words": tally.words,
        "records": tally.records,
        "words_changed": tally.wrong_words,
        "records_changed": tally.wrong_records,
    }
    if tally.wrong_words or tally.wrong_records:
        sentence = (
            f"another token changed the outputs of {tally.wrong_words:,} of {tally.words:,} other "
            f"words and {tally.wrong_records:,} of {tally.records:,} other records"
        )
        return Check(name, False, sentence, figures)
    if tally.unread or not tally.words:
        return Check(name, None, "the texts that were written could not be read", figures)
    sentence = (
        f"{tally.replaced:,} tokens replaced in text, CSV and JSON Lines left {tally.words:,} "
        f"other words and {tally.records:,} other records as they were"
    )
    return Check(name, True, sentence, figures)


def _pool(sanitizer: Sanitizer, key: bytes) -> list[str]:
    """Different strings that are one drawn token each: words at random, unknown ones, a public."""
    keys = sanitizer.embeddings.index_to_key
    words = [keys[row] for row in words_at_random(sanitizer, 4 * _WORDS, key).tolist()]
    public = [keys[row] for row in sanitizer.public[:2]]
    pool = dict.fromkeys([*words, *public, *unknown_strings(sanitizer, 6)])
    return [word for word in pool if (sanitizer.input_of(word) or 0) >= 0]


def _documents(
    pool: list[str], width: int, key: bytes
) -> tuple[Lines, list[tuple[Lines, list[int]]]]:
    """Records of different words, and the same with one token of every second one replaced.

    Each changed document comes with the places that were replaced.
    """
    chance = streams_for(key, range(_RECORDS), [1] * _RECORDS)
    order = np.argsort(chance.bits("records", len(pool)), axis=1, kind="stable")
    lines = [[pool[at] for at in row[:width]] for row in order.tolist()]
    spare = [pool[row[width]] for row in order.tolist()]
    where: list[int] = (chance.bits("places")[:, 0] % np.uint64(width)).tolist()

    def change(parity: int, new: Callable[[int], str]) -> Lines:
        return [
            [*line[: where[at]], new(at), *line[where[at] + 1 :]] if at % 2 == parity else line
            for at, line in enumerate(lines)
        ]

    def places(parity: int, mark: Callable[[int], int]) -> list[int]:
        return [mark(at) if at % 2 == parity else _SAME for at in range(_RECORDS)]

    one = [(change(each, spare.__getitem__), places(each, where.__getitem__)) for each in (0, 1)]
    several = change(0, lambda at: f"{spare[at]} {spare[at]}"), places(0, lambda at: _SEVERAL)
    return lines, [*one, several]


def _texts(lines: Lines, between: list[str]) -> list[str]:
    return ["".join(map("".join, zip(line, [*between, ""], strict=True))) for line in lines]


def _rewritten(sanitizer: Sanitizer, kind: _Format, texts: list[str], key: bytes) -> list[_Piece]:
    (found,) = rewritten(sanitizer, [kind.write(texts)], key, format=kind.name, fields=kind.fields)
    return kind.pieces(found)


def _compare(
    tally: _Tally,
    first: list[_Piece],
    second: list[_Piece],
    places: list[int],
    between: list[str],
    *,
    articles: bool,
) -> None:
    if not len(first) == len(second) == len(places):
        tally.wrong_records += 1  # a record is gone, or one more is there
        return
    for old, new, place in zip(first, second, places, strict=True):
        if place == _SAME:
            tally.records += 1
            tally.wrong_records += old.raw != new.raw
        if place < 0:
            continue
        was, became = words_of(old.text, between), words_of(new.text, between)
        if was is None or became is None:
            tally.unread += 1
            continue
        tally.replaced += 1
        tally.wrong_records += old.rest != new.rest
        follows = place  # an article agrees with what follows it, which may be another article
        while articles and follows and _both_articles(was[follows - 1], became[follows - 1]):
            follows -= 1
        for at, (one, other) in enumerate(zip(was, became, strict=True)):
            if not follows <= at <= place:
                tally.words += 1
                tally.wrong_words += one != other


def _both_articles(one: str, other: str) -> bool:
    return one.lower() in _ARTICLES and other.lower() in _ARTICLES
