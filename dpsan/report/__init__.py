"""Audits added up: what can be shown of them, which is never a word of text.

Knows audit rows.  Must not know texts or mechanisms.  An audit is read once, row by row;
what is kept is bounded: counters by number of words in a line (there are at most some square root
of the words in the audit), and a fixed number of stretches of lines.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from dpsan.errors import InputError
from dpsan.errors import reason as os_reason
from dpsan.formats.base import Source
from dpsan.formats.source import FileSource, decompressed
from dpsan.formats.text import raw_records

__all__ = ["ACTIONS", "QUANTILES", "FileReport", "Report", "read_audit"]

ACTIONS: Final = ("replaced", "unknown", "kept", "passed")
QUANTILES: Final = {"p5": 0.05, "p50": 0.5, "p95": 0.95, "max": 1.0}
_STRETCHES: Final = 240
_ROW: Final = 16 << 20
_SCHEMAS: Final = (1,)


@dataclass
class Timeline:
    """Words drawn and lines seen, in at most :data:`_STRETCHES` stretches of equal length."""

    width: int = 1
    drawn: list[int] = field(default_factory=list)
    lines: int = 0

    def add(self, drawn: int) -> None:
        """The next line."""
        at = self.lines // self.width
        if at == _STRETCHES:
            self.width *= 2
            self.drawn = [sum(self.drawn[i : i + 2]) for i in range(0, _STRETCHES, 2)]
            at //= 2
        if at == len(self.drawn):
            self.drawn.append(0)
        self.drawn[at] += drawn
        self.lines += 1

    def means(self) -> list[float]:
        """Words drawn in a line, on average, for each stretch."""
        return [
            drawn / min(self.width, self.lines - at * self.width)
            for at, drawn in enumerate(self.drawn)
        ]


@dataclass
class FileReport:
    """One input of a run."""

    name: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    records: int | None = None
    """None if the input failed or the run ended before it did."""
    hashes: tuple[str | None, str | None] = (None, None)
    invalid: int = 0


@dataclass
class Report:
    """One audit file: one run."""

    path: str
    header: dict[str, Any]
    files: dict[int, FileReport] = field(default_factory=dict)
    per_line: Counter[int] = field(default_factory=Counter)
    """How many lines have so many words drawn; lines without words are not in an audit."""
    timeline: Timeline = field(default_factory=Timeline)
    complete: bool = False
    totals: dict[str, Any] | None = None

    @property
    def epsilon(self) -> float:
        """Of one word, in the mechanism's unit."""
        return float(self.header["epsilon"])

    @property
    def counts(self) -> Counter[str]:
        """Words by action, over all files."""
        return sum((each.counts for each in self.files.values()), Counter())

    @property
    def drawn(self) -> int:
        """Words drawn, over all files."""
        return sum(each.drawn for each in self.files.values())

    def quantile(self, share: float) -> float:
        """Epsilon that so large a share of the lines with words do not exceed."""
        lines = sum(self.per_line.values())
        if not lines:
            return 0.0
        seen = 0
        for drawn in sorted(self.per_line):
            seen += self.per_line[drawn]
            if seen >= share * lines:
                break
        return drawn * self.epsilon

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        header = self.header
        guarantee = header["guarantee"]
        return {
            "audit": self.path,
            "complete": self.complete,
            "created": header.get("created"),
            "dpsan": header.get("dpsan"),
            "mechanism": header["mechanism"],
            "status": guarantee.get("status"),
            "epsilon": self.epsilon,
            "epsilon_unit": header.get("epsilon_unit"),
            "epsilon_ldp": guarantee.get("epsilon_ldp"),
            "delta": guarantee.get("delta"),
            "embeddings": header.get("embeddings"),
            "unknown": header.get("unknown"),
            "copies": header.get("copies"),
            "seeded": header.get("seeded"),
            "private": header.get("private"),
            "words": sum(self.counts.values()),
            **{action: self.counts[action] for action in ACTIONS},
            "drawn": self.drawn,
            "epsilon_sum": self.drawn * self.epsilon,
            "lines_with_words": sum(self.per_line.values()),
            "epsilon_per_line": {name: self.quantile(share) for name, share in QUANTILES.items()},
            "files": [
                {
                    "file": number,
                    "name": each.name,
                    "finished": each.records is not None,
                    "records": each.records,
                    "words": sum(each.counts.values()),
                    **{action: each.counts[action] for action in ACTIONS},
                    "drawn": each.drawn,
                    "epsilon_sum": each.drawn * self.epsilon,
                    "invalid": each.invalid,
                    "input_sha256": each.hashes[0],
                    "output_sha256": each.hashes[1],
                }
                for number, each in sorted(self.files.items())
            ],
        }


def read_audit(path: Path) -> Report:
    """Add up one audit file.

    Raises:
        InputError: it cannot be read, a row is damaged, or its rows do not add up.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else os_reason(error)
        raise InputError(path, str(reason)) from None
    try:
        return _Reading(decompressed(FileSource(str(path), descriptor))).report()
    finally:
        os.close(descriptor)


class _DamagedError(Exception):
    """What is wrong with a row."""


class _Reading:
    """One pass over the rows of an audit."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._report: Report | None = None
        self._line: tuple[int, int, int] | None = None
        self._words = 0

    def report(self) -> Report:
        """Read everything."""
        number = 0
        for item in raw_records(self._source, b"\n", _ROW):
            if item is None:
                continue
            number, raw, _ = item
            try:
                self._row(orjson.loads(raw))
            except orjson.JSONDecodeError:
                raise InputError(
                    self._source.name, "damaged audit row: not JSON", line=number
                ) from None
            except _DamagedError as error:
                raise InputError(
                    self._source.name, f"damaged audit row: {error}", line=number
                ) from None
            except (KeyError, TypeError, ValueError, AttributeError):
                raise InputError(self._source.name, "damaged audit row", line=number) from None
        if self._report is None:
            raise InputError(self._source.name, "not an audit: empty")
        self._end_line()
        return self._report

    def _row(self, row: dict[str, Any]) -> None:
        kind = row["type"]
        if self._report is None:
            if kind != "header" or row["schema"] not in _SCHEMAS:
                raise _DamagedError("no header that this version knows")
            float(row["epsilon"])
            row["guarantee"].get("status")
            self._report = Report(self._source.name, row)
        elif kind == "word":
            self._word(self._report, row)
        elif kind == "file":
            self._file(self._report, row)
        elif kind == "totals":
            self._totals(self._report, row)
        else:
            raise _DamagedError("unknown type")

    def _word(self, report: Report, row: dict[str, Any]) -> None:
        if report.totals is not None:
            raise _DamagedError("a word behind the totals")
        file, line, action, epsilon = row["file"], row["line"], row["action"], row["epsilon"]
        if action not in ACTIONS or type(file) is not int or type(line) is not int:
            raise _DamagedError("not a word")
        if epsilon not in (None, 0, report.epsilon):
            raise _DamagedError("another epsilon than the header's")
        where = (file, row.get("copy", 1), line)
        if where != self._line:
            self._end_line()
            self._line = where
        each = report.files.get(file)
        if each is None:
            each = report.files[file] = FileReport()
        each.counts[action] += 1
        if epsilon:
            each.drawn += 1
            self._words += 1

    def _end_line(self) -> None:
        if self._report is not None and self._line is not None:
            self._report.per_line[self._words] += 1
            self._report.timeline.add(self._words)
        self._line, self._words = None, 0

    def _file(self, report: Report, row: dict[str, Any]) -> None:
        self._end_line()
        each = report.files.setdefault(row["file"], FileReport())
        self._same(each.counts, each.drawn, row)
        each.name, each.records, each.invalid = (
            str(row["name"]),
            int(row["records"]),
            row["invalid"],
        )
        each.hashes = row["input_sha256"], row["output_sha256"]

    def _totals(self, report: Report, row: dict[str, Any]) -> None:
        self._end_line()
        finished = [each for each in report.files.values() if each.records is not None]
        counts: Counter[str] = sum((each.counts for each in finished), Counter())
        self._same(counts, sum(each.drawn for each in finished), row)
        report.totals, report.complete = row, bool(row["complete"])

    @staticmethod
    def _same(counts: Counter[str], drawn: int, row: dict[str, Any]) -> None:
        told = {action: row[action] for action in ACTIONS}
        # Masked words are unknown and not drawn; the count of draws tells them apart.
        if told != {action: counts[action] for action in ACTIONS} or row["drawn"] != drawn:
            raise _DamagedError("the words before it do not add up")
