"""Draws: a function of a decision and of random numbers alone.

Each drawn token belongs to a pool: a list of words, or the strings of a form.  The different keys
of a unit get different numbers of their pool, by a uniformly random injection in the order of their
first appearance; when a pool is used up, its next permutation begins.  A number becomes a word, or
a string by its mixed radix.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, compress
from operator import not_
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import AMERICAN, CITY, COUNTRY, PLURAL, STATES, Decision
from dpsan.only.doses import Doses, fit_doses
from dpsan.only.forms import LARGE, SIZED, unsized
from dpsan.only.injections import Injections, keep_apart
from dpsan.only.mail_names import name_pieces, write_addresses
from dpsan.only.permutations import Permutation, Walk, begin_walks
from dpsan.only.plans import ADDRESSES, NAME, PATTERNS, Plans
from dpsan.only.slots import (
    Pool,
    Slots,
    Unit,
    Units,
    fit_ages,
    fit_births,
    keep_order,
    name_days,
    settle,
    unit_number,
    unit_of,
)
from dpsan.only.sums import AFTER
from dpsan.only.templates import finished, string
from dpsan.only.times import keep_days, keep_times
from dpsan.only.view import LOWER, UPPER, Ints, distinct
from dpsan.privacy.randomness import Streams
from dpsan.text.letter_case import article_for


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


ONE_DATE: Final = frozenset(("daymonth", "year"))
"""Groups of which equal dates of a text stay equal in all forms."""
_NATIONS: Final = {"nat": "nation", "natlang": "nation", "natpl": "nationpl"}
"""Lists in which a word for a nation has the number of its country."""
Source = Callable[[Slots, NDArray[np.intp]], Streams]
"""Returns the random streams of some slots, in order."""


class Draws:
    """Draws with the words of some groups.

    Args:
        together: whether equal words of a unit have one replacement, and different ones two.
        plans: of the pools.
        doses: of medicines.
        pieces: groups of the pieces of an address that no name of its text is: of the last of
            several, and of all others.
    """

    def __init__(
        self,
        plans: Plans,
        doses: Doses = MappingProxyType({}),
        *,
        together: bool,
        pieces: tuple[str, str] = ("surname", "given_x"),
    ) -> None:
        self.plans, self.together, self._pieces = plans, together, pieces
        self._doses = doses
        self._homelands: dict[str, list[int]] = {}
        """By group of cities the number of the country or state of each; -1: none."""
        for name, homes in plans.words.items():
            if name.startswith("homeland"):
                group = CITY + name.removeprefix("homeland")
                places = plans.words[STATES[0] if group == AMERICAN else COUNTRY]
                numbers = {place: at for at, place in enumerate(places)}
                self._homelands[group] = [numbers.get(home, -1) for home in homes]
        self._chances = {
            group: max(map(homes.count, {*homes} - {-1}), default=0) / len(homes)
            for group, homes in self._homelands.items()
        }
        """That a country stays as it is whose city stands in the text, by the group of the city."""

    def outputs(
        self,
        decision: Decision,
        source: Source,
        units: Mapping[int, Units] | None = None,
        values: Mapping[int, str] = MappingProxyType({}),
    ) -> Outputs:
        """Return the text of each drawn token, and of each article.

        Args:
            decision: what is drawn.
            source: random streams of new slots.
            units: by the number of each unit of the decision what it has so far; they grow.
                None: all are new, and have no other block.
            values: by its row the output of each number that is drawn by value, not in its group.
        """
        if not len(decision.at):
            return Outputs([], [], 0.0, 0)
        kept = units is not None
        units = defaultdict(lambda: defaultdict(Unit)) if units is None else units
        slots = self._slots(decision)
        if kept and self.together:
            slots.recall(units)
        late = self._late(slots, decision)
        for at in np.isin(slots.row, [*values]).nonzero()[0].tolist() if values else ():
            slots.write(at, values[int(slots.row[at])])
            slots.new[at], slots.chance[at] = False, 0.0
        new = slots.new.nonzero()[0]
        new = new[np.lexsort((slots.text[new] * np.int64(4) + late[new], slots.unit[new]))]
        sizes = np.array([plan.sizes[0] for plan in slots.plans])[slots.pool]
        pending = new[slots.own[new]]
        injections = None if kept else Injections(slots, pending, sizes)
        bounds = sizes.tolist()
        pending = injections.rest if injections else pending
        permutations, reused = self._permutations(slots, pending, units, bounds)
        begins = begin_walks(permutations, slots.text, bounds)
        if len(new):
            streams = source(slots, new)
            slots.number[new] = streams.integers("only", np.array(bounds, np.uint64)[new])
            if injections:
                injections.take(slots)
            self._take(slots, permutations, begins, decision.order[slots.row])
            self._write_strings(slots, new, streams)
            if self.together and self.plans.injective:
                reused += keep_apart(slots, new, units, self.plans, streams, injections)
                keep_order(slots, new, decision.order[slots.row])
                keep_times(slots, new, decision.order[slots.row])
                tables = [*self.plans.words.values()]
                if decision.sums or decision.weekdays:
                    keep_days(slots, decision)
                    first = [row.kind == AFTER or row.whole < 0 for row in decision.sums]
                    settle(slots, [*compress(decision.sums, first)], tables)
                    name_days(slots, decision.weekdays, self.plans.words, decision.order[slots.row])
                    settle(slots, [*compress(decision.sums, map(not_, first))], tables)
                    fit_births(slots, decision, tables)
                fit_ages(slots, decision, tables)
            if self.together and decision.locals:
                write_addresses(slots, new, decision, units, self.plans)
        if self.together and kept:
            slots.remember(units, new.tolist())
        tokens = self._written(decision, slots)
        fit_doses(decision, slots, tokens, self._doses)
        for of_file in units.values():
            for ended in sorted(of_file)[:-1]:
                del of_file[ended]
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
        plans = map(slots.plans.__getitem__, {*slots.pool[new].tolist()})
        # A handle that follows a name hides among what the name hides among.
        forms = [p.sizes[0] for p in plans if p.table < 0 and p.pool[0] not in ADDRESSES]
        return Outputs(tokens, articles, share, min(forms, default=0), reused)

    def _slots(self, decision: Decision) -> Slots:
        """Return the slots of a block: of rows with one key and one pool."""
        pools, of_pool = self._pools(decision)
        row = of_row = np.arange(len(decision.at))
        key, unit, text, written = decision.key, decision.unit.astype(np.int64), decision.text, row
        if self.together and (pieces := name_pieces(decision, pools, self._pieces)):
            at, keys, codes = map(np.array, zip(*pieces, strict=True))
            written = row + at.searchsorted(row, "right")
            row = of_row = np.insert(row, at, at)
            key, of_pool, unit, text = key[row], of_pool[row], unit[row], text[row]
            at += np.arange(len(at))  # ascending: each stands before its row
            key[at], of_pool[at] = keys, codes
        plans = [*map(self.plans.of, pools)]
        first = np.arange(len(row))
        if self.together:
            homes: dict[Pool, int] = {}
            shared = [homes.setdefault(plan.home, len(homes)) for plan in plans]
            keys, of_key = distinct(key)
            places = unit * np.int64(len(keys)) + of_key
            first, of_row = distinct(places * len(homes) + np.array(shared)[of_pool])
            order = first.argsort()
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            first, of_row = first[order], rank[of_row]
        else:
            of_row = first
        pool, key, unit = of_pool[first], key[first], unit[first]
        return Slots(
            plans,
            pool,
            row[first],
            of_row[written],
            key,
            unit_number(unit, key if self.plans.injective else np.zeros_like(key)),
            text[first],
            np.full(len(first), -1),
            np.full(len(first), self.plans.injective),
            np.array([plan.table for plan in plans])[pool],
            np.zeros(len(first), np.int64),
            np.full(len(first), -1),
            np.array([plan.chance for plan in plans])[pool],
            np.ones(len(first), np.bool_),
        )

    def _pools(self, decision: Decision) -> tuple[dict[Pool, int], NDArray[np.intp]]:
        """Return the indices of the pools of a block, and that of each row."""
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
                name = NAME if self.together else LARGE
                cuts = chain.from_iterable(parts)
                pool = group, text, tuple(cut if isinstance(cut, str) else name for cut in cuts)
                of_pool[row] = pools.setdefault(pool, len(pools))
        return pools, of_pool

    def _late(self, slots: Slots, decision: Decision) -> NDArray[np.int8]:
        """Let cities lead countries and states, and countries nations; returns when slots of a text
        are drawn: countries of cities before others, nations last.
        """
        leader = np.append(decision.key, -1)[decision.leader[slots.row]]
        groups = [plan.pool[0] for plan in slots.plans]
        country = np.array([group in (COUNTRY, *STATES) for group in groups])[slots.pool]
        if self.plans.injective and self.together and (leader >= 0).any():
            cities = np.array([group in self._homelands for group in groups])[slots.pool]
            leading = cities | country
            leading &= slots.table >= 0  # the list may have a word of a unit no more
            led = (slots.new & (leader >= 0)).nonzero()[0]
            at = leading.nonzero()[0] if len(led) else led
            columns = slots.unit[at].tolist(), country[at].tolist(), slots.key[at].tolist()
            leads = dict(zip(zip(*columns, strict=True), at.tolist(), strict=True))
            columns = slots.unit[led].tolist(), (~country[led]).tolist(), leader[led].tolist()
            slots.lead[led] = [leads.get(place, -1) for place in zip(*columns, strict=True)]
            slots.own[led] &= country[led]
            led = led[slots.lead[led] >= 0]
            chances = np.array([self._chances.get(group, 0.0) for group in groups])[slots.pool]
            for _ in range(2):  # countries, and nations that follow these
                of_leader = np.where(cities, chances, slots.chance)
                slots.chance[led] = np.maximum(slots.chance, of_leader)[slots.lead[led]]
        lone = slots.lead < 0
        return np.where(country, 1 + lone, 3 * ~lone).astype(np.int8)

    def _permutations(
        self, slots: Slots, pending: NDArray[np.intp], units: Mapping[int, Units], bounds: list[int]
    ) -> tuple[dict[int, Permutation], int]:
        """Return the permutations that give new slots their numbers, in order, and how many of
        these are beyond the size of their pool; sets their bounds.
        """
        plans = slots.plans
        permutations: dict[int, Permutation] = {}
        reused = 0
        columns = pending.tolist(), slots.unit[pending].tolist(), slots.pool[pending].tolist()
        for at, number, pool in zip(*columns, strict=True):
            permutation = self.plans.permutation(unit_of(units, number), plans[pool].pool)
            names = NAME in plans[pool].pool[2]  # these tell one address from another
            reused += permutation.planned >= permutation.size and not names
            bounds[at] = permutation.plan()
            permutations[at] = permutation
        return permutations, reused

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
        named: dict[tuple[int, str], str] = {}
        dates: dict[tuple[Pool, int, int], int] = {}
        for at in sorted(permutations, key=turns.__getitem__):
            permutation, group = permutations[at], slots.plans[slots.pool[at]].pool[0]
            turn = turns[at], group.removesuffix("3")
            words = self.plans.words[group] if turn[1] in ("month", "day", "workday") else ()
            leader, lists = lead[at], self.plans.lists
            city = lists[slots.table[leader]] if leader >= 0 else ""
            homes = self._homelands.get(city) if (city == AMERICAN) == (group in STATES) else None
            wanted = homes[number[leader]] if homes else -1
            same = [place for place, word in enumerate(words) if word[:3] == named.get(turn)]
            date = slots.plans[slots.pool[at]].home, permutation.size, turns[at]
            if group in ONE_DATE and date in dates:
                number[at] = dates[date]  # 2025-01-22 is 22/01/2025, and '25 is 2025
            else:
                number[at] = same[0] if same else permutation.take(number[at], wanted)
            dates[date] = number[at]
            slots.taken[at] = number[at]
            if words:
                named[turn] = words[number[at]][:3]  # Oct is October
            if isinstance(permutation, Walk):
                slots.chance[at] = 1 / (permutation.size * permutation.calendar.start)
        for at in (slots.new & ~slots.own & (slots.lead >= 0)).nonzero()[0].tolist():
            number[at] = number[lead[at]]
            nation = slots.plans[slots.pool[at]].pool[0]
            slots.table[at] = self.plans.lists.index(_NATIONS[nation])
        slots.number = np.array(number)

    @staticmethod
    def _write_strings(slots: Slots, new: NDArray[np.intp], streams: Streams) -> None:
        """Write the strings of new slots."""
        indices = (slots.table[new] < 0).nonzero()[0]
        at = new[indices]
        plans = [slots.plans[pool] for pool in slots.pool[at].tolist()]
        numbers = [[number] for number in slots.number[at].tolist()]
        draw_further(numbers, [plan.sizes for plan in plans], indices.tolist(), streams)
        slots.number[at] = np.arange(len(at)) + len(slots.texts)
        for plan, digits in zip(plans, numbers, strict=True):
            slots.texts.append(finished(plan.pool[0], string(plan.pieces, digits)))

    def _written(self, decision: Decision, slots: Slots) -> list[str]:
        """Return the text of each drawn token."""
        codes = ((slots.table[slots.of_row] + 1) * PATTERNS + decision.caps).tolist()
        tables = {code: self.plans.table(code, slots.texts) for code in {*codes}}
        numbers = slots.number[slots.of_row].tolist()
        out = [tables[code][number] for code, number in zip(codes, numbers, strict=True)]
        for row in (decision.group == decision.groups.index(PLURAL)).nonzero()[0].tolist():
            out[row] += "es" if out[row][-1] in "szxSZX" else "s"
        for row in decision.possessive.nonzero()[0].tolist():
            ending = "'" if out[row][-1] in "sS" else "'s"
            acronym = decision.groups[decision.group[row]].startswith("acr")  # SY's, and no SY'S
            loud = decision.caps[row] == UPPER and not acronym
            out[row] += ending.upper() if loud else ending
        return out


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
