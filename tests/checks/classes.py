"""Check that an output says nothing about the word of its group, or the string of its kind.

All listed words, in letter cases at random, stand between other words, after gaps of many kinds,
among strings of letters, digits, countries and endings at random.  Each word is exchanged with
another one of its group, and each string with one of its kind: under the same key all lines must be
written alike, byte by byte, with and without an audit log.  The test is exact.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle

from checks import KEY
from checks.numbers import number_epsilon
from dpsan.analysis.verify.checks import in_random_order, unknown_strings
from dpsan.analysis.verify.program import listed_words
from dpsan.only.alone import alone
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.lookup import KEPT
from dpsan.text.tokens import folded

_LINE = 12
"""Pairs of a line."""
_BEFORE = (
    *(" ", " (", " [", ' "', " \u201c", ", ", "; ", ": ", ". ", "? ", "! ", " \u2014 ", " - "),
    *(" * ", "\n", "\t", "\r\n"),
)
_AFTER = (" ", "\n", "\t", " - ", " \u2014 ")
"""Gaps before and after a word that is exchanged."""
_MADE = 60
"""Strings of a kind."""
_KINDS = (
    ("W.W@W.T", "W00@W.T", "W+W@W.W.T", "L@W.T"),
    ("@W_W", "@W00"),
    ("https://W.T/W?W=0", "http://W.T/00", "ftp://W.W.T", "www.W.T", "www.W.T/00", "W.T/W"),
    ("0.00.000.0", "000.000.00.0"),
    ("P", "PP"),
    *((shape,) for shape in ("000-0000", "000.0000", "(000) 000-0000", "000.000.0000")),
    *((shape,) for shape in ("000 00000000", "+00 00 0000 0000", "+0 000 000 0000")),
    *((shape,) for shape in ("0000 0000 0000 0000", "0000000000000000", "0000 000000 00000")),
    *((shape,) for shape in ("C00LLLL00000000000000", "C000000000000000000")),
    *((shape,) for shape in ("C00 LLLL 0000 0000 0000 00", "C00 0000 0000 000")),
    *((shape,) for shape in ("000-00-0000", "0000000", "0000000000", "0LL", "0L", "00LL", "000LL")),
    *((shape,) for shape in ("00L", "0000L", "00000LL", "LLL00", "LL0", "L0", "L00L", "LLLL0000")),
    *((shape,) for shape in ("$0,000", "00", "0000", "0000-00-00", "0.00")),
)
"""Patterns of strings of one kind: a digit, a letter, a word, an ending, a country, a picture."""
_LETTERS = "abcdefghijklopqrsuvxyz"  # no literal of docs/strings.md is made of these
_PARTS = {
    "0": "0123456789",
    "L": _LETTERS + _LETTERS.upper(),
    "T": ("com", "org", "net", "de", "fr", "co.uk", "com.br", "museum", "INFO", "example"),
    "C": ("GB", "DE", "FR", "NO", "CH", "ES", "gb", "PL"),
    "P": ("\U0001f642", "\U0001f44d\U0001f3fd", "\U0001f480", "\U0001f1e9\U0001f1ea", "\u2764"),
}
_LONGEST = 9
"""Most letters of a word in a string."""
_BITS = 64
"""Random numbers of a string, used in turn."""

_Pairs = list[tuple[str, str]]
"""A word or string, and what it is exchanged with."""


def classes(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Exchange words of a group and strings of a kind, if they are drawn by these."""
    if not sanitizer.grouping.classed:
        return ""
    single = sanitizer.by_text()
    words, strings = _words(single, key), _strings(single, derive_key(key, "strings"))
    lines, exchanged = _lines(single, [*words, *strings], derive_key(key, "lines"))
    own = derive_key(key, "run")
    plain, other = (single.sanitize(texts, own).lines for texts in (lines, exchanged))
    if differ := sum(first != second for first, second in zip(plain, other, strict=True)):
        return f"{differ:,} of {len(lines):,} lines depend on which word they replace"
    if plain != single.sanitize(lines, own, audit=True).lines:
        return "lines are written otherwise with an audit log"
    return "" if words or strings else "nothing is exchanged"


def _words(sanitizer: Sanitizer, key: bytes) -> _Pairs:
    """Return each listed word that is a token, in some letter case, and another of its group."""
    keys, rows = sanitizer.embeddings.index_to_key, sanitizer.grouping.rows
    groups = [[*(keys[row] for row in group.rows), *group.lacking] for group in rows]
    groups += [[word] for word in listed_words(sanitizer)]  # that are in no group, by mistake
    out, seen = [], set[str]()
    for at, group in enumerate(groups):
        words = [word for word in group if sanitizer.input_of(word) not in (None, KEPT)]
        words = [*{folded(word): word for word in words if folded(word) not in seen}.values()]
        seen.update(map(folded, words))
        # The shape of a word decides before the lists.
        shaped = {word for word in words if alone().kind(word)}
        out += _exchanged([word for word in words if word not in shaped], derive_key(key, at))
        out += [(word, word) for word in shaped]
    spellings = (str, str.lower, str.capitalize, str.upper, str.swapcase)
    chance = streams_for(key, [0], [len(out) or 1]).bits("case", 2) % len(spellings)

    def spelt(word: str, how: int) -> str:
        other = spellings[how](word)
        return other if folded(other) == folded(word) else word

    ways = zip(out, chance.tolist(), strict=False)
    return [(spelt(a, x), spelt(b, y)) for (a, b), (x, y) in ways]


def _exchanged(words: Sequence[str], key: bytes) -> _Pairs:
    """Return each word with another one, so that different words stay different."""
    if len(words) < 2:
        return [(word, word) for word in words]
    order = [words[at] for at in in_random_order(len(words), key).tolist()]
    return [*zip(order, [*order[1:], order[0]], strict=True)]


def _strings(sanitizer: Sanitizer, key: bytes) -> _Pairs:
    """Return strings of every kind, each with another of its kind."""
    n = sanitizer.space.n
    out: _Pairs = []
    for at, patterns in enumerate(_KINDS):
        own = derive_key(key, at)
        bits = streams_for(own, range(_MADE), [1] * _MADE).bits("strings", _BITS).tolist()
        made = (
            "".join(_part(each, numbers) for each in pattern)
            for pattern, numbers in zip(cycle(patterns), map(cycle, bits), strict=False)
        )
        codes = {word: sanitizer.input_of(word) for word in {folded(x): x for x in made}.values()}
        drawn = [word for word, code in codes.items() if code is not None and code >= n]
        if n + 1 in codes.values() and (len(patterns) > 1 or number_epsilon(sanitizer)):
            continue  # two values are no two strings of a kind
        out += _exchanged(drawn, own)
        out += [(word, word) for word, code in codes.items() if (code or 0) < KEPT]
    return out


def _part(kind: str, numbers: Iterator[int]) -> str:
    """Return what stands for a character of a pattern."""
    if kind == "W":
        letters = _PARTS["L"]
        size = 1 + next(numbers) % _LONGEST
        return "".join(letters[next(numbers) % len(letters)] for _ in range(size))
    parts = _PARTS.get(kind, kind)
    return parts[next(numbers) % len(parts)]


def _lines(sanitizer: Sanitizer, pairs: _Pairs, key: bytes) -> tuple[list[str], list[str]]:
    """Return lines of all pairs with other words between them, before and after the exchange."""
    few, listed = sanitizer.embeddings.index_to_key[:400], listed_words(sanitizer)
    between = [w for w in few if len(w) > 2 and w.isalpha() and folded(w) not in listed]
    between = between or unknown_strings(sanitizer, 1) or ["qzx"]
    single = sanitizer.spec.tokenizer == "whitespace"  # else punctuation sticks to words
    bits = streams_for(key, [0], [len(pairs) or 1]).bits("gaps", 3).tolist()
    out: tuple[list[str], list[str]] = [], []
    order = in_random_order(len(pairs), derive_key(key, "order")).tolist()
    for start in range(0, len(order), _LINE):
        lines = ["", ""]
        for number, at in enumerate(order[start : start + _LINE]):
            word, before, after = bits[at]
            if number or word % 3:  # else a listed word begins the line
                gap = " " if single else _BEFORE[before % len(_BEFORE)]
                lines = [line + between[word % len(between)] + gap for line in lines]
            gap = " " if single else _AFTER[after % len(_AFTER)]
            lines = [line + each + gap for line, each in zip(lines, pairs[at], strict=True)]
        for every, line in zip(out, lines, strict=True):
            every.append(line)
    return out
