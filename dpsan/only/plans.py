"""Plans: how the words and strings of each pool are drawn."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from dpsan.only import templates, view
from dpsan.only.decision import CITY, LOGIN, MEDICINE, NAMES
from dpsan.only.permutations import ASCENDING, Permutation, permutation_of
from dpsan.only.scenarios import SCENARIO, SHARED, Scenarios
from dpsan.only.slots import Plan, Pool, Unit, Word

ADDRESSES: Final[dict[str, list[templates.Piece]]] = {
    "email": ["@example.net"],
    "userhost": ["@host-", (10, 99, 0)],
    "userip": ["@", *templates.template("ip", "", ())],
    LOGIN: [],
}
"""What stands behind the local part."""
PATTERNS: Final = len(view.COLUMN)
"""Patterns of capitals."""
NAME: Final = "\0"
"""Stands for a name of the unit in a local part."""
NAMED: Final[Pool] = ("", "", ())
"""Home of names: each has the pool of its first token."""
NOUNS: Final = frozenset(("thing", "nonce"))
"""Groups of words that may be names and do not look like them."""
_KINDS: Final = (MEDICINE, CITY, "phone", "analyte")
"""Beginnings of groups that share the replacement of a word within a unit."""


class Plans:
    """Plans of the pools of some groups.

    Args:
        words: by group its output words.
        scenarios: of the health words; None: they need not fit each other.
        injective: whether different words of a unit have different ones; else independent draws.
    """

    def __init__(
        self,
        words: Mapping[str, Sequence[str]],
        scenarios: Scenarios | None = None,
        *,
        injective: bool,
    ) -> None:
        self.words, self.injective = words, injective
        self.scenarios = scenarios or Scenarios({}, words, ())
        self._themed = {SCENARIO, *self.scenarios.groups}
        self.lists = [*words]
        self._tables: dict[int, list[str]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._given = tuple(word.lower() for word in words["given_x"])
        self.of = lru_cache(1 << 14)(self._plan_of)

    def _plan_of(self, pool: Pool) -> Plan:
        """Return how the words of a pool are drawn."""
        group, form, marks = pool
        words, pieces = self.words.get(group), []
        if group in ADDRESSES:
            pieces = [*templates.local_part(marks, self._given), *ADDRESSES[group]]
        elif words is None:
            pieces = templates.template(group, form, self._given)
        sizes = templates.radices(pieces) if words is None else [len(words)]
        table = -1 if words is None else self.lists.index(group)
        # A string of a unit stays what it is where other texts tell more of its form.
        home = (group, "", ()) if self.injective else pool
        home = NAMED if group in NAMES | NOUNS else home
        home = next(((kind, "", ()) for kind in _KINDS if group.startswith(kind)), home)
        if self.injective and (group in self._themed or group.startswith(MEDICINE)):
            home = SHARED  # one medicine stays one, with a dose and without
        chance = 0.0 if group in ADDRESSES else 1 / sizes[0]
        if group == LOGIN:  # its host is none: it stays where its names do
            chance = max(1 / len(of_name) for name, of_name in self.words.items() if name in NAMES)
        return Plan(pool, table, sizes, pieces, home, group in ASCENDING, chance)

    def permutation(self, unit: Unit, pool: Pool) -> Permutation:
        """Return the permutation of a pool of a unit."""
        if pool not in unit.permutations:
            group, form, _ = pool
            size = self.of(pool).sizes[0]
            unit.permutations[pool] = permutation_of(group, form, size, unit.calendars)
        return unit.permutations[pool]

    def stored(self, word: Word) -> tuple[str, str]:
        """Return the group and the text of a word of a unit."""
        if word.table < 0:
            return word.pool[0], word.text
        group = self.lists[word.table]
        return group, self.words[group][word.number]

    def loaded(self, pool: Pool, text: str, chance: float, taken: int) -> Word:
        """Return a word of a unit that was stored.

        Args:
            pool: with the group of :meth:`stored`.
            text: that of :meth:`stored`; where its list has it no more, the word is a string.
            chance, taken: of the word.
        """
        group = pool[0]
        if group not in self.words:
            return Word(pool, -1, 0, text, chance, taken)
        if group not in self._numbers:
            self._numbers[group] = {word: at for at, word in enumerate(self.words[group])}
        number = self._numbers[group].get(text, -1)
        if number < 0:
            return Word(pool, -1, 0, text, chance, -1)
        taken = number if taken >= 0 else -1
        return Word(pool, self.lists.index(group), number, "", chance, taken)

    def table(self, code: int, texts: list[str]) -> list[str]:
        """Return the words of a list in a pattern of capitals, or strings as they are.

        Args:
            code: of both.
            texts: strings.
        """
        at, caps = divmod(code, PATTERNS)
        if not at:
            return texts
        if code not in self._tables:
            table = [*self.words[self.lists[at - 1]]]
            nouns = any(word.islower() for word in table)  # among them MRI, Crohn's disease
            if caps == view.LOWER and not nouns:
                table = [word.lower() for word in table]
            elif caps == view.UPPER:
                table = [word.upper() for word in table]
            elif caps != view.LOWER:
                table = [word[0].upper() + word[1:] for word in table]
            self._tables[code] = table
        return self._tables[code]
