"""The ledger: what each record has cost so far, in all runs that name it.

A cost is on the disk before any output that it pays for is written: a run that is killed in between
has paid for what nobody saw.  A ledger of which anything is damaged is refused, for nobody can tell
what it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dpsan.files.private_database import Book, Kind
from dpsan.privacy.composition import Composed
from dpsan.privacy.randomness import new_key
from dpsan.sanitize.remembered import LedgerTotals

_KIND: Final = Kind(
    name="ledger",
    number=0x64704C31,
    version=1,
    table=(
        "CREATE TABLE records (record BLOB NOT NULL PRIMARY KEY, epsilon REAL NOT NULL,"
        " delta REAL NOT NULL, tag BLOB NOT NULL) WITHOUT ROWID"
    ),
    totals={"records": 0},
    damaged="restore it, and what was spent since then is not in it",
)
_LARGEST: Final = 5
"""Records whose sums are listed."""


class Ledger(Book):
    """An open ledger; a context manager.

    Args:
        path: made if nothing is there, in a directory that no other user may write to.
        limit: most LDP epsilon that a record may cost in all; None for no limit.
        scratch: what is spent is forgotten at the end, and nothing is made or changed.

    Raises:
        OutputError: it cannot be used, or is damaged.
    """

    def __init__(
        self, path: Path | str, limit: float | None = None, *, scratch: bool = False
    ) -> None:
        self.limit = limit
        self._charged = 0
        super().__init__(Path(path), _KIND, new_key=new_key, scratch=scratch)

    def _check(self) -> None:
        """Raise OutputError unless every sum is as it was written."""
        with self._base.reading():
            count, last = 0, b""
            for row in self._base.each("SELECT * FROM records"):
                self._checked(row)
                if row[0] <= last:
                    raise self._base.damage()
                count, last = count + 1, row[0]
            if count != self._base.totals["records"]:
                raise self._base.damage()

    def _checked(self, row: tuple[Any, ...]) -> tuple[float, float]:
        """The sums of a row.  Raises OutputError: it is damaged."""
        if not self._base.intact(row):
            raise self._base.damage()
        return row[1], row[2]

    def digest(self, texts: Sequence[str]) -> bytes:
        """What a record is known by: its chosen texts, in order."""
        each = (text.encode("utf-8", "surrogatepass") for text in texts)
        inner = (self._base.digest(b"dpsan text", (text,)) for text in each)
        return self._base.digest(b"dpsan record", inner)

    def spent(self, record: bytes) -> tuple[float, float]:
        """Epsilon and delta that a record has cost.  Raises OutputError."""
        rows = self._base.ask("SELECT * FROM records WHERE record = ?", (record,))
        return self._checked(rows[0]) if rows else (0.0, 0.0)

    def refused(self, records: Sequence[bytes], costs: Sequence[Composed]) -> list[int]:
        """Places of the records that cannot pay, where each that can does so before the next.

        Args:
            records: digests.
            costs: of each, in this run.
        """
        out: list[int] = []
        now: defaultdict[bytes, float] = defaultdict(float)
        for place, (record, cost) in enumerate(zip(records, costs, strict=True)):
            if not cost.epsilon and not cost.delta:
                continue  # nothing is drawn
            total = self.spent(record)[0] + now[record] + cost.epsilon
            # A sum of equal epsilons may exceed their product in the last bits.
            if self.limit is not None and not total <= self.limit * (1 + 1e-12):
                out.append(place)
            else:
                now[record] += cost.epsilon
        return out

    def charge(self, records: Sequence[bytes], costs: Sequence[Composed]) -> None:
        """Write down what is spent, in a :meth:`turn`.  Raises OutputError."""
        new = 0
        for record, cost in zip(records, costs, strict=True):
            if not cost.epsilon and not cost.delta:
                continue
            epsilon, delta = self.spent(record)
            sums = float(epsilon + cost.epsilon), float(min(1.0, delta + cost.delta))
            self._base.put("records", record, *sums)
            new += not (epsilon or delta)
            self._charged += 1
        if new:
            self._base.count("records", new)

    def totals(self) -> LedgerTotals:
        """What the ledger has come to.  Raises OutputError."""
        rows = self._base.ask(
            "SELECT epsilon, delta FROM records ORDER BY epsilon DESC, delta DESC LIMIT ?",
            (_LARGEST,),
        )
        return LedgerTotals(self._charged, self._base.totals["records"], self.limit, tuple(rows))
