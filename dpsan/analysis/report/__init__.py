"""Audits added up: what can be shown of them.

Knows audit rows.  Must not know texts or mechanisms.  Nothing in a report is a function of the
input that guesses could be tested against: no word, no digest of an input, no position in one; and
the counts that depend on private words are named as not protected.  How many draws were of public
words is never shown: all sums count every draw, and are upper bounds.  An audit is read once, row
by row; what is kept are the rows of files, and counters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpsan.errors import printable
from dpsan.run.audit import damaged, read_rows
from dpsan.sanitize.result import DRAWN, UNDRAWN, Action
from dpsan.sanitize.statement import expected_share

ACTIONS: Final = tuple(map(str, Action))
_REASON: Final = ("class", "rule", "passes")
_SHOWN: Final = (
    *("created", "dpsan", "mechanism", "own", "epsilon", "epsilon_unit", "weak", "linked"),
    *("embeddings", "unknown", "copies", "consistent", "spans", "fields", "drop_other", "policy"),
    *("seeded", "private", "not_protected"),
)
"""Values of the header that a report has as they are."""
_PROMISED: Final = ("status", "reviewed", "arithmetic", "epsilon_ldp", "delta", "public_words")
"""The same of its guarantee."""
_MISSING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("records", "output_sha256")),
    **{"invalid": 0, "passing": {}},
}
"""The same of the row of an input, and what an input without a row has: it was not finished."""


@dataclass
class Report:
    """One audit file: one run."""

    path: str
    header: dict[str, Any]
    words: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Words of each input by action, from the rows of words."""
    files: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Rows of the inputs that were finished, by number."""
    totals: dict[str, Any] | None = None
    """The last row; None if the run did not end."""
    reasons: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    """Words by class, rule, and what they pass by, where rules draw (``only``)."""

    @property
    def complete(self) -> bool:
        """Return whether all inputs were finished."""
        return self.totals is not None and bool(self.totals["complete"])

    @property
    def expected_unchanged(self) -> float:
        """Return the expected share of unchanged words among those that were drawn."""
        if self.totals is not None:
            return float(self.totals["expected_unchanged"])
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
        return sum(self.words.values(), Counter())

    def draws(self, file: int) -> int:
        """Return the draws of an input; of one that was not finished one for each drawn word."""
        row = self.files.get(file)
        return int(row["draws"]) if row else sum(self.words[file][action] for action in DRAWN)

    def charges(self, file: int) -> int:
        """Return the number of losses of an input: of its draws, or of its numbers by value."""
        row = self.files.get(file)
        if self.header["only"] is None:
            return self.draws(file)
        if row is None or not self.epsilon:
            return self.words[file][Action.NUMBER]
        return round(float(row["epsilon_sum"]) / self.epsilon)

    def cost(self, charges: int) -> dict[str, float | None]:
        """LDP epsilon (None if infinite) and delta of so many charges, by basic composition."""
        guarantee = self.header["guarantee"]
        epsilon = guarantee["epsilon_ldp"]
        loss = 0.0 if not charges else None if epsilon is None else charges * epsilon
        return {"epsilon_ldp": loss, "delta": min(1.0, charges * guarantee["delta"])}

    def largest_record(self) -> dict[str, float | None]:
        """LDP epsilon (None if infinite) and delta of the record that lost most, of all copies."""
        rows = [row for row in self.files.values() if row["draws"]]
        losses = [row["epsilon_ldp_largest_record"] for row in rows]
        loss = None if None in losses else max(losses, default=0.0)
        delta = max((row["delta_largest_record"] for row in rows), default=0.0)
        return {"epsilon_ldp": loss, "delta": delta}

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        header, totals, files = self.header, self.totals, sorted(self.words | self.files)
        draws, charges = (sum(map(of, files)) for of in (self.draws, self.charges))
        if totals is not None and self.files.keys() >= self.words.keys():
            # Files of a run may share draws.
            draws, charges = totals["draws"], charges if header["only"] else totals["draws"]
        return {
            "audit": self.path,
            "complete": self.complete,
            **{name: header[name] for name in _SHOWN},
            **{name: header["guarantee"][name] for name in _PROMISED},
            "per": "distinct word" if header["consistent"] else "word",
            "expected_unchanged": self.expected_unchanged,
            "passing": {} if totals is None else totals["passing"],
            "words": self.counts.total(),
            **{action: self.counts[action] for action in ACTIONS},
            "draws": draws,
            "epsilon_sum": charges * self.epsilon,
            "largest_record": self.largest_record(),
            "largest_file": self.cost(max(map(self.charges, files), default=0)),
            # Without the digests: they would let others test what a list of the user holds.
            **{name: _groups(header[name]) for name in ("only", "classes")},
            "reasons": [
                dict(zip((*_REASON, "words"), (*reason, words), strict=True))
                for reason, words in self.reasons.most_common()
            ],
            "files": [*map(self._file, files)],
        }

    def _file(self, number: int) -> dict[str, Any]:
        row, counts = self.files.get(number, {}), self.words[number]
        return {
            "file": number,
            "name": row.get("name", ""),
            "finished": bool(row),
            "words": counts.total(),
            **{action: counts[action] for action in ACTIONS},
            "draws": self.draws(number),
            "epsilon_sum": self.charges(number) * self.epsilon,
            **{name: row.get(name, missing) for name, missing in _MISSING.items()},
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
    report = Report(printable(str(path)), next(rows)[1])
    only, shared = report.header["only"] is not None, report.header["consistent"] is not None
    for number, row in rows:
        totals = row["type"] == "totals"
        counts = report.counts if totals else report.words[row["file"]]
        if row["type"] == "word":
            counts[row["action"]] += 1
            if only:
                report.reasons[tuple(row[name] for name in _REASON)] += 1
        elif row["type"] == "remembered":
            counts.update({str(action): row[action] for action in UNDRAWN})
        else:
            drawn = sum(counts[action] for action in DRAWN)
            same = all(counts[action] == row[action] for action in ACTIONS)
            same &= row["draws"] == drawn or (shared and row["draws"] < drawn)
            if not same and row.get("complete", True):
                raise damaged(path, number, "the words before it do not add up")
            if totals:
                report.totals = row
            else:
                report.files[row["file"]] = row
    return report
