"""Commit memo and ledger entries before a batch is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise

from dpsan.errors import InputError
from dpsan.formats.base import Record
from dpsan.privacy.guarantee import Composed
from dpsan.run.ledger import Ledger
from dpsan.run.memo import Memo, Pending
from dpsan.run.workers import Answer, Batch, Workers, sanitized
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.result import Sanitized
from dpsan.text.numerals import number


@dataclass(frozen=True)
class History:
    """The memo of messages and the ledger of records."""

    memo: Memo | None = None
    ledger: Ledger | None = None
    reject: Callable[[bytes, InputError], None] | None = None
    """Takes records that the ledger refuses; without it they end the input."""

    def submit(self, workers: Workers, batch: Batch) -> Answer:
        """Submit a batch, or the part of it that the memo lacks."""
        return workers.submit(batch) if self.memo is None else self.memo.submit(workers, batch)

    @contextmanager
    def turn(self, answers: Sequence[Answer]) -> Iterator[None]:
        """Hold the write locks.  On exit all new entries are on disk.

        The ledger is on disk first: a run that is killed between the two has been charged for an
        output that no memo holds, but no memo holds an output that nobody was charged for.

        Raises:
            OutputError: an entry cannot be written.
        """
        # Wait for the workers before the locks, so that other runs may go on.
        drawn = [_done(answer).drawn for answer in answers]
        with ExitStack() as stack:
            for database in (self.memo, self.ledger):
                if database is not None and any(map(any, drawn)):
                    stack.enter_context(database.turn())
            yield

    def payable(
        self, name: str, batch: list[Record], results: Sequence[Sanitized], totals: Accountant
    ) -> tuple[list[Record], InputError | None]:
        """Return the records whose cost the ledger allows, and the error that ends the input.

        Args:
            name: name of the input.
            batch: records.
            results: their results, one for each copy.
            totals: give the cost of draws.
        """
        if self.ledger is None:
            return batch, None
        records = [self.ledger.digest(record.texts) for record in batch]
        refused = {*self.ledger.refused(records, _costs(batch, results, totals))}
        for index in sorted(refused):
            most = number(self.ledger.limit or 0.0)
            what = f"the ledger refuses this record: it would cost more than {most} in all"
            problem = InputError(name, what, "--budget", line=batch[index].line)
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


def _done(answer: Answer) -> Sanitized:
    """Return the draws of a batch, before the memo replaces any of them."""
    return sanitized(answer.future if isinstance(answer, Pending) else answer)


def _costs(
    batch: Sequence[Record], results: Sequence[Sanitized], totals: Accountant
) -> list[Composed]:
    """Return the cost of each record: all its texts, in all copies."""
    charges = [len(results) * charge for charge in totals.charges_of(results[0].charged)]
    ends = accumulate((len(record.texts) for record in batch), initial=0)
    return [totals.composed(sum(charges[begin:end])) for begin, end in pairwise(ends)]
