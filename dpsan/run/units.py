"""Messages of units: within a unit, each distinct word has one replacement in all runs.

With ``--only`` the replacements of a unit are an injection, drawn in the order in which its words
first appear.  Workers decide what is replaced; what stands for it is drawn under the write lock of
the memo, from fresh keys, and is on disk before any output has it.  With an epsilon a unit has a
key, and each word a stream of its own: the key is on disk before the first draw, and what the unit
has lost before the output.

A list of words may change with a version of dpsan, so a unit stores a word, not its number.  Its
bytes hold what later draws depend on: which numbers of a pool are taken, and where the dates stand.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, groupby, islice, repeat
from typing import Final

import numpy as np

from dpsan.errors import UsageError, refuse
from dpsan.only.plans import Plans
from dpsan.only.slots import AGE, Pool
from dpsan.privacy.randomness import KEY_BYTES, new_key
from dpsan.run.memo_file import MemoFile
from dpsan.run.workers import Done, Workers, decided, sanitized
from dpsan.sanitize.consistent import Distinct
from dpsan.sanitize.decided import MOST, DecidedTexts, Shared
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.result import Sanitized, Texts, joined, together
from dpsan.sanitize.sanitizer import Sanitizer

_MARK: Final = np.dtype("<u8")
_PASSING: Final = 1 << 16
"""Most texts of which it is remembered that no word of them is replaced."""
_HELD: Final = 1 << 24
"""Most characters of outputs that are held."""


@dataclass
class Pending:
    """A batch of messages that a memo answers, of which some are being sanitized."""

    settled: "Callable[[Pending], Sanitized]"
    futures: Sequence[Future[Done]]
    """One for the batch, or with an epsilon for each run of texts of one unit."""
    units: Sequence[str] = ()
    """The unit of each text; nothing where each text is one."""
    batch: Texts | None = None
    """The texts, where each is a unit."""
    digests: Sequence[bytes] = ()
    """Keyed digests of texts that are units."""
    indices: Sequence[int] = ()
    """Indices of those of them that are being sanitized."""
    changed: dict[str, tuple[bytes, int, bool]] = field(default_factory=dict)
    """Bytes of the units that got new draws, how many draws have a loss, and whether it is new."""

    def result(self) -> Sanitized:
        """Return the outputs of all texts, in the turn in which they are stored."""
        return self.settled(self)

    def drawn(self) -> bool:
        """Wait for the workers; return whether the memo may get entries."""
        results = [future.result() for future in self.futures]
        return bool(self.units) or any(isinstance(r, Sanitized) and any(r.drawn) for r in results)


def is_context(batch: Texts) -> bool:
    """Return whether the texts of a call are one context."""
    return len(batch.numbers) > 1 and batch.numbers[0] == batch.numbers[1]


def _digest(key: bytes, text: bytes) -> bytes:
    return blake2b(text, key=key, digest_size=16).digest()


class Passing(set[bytes]):
    """Texts of which no word is replaced, whatever the unit: agents send the same ones again.

    It holds keyed digests alone, as a unit that is erased leaves no text.
    """

    def __init__(self) -> None:
        super().__init__()
        self._key = new_key()

    def digests(self, batch: Texts) -> list[bytes]:
        """Return what stands for texts with their types; of a context each depends on all."""
        raw = [text.encode("utf-8", "surrogatepass") for text in batch.texts]
        for at, of_text in enumerate(batch.spans or ()):
            if of_text:  # all of the text, see Record.kinds; no text has a byte of 255
                raw[at] += b"\xff" + "".join(of_text[0][2:]).encode()
        alone = [_digest(self._key, text) for text in raw]
        context = b"".join(alone) if is_context(batch) else b""
        return [_digest(self._key, one + context) for one in alone] if context else alone

    def learn(self, texts: Sequence[str], digests: Sequence[bytes], done: Sanitized) -> None:
        """Take in those of some texts that passed."""
        if len(self) > _PASSING:
            self.clear()
        rows = zip(texts, digests, done.lines, done.drawn, strict=True)
        self.update(digest for text, digest, line, drawn in rows if not drawn and line == text)


class Seen(dict[str, tuple[bytes, dict[bytes, str]]]):
    """The outputs of texts of units: a conversation repeats its messages.

    What a text became in a unit it becomes again, as long as the row of the unit is what this
    process has read or written: until it is erased, or another process adds words.
    """

    def __init__(self) -> None:
        super().__init__()
        self._key, self._size = new_key(), 0

    def of(self, unit: str, row: bytes | None) -> dict[bytes, str]:
        """Return the outputs of a unit, by the digests of their texts.

        Args:
            row: of the unit, as it is now; None without one.
        """
        digest, lines = self.get(unit, (b"", {}))
        if row is None or digest != _digest(self._key, row):
            self.pop(unit, None)
            return {}
        return lines

    def moved(self, unit: str, row: bytes) -> None:
        """Take in the new row of a unit."""
        self._grow(_HELD >> 16)
        self[unit] = _digest(self._key, row), self.get(unit, (b"", {}))[1]

    def learn(self, unit: str, digests: Sequence[bytes], lines: Sequence[str]) -> None:
        """Take in outputs of a unit, if it has a row."""
        if unit in self:
            self[unit][1].update(zip(digests, lines, strict=True))
            self._grow(sum(map(len, lines)) + (_HELD >> 17) * len(lines))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > _HELD:
            self.clear()
            self._size = 0


class Units:
    """The units of a memo under the settings of a sanitizer.

    Args:
        file: the memo.
        settings: what the draws of its units depend on.
        sanitizer: of units.
    """

    def __init__(self, file: MemoFile, settings: bytes, sanitizer: Sanitizer) -> None:
        self._file, self.sanitizer, self._settings = file, sanitizer, settings
        self.passing = Passing() if sanitizer.replacing else None
        self.outputs = Seen()

    def seen(self, unit: str) -> tuple[dict[bytes, str], bool]:
        """Return the outputs of texts of a unit, as its row is now, and whether it has none.

        Raises:
            OutputError: the memo is damaged.
        """
        row = self._file.unit(unit, self._settings)
        return self.outputs.of(unit, row), row is None

    def begin(self, unit: str) -> None:
        """Store a unit of which no word is replaced, so that it can be told from no unit.

        Raises:
            OutputError: it cannot be written.
        """
        assert self.sanitizer.replacing is not None  # noqa: S101 - the caller has looked
        data = packed(Shared(0), self.sanitizer.replacing.draws.plans)
        with self._file.turn():
            if self._file.unit(unit, self._settings) is None:
                self._file.put_unit(unit, self._settings, data, 0.0, 0.0, new=True)

    def submit(self, workers: Workers, batch: Texts, units: Sequence[str]) -> Pending:
        """Submit a batch.

        Args:
            workers: have the sanitizer of units.
            batch: each text has a number of its own.
            units: the unit of each text.

        Raises:
            OutputError: the key of a new unit cannot be stored.
        """
        if self.sanitizer.replacing:
            return Pending(self.settled, [workers.submit(batch._replace(undrawn=True))], units)
        keys, futures, at = self._keys(units), [], 0
        for unit, run in groupby(units):
            end = at + len([*run])
            texts = Texts(batch.texts[at:end], keys[unit], range(end - at), batch.audit)
            futures.append(workers.submit(texts))
            at = end
        return Pending(self.settled, futures, units)

    def _keys(self, units: Sequence[str]) -> dict[str, bytes]:
        """Return the keys of units; those of new units are on disk."""
        data_of = {unit: self._file.unit(unit, self._settings) for unit in {*units}}
        new = [unit for unit, data in data_of.items() if data is None]
        if new:
            with self._file.turn():
                for unit in new:
                    data_of[unit] = self._file.unit(unit, self._settings)
                    if data_of[unit] is None:  # no other run was faster
                        data_of[unit] = key = new_key()
                        self._file.put_unit(unit, self._settings, key, 0.0, 0.0, new=True)
        return {unit: (data or b"")[:KEY_BYTES] for unit, data in data_of.items()}

    def settled(self, pending: Pending) -> Sanitized:
        """Return the outputs of a batch, see :meth:`Pending.result`."""
        pending.changed = {}
        if self.sanitizer.replacing:
            return self._replaced(pending)
        stored = {unit: self._file.unit(unit, self._settings) or b"" for unit in pending.units}
        erased = not all(stored.values())
        refuse(erased, "a unit was erased while its messages were drawn", "run it again")
        marks_of = {
            unit: Distinct({*np.frombuffer(data[KEY_BYTES:], _MARK).tolist()})
            for unit, data in stored.items()
        }
        runs = (unit for unit, _ in groupby(pending.units))
        parts = [
            _unpaid(sanitized(future), marks_of[unit])
            for unit, future in zip(runs, pending.futures, strict=True)
        ]
        for unit, words in marks_of.items():
            data = stored[unit][:KEY_BYTES] + np.array(sorted(words.marks), _MARK).tobytes()
            if data != stored[unit]:
                pending.changed[unit] = data, len(words.marks), False
        return together(parts)

    def _replaced(self, pending: Pending) -> Sanitized:
        """Replace what was decided, in the units as they are now."""
        replacing, names = self.sanitizer.replacing, [*dict.fromkeys(pending.units)]
        assert replacing is not None  # noqa: S101 - the caller has looked
        numbers = {unit: number for number, unit in enumerate(names)}
        units: list[Shared] = []
        stored, plans = [], replacing.draws.plans
        for number, unit in enumerate(names):
            stored.append(data := self._file.unit(unit, self._settings))
            self.outputs.of(unit, data)
            units.append(Shared(number) if data is None else unpacked(data, number, plans))
        before = [(len(unit.ids), len(unit.originals)) for unit in units]
        of_text = [numbers[unit] for unit in pending.units]
        done = replacing.in_units(decided(pending.futures[0]), new_key(), units, of_text)
        for number, rows in zip(of_text, done.replaced, strict=True):
            units[number].originals.update(dict.fromkeys(row[:2] for row in rows))
        for unit, data, shared, sizes in zip(names, stored, units, before, strict=True):
            if shared.units > 1 or len(shared.ids) > MOST:
                raise UsageError(f"a unit has more than {MOST:,} words", "name smaller units")
            if data is None or (len(shared.ids), len(shared.originals)) != sizes:
                pending.changed[unit] = packed(shared, plans), 0, data is None
        return done

    def store(self, pending: Pending) -> None:
        """Store the draws of a batch, in the turn in which it was settled.  Raises OutputError."""
        accountant = self.sanitizer.accountant()
        for unit, (data, draws, new) in pending.changed.items():
            cost = accountant.composed(draws)
            loss = float(cost.epsilon), float(cost.delta)
            self._file.put_unit(unit, self._settings, data, *loss, new=new)
            self.outputs.moved(unit, data)


class RunUnits:
    """The units of one run that has no memo.

    Between blocks a unit is bytes: about 85 for each replaced word, and 250 beside.

    Args:
        replacing: of the run.
        key: of the units alone.
        packs: whether units become bytes: with a seed, what follows must not depend on batches.
    """

    def __init__(self, replacing: OnlyRewriter, key: bytes, *, packs: bool) -> None:
        self._replacing, self._key, self._packs = replacing, key, packs
        self._units: dict[str, Shared | tuple[int, int, bytes]] = {}
        """By their names; of those that are bytes their number and draws, too."""

    def replaced(self, done: DecidedTexts, names: Sequence[str]) -> Sanitized:
        """Replace what was decided in texts of these units."""
        parts, plans = [], self._replacing.draws.plans
        pieces = chain.from_iterable(map(repeat, names, done.counts))
        for block in done.blocks:
            of_piece = [*islice(pieces, block.texts)]
            units = {name: self._opened(name) for name in dict.fromkeys(of_piece)}
            numbers = {name: number for number, name in enumerate(units)}
            part = DecidedTexts([block], [1] * block.texts)
            of_text = [numbers[name] for name in of_piece]
            parts.append(self._replacing.in_units(part, self._key, [*units.values()], of_text))
            for name, unit in units.items():
                if self._packs and unit.units == 1:  # else it was too large, and has begun anew
                    self._units[name] = unit.number, unit.drawn, packed(unit, plans)
        return replace(joined(together(parts), done.counts), invisible=done.invisible)

    def _opened(self, name: str) -> Shared:
        """Return a unit, as it is now."""
        unit = self._units.setdefault(name, Shared(len(self._units)))
        if isinstance(unit, tuple):
            number, drawn, data = unit
            unit = self._units[name] = unpacked(data, number, self._replacing.draws.plans)
            unit.drawn = drawn
        return unit


def _unpaid(done: Sanitized, paid: Distinct) -> Sanitized:
    """Return the results of messages of a unit that count new words alone.

    Args:
        paid: the words that were drawn before; grows.
    """
    assert done.marks is not None  # noqa: S101 - each word has a stream of its own
    public = () if done.public_marks is None else done.public_marks.tolist()
    new = len({*public} - paid.marks)
    drawn = paid.of_texts(done.marks, done.drawn)
    return replace(done, drawn=drawn, charged=drawn, public=new, marks=None, public_marks=None)


_FIRST: Final = 1 << AGE
"""Key of the first word: a unit that lasts never ends."""


def packed(shared: Shared, plans: Plans) -> bytes:
    """Return a unit as bytes."""
    unit, words, hashes = shared.replacements[shared.units], [], [*shared.ids]
    for (home, *_), of_home in unit.words.items():
        for key, word in of_home.items():
            group, text = plans.stored(word)
            _, form, marks = word.pool
            about = hashes[key - _FIRST], home, group, form, marks, text
            words.append([*about, word.taken, word.chance])
    calendars = [
        [*of, calendar.at, calendar.size, calendar.start] for of, calendar in unit.calendars.items()
    ]
    parts = {"words": words, "calendars": calendars, "originals": [*shared.originals]}
    return json.dumps(parts, separators=(",", ":")).encode()


def unpacked(data: bytes, number: int, plans: Plans) -> Shared:
    """Return a unit.

    Args:
        data: that :func:`packed` returned.
        number: of the unit in its batch.
        plans: of the pools.
    """
    stored = json.loads(data)
    shared = Shared(number)
    unit = shared.replacements[shared.units]
    for group, part, at, size, start in stored["calendars"]:
        calendar = unit.calendars[group, part]
        calendar.at, calendar.size, calendar.start = at, size, start
    taken: defaultdict[Pool, list[int]] = defaultdict(list)
    for value, home, group, form, marks, text, place, chance in stored["words"]:
        key = shared.ids.setdefault(value, len(shared.ids)) + _FIRST
        word = plans.loaded((group, form, tuple(marks)), text, chance, place)
        unit.words[home, "", ()][key] = word
        if word.taken >= 0:
            taken[word.pool].append(word.taken)
    for pool, numbers in taken.items():
        plans.permutation(unit, pool).resume(numbers)
    shared.originals = {tuple(pair): None for pair in stored["originals"]}
    return shared
