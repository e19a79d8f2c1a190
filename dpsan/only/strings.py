"""Strings: tokens that are no words. Their label, and their form: the string without its values.

A form keeps separators and units; in place of values it has one of five marks (see MARKS). What
is drawn for a string is a function of its form alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from dpsan.only.dates import KINDS, clock_form, date_order, date_parts, year_class, year_form
from dpsan.only.marks import (
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
)
from dpsan.only.marks import LARGE as UPPER
from dpsan.only.marks import SMALL as LOWER
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
MONTH_LIKE: Final = r"(?:1[5-9]|20)\d\d"
SHIFT: Final = r"(?:\d\d? )?20\d\d [0-2]\d:?[0-5]\d(?!\d)|(?:[01]\d[0-5]\d|2[0-3][0-5][05])[-–][0-2]\d[0-5][05](?![\w-])"
"""From one time to another in four digits: no telephone number."""
ACCENT: Final = (
    r"(?:&[a-zA-Z](?:acute|grave|uml|cedil|tilde|circ|ring|slash|caron);|&(?:szlig|aelig|oelig|AElig|OElig);"
    r"|&#(?:19[2-9]|2[0-5]\d|x[c-fC-F][0-9a-fA-F]);|\\u00[c-f][0-9a-f]|\\u01[0-7][0-9a-f])"
)
"""A letter with an accent, as an entity or an escape."""
AT: Final = r"(?:@|%40|[(\[](?:at|AT)[)\]])"
"""What stands before the host of an address: in an URL, and where programs that collect addresses read."""
PATTERNS: Final = (
    ("entword", rf"(?<!\w)(?=[^\W\d_]{{1,30}}+[&\\])(?:[^\W\d_]{{1,30}}(?:{ACCENT}[^\W\d_]{{0,30}}){{1,4}}|[a-zA-Z]{{2,8}}(?:&#0?39;|&apos;|&rsquo;|&#8217;|&#x27;|\\u2019)(?:[tdm]|ll|re|ve)\b)"),
    ("skip", r"(?<![^\W\d_])[^\W\d_]{1,60}+(?=[\s,;!?\"”)]|\.?\s|\.?$|:\s)|[\s,;!?\"]+"),
    ("escape", r"\x1b\[[0-9;]{0,12}[A-Za-z]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[nrtbf0N](?![a-z])|%[0-9A-Fa-f]{2}(?=[A-Za-z])|&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,6});|(?<=\s)#\d{2,4};|(?<=\s)(?:quot|amp|lt|gt);"),
    ("url", r"(?:https?|ftp)://[^\s<>\"')…]{1,400}(?<![.,;:!?])…?|"
     r"(?:www\.|\b(?:github|gitlab|linkedin|twitter|x|facebook|instagram|tiktok|youtube|t|wa)\.(?:com|me)/)"
     r"[^\s<>\"')]{1,400}(?<![.,;:!?])"),
    ("email", rf"(?<![\w.+%-])[\w.+%-]{{1,64}}{AT}(?:[A-Za-z0-9][\w-]{{0,62}}(?:\.|[(\[]dot[)\]])){{1,6}}[A-Za-z]{{2,24}}\b"),
    ("userip", r"(?<![\w.-])[A-Za-z][\w.-]{0,63}@\d{1,3}(?:\.\d{1,3}){3}"),
    ("userhost", r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[A-Za-z][\w-]{1,60})\b"),
    ("handle", r"(?<![\w@])@\w{1,60}(?:[.-]\w{1,30}){0,4}(?!\w|[.]\w)"),
    ("cue", r"\b\d\d:\d\d:\d\d\.\d{3} --> \d\d:\d\d:\d\d\.\d{3}"),
    ("spelled", r"(?<![\w-])[A-Z](?:-[A-Za-z]){2,30}(?![\w-])"),
    ("uuid", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    ("mac", r"\b[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}\b"),
    ("logtime", r"\b(?:19|20)\d\d(?::\d\d){3}\b"),
    ("ipv6", r"(?=[0-9:]{0,40}(?:[a-fA-F]|::))\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b|(?=[0-9:]{0,40}(?:[a-fA-F]|::))\b[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{0,4}){3,7}(?=:?[0-9a-fA-F])[0-9a-fA-F]{1,4}\b"),
    ("ip", r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?!\.\d)"),
    ("iso", r"(?<![^\W_])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b"),
    ("basic", r"\b\d{8}T\d{4}(?:\d\d)?(?:Z|[+-]\d{4})?(?!\w)"),
    ("fiscal", r"(?<!\w)FY ?['’]?\d\d(?!\w)"),
    ("ymd", r"\b\d{4}/\d{1,2}/\d{1,2}\b|\b\d{4}\.\d{1,2}\.\d{1,2}\b"),
    ("dmy", r"\b\d{1,2}(?:-\d{1,2}-|/\d{1,2}/|\.\d{1,2}\.)(?:\d{4}|\d{2})\b"),
    ("daydot", r"\b(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.(?!\d)|(?<![\d.])[1-9]\.(?:0[1-9]|1[0-2])\.(?=[:;,)]|\s[a-zäöü])"),
    ("coord", r"(?<![\w.])-?\d{1,3}\.\d{4,8}\b"),
    ("clock", r"\b\d{1,2}[:.]\d{2} ?(?:[ap]\.?m\b\.?|[AP]\.?M\b\.?)|\b\d{1,2} ?(?:[ap]m\b|[AP]M\b|[ap]\.m\.)|\b\d{1,2}h\d{2}\b|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?!:?\d|,\d{3}\b)"),
    ("yearspan", r"\b(?:1[5-9]|20)\d\d[-–/](?:(?:1[5-9]|20)\d\d|\d\d)(?![\w/-]|\.\d)"),
    ("ssn", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
    ("vanity", r"\b(?:1-)?(?:0?800|888|877|866|855|844|833)[- ][A-Z]{7}\b"),
    ("card", r"\b\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}\b|\b\d{4}[ -]\d{6}[ -]\d{5}\b|\b\d{2}[ -]\d{6}[ -]\d{6}[ -]\d\b"),
    ("phone", rf"(?<![\w.])\+(?=(?:[ ().-]{{0,2}}\d){{7,15}}(?!\d))\d{{1,3}}(?:[ .-]?\(\d{{1,4}}\))?[ .-]?\d{{1,9}}(?:[ .-]?\d{{2,9}}){{0,4}}(?!\w)|(?<![\w.+])(?:(?=\d{{3,5}} ?/ ?\d(?: ?\d){{4,12}}(?!\d))0\d{{2,4}} ?/ ?\d{{1,9}}(?: \d{{2,9}}){{0,4}}|(?=\d{{3,5}} – \d(?: ?\d){{4,12}}(?!\d))0\d{{2,4}} – \d{{1,3}}(?: \d{{2,9}}){{1,4}}|0\d{{1,4}}-\d{{3}}(?: \d{{2,3}}){{1,3}}|0\d{{3}} \d{{2,4}} \d{{6,9}})(?!\w|-\d)|(?<![\w.+])(?:0\d(?:[ .]\d\d){{4}}|0\d{{1,5}}[ /-]\d{{5,9}}|\(0\d{{1,5}}\) ?(?:\d{{3,4}} \d{{4}}|\d{{2,4}}(?: \d{{2,3}}){{1,3}}|\d{{4,9}})|[6-9]\d{{4}}[ -]\d{{5}})(?!\w|-\d)|(?<![\w.])(?!{MONTH_LIKE}[-–/]{MONTH_LIKE}(?!\d)|{SHIFT})(?=(?:[ (+.)-]{{0,3}}\d){{7}})(?:\+\d{{1,3}}[ .-]?)?(?:\(\d{{1,4}}\)[ .-]?|\d{{2,4}}[ .-])(?:\d{{2,4}}[ .-])?\d{{3,5}}(?:[ .-]\d{{2,5}})?(?:x\d{{1,6}})?(?!\w)|\+\d{{7,15}}\b"),
    ("overweeks", r"\b\d{1,2}/(?:40|52)\b(?!/)"),
    ("gestday", r"\b(?:2\d|3\d|4[0-2])\+[0-6]\b"),
    ("pressure", r"\b\d{2,3}/\d{2,3}(?![\d/])"),
    ("daymon", r"\b\d{1,2}(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)(?:\d{2}|20\d\d)?\b"),
    ("shortyear", r"(?<!\w)['’]\d{2}(?![\w'’])"),
    ("decade", r"\b(?:1[6-9]|20)\d0s\b|['’]?\b[2-9]0s\b"),
    ("ordinal", r"\b\d{1,4}(?:st|nd|rd|th)\b"),
    ("version", r"\bv?\d{1,4}\.\d{1,4}\.\d{1,6}(?:[-.]?(?:rc|beta|alpha|dev)\d{0,3})?\b(?!\.\d)|\bv\d{1,4}(?:\.\d{1,4})?\b|\b10\^\d{1,2}\b"),
    ("money", r"(?:US|CA|AU|A|C|NZ|HK|R)?[$£€¥₹₦₱₩₫₺₽₪₴]\s?\d(?:[\d,]{0,30}\d)?(?:\.\d{1,6})?(?:\s?(?:[kKmMbB]|bn|mn|(?:m|b|tr)illion|thousand)\b)?|\b\d(?:[\d,]{0,30}\d)?(?:\.\d{1,6})?\s?[£€¥₹₦₱₩₫₺₽₪₴]|\bR\d{1,3}(?: \d{3})+(?:[.,]\d\d)?\b|\b(?:R|Rs\.?|KSh|Kshs|N)\d[\d,]{0,30}\d(?:\.\d{1,6})?[kKmM]?\b|\b[RN]\d{1,3}(?:\.\d{1,2})?(?:[kKmM]|bn|mn)\b|\bR\d{1,3}\.\d{1,2}\b|\b[A-Z]{1,2}\d{1,3}(?:,\d{3}){1,4}(?:\.\d\d)?\b"),
    ("agesex", r"\b\d{1,2}[FM]\b"),
    ("quantity", r"\b\d{1,9}(?:[.,]\d{1,6})?(?:mg|mcg|MG|MCG|ML|KG|µg|ml|mL|kg|g|km|cm|mm|m|lbs?|oz|ft|in|mph|kph|rpm|bpm|kHz|MHz|GHz|Hz|[kKMGT]i?B|[kMG]bps|kWh|kVA|kW|W|V|A|mmHg|min|mins|hrs?|h|s|ms|k|K|M|B|px|pt|x|yo|y|d|w|wks?|yrs?|p|C|D|E|F|G|L|N|Fr)\b|\b(?:9|10)\d\.\d F\b|\b[34]\d\.\d C\b|\b\d{1,6}(?:\.\d{1,3})?\s?°\s?[CF]?"),
    ("percent", r"\b(?:\d{1,9}(?:[.,]\d{1,6})?\s?%|100 per ?cent\b)"),
    ("dotted", r"\b(?:[^\W\d_]\.){2,8}(?:[^\W\d_]\b\.?)?|\b[Pp]h\.\s?[Dd]\b\.?"),
    ("code", r"(?<![\w/:.])///[^\W\d]{1,40}(?:\.[^\W\d]{1,40}){2}(?![\w/])|(?<![\w-])[A-Z]{1,4}-(?:\d{3,12}(?:-[A-Z0-9]{1,12}){0,4}|\d{2}(?:-[A-Z0-9]{1,12}){1,4})(?![\w-])|(?<![\w-])(?:[A-Z]{1,4}(?:-[A-Z]{1,4}){1,2}-\d{4,12}|\d{2,3}-[A-Z]{1,2}-\d{1,6})(?![\w-])|(?<!\w)(?!(?:(?:[A-Za-z]{3,30}|id)_){1,8}\d{1,4}(?:-\d\d-\d\d)?(?![\w-]))(?=[A-Za-z_]{0,60}\d)(?=\d{0,60}[A-Za-z_])\w{2,80}(?:-[A-Za-z_]{0,30}\d\w{0,40}){0,6}(?:[!@$^&*]\w{0,40}){0,3}"),
    ("password", r"(?<!\w)(?![A-Za-z]{1,30}%[0-9A-F]{2})(?=[A-Za-z]{1,30}[!@#$%^*]{1,4}\w{0,30}\d)[A-Za-z0-9!@#$%^*+=?_-]{6,60}(?<![!?.])"),
    ("int", r"(?<=\w,)\d+(?:\.\d+)?(?![.:/\d])|\d+(?:\.\d+)?(?=,(?!\d{3}(?!\d))\d+(?:\.\d+)?,)|\d+(?:[.,:/'’]\d+)*"),
)  # fmt: skip
FIRST: Final = {"d": r"(?=\d)", "l": r"(?=[^\W\d_])", "o": r"(?=[\W_])"}
"""By the first character: digit, letter, other."""
STARTS: Final = dict(
    entword="l", skip="lo", escape="o", url="l", email="dlo", userip="l", handle="o", uuid="dl", mac="dl", ipv6="dl", coord="do", spelled="l", userhost="dlo", shortyear="o",
    iban="l", phone="do", decade="do", version="dl", money="dlo", fiscal="l", dotted="l", code="dlo", password="l",
)  # fmt: skip


def _dispatched() -> re.Pattern[str]:
    """One pattern: by its first character, then the alternatives in order."""
    sides = []
    for first, ahead in FIRST.items():
        inside = [
            f"(?P<{name}_{first}>{pattern})"
            for name, pattern in PATTERNS
            if first in STARTS.get(name, "d")
        ]
        sides.append(ahead + "(?:" + "|".join(inside) + ")")
    return re.compile("|".join(sides))


PATTERN: Final = _dispatched()
DIGITS = re.compile(r"\d+")
ROUND: Final = re.compile(
    r"(?<=\d)00(?!\d|[., ]\d)|(?<=\d\d)0(?!\d|[., ]\d)|(?<=[$£€]\d)0(?!\d|[., ]\d)"
)
"""Zeros at the end of a round number, two if there are two."""
DOT_CLOCK: Final = re.compile(r"(1\d|[1-9]|2[0-3])\.[0-5]\d")
"""A number that may be a time."""
PLAIN_CODES: Final = re.compile(
    r"[xX]1|[1-5]xx|[A-Z]\d-[A-Z]?\d|U(?:[5-9]|1\d|2[0-3])|[qQ]\d{1,2}[hH]|[qQ]\d\d|0x[0-9a-fA-F]{1,8}|[A-Z]-?\d|[A-Z]-?[12]c|[ckm]?m[23]|[hH]b[aA]1[cC]|[sS]p[oO]2|[oO]2|"
    r"[bB]12|\d[dD]|[cpyr]{0,2}T[0-4X][a-d]?N[0-3Xx][a-c]?M[01Xx]|[xX]?10\^\d{1,2}"
)
NUMBERED: Final = re.compile(
    r"(?:FY|CW|WK|RM|GR|YR|INC|CHG|REQ|TKT|TICKET|INV|ORD|REF|JOB|CASE|BUG|PR|RMA)-?(?=\d+$)"
)
"""Prefixes of numbers that stay: they tell the kind of a record, and nobody's name."""
MONTH_YEAR: Final = re.compile(r"(0?[1-9]|1[0-2])/((?:19|20)\d\d)")
"""A month of a year."""
YEARS_OLD: Final = re.compile("[1-9][0-9](?:y|yo|yrs?)")
"""An age."""
SHORT_TIME: Final = re.compile(r"(?:[01]\d|2[0-3])[0-5]\dh(?:rs?)?")
"""A time of four digits."""
MARK: Final = re.compile(r"(\d{1,2}\.\d{1,2})/(4|4\.0|4\.3|4\.5|5|5\.0|6|6\.0|7|9|10|20)")
"""A mark and the best one, which stays."""
_FORMS: Final = "sa cv sl srl llc pc lp bv nv kk spa llp plc sas sc"
EMERGENCY: Final = frozenset("911 999 000 111 112 101".split())
"""Public numbers of three digits that people are told to call."""
LEGAL: Final = frozenset(".".join(letters) for letters in _FORMS.split())
"""Legal forms of companies, with dots."""
_LABELS: Final = (
    "int1 int2 int3 int4 int40 int5 int6 intlong bit number year fixed times spo2 legaldot monthday "
    "entname daymonth dateyear over5 over7 over10 over12 over20 pair monthno mark emergency ageyears qcode"
)
LABELS: Final = (
    *_LABELS.split(),
    *(name for name, _ in PATTERNS if name not in ("skip", "escape", "int")),
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
    if kind == "quantity" and SHORT_TIME.fullmatch(text):  # 0215hrs
        return [(0, 4, *label_and_form("int", text[:4], fixed))]
    if kind == "int" and (match := MONTH_YEAR.fullmatch(text)):  # 03/2020
        month, year = match.groups()
        at = len(month) + 1
        return [
            (0, len(month), "monthno", marked(month)),
            (at, at + 4, "dateyear", year_form(year)),
        ]
    if kind == "int" and (match := MARK.fullmatch(text)):  # 3.8/4.5
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
    form, match = digit_form(text), ROUND.search(text)
    if match is None or (text.isdigit() and len(text) > 4):
        return form
    # 75,000 may become 91,200
    before = form[: match.start()].removesuffix(ZERO).ljust(match.start(), DIGIT)
    return before + NIL * len(match[0]) + form[match.end() :]


def sized_form(text: str) -> str:
    """Text with marks in place of digits, the first of which tells the size of the number."""
    if DOT_CLOCK.fullmatch(text):
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


_CODES: Final[tuple[tuple[str, re.Pattern[str], Form], ...]] = (
    ("spo2", re.compile("[sS]p[oO]2"), str),
    ("times", re.compile(r"[xX](?:[2-9]|[1-9]\d)"), digit_form),
    (
        "code",
        re.compile(r"\d{1,2}ish|\d{1,4}(?:\.\d)?(?:x\d{1,4}){1,2}|E\dV\dM\d|G\dP\d"),
        digit_form,
    ),
    ("ill_sugar", re.compile("T[12]DM?|DM[12]"), lambda _: ""),
    ("qcode", re.compile(r"[qQ]\d"), digit_form),
)
"""Codes that keep their letters (saturation, factors, about an hour, sizes, a coma scale, births,
quarters), and short forms with a digit of illnesses: label, pattern and what makes the form."""
_FORM_OF: Final[dict[str, Form]] = {
    **dict.fromkeys(("vanity", "password", "spelled"), letter_form),
    **dict.fromkeys(("percent", "quantity", "agesex"), sized_form),
    **dict.fromkeys(("uuid", "mac"), hex_form),
    **dict.fromkeys(("handle", "url", "ip", "ipv6", "email", "userip", "userhost"), lambda _: ""),
    "money": round_form,
    "clock": clock_form,
    "ordinal": lambda text: "d" * (int(text[:-2]) <= 31) + DIGIT * len(text[:-2]),
    "iban": lambda text: text[:2] + letter_form(text[2:]),
    "phone": lambda text: re.sub(r"(?<!\A)(?<!\A\()0|[1-9]", DIGIT, text),  # a first zero stays
    "overweeks": lambda text: digit_form(text[:-2]) + text[-2:],
}
"""Functions that make the form of a kind of strings; :func:`digit_form` makes those of the others."""


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
        if PLAIN_CODES.fullmatch(text) or text.lower() in fixed:
            return "fixed", text
        if re.fullmatch(r"(?=(?:\d*[a-fA-F]){3})(?:[0-9a-f]{7,}|[0-9a-fA-F]{12,})", text):
            return kind, (LARGE_HEX if text.upper() == text else HEX) * len(text)
        if numbered := NUMBERED.match(text):  # INC-48213 becomes INC-20921
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
    if kind == "quantity" and YEARS_OLD.fullmatch(text):
        return "ageyears", sized_form(text)
    return kind, _FORM_OF.get(kind, digit_form)(text)


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
