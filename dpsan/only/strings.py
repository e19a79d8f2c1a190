"""Strings: tokens that are no words. Their label, and their form: the string without its values.

A form keeps separators and units; in place of values it has marks, see :mod:`dpsan.only.forms`.
What is drawn for a string is a function of its form alone.  The kinds are rows of ``forms.tsv``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from dpsan.only.dates import KINDS, clock_form, date_order, date_parts, year_class, year_form
from dpsan.only.forms import (
    DIGIT,
    FEW_MANY,
    FIVE,
    HALVES,
    HEX,
    LARGE_HEX,
    NEXT,
    NIL,
    NOW,
    SIZES,
    WARM,
    ZERO,
    pattern,
    rows,
)
from dpsan.only.forms import LARGE as UPPER
from dpsan.only.forms import SMALL as LOWER
from dpsan.only.view import EDGE, KEPT, Ints


class Strings(NamedTuple):
    """Strings of a block, and escapes."""

    where: Ints
    """Start and end of each: (k, 2)."""
    labels: Sequence[str]
    """Empty for escapes, which are no tokens."""
    forms: Sequence[str]


Form = Callable[[str], str]
"""Makes the form of a string."""
LONGEST: Final = 300
"""Characters that the pattern looks at in one piece."""
LONGEST_NAME: Final = 40
"""Letters of a piece of an address in which two words are looked for."""
PATTERNS: Final = [(name, first, pattern(text)) for name, first, text, *_ in rows("string")]
"""Kind of a string, its first characters, and its pattern."""
FIRST: Final = {"d": r"(?=\d)", "l": r"(?=[^\W\d_])", "o": r"(?=[\W_])"}
"""By the first character: digit, letter, other."""


def _dispatched() -> re.Pattern[str]:
    """One pattern: by its first character, then the alternatives in order."""
    sides = []
    for first, ahead in FIRST.items():
        inside = [
            f"(?P<{name}_{first}>{text})" for name, starts, text in PATTERNS if first in starts
        ]
        sides.append(ahead + "(?:" + "|".join(inside) + ")")
    return re.compile("|".join(sides))


PATTERN: Final = _dispatched()
DIGITS = re.compile(r"\d+")
NAMED: Final = {name: re.compile(pattern(text)) for name, text, *_ in rows("part")}
"""Patterns that have a name."""
LEGAL, EMERGENCY = (frozenset(rows(name)[0][0].split()) for name in ("legal", "emergency"))
"""Legal forms of companies, with dots, and numbers that people are told to call."""
LABELS: Final = (
    *rows("labels")[0][0].split(),
    *(name for name, *_ in PATTERNS if name not in ("skip", "escape", "int")),
)


@lru_cache(1 << 14)
def spans(text: str, fixed: frozenset[str]) -> list[tuple[int, int, str, str]]:
    """Start, end, label and form of the strings behind the first character, from there.

    Escapes are among them, without a label.
    """
    result = []
    for match in PATTERN.finditer(text, 1):
        kind, start = str(match.lastgroup)[:-2], match.start() - 1
        if kind != "skip":
            for begin, end, label, form in parts(kind, match[0], fixed):
                result.append((start + begin, start + end, label, form))
    return result


@lru_cache(1 << 14)
def parts(kind: str, text: str, fixed: frozenset[str]) -> list[tuple[int, int, str, str]]:
    """Start, end, label and form of the tokens of a string: of a date those of its parts."""
    if kind == "escape":
        return [(0, len(text), "", "")]
    if kind == "daymon":  # 14NOV, 14NOV24
        days = text.index(re.sub(r"\d", "", text))
        date = [(0, days, f"int{days}", marked(text[:days])), (days, days + 3, "month3?", "")]
        year = text[days + 3 :]
        return [*date, (days + 3, len(text), "dateyear", year_form(year))] if year else date
    if kind == "pressure" and text[-3:] != "/30":
        label, _ = label_and_form(kind, text, fixed)
        if label == "number":  # 47/80: equal wholes stay equal
            cut = text.index("/")
            first, whole = (label_and_form("int", side, fixed) for side in text.split("/"))
            return [(0, cut, *first), (cut + 1, len(text), *whole)]
    if kind == "quantity" and NAMED["SHORTTIME"].fullmatch(text):  # 0215hrs
        return [(0, 4, *label_and_form("int", text[:4], fixed))]
    if kind == "int" and (match := NAMED["MONTHYEAR"].fullmatch(text)):  # 03/2020
        month, year = match.groups()
        at = len(month) + 1
        return [
            (0, len(month), "monthno", marked(month)),
            (at, at + 4, "dateyear", year_form(year)),
        ]
    if kind == "int" and (match := NAMED["MARK"].fullmatch(text)):  # 3.8/4.5
        mark, most = match.groups()
        at, form = len(mark) + 1, f"{most.split('.')[0]}:{len(mark.partition('.')[2])}"
        return [(0, len(mark), "mark", form), (at, len(text), "fixed", most)]
    dated = date_parts(kind, text) if kind in KINDS else []
    return dated or [(0, len(text), *label_and_form(kind, text, fixed))]


def marked(run: str) -> str:
    """Marks of a run of digits: a leading zero is kept."""
    return (ZERO if run[0] == "0" else DIGIT) * len(run)


def digit_form(text: str) -> str:
    """Text with marks in place of digits."""
    return DIGITS.sub(lambda match: marked(match[0]), text)


def round_form(text: str) -> str:
    """Text with marks in place of digits, other ones for zeros at the end of a round number."""
    form, match = digit_form(text), NAMED["ROUND"].search(text)
    if match is None or (text.isdigit() and len(text) > 4):
        return form
    # 75,000 may become 91,200
    before = form[: match.start()].removesuffix(ZERO).ljust(match.start(), DIGIT)
    return before + NIL * len(match[0]) + form[match.end() :]


def sized_form(text: str) -> str:
    """Text with marks in place of digits, the first of which tells the size of the number."""
    if NAMED["DOTCLOCK"].fullmatch(text):
        return DIGIT * (len(text) - 3) + "." + DIGIT + (FIVE if text[-1] in "05" else DIGIT)
    form, first = round_form(text), DIGITS.search(text)
    if first is None or len(first[0]) not in (2, 3) or first[0][0] == "0":
        return form
    if form[first.start() + 1] == NIL:
        return form
    mark = next(mark for mark, (_, high) in SIZES.items() if int(first[0][:2]) <= high)
    return form[: first.start()] + mark + form[first.start() + 1 :]


def letter_form(text: str) -> str:
    """Text with marks in place of digits and letters."""
    return "".join(
        DIGIT if c.isdigit() else UPPER if c.isupper() else LOWER if c.isalpha() else c
        for c in text
    )


def hex_form(text: str) -> str:
    """Text with marks in place of hexadecimal digits."""
    return re.sub(r"[0-9a-fA-F]", LARGE_HEX if text.isupper() else HEX, text)


def over_label(text: str, other: str) -> str:
    """Return the label of a pair: doctors write days over 7, points over 10 and months over 12."""
    over = re.search(r"(?<!1[1-9])(?<!2\d)(?<!3\d)(?<!0\d)/10$|/7$|/12$|/20$|/5$", text)
    return f"over{over[0][1:]}" if over else other


FORMS: Final[dict[str, Form]] = {
    "": digit_form,
    "sized": sized_form,
    "round": round_form,
    "letters": letter_form,
    "hex": hex_form,
    "clock": clock_form,
    "same": str,
    "nothing": lambda _: "",
    "ordinal": lambda text: "d" * (int(text[:-2]) <= 31) + DIGIT * len(text[:-2]),
    "iban": lambda text: text[:2] + letter_form(text[2:]),
    "phone": lambda text: re.sub(r"(?<!\A)(?<!\A\()0|[1-9]", DIGIT, text),  # a first zero stays
    "overweeks": lambda text: digit_form(text[:-2]) + text[-2:],
}
"""Functions that make forms, by their names in ``forms.tsv``."""
_FORM_OF: Final = {name: FORMS[form] for name, _, _, form, *_ in rows("string")}
_CODES: Final = [(label, re.compile(text), FORMS[form]) for label, text, form, *_ in rows("code")]


def label_and_form(kind: str, text: str, fixed: frozenset[str]) -> tuple[str, str]:
    """Label and form of a string: public functions of the string."""
    if kind == "yearspan":
        begin, end = int(text[:4]), text[5:]
        if 0 < int(end) - begin % 10 ** len(end) <= 110:
            next_year = (begin + 1 - int(end)) % 10 ** len(end) == 0
            return kind, year_class(begin) + text[4] + (NEXT if next_year else DIGIT) * len(end)
        return "number", digit_form(text)
    day_first = kind == "int" and text not in fixed and re.fullmatch(r"(1[3-9]|2\d|3[01])/\d", text)
    if kind == "pressure" or day_first or (kind == "int" and re.fullmatch(r"\d/\d\d", text)):
        first, second = map(int, text.split("/"))
        if kind == "pressure" and first >= 60 and 30 <= second < first:
            return kind, digit_form(text)
        if date_order(text):
            return over_label(text, "monthday"), date_order(text) + re.sub(r"\d", DIGIT, text)
        return "number", digit_form(text)
    if kind == "int":
        if text in fixed or re.fullmatch(r"1:\d{1,3},000", text):  # adrenaline, maps
            return "fixed", text
        if re.fullmatch(r"([1-9]|1[0-2])/[1-9]", text):  # a share, or a day of a rota
            return over_label(text, "pair"), date_order(text) + re.sub(r"\d", DIGIT, text)
        if year := re.fullmatch(r"(\d{1,6}(?:/\d\d)?)/((?:19|20)\d\d)", text):
            return "number", f"{digit_form(year[1])}/{year_class(int(year[2]))}"
        if not text.isdigit():
            return "number", sized_form(text)
        if len(text) == 4 and 1800 <= int(text) <= NOW + 24:
            return "year", year_class(int(text))
        if text in ("0", "1"):
            return "bit", DIGIT
        if len(text) == 4 and text[0] == "0":
            return "int40", marked(text)
        of_length = f"int{len(text)}" if len(text) < 7 else "intlong"
        return "emergency" if text in EMERGENCY else of_length, sized_form(text)
    if kind == "code":
        for label, pattern, form in _CODES:
            if pattern.fullmatch(text):
                return label, form(text)
        if NAMED["PLAIN"].fullmatch(text) or text.lower() in fixed:
            return "fixed", text
        if re.fullmatch(r"(?=(?:\d*[a-fA-F]){3})(?:[0-9a-f]{7,}|[0-9a-fA-F]{12,})", text):
            return kind, (LARGE_HEX if text.upper() == text else HEX) * len(text)
        if numbered := NAMED["NUMBERED"].match(text):  # INC-48213 becomes INC-20921
            return kind, numbered[0] + digit_form(text[numbered.end() :])
        return kind, letter_form(text)
    if kind == "entword":
        capital = text[0].isupper() and not re.search(r"(?:39|apos|rsquo|8217|27;|2019)", text)
        return "entname" if capital else "fixed", "" if capital else text
    if kind in ("version", "cue") or re.fullmatch(r"100\s?(?:%|per ?cent)", text):
        return "fixed", text
    if kind == "dotted" and text.lower().rstrip(".") in LEGAL:
        return "legaldot", text
    if kind == "dotted":
        return ("fixed", text) if text.lower().rstrip(".") in fixed else (kind, letter_form(text))
    if kind in KINDS:
        return "number", digit_form(text)
    if kind == "quantity" and NAMED["YEARSOLD"].fullmatch(text):
        return "ageyears", sized_form(text)
    return kind, _FORM_OF[kind](text)


def labels_of(words: Iterable[str], lists: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of all labels: of words, of one's own lists, of strings, and of edges."""
    return (*words, *lists, *LABELS, KEPT, EDGE)


# Forms of measured values: numbers that keep all but their last digits.

VALUE: Final = re.compile(r"\d+(?:[.,]\d+)?")
VALUE_END: Final = re.compile(r"[.,]\d+")
VALUES: Final = ("int1", "int2", "int3", "number", "percent", "pressure", "quantity", "gestday")
"""Labels of strings that may be measured values."""
DEGREES: Final = range(36, 40)
"""Temperatures of people before the point: with a fever or without."""


def near_form(text: str) -> str:
    """Text with marks in place of the last digits of its numbers, as near as :func:`_near` says."""
    if "+" in text:  # weeks and days of a pregnancy
        return text[0] + HALVES[text[1] > "4"] + "+" + FEW_MANY[0]
    return VALUE.sub(lambda match: _near(match[0]), text)


def _near(run: str) -> str:
    """Number that keeps all but its last digit, at most two: 37.8 and 128 do.

    A digit alone is one of three or five, so is the second one of 91.4, and a zero at the end of
    200 and more stays.
    """
    whole = VALUE_END.sub("", run)
    if len(run) == 1:
        return run if run < "2" else FEW_MANY[run > "5"]
    if whole != run and int(whole) in DEGREES:
        return WARM[int(whole) > DEGREES[1]] + "." + DIGIT
    if whole != run and len(whole) > 1:
        kept = len(whole) - 1
        return run[:kept] + HALVES[run[kept] > "4"] + re.sub(r"\d", DIGIT, run[kept + 1 :])
    end = len(run) - (len(whole) > 2 and whole == run and run[-1] == "0" and run > "2")
    kept = min(end - 1, 3 - (whole == run))
    return run[:kept] + re.sub(r"\d", DIGIT, run[kept:end]) + run[end:]
