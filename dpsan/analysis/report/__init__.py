"""Audits added up: what can be shown of them.

Knows audit rows.  Must not know texts or mechanisms.  Nothing in a report is a function of the
input that guesses could be tested against: no word, no digest of an input, no position in one; and
the counts that depend on private words are named as not protected.  How many draws were of public
words is never shown: all sums count every draw, and are upper bounds.  An audit is read once, row
by row; what is kept is bounded: counters by number of charges of a record (there are at most some
square root of the words in the audit).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpsan.errors import printable
from dpsan.run.audit import damaged, read_rows
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.result import DRAWN, UNDRAWN, Action
from dpsan.sanitize.statement import expected_share

ACTIONS: Final = tuple(map(str, Action))
_REASON: Final = ("class", "rule", "passes")
_SUMMED: Final = (*ACTIONS, "draws", "public")
_SHOWN: Final = (
    *("created", "dpsan", "mechanism", "own", "epsilon", "epsilon_unit", "weak", "linked"),
    *("embeddings", "unknown", "copies", "consistent", "spans", "fields", "drop_other", "policy"),
    *("seeded", "private", "not_protected"),
)
"""Values of the header that a report has as they are."""
_PROMISED: Final = ("status", "reviewed", "arithmetic", "epsilon_ldp", "delta", "public_words")
"""The same of its guarantee."""
QUANTILES: Final = {"p5": 0.05, "p50": 0.5, "p95": 0.95, "max": 1.0}


@dataclass
class FileReport:
    """One input of a run."""

    name: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    draws: int = 0
    public: int = 0
    """Draws of public words: to check the sums, never shown."""
    charges: int = 0
    """Number of privacy losses: one for each draw, or one for each text."""
    largest: int = 0
    """Most charges of one of its records, in one copy; of lines that share numbers, of all."""
    records: int | None = None
    """None if the input failed or the run ended before it did."""
    output_sha256: str | None = None
    invalid: int = 0
    passing: dict[str, Any] = field(default_factory=dict)
    """Text that passed unchanged (:class:`~dpsan.formats.passing.Passing`), else empty."""


@dataclass
class Report:
    """One audit file: one run."""

    path: str
    header: dict[str, Any]
    files: dict[int, FileReport] = field(default_factory=dict)
    per_record: Counter[int] = field(default_factory=Counter)
    """Number of records by their charges in one copy; records without words are in no audit log."""
    complete: bool = False
    passing: dict[str, Any] = field(default_factory=dict)
    """Text that passed unchanged in all inputs; empty if the run did not end."""
    distinct: int | None = None
    """Draws of a finished run whose equal words have the same draw; else each file has its own."""
    share: float | None = None
    """Expected share of unchanged words of a run that ended."""
    reasons: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    """Words by class, rule, and what they pass by, where rules draw (``only``)."""

    @property
    def expected_unchanged(self) -> float:
        """Return the expected share of unchanged words among those that were drawn."""
        if self.share is not None:
            return self.share
        return expected_share(self.header["expected_unchanged"], self.counts)

    @property
    def epsilon(self) -> float:
        """Return epsilon of one charge, in the mechanism's unit."""
        return float(self.header["epsilon"])

    @property
    def copies(self) -> int:
        """Independent rewrites of every record."""
        return int(self.header["copies"])

    @property
    def counts(self) -> Counter[str]:
        """Return words by action, over all files."""
        return sum((file.counts for file in self.files.values()), Counter())

    def together(self, name: str) -> int:
        """Return the ``draws`` or ``charges`` over all files."""
        every: int = sum(getattr(file, name) for file in self.files.values())
        if self.distinct is None or (name == "charges" and self.header["only"] is not None):
            return every
        return self.distinct

    @property
    def largest_record(self) -> int:
        """Return the most charges of one record, in one copy."""
        return max((file.largest for file in self.files.values()), default=0)

    def quantile(self, share: float) -> float:
        """Epsilon, of all copies, that so large a share of the records with words do not exceed."""
        charges, passed, enough = self.largest_record, 0, share * self.per_record.total()
        for charges in sorted(self.per_record) if share < 1 else ():
            passed += self.per_record[charges]
            if passed >= enough:
                break
        return self.copies * charges * self.epsilon

    def cost(self, charges: int) -> dict[str, float | None]:
        """LDP epsilon (None if infinite) and delta of so many charges, by basic composition."""
        guarantee = self.header["guarantee"]
        epsilon = guarantee["epsilon_ldp"]
        loss = 0.0 if not charges else None if epsilon is None else charges * epsilon
        return {"epsilon_ldp": loss, "delta": min(1.0, charges * guarantee["delta"])}

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        header = self.header
        return {
            "audit": self.path,
            "complete": self.complete,
            **{name: header[name] for name in _SHOWN},
            **{name: header["guarantee"][name] for name in _PROMISED},
            "per": "distinct word" if header["consistent"] else "word",
            "expected_unchanged": self.expected_unchanged,
            "passing": self.passing,
            "words": self.counts.total(),
            **{action: self.counts[action] for action in ACTIONS},
            "draws": self.together("draws"),
            "epsilon_sum": self.together("charges") * self.epsilon,
            "largest_record": self.cost(self.copies * self.largest_record),
            "largest_file": self.cost(max((f.charges for f in self.files.values()), default=0)),
            "records_with_words": self.per_record.total(),
            "epsilon_per_record": {name: self.quantile(share) for name, share in QUANTILES.items()},
            # Without the digests: they would let others test what a list of the user holds.
            **{name: _groups(header[name]) for name in ("only", "classes")},
            "reasons": [
                dict(zip((*_REASON, "words"), (*reason, words), strict=True))
                for reason, words in self.reasons.most_common()
            ],
            "files": [
                {
                    "file": number,
                    "name": file.name,
                    "finished": file.records is not None,
                    "records": file.records,
                    "words": file.counts.total(),
                    **{action: file.counts[action] for action in ACTIONS},
                    "draws": file.draws,
                    "epsilon_sum": file.charges * self.epsilon,
                    **{n: getattr(file, n) for n in ("invalid", "passing", "output_sha256")},
                }
                for number, file in sorted(self.files.items())
            ],
        }


def _groups(classes: Sequence[Mapping[str, Any]] | None) -> dict[str, list[int]] | None:
    """Return the words of each group of each class of an audit's header."""
    return None if classes is None else {row["class"]: row["groups"] for row in classes}


def read_audit(path: Path) -> Report:
    """Add up one audit file.

    Raises:
        InputError: it cannot be read, a row is damaged, or its rows do not add up.
    """
    rows = read_rows(path)
    adding = _Adding(Report(printable(str(path)), next(rows)[1]))
    for number, row in rows:
        if not adding.row(row):
            raise damaged(path, number, "the words before it do not add up")
    adding.end_record()
    return adding.report


class _Adding:
    """One pass over the rows of an audit."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._unit = report.header["consistent"]
        self._only = report.header["only"] is not None
        self._record: tuple[int, int, int] | None = None
        self._charges = 0

    def row(self, row: dict[str, Any]) -> bool:
        """Add a row; False if it tells other sums than those of the words before it."""
        if row["type"] == "word":
            self._word(row)
            return True
        if row["type"] == "remembered":
            self._begin(row, 1).counts.update({str(action): row[action] for action in UNDRAWN})
            return True
        self.end_record()
        report = self.report
        if row["type"] == "totals":
            every = [*report.files.values()]
            finished = [file for file in every if file.records is not None]
            report.complete, report.passing = row["complete"], row["passing"]
            report.share = row["expected_unchanged"]
            low, high = _sums(finished), _sums(every)
            if self._unit == Unit.RUN:
                for name in ("draws", "public"):
                    low[name] = max((getattr(file, name) for file in finished), default=0)
                report.distinct = row["draws"] if finished == every else None
            # What was written of an input that was not finished counts, in no row but this.
            return all(low[name] <= row[name] <= high[name] for name in _SUMMED)
        file = report.files.setdefault(row["file"], FileReport())
        file.name, file.records, file.invalid = row["name"], row["records"], row["invalid"]
        file.output_sha256, file.passing = row["output_sha256"], row["passing"]
        if self._unit in (Unit.FILE, Unit.RUN, Unit.UNIT) or self._only:
            # At least those of its largest record, at most one for the first word of each record;
            # words of a unit may have been drawn in other runs.
            least = 0 if self._unit == Unit.UNIT else report.copies * file.largest
            most = least <= row["draws"] <= file.draws
            if not most or row["public"] > file.public:
                return False
            file.public, file.draws = row["public"], row["draws"]
            if not self._only:
                file.charges = file.draws
            elif charge := report.copies * report.epsilon:
                # A number that an earlier line has too is no row with a loss in its own line.
                largest = (row["epsilon_ldp_largest_record"] or 0.0) / charge
                if not largest < file.charges + 0.5:  # or no number
                    return False
                file.largest = max(file.largest, round(largest))
        return all(_sums([file])[name] == row[name] for name in _SUMMED)

    def _begin(self, row: dict[str, Any], copy: int) -> FileReport:
        """Begin a record if the row belongs to a new one, and return the file of that record."""
        record = row["file"], copy, row["line"]
        if record != self._record:
            self.end_record()
            self._record = record
        return self.report.files.setdefault(row["file"], FileReport())

    def _word(self, row: dict[str, Any]) -> None:
        file = self._begin(row, row.get("copy", 1))
        file.counts[row["action"]] += 1
        if self._only:
            self.report.reasons[tuple(row[name] for name in _REASON)] += 1
        if row["action"] not in DRAWN:
            return
        again = row["epsilon"] == 0  # or a word that is drawn in its group
        if self._unit and again and not self._only:
            return
        file.draws += 1
        file.public += row["epsilon"] is None
        if self._only and again:
            return
        file.charges += 1
        self._charges += 1

    def end_record(self) -> None:
        """The words that follow are of another record."""
        if self._record is not None and self._record[1] == 1:  # the other copies have as many
            self.report.per_record[self._charges] += 1
            file = self.report.files[self._record[0]]
            file.largest = max(file.largest, self._charges)
        self._record, self._charges = None, 0


def _sums(files: list[FileReport]) -> Counter[str]:
    """Return words of files by action, draws, and those of public words."""
    counts = sum((file.counts for file in files), Counter())
    draws, public = (sum(getattr(file, name) for file in files) for name in ("draws", "public"))
    return counts + Counter(draws=draws, public=public)
