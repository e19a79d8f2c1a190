"""What is asked and told before a batch is written: the memo of messages.

Knows the order of these steps.  Must not know formats, or how costs add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dpsan.run.memo import Memo, Pending
from dpsan.run.workers import Answer, Workers
from dpsan.sanitize.result import Sanitized
from dpsan.text.long_text import Text

__all__ = ["Books"]


@dataclass(frozen=True)
class Books:
    """What runs remember from one to the next."""

    memo: Memo

    def submit(
        self,
        workers: Workers,
        texts: Sequence[Text],
        key: bytes,
        numbers: Sequence[int],
        audit: bool,
    ) -> Answer:
        """See :meth:`Workers.submit`."""
        return self.memo.submit(workers, texts, key, numbers, audit)

    @contextmanager
    def turn(self, answers: Sequence[Answer]) -> Iterator[None]:
        """Within it no other run changes what is known.  Raises OutputError."""
        (pending,) = answers
        assert isinstance(pending, Pending)  # noqa: S101 - made by submit()
        with self.memo.turn(pending):
            yield

    def enter(self, answers: Sequence[Answer], results: Sequence[Sanitized]) -> None:
        """Take in a batch that is about to be written.  Raises OutputError."""
        (pending,) = answers
        assert isinstance(pending, Pending)  # noqa: S101 - made by submit()
        self.memo.store(pending, results[0])
