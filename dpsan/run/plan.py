"""Plan of a run, its tasks, and the outcome of each input and of all."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from dpsan.errors import failure
from dpsan.files.atomic_files import AtomicFile
from dpsan.formats.base import ReadOptions
from dpsan.formats.passing import Passing
from dpsan.sanitize.accountant import Accountant, Lacking, LedgerTotals, MemoTotals


@dataclass(frozen=True)
class Plan:
    """Options for every input of a run."""

    format: str = "auto"
    options: ReadOptions = field(default_factory=ReadOptions)
    copies: int = 1
    line_buffered: bool = False
    force: bool = False
    """Replace existing files."""
    seeded: bool = False
    """True if the random numbers are public."""
    memo: bool = False
    """True if equal messages are drawn once."""
    originals: bool = False
    """True if the audit has the input words, too."""
    policy: str | None = None
    """SHA-256 (hex) of the policy file."""
    spans: Path | None = None
    """Names what of the texts of the one input is sanitized; default all."""
    batch: int = 1 << 14
    """Most records sanitized at once; no result depends on it."""


@dataclass(frozen=True)
class Task:
    """An input of a run."""

    file: int = 1
    """Number of the input within the run, from 1, which decides its key."""
    path: Path = Path("-")
    target: Path | None = None
    """Output of this input alone; None for the input itself, or where the output is shared."""


@dataclass
class Outcome:
    """Result of one input; grows while it is read."""

    task: Task
    totals: Accountant
    name: str = ""
    sha256: tuple[str, str] = ("", "")
    """Digests of input and output."""
    bare: int = 0
    """Structured records without any of the chosen fields, written unchanged."""
    passing: Passing = field(default_factory=Passing)
    """Text that passed unchanged so far, also if the input failed."""
    error: Exception | None = None
    skipped: bool = False
    """True if its output was there already (``--resume``)."""
    sink: AtomicFile | None = None
    """Complete output that has no name yet."""
    replaced: os.stat_result | None = None
    """The input as it was opened, if the output replaces it."""

    @property
    def status(self) -> str:
        """Return ``complete``, ``failed`` or ``skipped``."""
        return "failed" if self.error else "skipped" if self.skipped else "complete"


@dataclass
class Result:
    """Result of a run."""

    totals: Accountant
    done: int = 0
    """Inputs that were rewritten."""
    bare: int = 0
    """Structured records that were written unchanged, see :class:`Outcome`."""
    passing: Passing = field(default_factory=Passing)
    """Text that passed unchanged in the inputs that were read, also in those that failed."""
    lacking: Lacking = field(default_factory=Lacking)
    failed: list[str] = field(default_factory=list)
    """One line for each input that failed."""
    memo: MemoTotals | None = None
    """Totals of the memo, if there is one."""
    ledger: LedgerTotals | None = None
    """The same of the ledger."""
    skipped: int = 0
    """Inputs whose output was there already (``--resume``)."""

    def add(self, outcome: Outcome) -> None:
        """Take in what became of an input."""
        if outcome.error:
            self.failed.append(failure(outcome.task.path, outcome.error))
        self.skipped += outcome.status == "skipped"
        if outcome.status != "complete":
            return
        totals = outcome.totals
        self.done += 1
        self.bare += outcome.bare
        self.lacking.add(outcome.name, totals.counts, totals.foreign)
        self.totals.merge(totals)
