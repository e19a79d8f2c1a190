"""The ledger: the privacy budget that each record has spent, in all runs that name the ledger.

A record is known by a keyed digest.  A cost is on disk before any output that it pays for is
written: a run that is killed in between has been charged for an output that nobody saw. A ledger
with any damage is refused, because nobody can tell what it held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from dpsan.files.private_database import Kind, PrivateDatabase
from dpsan.privacy.composition import Composed
from dpsan.privacy.randomness import new_key
from dpsan.sanitize.accountant import LedgerTotals

_KIND: Final = Kind(
    name="ledger",
    number=0x64704C31,
    version=1,
    table="records",
    columns=(
        "record BLOB NOT NULL PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL,"
        " tag BLOB NOT NULL"
    ),
    totals={"records": 0},
    damaged="restore it, and what was spent since then is not in it",
)
_LARGEST: Final = 5
"""Records whose sums are listed."""


class Ledger(PrivateDatabase):
    """An open ledger; a context manager.

    Args:
        path: made if nothing is there, in a directory that no other user may write to.
        limit: most LDP epsilon that a record may cost in all; None for no limit.
        scratch: forget all costs at the end; nothing is made or changed.

    Raises:
        OutputError: it cannot be used, or is damaged.
    """

    _kind: ClassVar[Kind] = _KIND

    def __init__(
        self, path: Path | str, limit: float | None = None, *, scratch: bool = False
    ) -> None:
        self.limit = limit
        self._charged = 0
        super().__init__(Path(path), new_key=new_key, scratch=scratch)

    def digest(self, texts: Sequence[str]) -> bytes:
        """Return the digest of a record: of its chosen texts, in order."""
        each = (text.encode("utf-8", "surrogatepass") for text in texts)
        inner = (self._digest(b"dpsan text", text) for text in each)
        return self._digest(b"dpsan record", *inner)

    def spent(self, record: bytes) -> tuple[float, float]:
        """Return epsilon and delta that a record has cost.  Raises OutputError."""
        row = self._row("record = ?", record)
        return (0.0, 0.0) if row is None else (row[1], row[2])

    def refused(self, records: Sequence[bytes], costs: Sequence[Composed]) -> list[int]:
        """Return the indices of the records whose costs exceed the limit.

        Args:
            records: digests; equal ones share a limit.
            costs: cost of each record in this run.
        """
        out: list[int] = []
        now: defaultdict[bytes, float] = defaultdict(float)
        for index, (record, cost) in enumerate(zip(records, costs, strict=True)):
            if not cost.epsilon and not cost.delta:
                continue  # nothing is drawn
            total = self.spent(record)[0] + now[record] + cost.epsilon
            # A sum of equal epsilons may exceed their product in the last bits.
            if self.limit is not None and not total <= self.limit * (1 + 1e-12):
                out.append(index)
            else:
                now[record] += cost.epsilon
        return out

    def charge(self, records: Sequence[bytes], costs: Sequence[Composed]) -> None:
        """Add the costs of records, in a :meth:`turn`.  Raises OutputError."""
        new = 0
        for record, cost in zip(records, costs, strict=True):
            if not cost.epsilon and not cost.delta:
                continue
            epsilon, delta = self.spent(record)
            sums = float(epsilon + cost.epsilon), float(min(1.0, delta + cost.delta))
            self._put(record, *sums)
            new += not (epsilon or delta)
            self._charged += 1
        if new:
            self._count("records", new)

    def totals(self) -> LedgerTotals:
        """Return the totals of the ledger and of this run.  Raises OutputError."""
        rows = self._ask(
            "SELECT epsilon, delta FROM records ORDER BY epsilon DESC, delta DESC LIMIT ?",
            (_LARGEST,),
        )
        return LedgerTotals(self._charged, self._read_totals()["records"], self.limit, tuple(rows))
