"""A run that writes nothing: what it would draw and cost, and what its first lines look like.

Words are drawn as in any run, under a key of their own that nobody keeps, so counts, costs and bad
records are exactly those of a run.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dpsan.privacy.randomness import new_key
from dpsan.run.run import Result, Run
from dpsan.run.workers import Batch, Done, Inline, Workers
from dpsan.sanitize.decided import Shared
from dpsan.sanitize.result import Sanitized
from dpsan.sanitize.sanitizer import Sanitizer

_SAMPLES: Final = 3


class _Sampling:
    """Workers whose first outputs are kept."""

    def __init__(self, workers: Workers, samples: list[str], sanitizer: Sanitizer) -> None:
        self._workers, self._samples, self._sanitizer = workers, samples, sanitizer
        self.window = workers.window

    def idle(self) -> None:
        self._workers.idle()

    def submit(self, batch: Batch) -> Future[Done]:
        future = self._workers.submit(batch)
        if len(self._samples) < _SAMPLES:
            done = future.result()
            if not isinstance(done, Sanitized):  # a sample of its own
                assert self._sanitizer.replacing  # noqa: S101 - units are of such runs
                done = self._sanitizer.replacing.in_unit(done, new_key(), Shared(0))
            drawn = [line for line, count in zip(done.lines, done.drawn, strict=True) if count]
            room = _SAMPLES - len(self._samples)
            self._samples += [
                line if isinstance(line, str) else next(iter(line)) for line in drawn[:room]
            ]
        return future


@dataclass
class DryRun(Run):
    """A run of which nothing is written; its budget ends nothing."""

    samples: list[str] = field(default_factory=list)
    """The first texts with a drawn word, as they come out; of a long one its beginning."""

    def execute(self) -> Result:
        """Read inputs that could not be joined one by one."""
        result = Result(self.sanitizer.accountant(whole_run=True))
        workers = _Sampling(self.workers or Inline(self.sanitizer), self.samples, self.sanitizer)
        for file, path in enumerate(self.inputs, start=1):
            one = Run(
                self.sanitizer,
                self.plan,
                self.key,
                [path],
                Path(os.devnull),
                workers=workers,
                progress=self.progress,
                history=self.history,
                complain=self.complain,
                passing=self.passing,
            ).execute()
            if not one.failed:
                result.totals.merge(one.totals)
            result.add(file, *one.became[1])
            result.failed += one.failed
        return result
