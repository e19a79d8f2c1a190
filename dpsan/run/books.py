"""What is asked and told before a batch is written: the memo of messages, the ledger of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise

from dpsan.errors import InputError
from dpsan.formats.base import Record
from dpsan.privacy.composition import Composed
from dpsan.run.ledger import Ledger
from dpsan.run.memo import Memo, Pending
from dpsan.run.workers import Answer, Batch, Workers
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.result import Sanitized
from dpsan.text.numerals import number


@dataclass(frozen=True)
class Books:
    """What runs remember from one to the next."""

    memo: Memo | None = None
    ledger: Ledger | None = None
    aside: Callable[[bytes, InputError], None] | None = None
    """Takes records that the ledger refuses, which end the input otherwise."""

    def submit(self, workers: Workers, batch: Batch) -> Answer:
        """See :meth:`Workers.submit`; a memo knows no spans."""
        return workers.submit(batch) if self.memo is None else self.memo.submit(workers, batch)

    @contextmanager
    def turn(self, answers: Sequence[Answer]) -> Iterator[None]:
        """Within it no other run changes what is known; behind it, what was told is on the disk.

        The ledger is on the disk first: a run that is killed between the two has paid for an output
        that nobody remembers, and remembers none that nobody paid for.

        Raises:
            OutputError: something cannot be told.
        """
        # Waits for the workers here, while other runs may go on.
        drawn = [_done(answer).drawn for answer in answers]
        with ExitStack() as stack:
            for book in (self.memo, self.ledger):
                if book is not None and any(map(any, drawn)):
                    stack.enter_context(book.turn())
            yield

    def payable(
        self, name: str, batch: list[Record], results: Sequence[Sanitized], totals: Accountant
    ) -> tuple[list[Record], InputError | None]:
        """The records of a batch that can be paid for, and what ends the input behind them.

        Args:
            name: of the input.
            batch: its records.
            results: what became of them, once for each copy.
            totals: of the mechanism.
        """
        if self.ledger is None:
            return batch, None
        records = [self.ledger.digest(record.texts) for record in batch]
        refused = self.ledger.refused(records, _costs(batch, results, totals))
        for place in refused:
            most = number(self.ledger.limit or 0.0)
            what = f"the ledger refuses this record: it would cost more than {most} in all"
            problem = InputError(name, what, "--budget", line=batch[place].line)
            if self.aside is None:
                return batch[:place], problem
            self.aside(batch[place].render(list(batch[place].texts)), problem)
        kept = [record for place, record in enumerate(batch) if place not in set(refused)]
        return kept, None

    def enter(
        self,
        batch: Sequence[Record],
        answers: Sequence[Answer],
        results: Sequence[Sanitized],
        totals: Accountant,
    ) -> None:
        """Tell of a batch that is about to be written, see :meth:`payable`.  Raises OutputError."""
        if self.ledger is not None:
            records = [self.ledger.digest(record.texts) for record in batch]
            self.ledger.charge(records, _costs(batch, results, totals))
        if self.memo is not None:
            for answer, done in zip(answers, results, strict=True):
                assert isinstance(answer, Pending)  # noqa: S101 - made by submit()
                self.memo.store(answer, done)


def _done(answer: Answer) -> Sanitized:
    """What was drawn, whatever the memo makes of it."""
    return answer.future.result() if isinstance(answer, Pending) else answer.result()


def _costs(
    batch: Sequence[Record], results: Sequence[Sanitized], totals: Accountant
) -> list[Composed]:
    """What each record costs: all its texts, in all copies."""
    charges = [len(results) * totals.charges_of(drawn) for drawn in results[0].drawn]
    ends = accumulate((len(record.texts) for record in batch), initial=0)
    return [totals.composed(sum(charges[begin:end])) for begin, end in pairwise(ends)]
