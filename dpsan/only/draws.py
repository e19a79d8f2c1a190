"""Draws: a function of a decision and of random numbers alone.

Each drawn token belongs to a pool: a list of words, or the strings of a form.  The different keys
of a unit get different numbers of their pool, by a uniformly random injection in the order of their
first appearance; when a pool is used up, its next permutation begins.  A number becomes a word, or
a string by its mixed radix.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import CITY, COUNTRY, PLURAL, Decision, of_names
from dpsan.only.marks import LARGE, SIZED, unsized
from dpsan.only.order import distinct
from dpsan.only.permutations import Walk, permutation_of
from dpsan.only.slots import AGE, Pool, Slot, Unit, begin_walks, turn
from dpsan.only.templates import Piece, finished, local_part, radices, string, template
from dpsan.only.view import LOWER, UPPER
from dpsan.privacy.randomness import Streams
from dpsan.text.letter_case import article_for

ADDRESSES: Final[dict[str, list[Piece]]] = {
    "email": ["@example.net"],
    "userhost": ["@host-", (10, 99, 0)],
    "userip": ["@", *template("ip", "", ())],
}
"""What stands behind the local part."""
_NAME: Final = "\0"
"""Stands for a name of the unit in a local part."""
_HOST: Final = "@example"
_OTHER_HOST: Final = "@mail{}.example"
"""Host of an address whose local part another address of the unit has too."""


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
_earlier = attrgetter("order")

Source = Callable[[Sequence[Slot]], Streams]
"""Returns the random streams of new slots, in order."""


class Draws:
    """Draws with the words of some groups.

    Args:
        words: by group its output words.
        together: whether equal words of a unit have one replacement, and different ones two.
        injective: whether different words of a unit have different ones; else independent draws.
        pieces: groups of the pieces of an address that no name of its text is: of the last of
            several, and of all others.
    """

    def __init__(
        self,
        words: Mapping[str, Sequence[str]],
        *,
        together: bool,
        injective: bool,
        pieces: tuple[str, str] = ("surname", "given_x"),
    ) -> None:
        self._words, self.together, self.injective = words, together, injective
        self._pieces = pieces
        self._tables: dict[tuple[str, int], list[str]] = {}
        self._given = tuple(word.lower() for word in words["given_x"])
        self._room: dict[Pool, list[int]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._listed = {*words, *ADDRESSES}
        countries = {country: at for at, country in enumerate(words[COUNTRY])}
        most = max(Counter(words["homeland"]).values())
        self._chance = max(most / len(words["homeland"]), 1 / len(countries))
        """That a country stays as it is whose city or nation stands in the text."""
        self._homeland = [countries.get(country, -1) for country in words["homeland"]]

    def outputs(
        self,
        decision: Decision,
        units: Sequence[Unit],
        source: Source,
        values: Mapping[int, str] = MappingProxyType({}),
    ) -> Outputs:
        """Return the text of each drawn token, and of each article.

        Args:
            decision: what is drawn.
            units: by the number of the unit in the decision; they grow.
            source: random streams of new slots.
            values: by its row the output of each number that is drawn by value, not in its group.
        """
        if not len(decision.at):
            return Outputs([], [], 0.0, 0)
        slots, of_slot, new, bounds, reused = self._slots(decision, units, values)
        if new:
            streams = source(new)
            self._draw(new, streams.integers("only", np.array(bounds, np.uint64)).tolist(), streams)
            self._write_addresses(new, units)
        tokens = self._written(decision, slots, of_slot)
        for row, value in values.items():
            tokens[row] = value
        articles = []
        for _, caps, row in decision.articles.tolist():
            article = article_for(tokens[row])
            loud = decision.caps[row] == UPPER and len(tokens[row]) > 1
            if caps != LOWER:
                article = article.upper() if loud else article.capitalize()
            articles.append(article)
        chance = np.array([slot.chance for slot in slots])
        forms = {slot.size for slot in new if slot.pool[0] not in self._listed}
        share = float(chance.take(of_slot).sum())
        return Outputs(tokens, articles, share, min(forms, default=0), reused)

    def words(self, group: str) -> Sequence[str]:
        """Return the words of a group; none of strings."""
        return self._words.get(group, ())

    def number(self, group: str, word: str) -> int:
        """Return the number of a word of a group, -1 if it has it no more."""
        if group not in self._numbers:
            self._numbers[group] = {each: at for at, each in enumerate(self._words[group])}
        return self._numbers[group].get(word, -1)

    def size(self, pool: Pool) -> int:
        """Return how many words or strings of a pool its injection tells apart."""
        return self._radices(pool)[0]

    def _radices(self, pool: Pool) -> list[int]:
        if pool not in self._room:
            words = self._words.get(pool[0])
            self._room[pool] = radices(self._template(pool)) if words is None else [len(words)]
        return self._room[pool]

    def _template(self, pool: Pool) -> list[Piece]:
        group, form, marks = pool
        if group in ADDRESSES:
            return [*local_part(marks, self._given), *ADDRESSES[group]]
        return template(group, form, self._given)

    def _slots(
        self, decision: Decision, units: Sequence[Unit], values: Mapping[int, str]
    ) -> tuple[list[Slot], NDArray[np.intp], list[Slot], list[int], int]:
        """Return the slots of a block, which of them each token has, the new ones, the bounds of
        their integers, and how many are beyond the size of their pool.
        """
        first, inverse, pools, of_pool = self._places(decision)
        slots: list[Slot] = []
        new: list[Slot] = []
        late: list[tuple[Slot, defaultdict[Pool, dict[int, Slot]]]] = []
        lead = np.append(decision.key, -1)[decision.leader[first]]
        arrays: list[NDArray[Any]] = [decision.key, decision.unit, decision.text, decision.order]
        columns = [*(array[first] for array in [*arrays, of_pool]), lead]
        rows = zip(first.tolist(), *(column.tolist() for column in columns), strict=True)
        for unit in units:
            unit.before = {}
        named = [of_names(pool[0]) for pool in pools]
        for row, key, number, text, order, which, leader in rows:
            pool, unit = pools[which], units[number]
            if row in values:
                value = Slot(pool, key, number, text, 0, -1, None, 0, 0.0, written=values[row])
                slots.append(value)
                continue
            if self.injective and key >> AGE != unit.age:
                unit.age = key >> AGE
                unit.before |= unit.names
                unit.names, unit.slots, unit.permutations = {}, defaultdict(dict), {}
                unit.calendars.clear()
            parts: list[str | int] = []
            if pool[0] in ADDRESSES:
                parts = [*chain.from_iterable(decision.locals.get(row, ()))]
                name = _NAME if self.together else LARGE
                marks = (part if isinstance(part, str) else name for part in parts)
                pool = (pool[0], pool[1], tuple(marks))
            # A string of a unit stays what it is where other texts tell more of its form.
            home = (pool[0], "", ()) if self.injective else pool
            of_words = unit.names if named[which] else unit.slots[home]
            slot = of_words.get(key) if self.together else None
            if slot is None:
                place = number, text, order, leader
                slot = of_words[key] = self._slot(unit, pool, key, place)
                if parts and self.together:
                    new += self._name_pieces(unit, parts, slot)
                new.append(slot)
                if leader >= 0 or pool[0] == COUNTRY:
                    late.append((slot, unit.slots))
                elif slot.permutation is not None:
                    slot.plan(slot.permutation)
            slots.append(slot)
        for slot, home in late:
            if slot.leader >= 0 and self.injective and self.together:
                leading = CITY if slot.pool[0] == COUNTRY else COUNTRY
                slot.chance = self._chance
                slot.lead = home[leading, "", ()].get(slot.leader)
        if late or len(units) > 1:
            new.sort(key=turn)
        for slot, _ in sorted(late, key=lambda pair: turn(pair[0])):
            if slot.permutation is not None:
                slot.plan(slot.permutation)
        bounds = [slot.bound or slot.size for slot in new]
        begin_walks(new, bounds)
        return slots, inverse, new, bounds, sum(slot.again for slot in new)

    def _slot(self, unit: Unit, pool: Pool, key: int, place: tuple[int, int, int, int]) -> Slot:
        """Return a new slot.

        Args:
            place: unit, text, order and leader of the slot.
        """
        permutation, size = None, self.size(pool)
        if self.injective and (place[3] < 0 or pool[0] == COUNTRY or not self.together):
            permutation = unit.permutations.get(pool)
            if permutation is None:
                permutation = permutation_of(pool[0], pool[1], size, unit.calendars)
                unit.permutations[pool] = permutation
        chance = 0.0 if pool[0] in ADDRESSES else 1 / size
        return Slot(pool, key, *place, permutation, size, chance)

    def _name_pieces(self, unit: Unit, parts: Sequence[str | int], address: Slot) -> list[Slot]:
        """Return new slots of the pieces of an address, and let the slot of the address know them.

        Args:
            parts: of the local part: marks, keys of names of the text, and ``~key`` of pieces
                that no name of the text is.
        """
        new = []
        keys = [part for part in parts if not isinstance(part, str)]
        for at, key in enumerate(keys):
            if key < 0 and ~key not in unit.names:
                last = 0 < at == len(keys) - 1
                place = address.unit, address.text, 0, -1
                slot = self._slot(unit, (self._pieces[not last], "", ()), ~key, place)
                assert slot.permutation is not None  # noqa: S101 - of an injection
                slot.plan(slot.permutation)
                unit.names[~key] = slot
                new.append(slot)
        address.names = tuple(~key if key < 0 else key for key in keys)
        return new

    def _places(
        self, decision: Decision
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], list[Pool], NDArray[np.intp]]:
        """Return the first row of each slot in order, the slot of each row, and pools."""
        many = len(decision.forms) + 1
        kinds = decision.group.astype(np.int64) * many + decision.form + 1
        first, of_pool = distinct(kinds)
        pools = [self._pool(decision, *divmod(kind, many)) for kind in kinds[first].tolist()]
        if not self.together:
            every = np.arange(len(decision.at))
            return every, every, pools, of_pool
        keys, of_key = distinct(decision.key)
        places = (decision.unit.astype(np.int64) * len(keys) + of_key) * len(pools) + of_pool
        if decision.locals:  # each address has marks of its own
            at = np.array([*decision.locals])
            places[at] = -1 - at
        first, inverse = distinct(places)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return first[order], rank[inverse], pools, of_pool

    @staticmethod
    def _pool(decision: Decision, group: int, form: int) -> Pool:
        name = decision.groups[group]
        text = decision.forms[form - 1] if form else ""
        return "surname" if name == PLURAL else name, text if name in SIZED else unsized(text), ()

    def _draw(self, new: Sequence[Slot], values: Sequence[int], streams: Streams) -> None:
        """Give each new slot its number, and strings their text."""
        dates: defaultdict[tuple[int, int], list[Slot]] = defaultdict(list)
        for slot, value in zip(new, values, strict=True):
            walk = slot.permutation
            slot.number = value
            if slot.lead and not walk:
                slot.number, slot.pool = slot.lead.number, (_NATIONS[slot.pool[0]], "", ())
            elif walk and not isinstance(walk, Walk):
                wanted = self._homeland[slot.lead.number] if slot.lead else -1
                slot.number = walk.take(value, wanted)
            if isinstance(walk, Walk):
                dates[id(walk.calendar), slot.text].append(slot)
                if slot.begins:
                    walk.begin(value)
                    slot.number = 0
        for of_text in dates.values():
            for slot in sorted(of_text, key=_earlier):
                slot.number = cast(Walk, slot.permutation).take(slot.number)
        strings = [at for at, slot in enumerate(new) if slot.pool[0] not in self._words]
        written = [[new[at].number] for at in strings]
        draw_further(written, [self._radices(new[at].pool) for at in strings], strings, streams)
        for at, own in zip(strings, written, strict=True):
            text = string(self._template(new[at].pool), own)
            new[at].written = finished(new[at].pool[0], text)

    def _write_addresses(self, new: Sequence[Slot], units: Sequence[Unit]) -> None:
        """Write the names of the unit into new addresses, and no address twice."""
        taken: dict[int, set[str]] = {}
        for slot in new:
            if not slot.names:
                continue
            unit, several = units[slot.unit], self.injective and slot.pool[0] == "email"
            if several and slot.unit not in taken:
                every = unit.slots["email", "", ()].values()
                taken[slot.unit] = {each.written for each in every if _NAME not in each.written}
            for name in slot.names:
                slot.written = slot.written.replace(_NAME, self._name(unit, name), 1)
            host, number = _HOST, 2
            while several and slot.written in taken[slot.unit]:
                other = _OTHER_HOST.format(number)
                slot.written = slot.written.replace(host, other)
                host, number = other, number + 1
            if several:
                taken[slot.unit].add(slot.written)

    def _written(
        self, decision: Decision, slots: Sequence[Slot], of_slot: NDArray[np.intp]
    ) -> list[str]:
        """Return the text of each drawn token."""
        plural = decision.group == decision.groups.index(PLURAL)
        forms = of_slot * 64 + decision.caps * np.int64(4) + decision.possessive * 2 + plural
        first, inverse = distinct(forms)
        kinds = forms[first].tolist()
        texts = np.array([self._text(slots[kind >> 6], kind & 63) for kind in kinds], "O")
        written: list[str] = texts[inverse].tolist()
        return written

    def _text(self, slot: Slot, form: int) -> str:
        """Return the text of a slot in a form: pattern of capitals, possessive, plural."""
        caps = form >> 2
        text = slot.written or self._table(slot.pool[0], caps)[slot.number]
        if form & 1:
            text += "es" if text[-1] in "szxSZX" else "s"
        if form & 2:
            ending = "'" if text[-1] in "sS" else "'s"
            text += ending.upper() if caps == UPPER else ending
        return text

    def _name(self, unit: Unit, key: int) -> str:
        """Return the replacement of a name of the unit, in small letters."""
        slot = unit.names.get(key) or unit.before[key]
        return slot.written.lower() or self._table(slot.pool[0], LOWER)[slot.number]

    def _table(self, group: str, caps: int) -> list[str]:
        """Return the words of a group in a pattern of capitals."""
        table = self._tables.get((group, caps))
        if table is None:
            table = [*self._words[group]]
            nouns = any(word.islower() for word in table)  # among them MRI, Crohn's disease
            if caps == LOWER and not nouns:
                table = [word.lower() for word in table]
            elif caps == UPPER:
                table = [word.upper() for word in table]
            elif caps != LOWER:
                table = [word[0].upper() + word[1:] for word in table]
            self._tables[group, caps] = table
        return table


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
