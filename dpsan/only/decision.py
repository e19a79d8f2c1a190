"""The decision: all that the law of the output may depend on, besides what passes.

For each drawn token: its group, the form of a string, the pattern of capitals, whether it owns
something, and a key that says which drawn tokens of a unit are equal.  Two texts with one decision,
that pass the same words and gaps, have the same distribution of outputs.
"""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.engine import UNTYPED, Match, drawn
from dpsan.only.forms import ZERO
from dpsan.only.permutations import ASCENDING, DOSED, ORDERED
from dpsan.only.relations import State, areas, english
from dpsan.only.rules import PASS, Rules
from dpsan.only.sums import BIRTH, BOTH, COUNTED, DAYS, OF_DAY, OF_MONTH, PARTS, SPAN, STEP
from dpsan.only.view import (
    GAP,
    KEPT,
    LOWER,
    NATIONS,
    ONE,
    TITLE,
    UPPER,
    Codes,
    Cut,
    Flags,
    Ints,
    Sum,
    View,
    among,
    ranks,
)

PLURAL = "surnamepl"
"""Group of surnames with a plural s: their key is that of the name."""
_GIVEN: Final = "given_f given_m given_u given_x given_f_de given_m_de given_x_de"
GIVEN: Final = frozenset(_GIVEN.split())
SURNAMES: Final = frozenset({"surname", "surname_de"})
NAMES = GIVEN | SURNAMES | {PLURAL}
"""Groups of names: Grace is Pam wherever she stands, and in addresses."""
COUNTRY: Final = "country"
STATES: Final = ("state", "statecode")
"""Groups of states of America, and of their codes in the same order."""
CITY: Final = "city"
AMERICAN: Final = "cityen"
"""Group of cities whose states are known."""
WEEKDAYS: Final = frozenset(("day", "day3", "workday", "workday3", "day_de", "day_fr", "day_es"))
DAYS_OF_MONTH: Final = frozenset(("mday", "ordinal", "daymonth"))
ENGLISH: Final = ("month", "month3")
MONTHS: Final = frozenset((*ENGLISH, "month_de", "month_fr", "month_es", "month_it"))
YEARS: Final = frozenset(("year", "shortyear"))
VALUE: Final = "near"
"""Group of measured values, which keep all but their last digits."""
AGED: Final = frozenset(("age", "childage", "motherage", "workage", VALUE))
"""Groups of numbers of years of which the first year follows."""
NEAR: Final = 12
"""Tokens between a year and a weekday behind it that belong together."""
ONE_SORT: Final = (
    ("month3", "month"),
    ("day3", "day"),
    ("workday3", "day"),
    ("workday", "day"),
    ("dotclock", "clock"),
)
"""Groups that are in one order with another one."""
PADDED: Final = ZERO * 2
"""Form of a day of two digits that begins with a zero."""
HANDLE, LOGIN = "handle", "login"
"""Group of handles, and of those with a piece that is a name of their unit."""
_DATED: Final = frozenset(ASCENDING | DOSED)
MEDICINE: Final = "medicine"
"""How groups of medicines begin: one medicine stays one, with a dose and without."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Arrays over the drawn tokens (k) of a block, in the order of the text."""

    at: NDArray[np.int64]
    """Index of the token in the view."""
    group: NDArray[np.int16]
    form: Ints
    """Index in ``forms``; -1 of words."""
    caps: Codes
    possessive: Flags
    key: NDArray[np.int64]
    """The same for drawn tokens of a unit that are one word, and for no others."""
    unit: Ints
    text: Ints
    order: Ints
    """Number of replaced dates of its group that are earlier in the text, or of numbers of its form
    that are smaller; 0 of other tokens."""
    leader: NDArray[np.int64]
    """Row of the country in the text of a nation, of the city before a country; -1: none."""
    articles: NDArray[np.int64]
    """Token, pattern of capitals, and row of the drawn token behind it: (a, 3)."""
    locals: dict[int, tuple[Cut, ...]]
    """By the row of an e-mail address the pieces of its local part: marks, and keys of names; by
    the row of initials the keys of both names."""
    sums: tuple[Sum, ...]
    """Replaced numbers that follow from others of their text, by their rows; -1 and less: one less
    than a count that passes, as a negative number."""
    weekdays: tuple[tuple[int, ...], ...]
    """Rows of a weekday and of the date behind it: its day, or day and month, its month and year;
    -1: none."""
    area: NDArray[np.int64]
    """Areas of medicine, as bits, that most health words of its unit are about."""
    rule: NDArray[np.int16]
    """Index of the rule that drew each token; no output depends on it."""
    groups: tuple[str, ...]
    forms: tuple[str, ...]


def decide(
    view: View, rules: Rules, marked: Codes | None = None, match: Match | None = None
) -> Decision:
    """Return what is drawn; reads the view alone.

    Args:
        view: of a block.
        rules: what they draw.
        marked: tokens that are drawn whatever the rules say, see :func:`dpsan.only.engine.drawn`.
        match: of these rules over the view, not run yet: tells afterwards which rule decided.
    """
    match = match or Match(rules, view)
    group, form = match.run(), view.form
    if marked is not None:
        group, form = drawn(match, group, marked)
        group = _again(view, rules, match, group, marked)
    group = rules.written[group]
    at = (group > PASS).nonzero()[0]
    plural = group == rules.group(PLURAL)
    key = np.where(plural, view.stem, view.equal).astype(np.int64)
    days = (group == rules.group("mday")).nonzero()[0]
    if len(days) and PADDED in view.forms:  # 3 is 03 in a text with 03
        padded = form[days] == view.forms.index(PADDED)
        form = form.copy()
        form[days[np.isin(view.text[days], view.text[days[padded]])]] = view.forms.index(PADDED)
    forms = {of_form: code for code, of_form in enumerate(view.forms)}
    values = (group == rules.group(VALUE)).nonzero()[0].tolist()
    if values:
        form = form.copy()
        form[values] = [forms.setdefault(view.near[token], len(forms)) for token in values]
    row = np.full(len(group), -1, np.int64)
    row[at] = np.arange(len(at))
    article = (view.trigger == rules.triggers["a"]).nonzero()[0]
    articles = _articles(match.state, rules, article, row)
    caps = view.caps.copy()
    eased = rules.nouns[group] & (caps == TITLE)
    eased |= (rules.nouns | rules.brands)[group] & (caps == UPPER)
    loud = eased.nonzero()[0]
    if len(loud):
        # COPD may become asthma, and Crohn's disease too: in small letters
        titled = match.relation("capline", loud) & (caps[loud] == TITLE)
        loud = loud[~match.relation("upline", loud) & ~titled]
        capital = match.relation("start", loud) | rules.brands[group[loud]]
        caps[loud] = np.where(capital, TITLE, LOWER)
    first = np.full(len(group), -1)
    first[key[at[::-1]]] = row[at[::-1]]
    key_of: dict[int, int] = {}
    if view.pieces:
        words = (first >= 0).nonzero()[0]
        words = words[among(group[at[first[words]]], rules.codes(NAMES))]
        key_of = dict(zip(words.tolist(), first[words].tolist(), strict=True))
    local, handle, login = {}, rules.group(HANDLE), rules.group(LOGIN)
    for token, pieces in view.pieces.items():
        if group[token] > PASS:
            read = tuple(_read(cuts, key_of) for cuts in pieces)
            if group[token] == handle:
                named = any(not isinstance(part, str) for cut in read for part in cut)
                group[token] = login if named else handle
            told = all(not isinstance(cut[0], str) for cut in read)
            if group[token] != handle and (view.form[token] >= 0 or told):
                local[int(row[token])] = read
    order = np.zeros(len(at), np.int32)
    for groups in (_DATED, ORDERED):
        rows = among(group[at], rules.codes(groups)).nonzero()[0]
        if len(rows) > 1:  # else there is none before
            some, of_sort = at[rows], group[at[rows]]
            for form_of, sort in ONE_SORT:
                of_sort = np.where(of_sort == rules.group(form_of), rules.group(sort), of_sort)
            of_sort = np.where(among(of_sort, rules.codes(DOSED)), rules.group("dose"), of_sort)
            pool = (view.text[some] * np.int64(len(rules.groups)) + of_sort) * (len(forms) + 1)
            of_form = form[some] + 1 if groups is ORDERED else 0
            order[rows] = ranks(pool + of_form, view.order[some])
    return Decision(
        at,
        group[at],
        form[at],
        caps[at],
        view.possessive[at],
        first[key[at]],  # the first drawn token, never one that passes
        view.unit[at],
        view.text[at],
        order,
        _leaders(view, rules, group, at, first),
        articles,
        local,
        _sums(view, rules, group, row),
        _weekdays(view, rules, group, row),
        areas(match.state, rules.areas)[view.unit[at]],
        match.rule[at],
        tuple(rules.groups),
        tuple(forms),
    )


def _articles(
    state: State, rules: Rules, at: NDArray[np.intp], row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the articles before drawn tokens: token, pattern of capitals, and row of the other.

    A text with more foreign function words than English ones has words such as the German *an*,
    which no word behind them changes.
    """
    view, texts = state.view, state.text
    of_english = texts.counts(english(state)) >= texts.having(state.words("foreign"))
    at = at[of_english[view.text[at]]]
    word = at + 1
    for at_word, token in enumerate(at.tolist() if view.far_words else ()):
        word[at_word] = view.far_words.get(token, token + 1)
    at, word = at[row[word] >= 0], word[row[word] >= 0]
    # Type A, group A: a name
    named = among(view.trigger[at - 1], rules.trigger_codes("lettered")) & (view.caps[at] == ONE)
    at, word = at[~named], word[~named]
    return np.stack([at, view.caps[at], row[word]], 1).astype(np.int64)


def _leaders(
    view: View, rules: Rules, group: NDArray[np.int16], at: NDArray[np.intp], first: Ints
) -> NDArray[np.int64]:
    """Return the row of the country of a nation, of the city before a country or state, or -1."""
    out = np.full(len(at), -1, np.int64)
    nations = rules.codes(NATIONS)
    for names, city in ((STATES, AMERICAN), ([COUNTRY], CITY)):
        rows = among(group[at], rules.codes(names)).nonzero()[0]
        if len(rows):
            near = among(view.gap[at[rows]], [GAP["comma"], GAP["space"], GAP["line"]])
            cities = rules.codes(name for name in rules.groups if name.split("_")[0] == city)
            behind = rows[near & among(group[at[rows] - 1], cities)]
            out[behind] = behind - 1
    if not len(rows):
        return out
    # Of the words for nations those that have a country in their text, whatever the block is.
    led, pairs = among(group[at], nations).nonzero()[0], view.text * np.int64(len(group))
    inside = np.isin(pairs[at[led]] + view.stem[at[led]], pairs[at[rows]] + view.equal[at[rows]])
    out[led[inside]] = first[view.stem[at[led[inside]]]]
    return out


def _sums(
    view: View, rules: Rules, group: NDArray[np.int16], row: NDArray[np.int64]
) -> tuple[Sum, ...]:
    """Return by their rows the sums of which all numbers are replaced, each by any of its form, or
    are counts that pass.
    """
    if not view.sums:
        return ()
    free, dated, aged = ({*rules.codes(names)} for names in (PARTS, DAYS, AGED))
    names_of = {OF_DAY: DAYS_OF_MONTH, OF_MONTH: (*ENGLISH, "daymonth")}
    turns = {kind: {*rules.codes(names)} for kind, names in names_of.items()}
    dates: defaultdict[tuple[int, int], list[list[int]]] = defaultdict(list)
    out, year, near = [], rules.group("year"), rules.group(VALUE)
    for kind, whole, parts in view.sums:
        if kind in turns:
            dates[kind, int(view.text[whole])].append(
                [part for part in parts if int(group[part]) in turns[kind]]
            )
            continue
        total, *rows = (
            int(row[token]) if group[token] > PASS else -1 - view.counts.get(token, 0)
            for token in (whole, *parts)
        )
        codes = {int(group[part]) for part in parts if group[part] > PASS}
        told = kind in COUNTED if total < 0 else int(group[whole]) in free
        fits = codes <= dated and min(rows) >= 0 if kind in (SPAN, BOTH) else codes <= free
        of_age = kind < STEP and not aged.isdisjoint({*codes, int(group[whole])} - {near})
        if told and fits and codes and not of_age and -1 not in (total, *rows):
            of_birth = kind == SPAN and codes == {year} and int(group[whole]) in aged
            out.append(Sum(BIRTH if of_birth else kind, total, tuple(rows)))
    mixed = [
        text for (_, text), days in dates.items() if len({*group[[*chain(*days)]].tolist()}) > 1
    ]
    for (kind, text), days in dates.items():
        if text in mixed:  # else they are in order
            rows_of = [tuple(row[tokens].tolist()) for tokens in days if tokens]
            out += [Sum(kind, same[0], same) for same in rows_of]
    return tuple(out)


def _weekdays(
    view: View, rules: Rules, group: NDArray[np.int16], row: NDArray[np.int64]
) -> tuple[tuple[int, ...], ...]:
    """Return the rows of the weekdays before a date, or behind it, with those of the date.

    A date without a month has the first one of its text, one without a year the next one there, the
    one just before it, the first one of its text in the class of the latest so far, or the first
    one of the unit.
    """
    at = among(group, rules.codes(WEEKDAYS)).nonzero()[0]
    if not len(at):
        return ()
    part_of = np.zeros(len(rules.groups), np.int8)
    for part, names in enumerate((DAYS_OF_MONTH, MONTHS, YEARS), 1):
        part_of[rules.codes(names)] = part
    function = view.code["func"]
    before = part_of[group.take(at + 1 + (view.label[at + 1] == function), mode="clip")] > 0
    marks = [GAP[name] for name in ("open", "bar", "comma")]
    last = (part_of[group[at - 1]] > 0) & among(view.gap[at], marks)
    steps = np.where(before, 1, -1)[before | last].tolist()  # 21.11.2025 (Friday)
    at = at[before | last]
    dated = part_of.take(group).nonzero()[0]
    dated = dated[np.isin(view.unit[dated], view.unit[at])]
    of = dict(zip(dated.tolist(), part_of[group[dated]].tolist(), strict=True))
    first = {(int(view.text[near]), part): int(row[near]) for near, part in reversed(of.items())}
    for near in of:  # a date in digits has a month
        if group[near] == rules.group("daymonth"):
            first.setdefault((int(view.text[near]), 2), int(row[near]))
    years = [near for near, part in of.items() if part > 2]
    first_year = {int(view.unit[near]): int(row[near]) for near in reversed(years)}
    classes = {near: view.forms[view.form[near]][:1] for near in years if view.form[near] >= 0}
    years = [*classes]
    first_of = {(int(view.text[near]), classes[near]): near for near in reversed(years)}
    latest: dict[int, int] = {}
    for last_one, near in zip([-1, *years], years, strict=False):
        far = latest.get(last_one, near)
        later = view.text[far] != view.text[near] or view.order[far] <= view.order[near]
        latest[near] = near if later else far  # no year of birth
    out, ends = [], np.cumsum(among(view.gap, [GAP["stop"], GAP["line"]]))
    for step, token in zip(steps, at.tolist(), strict=True):
        text, open_parts, skipped = int(view.text[token]), {1, 2, 3}, (function, view.label[token])
        behind = bisect(years, token)
        pair = [*years[behind : behind + 1], *years[behind - 1 : behind]]
        year = [
            near
            for near in pair
            if view.text[near] == text
            and abs(token - near) < NEAR
            and (near > token or ends[near] == ends[token])
        ]
        if behind and view.text[pair[-1]] == text:
            year.append(first_of[text, classes[latest[pair[-1]]]])
        year = [int(row[near]) for near in year]
        date = [-1, first.get((text, 2), -1), *year, first_year.get(int(view.unit[token]), -1)][:3]
        for near in range(token + step, token + 6 * step, step):
            part = of.get(near, 0)
            if part in open_parts:
                date[part - 1] = int(row[near])
                open_parts.remove(part)
            elif part > 1 or not (part or view.label[min(near, len(row) - 1)] in skipped):
                break
        if date[0] >= 0:
            out.append((int(row[token]), *date))
    return tuple(out)


def _read(cuts: tuple[Cut, ...], key_of: dict[int, int]) -> Cut:
    """Return the first reading of a piece whose words are all replaced names.

    A piece that is a letter and a word that passes is read as one that is no word: whether a
    hidden address has a passing word decides nothing.
    """
    cut = next(cut for cut in cuts if all(isinstance(p, str) or p in key_of for p in cut))
    return tuple(part if isinstance(part, str) else key_of[part] for part in cut)


def _again(
    view: View, rules: Rules, match: Match, group: NDArray[np.int16], marked: Codes
) -> NDArray[np.int16]:
    """Return the groups where a word of a marked name is that name in all of its unit, as far as
    names are drawn.

    A plain word with a pronoun beside it is none, before it or, in small letters, behind it: *I
    hope*, *Will it*; not *to Hope. It*.
    """
    named = ((marked > UNTYPED) & among(group, rules.codes(NAMES))).nonzero()[0]
    if not len(named):
        return group
    group_of = np.zeros(len(group), np.int16)
    group_of[view.equal[named]] = group[named]
    again = (group <= PASS) & (group_of[view.equal] > PASS) & (view.form < 0)
    again &= rules.kept[group_of[view.equal]] & ~view.labelled(KEPT)
    if not again.any():
        return group
    pronoun, beside = among(view.trigger, rules.trigger_codes("pronoun")), view.gap == GAP["space"]
    plain = np.roll(pronoun & beside, -1) | np.roll(pronoun, 1) & beside & (view.caps == LOWER)
    names = ("plain??", "closed", "amb", "name??", "month??")
    again &= ~(plain & among(view.label, [*chain.from_iterable(map(rules.label_codes, names))]))
    match.rule[again] = -1
    return np.where(again, group_of[view.equal], group).astype(np.int16)
