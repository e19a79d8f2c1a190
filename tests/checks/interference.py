"""Test whether the draw of a word depends on any other word, through the whole program.

Documents of public words are rewritten as text, CSV and JSON Lines.  Then one token of every second
record is replaced by another one, and they are rewritten under the same key.  The outputs must be
equal, byte by byte, but for the output of the replaced token.  Quotes and escapes may not depend
on the old text either: each record must equal the encoding of its new text.

Post-processing reads outputs: *a* and *an* follow the output after them, so one before the replaced
token may change too, and only as that output asks for.  A string of several tokens is several
words: if it replaces one token, the later words of its record are drawn anew, and all other records
must not change.  The test is exact: it never refutes a program that keeps words apart.
"""

from collections.abc import Callable
from itertools import cycle, islice, starmap
from operator import ne

import numpy as np

from checks import KEY, words_of
from checks.samples import SAMPLES, Sample
from dpsan.analysis.verify import checks as base
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.letter_case import LetterCase, article_for

_RECORDS = 32
_WORDS = 12
"""Words of a record."""
_PLAIN_GAPS = (" | ", " / ", " = ")
"""Gaps where outputs could contain the others."""

Lines = list[list[str]]
"""Words of each record."""


_COUNTED = ("words", "words changed", "records changed", "written otherwise", "unread")
"""Comparisons and differences.  Records are written otherwise if their quotes or escapes are not
those of the new text."""
_SAME = -1
"""No token of the record was replaced."""
_SEVERAL = -2
"""A string of several tokens replaced one: the later words of the record are drawn anew."""


def interference(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Replace tokens of public texts and compare what is written."""
    # Chunks between white space are looked up as they are: nothing may stick to a word.
    whole = sanitizer.spec.tokenizer == "whitespace"
    usual = {gap for kind in SAMPLES for gap in kind.gaps}
    plain = whole or any(base.may_hold(sanitizer, gap) for gap in usual)
    pool = _pool(sanitizer, derive_key(key, "pool"))
    if len(pool) < 3 or (plain and any(base.may_hold(sanitizer, gap) for gap in _PLAIN_GAPS)):
        return "no text is known whose output can be split into words"
    width = min(_WORDS, len(pool) - 1)
    tally, single = dict.fromkeys(_COUNTED, 0), sanitizer.by_text()
    articles = sanitizer.spec.case == LetterCase.NATURAL
    for kind in SAMPLES:
        lines, changes = _documents(pool, width, derive_key(key, kind.format))
        between = list(islice(cycle(_PLAIN_GAPS if plain else kind.gaps), width - 1))
        run, texts = derive_key(key, "run", kind.format), _texts(lines, between)
        if single.sanitize(texts, run).drawn != [width] * len(texts):
            return "no text is known whose tokens are those that it is made of"
        first = _rewritten(sanitizer, kind, texts, run)
        for changed, positions in changes:
            second = _rewritten(sanitizer, kind, _texts(changed, between), run)
            _compare(tally, kind.text, first, second, positions, between, articles=articles)
            for done in (first, second):
                again = starmap(kind.again, enumerate(map(kind.text, done)))
                tally["written otherwise"] += sum(map(ne, done, again))
    words = tally.pop("words")
    wrong = {what: many for what, many in tally.items() if many}
    return f"of {words:,} other words: {wrong}" if wrong or not words else ""


def _pool(sanitizer: Sanitizer, key: bytes) -> list[str]:
    """Return different strings of one drawn token each: random words, OOV and public words."""
    keys = sanitizer.embeddings.index_to_key
    words = [keys[row] for row in base.words_at_random(sanitizer, 4 * _WORDS, key).tolist()]
    public = [keys[row] for row in sanitizer.public[:2]]
    # Two of the strings need quotes in a table, or escapes in ASCII.
    unknown = (*base.unknown_strings(sanitizer, 6), "1,234", "jos\u00e9")
    pool = dict.fromkeys([*words, *public, *unknown])
    return [word for word in pool if (sanitizer.input_of(word) or 0) >= 0]


def _documents(
    pool: list[str], width: int, key: bytes
) -> tuple[Lines, list[tuple[Lines, list[int]]]]:
    """Return records of different words, and versions with one token of every second one replaced.

    Each version comes with the position that was replaced in each record.
    """
    chance = streams_for(key, range(_RECORDS), [1] * _RECORDS)
    order = np.argsort(chance.bits("records", len(pool)), axis=1, kind="stable")
    lines = [[pool[at] for at in row[:width]] for row in order.tolist()]
    spare = [pool[row[width]] for row in order.tolist()]
    where: list[int] = (chance.bits("places")[:, 0] % np.uint64(width)).tolist()

    def version(parity: int, new: list[str], marks: list[int]) -> tuple[Lines, list[int]]:
        changed, positions = list(lines), [_SAME] * _RECORDS
        for at in range(parity, _RECORDS, 2):
            changed[at] = [*lines[at][: where[at]], new[at], *lines[at][where[at] + 1 :]]
            positions[at] = marks[at]
        return changed, positions

    several = version(0, [f"{word} {word}" for word in spare], [_SEVERAL] * _RECORDS)
    return lines, [version(0, spare, where), version(1, spare, where), several]


def _texts(lines: Lines, between: list[str]) -> list[str]:
    return ["".join(map("".join, zip(line, [*between, ""], strict=True))) for line in lines]


def _rewritten(sanitizer: Sanitizer, kind: Sample, texts: list[str], key: bytes) -> list[str]:
    data = kind.written(texts)
    (found,) = base.rewritten(sanitizer, [data], key, format=kind.format, fields=kind.fields)
    return kind.pieces(found)


_REACH = 3
"""Words whose capitals may follow from a drawn word: *New South Wales Police*."""


def _compare(
    tally: dict[str, int],
    text: Callable[[str], str],
    first: list[str],
    second: list[str],
    positions: list[int],
    between: list[str],
    *,
    articles: bool,
) -> None:
    if not len(first) == len(second) == len(positions):
        tally["records changed"] += 1  # a record is missing, or there is one more
        return
    for old, new, position in zip(first, second, positions, strict=True):
        if position == _SAME:
            tally["records changed"] += old != new
        if position < 0:
            continue
        was, became = words_of(text(old), between), words_of(text(new), between)
        if was is None or became is None:
            tally["unread"] += 1
            continue
        follows = position  # an article agrees with what follows, which may be another article
        while articles and follows and _agrees(was, follows) and _agrees(became, follows):
            follows -= 1
        for at, (one, other) in enumerate(zip(was, became, strict=True)):
            if not follows <= at <= position:
                tally["words"] += 1
                near = articles and abs(at - position) <= _REACH
                same = one.casefold() == other.casefold() if near else one == other
                tally["words changed"] += not same


def _agrees(words: list[str], follows: int) -> bool:
    """Return whether the word before a position is the article that its output asks for."""
    return words[follows - 1].lower() == article_for(words[follows])
