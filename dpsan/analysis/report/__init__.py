"""Audits added up: what can be shown of them.

Knows audit rows.  Must not know texts or mechanisms.  Nothing in a report is a function of the
input that guesses could be tested against: no word, no digest of an input, no position in one; and
the counts that depend on private words are named as not protected.  How many draws were of public
words is never shown: all sums count every draw, and are upper bounds.  An audit is read once, row
by row; what is kept is bounded: counters by number of charges of a record (there are at most some
square root of the words in the audit).
"""

from collections import Counter
from collections.abc import Sequence
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
    *("beside", "seeded", "private", "not_protected"),
)
"""Values of the header that a report has as they are."""
_PROMISED: Final = ("status", "reviewed", "arithmetic", "epsilon_ldp", "delta", "public_words")
"""The same of its guarantee."""
QUANTILES: Final = {"p5": 0.05, "p50": 0.5, "p95": 0.95, "max": 1.0}

Report = dict[str, Any]
"""One audit file, which is one run, added up: JSON values."""


@dataclass
class _File:
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

    def as_json(self, epsilon: float) -> Report:
        """Return JSON values, but for its number."""
        return {
            "name": self.name,
            "finished": self.records is not None,
            "records": self.records,
            "words": self.counts.total(),
            **{action: self.counts[action] for action in ACTIONS},
            "draws": self.draws,
            "epsilon_sum": self.charges * epsilon,
            **{name: getattr(self, name) for name in ("invalid", "passing", "output_sha256")},
        }


def read_audit(path: Path) -> Report:
    """Add up one audit file.

    Raises:
        InputError: it cannot be read, a row is damaged, or its rows do not add up.
    """
    rows = read_rows(path)
    adding = _Adding(next(rows)[1])
    for number, row in rows:
        if not adding.row(row):
            raise damaged(path, number, "the words before it do not add up")
    adding.end_record()
    return {"audit": printable(str(path)), **adding.report()}


class _Adding:
    """One pass over the rows of an audit."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header, self.files = header, dict[int, _File]()
        self.per_record = Counter[int]()
        """Number of records by their charges in one copy; records without words have no rows."""
        self.totals: dict[str, Any] = {"complete": False, "passing": {}}
        """Row of totals; a run that was stopped may have none."""
        self.distinct: int | None = None
        """Draws of a finished run whose equal words have the same draw; else each file has its
        own."""
        self.reasons = Counter[tuple[str | None, ...]]()
        """Words by class, rule, and what they pass by, where rules draw (``only``)."""
        self._unit, self._only = header["consistent"], header["only"] is not None
        self._epsilon, self._copies = float(header["epsilon"]), int(header["copies"])
        self._record: tuple[int, int, int] | None = None
        self._charges = 0

    def report(self) -> Report:
        """Return all of it as JSON values."""
        header, every, epsilon = self.header, [*self.files.values()], self._epsilon
        counts = _sums(every)
        draws, charges = counts["draws"], sum(file.charges for file in every)
        if self.distinct is not None:
            draws, charges = self.distinct, charges if self._only else self.distinct
        share = self.totals.get("expected_unchanged")
        if share is None:
            share = expected_share(header["expected_unchanged"], counts)
        largest = max((file.largest for file in every), default=0)
        words = {action: counts[action] for action in ACTIONS}
        return {
            "complete": self.totals["complete"],
            **{name: header[name] for name in _SHOWN},
            **{name: header["guarantee"][name] for name in _PROMISED},
            "per": "distinct word" if self._unit else "word",
            "expected_unchanged": share,
            "passing": self.totals["passing"],
            "words": sum(words.values()),
            **words,
            "draws": draws,
            "epsilon_sum": charges * epsilon,
            "largest_record": self._cost(self._copies * largest),
            "largest_file": self._cost(max((file.charges for file in every), default=0)),
            "records_with_words": self.per_record.total(),
            "epsilon_per_record": {
                name: self._copies * epsilon * self._quantile(part, largest)
                for name, part in QUANTILES.items()
            },
            # Without the digests: they would let others test what a list of the user holds.
            **{
                name: None if listed is None else {row["class"]: row["groups"] for row in listed}
                for name, listed in ((name, header[name]) for name in ("only", "classes"))
            },
            "reasons": [
                dict(zip((*_REASON, "words"), (*reason, many), strict=True))
                for reason, many in self.reasons.most_common()
            ],
            "files": [
                {"file": number, **file.as_json(epsilon)}
                for number, file in sorted(self.files.items())
            ],
        }

    def _quantile(self, share: float, largest: int) -> int:
        """Return the charges that so large a share of the records with words do not exceed."""
        passed, enough = 0, share * self.per_record.total()
        for charges in sorted(self.per_record) if share < 1 else ():
            passed += self.per_record[charges]
            if passed >= enough:
                return charges
        return largest

    def _cost(self, charges: int) -> dict[str, float | None]:
        """LDP epsilon (None if infinite) and delta of so many charges, by basic composition."""
        guarantee = self.header["guarantee"]
        epsilon = guarantee["epsilon_ldp"]
        loss = 0.0 if not charges else None if epsilon is None else charges * epsilon
        return {"epsilon_ldp": loss, "delta": min(1.0, charges * guarantee["delta"])}

    def row(self, row: dict[str, Any]) -> bool:
        """Add a row; False if it tells other sums than those of the words before it."""
        if row["type"] == "word":
            self._word(row)
            return True
        if row["type"] == "remembered":
            self._begin(row, 1).counts.update({str(action): row[action] for action in UNDRAWN})
            return True
        self.end_record()
        if row["type"] == "totals":
            every = [*self.files.values()]
            finished = [file for file in every if file.records is not None]
            self.totals, low, high = row, _sums(finished), _sums(every)
            if self._unit == Unit.RUN:
                for name in ("draws", "public"):
                    low[name] = max((getattr(file, name) for file in finished), default=0)
                self.distinct = row["draws"] if finished == every else None
            # What was written of an input that was not finished counts, in no row but this.
            return all(low[name] <= row[name] <= high[name] for name in _SUMMED)
        file = self.files.setdefault(row["file"], _File())
        for name in ("name", "records", "invalid", "output_sha256", "passing"):
            setattr(file, name, row[name])
        if self._unit in (Unit.FILE, Unit.RUN, Unit.UNIT) or self._only:
            # At least those of its largest record, at most one for the first word of each record;
            # words of a unit may have been drawn in other runs.
            least = 0 if self._unit == Unit.UNIT else self._copies * file.largest
            most = least <= row["draws"] <= file.draws
            if not most or row["public"] > file.public:
                return False
            file.public, file.draws = row["public"], row["draws"]
            if not self._only:
                file.charges = file.draws
            elif charge := self._copies * self._epsilon:
                # A number that an earlier line has too is no row with a loss in its own line.
                largest = (row["epsilon_ldp_largest_record"] or 0.0) / charge
                if not largest < file.charges + 0.5:  # or no number
                    return False
                file.largest = max(file.largest, round(largest))
        sums = _sums([file])
        return all(sums[name] == row[name] for name in _SUMMED)

    def _begin(self, row: dict[str, Any], copy: int) -> _File:
        """Begin a record if the row belongs to a new one, and return the file of that record."""
        record = row["file"], copy, row["line"]
        if record != self._record:
            self.end_record()
            self._record = record
        return self.files.setdefault(row["file"], _File())

    def _word(self, row: dict[str, Any]) -> None:
        file = self._begin(row, row.get("copy", 1))
        file.counts[row["action"]] += 1
        if self._only:
            self.reasons[tuple(row[name] for name in _REASON)] += 1
        again = row["epsilon"] == 0  # or a word that is drawn in its group
        if row["action"] not in DRAWN or (self._unit and again and not self._only):
            return
        file.draws += 1
        file.public += row["epsilon"] is None
        charged = not (self._only and again)
        file.charges += charged
        self._charges += charged

    def end_record(self) -> None:
        """The words that follow are of another record."""
        if self._record is not None and self._record[1] == 1:  # the other copies have as many
            self.per_record[self._charges] += 1
            file = self.files[self._record[0]]
            file.largest = max(file.largest, self._charges)
        self._record, self._charges = None, 0


def _sums(files: Sequence[_File]) -> Counter[str]:
    """Return words of files by action, draws, and those of public words."""
    counts = sum((file.counts for file in files), Counter())
    draws, public = (sum(getattr(file, name) for file in files) for name in ("draws", "public"))
    return counts + Counter(draws=draws, public=public)
