"""Test whether strings of one shape have equally many draws and the same unchanged characters.

The rules of docs/strings.md cut a string by its shape alone.  If the vocabulary, or certain
letters, decided where a word ends, a hyphen in the output would name the word with certainty, at
any epsilon.  Strings of the vocabulary and of every kind are sanitized together with strings that
have other letters and digits in the same positions.  Without an audit log, where words that pass in
a row are copied at once, they must be written alike.
"""

from collections.abc import Iterator, Sequence

from checks import KEY
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.result import Action, Sanitized
from dpsan.sanitize.sanitizer import Sanitizer

KINDS = (
    *("AAAA", "AAA'AAA", "AAAAAA's", "AA-AAAA", "AAAAA-00", "0A", "000AA", "AA0", "A.A.", "AAA.AA"),
    *("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AAA.AA/AA", "www.AAA.AA", "AAAA://AAA.AA/A?A=0", "@AAA_A"),
    *("AAAAA.A@AAAAAAA.AAA", "AAA_AA.AAA", "#AAA", "0,000.00", "0-0", "0.0-AAAA", "00/00/0000"),
    *("$0,000.00", "AA$00", "00€", "$0.0A", "00:00AA", "0000-00-00", "0000-00-00A00:00:00+00:00"),
    *("0000 0000 0000 0000", "000 0000 0000", "(000) 000-0000", "+00 00 0000 0000", "0.00.0.00"),
)
"""Patterns of all kinds: A stands for a letter and 0 for a digit."""
_LETTERS = "fhjpqxyzFHJPQXYZéñßłйжλשק名か\ufffd"
"""Letters of several scripts; of ASCII only letters that are in no literal of docs/strings.md."""
_DIGITS = "0123456789٣४"
_BETWEEN = (" ", ", ", "-", "/", ". ", " '", "' ")
_PAIRS, _AT_ONCE = 3000, 750
_NUMBERS = 200
"""Random numbers of a pair; two strings of two parts take at most 150."""
_LITERALS = ("www", "cannot", "gimme", "lemme", "gonna", "wanna", "gotta")


def shapes(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Compare strings of one shape; in every second batch only words in spans are drawn."""
    single, words = sanitizer.by_text(), sanitizer.embeddings.index_to_key
    made = list(_pairs(words, derive_key(key, "pairs")))
    kept, many = [*Action].index(Action.KEPT), 0
    for at in range(0, len(made), _AT_ONCE):
        some, run = made[at : at + _AT_ONCE], derive_key(key, "run", at)
        texts = [text for *pair, _ in some for text in pair]
        spans = [[span] for *_, span in some for _ in "12"] if at % (2 * _AT_ONCE) else None
        done = single.sanitize(texts, run, audit=True, spans=spans)
        lines = single.sanitize(texts, run, spans=spans).lines
        if wrong := sum(a != b for a, b in zip(lines, done.lines, strict=True)):
            return f"{wrong:,} texts are not what their audit log says"
        pieces = [*_passed(done)]
        for (one, other, _), first, second in zip(some, pieces[::2], pieces[1::2], strict=True):
            if kept in first[1] or kept in second[1]:
                continue  # the list decides, as the statement says
            many += 1
            drawn = [_drawn(sanitizer, actions) for _, actions in (first, second)]
            if drawn[0] != drawn[1] or first[0] != second[0]:
                return f"strings of one shape are cut in two ways: {one!r} and {other!r}"
    return "" if many else "every string that was tried is on the keep list"


def _passed(done: Sanitized) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the gaps that are written between the words of each text, and the words' actions."""
    table = done.records
    assert table is not None
    at = 0
    for line, size in zip(done.lines, table.sizes.tolist(), strict=True):
        gaps, offset = [], 0
        for word in range(at, at + size):
            gap = int(table.gaps[word])
            gaps.append(line[offset : offset + gap])
            offset += gap + len(table.outputs[word])
        yield [*gaps, line[offset:]], table.actions[at : at + size].tolist()
        at += size


def _drawn(sanitizer: Sanitizer, actions: Sequence[int]) -> list[int]:
    """Return the actions that the number of draws may depend on.

    OOV words are draws like others.  Where they are masked or kept, the configuration is refuted
    for that, and here only their number counts.
    """
    if sanitizer.spec.unknown != "sample":
        return [len(actions)]
    alike = [Action.UNKNOWN, Action.DRAWN]
    words, drawn = [[*Action].index(each) for each in alike], [*Action].index(Action.DRAWN)
    return [drawn if each in words else each for each in actions]


def _pairs(words: Sequence[str], key: bytes) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield pairs of strings of one shape, and the span that is drawn where only spans are.

    The first string of every second pair is of the vocabulary.
    """
    numbers = streams_for(key, range(_PAIRS), [1] * _PAIRS).bits("shapes", _NUMBERS)
    for at, row in enumerate(numbers.tolist()):
        rest = iter(row)
        source = words if at % 2 else KINDS
        parts = [source[next(rest) % len(source)] for _ in range(1 + next(rest) % 2)]
        between = _BETWEEN[next(rest) % len(_BETWEEN)]
        if not at % 2:
            first, second = (between.join(_filled(each, rest) for each in parts) for _ in "12")
        else:
            first, second = between.join(parts), between.join(_alike(each, rest) for each in parts)
        yield first, second, (0, 1 + next(rest) % len(first))


def _filled(kind: str, numbers: Iterator[int]) -> str:
    """Return a string of a kind."""
    sets = {"A": _LETTERS, "0": _DIGITS}
    signs = (sets.get(each, each) for each in kind)
    return "".join(of[next(numbers) % len(of)] if len(of) > 1 else of for of in signs)


def _alike(word: str, numbers: Iterator[int]) -> str:
    """Return a string of the shape of a word; possible literals are unchanged."""
    if word.lower().startswith(_LITERALS):
        return word
    changing = max(0, word.find("'") - 1) if "'" in word else len(word)
    out = ""
    for each in word[:changing]:
        kind = "A" * each.isalpha() or "0" * each.isdecimal()
        out += _filled(kind, numbers) if kind else each
    return out + word[changing:]
