"""Draws: a function of a decision and of random numbers alone.

Each drawn token belongs to a pool: a list of words, or the strings of a form.  The different keys
of a unit get different numbers of their pool, by a uniformly random injection in the order of their
first appearance; when a pool is used up, its next permutation begins.  A number becomes a word, or
a string by its mixed radix.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dpsan.only.dates import moment
from dpsan.only.decision import CITY, COUNTRY, MEDICINE, NAMES, PLURAL, Decision
from dpsan.only.marks import LARGE, SIZED, unsized
from dpsan.only.order import distinct
from dpsan.only.permutations import (
    ASCENDING,
    ORDERED,
    ROOM,
    Permutation,
    Walk,
    begin_walks,
    permutation_of,
)
from dpsan.only.slots import AGE, Plan, Pool, Slots, Unit, Units
from dpsan.only.templates import Piece, finished, local_part, radices, string, template
from dpsan.only.view import COLUMN, LOWER, UPPER, Ints
from dpsan.privacy.randomness import Streams
from dpsan.text.letter_case import article_for

ADDRESSES: Final[dict[str, list[Piece]]] = {
    "email": ["@example.net"],
    "userhost": ["@host-", (10, 99, 0)],
    "userip": ["@", *template("ip", "", ())],
}
"""What stands behind the local part."""
PATTERNS: Final = len(COLUMN)
"""Patterns of capitals."""
_NAME: Final = "\0"
"""Stands for a name of the unit in a local part."""


class Outputs(NamedTuple):
    """Holds what is written."""

    tokens: list[str]
    articles: list[str]
    unchanged: float
    """Expected number of tokens that stay unchanged, at most; none of numbers by value."""
    smallest: int
    """Fewest strings of a form that occurred; 0: no string."""
    reused: int = 0
    """New replacements that another word of their unit has too."""


_NATIONS: Final = {"nat": "nation", "natlang": "nation", "natpl": "nationpl"}
"""Lists in which a word for a nation has the number of its country."""
Source = Callable[[Slots, NDArray[np.intp]], Streams]
"""Returns the random streams of some slots, in order."""


class Draws:
    """Draws with the words of some groups.

    Args:
        words: by group its output words.
        together: whether equal words of a unit have one replacement, and different ones two.
        injective: whether different words of a unit have different ones; else independent draws.
    """

    def __init__(
        self, words: Mapping[str, Sequence[str]], *, together: bool, injective: bool
    ) -> None:
        self._words, self.together, self._injective = words, together, injective
        self._lists = [*words]
        self._tables: dict[int, list[str]] = {}
        self._given = tuple(word.lower() for word in words["given_x"])
        self._plan = lru_cache(1 << 14)(self._plan_of)
        countries = {country: at for at, country in enumerate(words[COUNTRY])}
        most = max(Counter(words["homeland"]).values())
        self._chance = max(most / len(words["homeland"]), 1 / len(countries))
        """That a country stays as it is whose city or nation stands in the text."""
        self._homeland = [countries.get(country, -1) for country in words["homeland"]]

    def outputs(
        self,
        decision: Decision,
        source: Source,
        units: Units | None = None,
        values: Mapping[int, str] = MappingProxyType({}),
    ) -> Outputs:
        """Return the text of each drawn token, and of each article.

        Args:
            decision: what is drawn.
            source: random streams of new slots.
            units: that one which goes on, by its number in a long file; it grows.  None: all units
                of the decision are new, and have no other block.
            values: by its row the output of each number that is drawn by value, not in its group.
        """
        if not len(decision.at):
            return Outputs([], [], 0.0, 0)
        kept, units = units is not None, defaultdict(Unit) if units is None else units
        slots = self._slots(decision)
        late = self._late(slots, decision)
        if kept and self.together:
            slots.recall(units)
        for at in np.flatnonzero(np.isin(slots.row, [*values])).tolist() if values else ():
            slots.write(at, values[int(slots.row[at])])
            slots.new[at], slots.chance[at] = False, 0.0
        new = np.flatnonzero(slots.new)
        new = new[np.argsort(slots.text[new] * np.int64(4) + late[new], kind="stable")]
        bounds = np.array([plan.sizes[0] for plan in slots.plans])[slots.pool].tolist()
        permutations, reused = self._permutations(slots, new, units, bounds, kept=kept)
        begins = begin_walks(permutations, slots.text, bounds)
        if len(new):
            streams = source(slots, new)
            slots.number[new] = streams.integers("only", np.array(bounds, np.uint64)[new])
            self._take(slots, permutations, begins, decision.order[slots.row])
            self._write_strings(slots, new, streams)
            if self.together and self._injective:
                _keep_order(slots, new, decision.order[slots.row])
        if self.together and (kept or decision.locals):
            slots.remember(units)
        tokens = self._written(decision, slots, units)
        for ended in sorted(units)[:-1]:
            del units[ended]
        for row, value in values.items():
            tokens[row] = value
        articles = []
        for _, caps, row in decision.articles.tolist():
            article = article_for(tokens[row])
            loud = decision.caps[row] == UPPER and len(tokens[row]) > 1
            if caps != LOWER:
                article = article.upper() if loud else article.capitalize()
            articles.append(article)
        share = float(slots.chance.take(slots.of_row).sum())
        plans = [slots.plans[at] for at in np.unique(slots.pool[new]).tolist()]
        forms = [plan.sizes[0] for plan in plans if plan.table < 0 and plan.chance]
        return Outputs(tokens, articles, share, min(forms, default=0), reused)

    def _plan_of(self, pool: Pool) -> Plan:
        """Return how the words of a pool are drawn."""
        group, form, marks = pool
        words, pieces = self._words.get(group), []
        if group in ADDRESSES:
            pieces = [*local_part(marks, self._given), *ADDRESSES[group]]
        elif words is None:
            pieces = template(group, form, self._given)
        sizes = radices(pieces) if words is None else [len(words)]
        table = -1 if words is None else self._lists.index(group)
        named = group in NAMES or group.startswith(MEDICINE)
        chance = 0.0 if group in ADDRESSES else 1 / sizes[0]
        return Plan(pool, table, sizes, pieces, named, group in ASCENDING, chance)

    def _slots(self, decision: Decision) -> Slots:
        """Return the slots of a block: of rows with one key and one pool."""
        pools, of_pool = self._pools(decision)
        plans = [*map(self._plan, pools)]
        row = of_row = np.arange(len(decision.at))
        if self.together:
            shared = [len(plans) if plan.named else at for at, plan in enumerate(plans)]
            keys, of_key = distinct(decision.key)
            places = decision.unit * np.int64(len(keys)) + of_key
            row, of_row = distinct(places * (len(plans) + 1) + np.array(shared)[of_pool])
            order = np.argsort(row)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            row, of_row = row[order], rank[of_row]
        pool, key, unit = of_pool[row], decision.key[row], decision.unit[row].astype(np.int64)
        if self._injective:
            unit += (key >> AGE) * (unit[-1] + 1)
        return Slots(
            plans,
            pool,
            row,
            of_row,
            key,
            unit,
            decision.text[row],
            np.full(len(row), -1),
            np.full(len(row), self._injective),
            np.array([plan.table for plan in plans])[pool],
            np.zeros(len(row), np.int64),
            np.array([plan.chance for plan in plans])[pool],
            np.ones(len(row), np.bool_),
        )

    def _pools(self, decision: Decision) -> tuple[list[Pool], NDArray[np.intp]]:
        """Return the pools of a block, and the index of that of each row."""
        many = len(decision.forms) + 1
        kinds = decision.group.astype(np.int64) * many + decision.form + 1
        first, of_kind = distinct(kinds)
        pools: dict[Pool, int] = {}
        codes: list[int] = []
        for group, form in (divmod(kind, many) for kind in kinds[first].tolist()):
            name, text = decision.groups[group], decision.forms[form - 1] if form else ""
            text = text if name in SIZED else unsized(text)
            pool: Pool = ("surname" if name == PLURAL else name, text, ())
            codes.append(pools.setdefault(pool, len(pools)))
        of_pool, unmarked = np.array(codes)[of_kind], [*pools]
        for row, parts in decision.locals.items():
            group, text, _ = unmarked[of_pool[row]]
            if group in ADDRESSES:  # each has marks of its own
                name = _NAME if self.together else LARGE
                cuts = chain.from_iterable(parts)
                pool = group, text, tuple(cut if isinstance(cut, str) else name for cut in cuts)
                of_pool[row] = pools.setdefault(pool, len(pools))
        return [*pools], of_pool

    def _late(self, slots: Slots, decision: Decision) -> NDArray[np.int8]:
        """Let cities lead countries, and countries nations; returns when slots of a text are drawn:
        countries of cities before others, nations last.
        """
        leader = np.append(decision.key, -1)[decision.leader[slots.row]]
        groups = [plan.pool[0] for plan in slots.plans]
        country = np.array([group == COUNTRY for group in groups])[slots.pool]
        if self._injective and self.together:
            leading = np.array([group in (CITY, COUNTRY) for group in groups])[slots.pool]
            led = np.flatnonzero(leader >= 0)
            units, keys, countries = slots.unit.tolist(), slots.key.tolist(), country.tolist()
            places = [*zip(units, countries, keys, strict=True)]
            leads = {places[at]: at for at in np.flatnonzero(leading).tolist()}
            pairs = zip(led.tolist(), leader[led].tolist(), strict=True)
            slots.lead[led] = [
                leads.get((units[at], not countries[at], key), -1) for at, key in pairs
            ]
            slots.chance[led] = self._chance
            slots.own[led] &= country[led]
        lone = slots.lead < 0
        return np.where(country, 1 + lone, 3 * ~lone).astype(np.int8)

    def _permutations(
        self, slots: Slots, new: NDArray[np.intp], units: Units, bounds: list[int], *, kept: bool
    ) -> tuple[dict[int, Permutation], int]:
        """Return the permutations that give new slots their numbers, in order, and how many of
        these are beyond the size of their pool; sets their bounds.

        The only number of a permutation that is not kept is its uniform integer.
        """
        plans, own = slots.plans, new[slots.own[new]]
        if not kept:
            _, same = distinct(slots.unit[own] * len(plans) + slots.pool[own])
            several = (np.bincount(same).take(same) > 1) | (slots.lead[own] >= 0)
            own = own[several | np.array([plan.ascending for plan in plans])[slots.pool[own]]]
        found: dict[int, Permutation] = {}
        reused = 0
        columns = own.tolist(), slots.unit[own].tolist(), slots.pool[own].tolist()
        for at, number, pool in zip(*columns, strict=True):
            unit, plan = units[number], plans[pool]
            permutation = unit.permutations.get(plan.pool)
            if permutation is None:
                group, form, _ = plan.pool
                permutation = permutation_of(group, form, plan.sizes[0], unit.calendars)
                unit.permutations[plan.pool] = permutation
            reused += permutation.planned >= permutation.size
            bounds[at] = permutation.plan()
            found[at] = permutation
        return found, reused

    def _take(
        self, slots: Slots, permutations: Mapping[int, Permutation], begins: set[int], order: Ints
    ) -> None:
        """Take numbers from permutations, those of dates in the order of the dates.

        Args:
            slots: whose numbers are uniform integers so far.
            permutations: of some slots, in the order of their draws.
            begins: slots whose integers tell where a calendar begins.
            order: of each slot its place among the dates or numbers of the text.
        """
        number, lead = slots.number.tolist(), slots.lead.tolist()
        dated = np.array([plan.ascending for plan in slots.plans])[slots.pool]
        turns = (slots.text * np.int64(1 << 32) + order * dated).tolist()
        for at in begins:
            cast(Walk, permutations[at]).begin(number[at])
            number[at] = 0
        for at in sorted(permutations, key=turns.__getitem__):
            permutation = permutations[at]
            wanted = self._homeland[number[lead[at]]] if lead[at] >= 0 else -1
            number[at] = permutation.take(number[at], wanted)
            if isinstance(permutation, Walk):
                slots.chance[at] = 1 / (permutation.size * permutation.calendar.start)
        for at in np.flatnonzero(slots.new & ~slots.own & (slots.lead >= 0)).tolist():
            number[at] = number[lead[at]]
            nation = slots.plans[slots.pool[at]].pool[0]
            slots.table[at] = self._lists.index(_NATIONS[nation])
        slots.number = np.array(number)

    @staticmethod
    def _write_strings(slots: Slots, new: NDArray[np.intp], streams: Streams) -> None:
        """Write the strings of new slots."""
        indices = np.flatnonzero(slots.table[new] < 0)
        at = new[indices]
        plans = [slots.plans[pool] for pool in slots.pool[at].tolist()]
        numbers = [[number] for number in slots.number[at].tolist()]
        draw_further(numbers, [plan.sizes for plan in plans], indices.tolist(), streams)
        for slot, plan, own in zip(at.tolist(), plans, numbers, strict=True):
            slots.write(slot, finished(plan.pool[0], string(plan.pieces, own)))

    def _written(self, decision: Decision, slots: Slots, units: Units) -> list[str]:
        """Return the text of each drawn token."""
        codes = (slots.table[slots.of_row] + 1) * PATTERNS + decision.caps
        counts = enumerate(np.bincount(codes).tolist())
        tables = [self._table(code, slots.texts) if count else [] for code, count in counts]
        pairs = zip(codes.tolist(), slots.number[slots.of_row].tolist(), strict=True)
        out = [tables[code][number] for code, number in pairs]
        for row in np.flatnonzero(decision.group == decision.groups.index(PLURAL)).tolist():
            out[row] += "es" if out[row][-1] in "szxSZX" else "s"
        for row in np.flatnonzero(decision.possessive).tolist():
            ending = "'" if out[row][-1] in "sS" else "'s"
            out[row] += ending.upper() if decision.caps[row] == UPPER else ending
        for row, parts in decision.locals.items():
            names = units[int(slots.unit[slots.of_row[row]])].names
            for part in chain.from_iterable(parts) if _NAME in out[row] else ():
                if not isinstance(part, str):
                    name = self._table((names[part].table + 1) * PATTERNS + LOWER, [])
                    out[row] = out[row].replace(_NAME, name[names[part].number], 1)
        return out

    def _table(self, code: int, texts: list[str]) -> list[str]:
        """Return the words of a list in a pattern of capitals, or strings as they are.

        Args:
            code: of both.
            texts: strings.
        """
        at, caps = divmod(code, PATTERNS)
        if not at:
            return texts
        if code not in self._tables:
            table = [*self._words[self._lists[at - 1]]]
            nouns = any(word.islower() for word in table)  # among them MRI, Crohn's disease
            if caps == LOWER and not nouns:
                table = [word.lower() for word in table]
            elif caps == UPPER:
                table = [word.upper() for word in table]
            elif caps != LOWER:
                table = [word[0].upper() + word[1:] for word in table]
            self._tables[code] = table
        return self._tables[code]


def _keep_order(slots: Slots, new: NDArray[np.intp], order: Ints) -> None:
    """Give the new numbers of each text and form the order of what they stand for.

    Any set of numbers is as likely as another of its size, in any order: it is sorted.

    Args:
        order: how many numbers of its form are smaller in the text, of each slot.
    """
    ordered = np.array([plan.pool[0] in ORDERED for plan in slots.plans])
    at = new[ordered[slots.pool[new]]]
    members: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    columns = slots.unit[at].tolist(), slots.text[at].tolist(), slots.pool[at].tolist()
    for place, slot in zip(zip(*columns, strict=True), at.tolist(), strict=True):
        members[place].append(slot)
    for (*_, pool), of_text in members.items():
        if 1 < len(of_text) <= slots.plans[pool].sizes[0] // ROOM:
            values = {moment(slots.texts[at], day_first=False): at for at in slots.number[of_text]}
            numbers = [values[value] for value in sorted(values)]
            slots.number[sorted(of_text, key=order.__getitem__)] = numbers
            slots.chance[of_text] *= len(of_text)


def draw_further(
    numbers: Sequence[list[int]],
    bounds: Sequence[Sequence[int]],
    indices: Sequence[int],
    streams: Streams,
) -> None:
    """Append the second and all further numbers of strings that have several.

    Args:
        numbers: the first number of each string; the lists grow.
        bounds: of all numbers of each string.
        indices: index of the stream of each string, ascending.
    """
    step = 1
    while more := [at for at, sizes in enumerate(bounds) if len(sizes) > step]:
        sizes = np.array([bounds[at][step] for at in more], np.uint64)
        streams_of = np.array([indices[at] for at in more])
        drawn = streams.integers(f"only, part {step}", sizes, streams_of).tolist()
        for at, number in zip(more, drawn, strict=True):
            numbers[at].append(number)
        step += 1
