"""Test that the input of a string alone decides its output, through the whole program.

Strings of many kinds are rewritten: e-mail addresses, long strings, capitals, other scripts.  Then
every word is replaced by another string of the same input: an OOV string by a plain one, a
vocabulary word by the spelling of the vocabulary.  All is rewritten under the same key.  The output
must be equal, byte by byte, and every word must be counted.

The test is exact: it never refutes a program that draws every string by its input.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from checks import KEY
from dpsan.analysis.verify import checks as base
from dpsan.analysis.verify.program import passing
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer

KINDS = {
    "e-mail address": ("qzxa.vkjw@wqzxv.com", "j.q@qz.de", "QZXA+1@vkj.wqzxv.museum"),
    "web address": ("https://wqzxv.org/vkj?j=qzx", "www.qzxvkj.com", "qzxvkj.net"),
    "long string": tuple(("qzxvkjw" * 500)[:size] for size in (12, 25, 40, 65, 300, 3000)),
    "string in capitals": ("QZXAVKJ", "Qzxavkj", "qzXavKj", "QZXAVKJW" * 4),
    "string of another script": ("Грзхъщ", "東京都渋谷", "σςφψξζ", "ขฃคฅฆ", "jos\u00e9qzx"),
    "picture": ("\U0001f642\U0001f643", "\U0001f9d1\u200d\U0001f52c", "\u2460\u2461"),
    "string with hyphens": ("qzxa-vkjw", "vkj-qzx-wqz", "qzxa\u2010vkjw"),
    "string with an apostrophe": ("qzxa's", "vkjw\u2019s", "o'qzxavk", "qzxan't"),
    "number": ("4511817086580174", "0957 2470 2481 9116", "+49 30 1234567", "12/31/1999"),
    "number with letters": ("83745qz", "A7B9C2", "$8,374.52", "3.1417.2"),
}
_KNOWN = 8
"""Number of vocabulary words that are written in capitals."""
_PLAIN = 6
"""Number of plain OOV strings that replace others."""


class _Text(NamedTuple):
    kind: str
    line: str
    same: str
    """The line with other strings of the same inputs."""
    drawn: int
    """Number of drawn words."""
    public: int
    copied: str = ""
    """String that the output must not contain, if any."""


def strings(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Compare the outputs of strings of the same inputs."""
    run, words = derive_key(key, "run"), _words(sanitizer, derive_key(key, "words"))
    if len(words) < 2:
        return ""
    texts = list(_texts(sanitizer, words))
    if passed := [text.kind for text in texts if text.drawn < 0]:
        return f"some strings are not drawn: {passed[0]}"
    totals = sanitizer.accountant(whole_run=True)
    lines = _written(sanitizer, [text.line for text in texts], run, totals=totals)
    same = _written(sanitizer, [text.same for text in texts], run)
    for text, line, other in zip(texts, lines, same, strict=True):
        if line != other or (text.copied and text.copied in line):
            return f"two strings of the same input have different outputs: {text.kind}"
    if sanitizer.spec.consistent is None:
        drawn, public = (sum(getattr(text, what) for text in texts) for what in ("drawn", "public"))
        most = max(text.drawn for text in texts)
        counted = totals.draws, totals.public, totals.largest_record
        if counted != (drawn, public, most):
            return f"{counted} draws are counted, where {(drawn, public, most)} were made"
    return ""


def _words(sanitizer: Sanitizer, key: bytes) -> list[str]:
    """Return some words of the vocabulary, of letters alone, and a public word."""
    keys = sanitizer.embeddings.index_to_key
    rows = [*sanitizer.public[:1], *base.words_at_random(sanitizer, 10 * _KNOWN, key).tolist()]
    words = dict.fromkeys(keys[row] for row in rows)
    drawn = [word for word in words if (sanitizer.input_of(word) or 0) >= 0]
    letters = [word for word in drawn if word.isalpha() and word.isascii()]
    return (letters or drawn)[: 2 + _KNOWN]


def _texts(sanitizer: Sanitizer, words: list[str]) -> Iterator[_Text]:
    """Yield lines with the strings between words of the vocabulary."""
    known = {each for word in words for each in (word.capitalize(), word.upper())} - {*words}
    plain, passes = base.unknown_strings(sanitizer, _PLAIN), passing(sanitizer)
    for kind, some in {**KINDS, "word in capitals": sorted(known)}.items():
        for string in some:
            single = sanitizer.input_of(string) == sanitizer.space.n
            # Within a line, where a line begins, and alone.
            for form in (f"{words[0]} {{}} {words[1]}", f"{{}} {words[0]}", "{}"):
                text = _text(sanitizer, kind, form.format(string), plain, passes)
                if text is not None:
                    yield text._replace(copied=string * single)


def _text(
    sanitizer: Sanitizer, kind: str, line: str, plain: list[str], passes: Callable[[str], bool]
) -> _Text | None:
    """Return a line, and its version with other strings; None where none are known."""
    n, keys, spec = sanitizer.space.n, sanitizer.embeddings.index_to_key, sanitizer.spec
    inputs = sanitizer.inputs_of(line)
    codes = [code for _, code in inputs]
    if any(code < 0 and not passes(word) for word, code in inputs):
        return _Text(kind, line, line, -1, 0)
    by_string = spec.consistent in (Unit.FILE, Unit.RUN)
    others: dict[str, str] = {}
    out, at = [], 0
    for word, code in inputs:
        begin = line.find(word, at)
        if begin < 0 or (code == n and not plain):
            return None
        out.append(line[at:begin])
        at = begin + len(word)
        if 0 <= code < n:
            out.append(keys[code])
        elif code == n and not by_string:
            out.append(others.setdefault(word.lower(), plain[len(others) % len(plain)]))
        else:  # the draw is that of this string, or there is none
            out.append(word)
    same = "".join([*out, line[at:]])
    if len(others) > len(plain) or [code for _, code in sanitizer.inputs_of(same)] != codes:
        return None
    counts, public = Counter(codes), set(sanitizer.public)
    drawn = sum(many for code, many in counts.items() if code >= 0)
    free = sum(many for code, many in counts.items() if code in public)
    return _Text(kind, line, same, drawn, free)


def _written(
    sanitizer: Sanitizer, lines: list[str], key: bytes, totals: Accountant | None = None
) -> list[str]:
    document = "".join(f"{line}\n" for line in lines).encode()
    (found,) = base.rewritten(sanitizer, [document], key, totals=totals)
    return found.decode().split("\n")[:-1]
