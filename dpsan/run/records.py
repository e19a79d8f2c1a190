"""What records have cost in all runs that name a ledger, and the commit of memo and ledger.

In a ledger a record is known by a keyed digest.  A cost is on disk before any output that it pays
for is written: a run that is killed in between has been charged for an output that nobody saw. A
ledger with any damage is refused, because nobody can tell what it held.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import ClassVar, Final

from dpsan.errors import InputError, OutputError, number
from dpsan.files.private_database import PrivateDatabase
from dpsan.formats.base import Record
from dpsan.privacy.guarantee import Loss
from dpsan.privacy.randomness import new_key
from dpsan.run.memo import Memo
from dpsan.run.units import Pending
from dpsan.run.workers import Answer, Workers, sanitized
from dpsan.sanitize.accountant import Accountant, LedgerTotals
from dpsan.sanitize.result import Sanitized, Texts

_LARGER: Final = "a larger --budget; --dry-run without one tells the cost"


@dataclass(frozen=True)
class History:
    """The memo of messages, the ledger of records, and the budget of each record."""

    memo: Memo | None = None
    ledger: "Ledger | None" = None
    limit: float | None = None
    """Most LDP epsilon that a record may cost: in all with a ledger, else in this run."""
    reject: Callable[[bytes, InputError], None] | None = None
    """Takes records that the ledger refuses; without it they end the input."""

    def submit(self, workers: Workers, batch: Texts, units: Sequence[str] = ()) -> Answer:
        """Submit a batch, or the part of it that the memo lacks.

        Args:
            units: the unit of each text, where a memo has units.
        """
        if self.memo is None:
            return workers.submit(batch)
        return self.memo.submit(workers, batch, units)

    @contextmanager
    def turn(self, answers: Sequence[Answer]) -> Iterator[None]:
        """Hold the write locks.  On exit all new entries are on disk.

        The ledger is on disk first: a run that is killed between the two has been charged for an
        output that no memo holds, but no memo holds an output that nobody was charged for.

        Raises:
            OutputError: an entry cannot be written.
        """
        # Wait for the workers before the locks, so that other runs may go on.
        drawn = [
            answer.drawn() if isinstance(answer, Pending) else any(sanitized(answer).drawn)
            for answer in answers
        ]
        with ExitStack() as stack:
            for database in (self.memo, self.ledger):
                if database is not None and any(drawn):
                    stack.enter_context(database.turn())
            yield

    def payable(
        self, batch: list[Record], results: Sequence[Sanitized], name: str, totals: Accountant
    ) -> tuple[list[Record], InputError | None]:
        """Return the records whose cost the budget allows, and the error that ends the input.

        Args:
            batch: records.
            results: their results, one for each copy.
            name: name of the input.
            totals: give the cost of draws.
        """
        if self.limit is None:
            return batch, None
        costs = _costs(batch, results, totals)
        if self.ledger is None:
            refused = {at for at, cost in enumerate(costs) if not within(cost.epsilon, self.limit)}
        else:
            records = [self.ledger.digest(record.texts) for record in batch]
            refused = {*self.ledger.refused(records, costs)}
        for index in sorted(refused):
            whose, when = ("budget", "") if self.ledger is None else ("ledger", " in all")
            most = f"{number(self.limit)}{when}"
            what = f"the {whose} refuses this record: it would cost more than {most}"
            problem = InputError(name, what, _LARGER, line=batch[index].line)
            if self.reject is None:
                return batch[:index], problem
            self.reject(batch[index].render(list(batch[index].texts)), problem)
        kept = [record for index, record in enumerate(batch) if index not in refused]
        return kept, None

    def commit(
        self,
        batch: Sequence[Record],
        answers: Sequence[Answer],
        results: Sequence[Sanitized],
        totals: Accountant,
    ) -> None:
        """Store a batch that is about to be written, see :meth:`payable`.  Raises OutputError."""
        if self.ledger is not None:
            records = [self.ledger.digest(record.texts) for record in batch]
            self.ledger.charge(records, _costs(batch, results, totals))
        if self.memo is not None:
            for answer, done in zip(answers, results, strict=True):
                assert isinstance(answer, Pending)  # noqa: S101 - made by submit()
                self.memo.store(answer, done)


def _costs(batch: Sequence[Record], results: Sequence[Sanitized], totals: Accountant) -> list[Loss]:
    """Return the cost of each record: all its texts, in all copies."""
    charges = [len(results) * charge for charge in results[0].charged]
    ends = accumulate((len(record.texts) for record in batch), initial=0)
    return [totals.composed(sum(charges[begin:end])) for begin, end in pairwise(ends)]


def within(total: float, limit: float) -> bool:
    """Return whether a sum of epsilons is no larger than a limit."""
    return total <= limit * (1 + 1e-12)  # it may exceed their product in the last bits


_LARGEST: Final = 5
"""Records whose sums are listed."""


class Ledger(PrivateDatabase):
    """An open ledger; a context manager.

    Args:
        path: made if nothing is there, in a directory that no other user may write to.
        limit: most LDP epsilon that a record may cost in all; None for no limit.

    Raises:
        OutputError: it cannot be used, or is damaged.
    """

    _kind: ClassVar = "ledger"
    _number: ClassVar = 0x64704C31
    _table: ClassVar = "records"
    _columns: ClassVar = (
        "record BLOB NOT NULL PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL,"
        " tag BLOB NOT NULL"
    )
    _damaged: ClassVar = "restore it, and what was spent since then is not in it"

    def __init__(self, path: Path | str, limit: float | None = None) -> None:
        if Path(path).is_dir():
            what = f"{path}: a directory, and a ledger is a file"
            raise OutputError(what, "a memo is a directory: --memo DIR")
        self.limit = limit
        self._charged = 0
        super().__init__(Path(path), new_key=new_key)

    def digest(self, texts: Sequence[str]) -> bytes:
        """Return the digest of a record: of its chosen texts, in order."""
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        inner = (self._digest(b"dpsan text", text) for text in encoded)
        return self._digest(b"dpsan record", *inner)

    def spent(self, record: bytes) -> tuple[float, float]:
        """Return epsilon and delta that a record has cost.  Raises OutputError."""
        row = self._row("record = ?", record)
        return (0.0, 0.0) if row is None else (row[1], row[2])

    def refused(self, records: Sequence[bytes], costs: Sequence[Loss]) -> list[int]:
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
            if self.limit is not None and not within(total, self.limit):
                out.append(index)
            else:
                now[record] += cost.epsilon
        return out

    def charge(self, records: Sequence[bytes], costs: Sequence[Loss]) -> None:
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
