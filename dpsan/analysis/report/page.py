"""The page of a report: one self-contained HTML file with inline charts, no script.

Knows HTML and SVG.  Must not know audits: only what :mod:`dpsan.analysis.report` has added up.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, Final

from dpsan.analysis.report import ACTIONS, QUANTILES, Report
from dpsan.analysis.report.html import bars, cards, document, figure, table
from dpsan.text.numerals import counted, number, percent

__all__ = ["page"]

_COLOURS: Final = {
    "drawn": "--a",
    "unknown": "--b",
    "masked": "--b",
    "kept": "--c",
    "passed": "--d",
}
_MEANING: Final = {
    "drawn": "drawn",
    "unknown": "unknown, drawn as one input",
    "masked": "unknown, masked",
    "kept": "kept (not protected)",
    "passed": "passed (NOT PRIVATE)",
}


def page(reports: list[Report]) -> str:
    """One self-contained HTML page: no script, nothing loaded from elsewhere."""
    return document(
        "dpsan report",
        "What was done to the words of a text, without any of its words. "
        "Line counts and file names are shown.",
        "".join(_section(each) for each in reports),
    )


def _section(report: Report) -> str:
    told = report.as_json()
    status = str(told["status"])
    proved = status == "PROVED"
    unit = html.escape(str(told["epsilon_unit"] or ""))
    warnings = []
    if not report.complete:
        warnings.append("The run did not finish: some inputs are missing or incomplete.")
    if told["seeded"]:
        warnings.append("NOT PRIVATE: the random numbers come from a public seed.")
    if report.counts["passed"]:
        warnings.append("NOT PRIVATE: unknown words were passed through.")
    if report.counts["kept"]:
        warnings.append("The words of a keep-list were written unchanged.")
    if told["weak"]:
        warnings.append(f"WEAK: {html.escape(told['weak'])}.")
    if not proved:
        warnings.append(f"The mechanism's guarantee is {html.escape(status)}.")
    each = told["per"]
    figures = [
        ("words", number(told["words"])),
        ("mechanism", html.escape(told["mechanism"])),
        (f"epsilon per {each}{f' ({unit})' if unit else ''}", number(told["epsilon"])),
        (f"LDP epsilon per {each}", _cost(told["epsilon_ldp"], told["delta"])),
        ("expected to stay the same", percent(told["expected_unchanged"])),
        ("LDP epsilon, largest record", _cost(**told["largest_record"])),
        ("LDP epsilon, largest file", _cost(**told["largest_file"])),
        ("epsilon, all draws", number(told["epsilon_sum"])),
        ("epsilon per record, median", number(told["epsilon_per_record"]["p50"])),
        ("epsilon per record, largest", number(told["epsilon_per_record"]["max"])),
    ]
    if report.copies > 1:
        figures.insert(1, ("copies of every record", number(report.copies)))
    return (
        f"<section><h2>{html.escape(Path(report.path).name)}</h2>"
        f'<p><span class="{"ok" if proved else "warn"}">{html.escape(status)}</span> '
        f'<span class="soft">{html.escape(str(told["created"] or ""))}, dpsan '
        f"{html.escape(str(told['dpsan'] or ''))}</span></p>"
        + "".join(f'<p class="warn">{each}</p>' for each in warnings)
        + cards(figures)
        + '<div class="charts">'
        + _actions(report)
        + _histogram(report)
        + _line_chart(report)
        + "</div>"
        + _files(told)
        + f'<p class="soft">Not protected: {html.escape("; ".join(told["not_protected"]))}.</p>'
        + "</section>"
    )


def _cost(epsilon_ldp: float | None, delta: float) -> str:
    return number(epsilon_ldp) + (f" (delta {number(delta)})" if delta else "")


def _actions(report: Report) -> str:
    counts, total = report.counts, max(sum(report.counts.values()), 1)
    rows = [
        (
            _MEANING[action],
            f"{number(counts[action])} ({100 * counts[action] / total:.1f} %)",
            [(counts[action] / total, _COLOURS[action])],
        )
        for action in ACTIONS
    ]
    label = ", ".join(f"{counts[action]} {action}" for action in ACTIONS)
    return figure("Words by action", label, bars(rows))


def _histogram(report: Report) -> str:
    most = max(report.per_record, default=0)
    wide = max(1, -(-(most + 1) // 24))
    bins = [0] * (most // wide + 1)
    for charges, records in report.per_record.items():
        bins[charges // wide] += records
    top = max(*bins, 1)
    charge = report.copies * report.epsilon
    step = 412 / len(bins)
    bars = "".join(
        f'<rect x="{40 + at * step:.1f}" y="{150 - 132 * records / top:.1f}" '
        f'width="{max(step - 1, 0.8):.1f}" height="{132 * records / top:.1f}" fill="var(--a)">'
        f"<title>epsilon {number(at * wide * charge)} to "
        f"{number(((at + 1) * wide - 1) * charge)}: {counted(records, 'record')}</title></rect>"
        for at, records in enumerate(bins)
    )
    inner = (
        f'{bars}<path d="M40 150H452" stroke="var(--line)"/>'
        f'<text x="34" y="22" text-anchor="end">{_short(top)}</text>'
        '<text x="34" y="154" text-anchor="end">0</text>'
        f'<text x="40" y="168">0</text>'
        f'<text x="452" y="168" text-anchor="end">{number(most * charge)}</text>'
        '<text x="246" y="182" text-anchor="middle">epsilon of a record (records with words)</text>'
    )
    label = "Histogram of epsilon per record; " + ", ".join(
        f"{name} {number(report.quantile(share))}" for name, share in QUANTILES.items()
    )
    return figure("Records by epsilon", label, ("", 460, 192, inner))


def _line_chart(report: Report) -> str:
    timeline = report.timeline
    title = "Epsilon of a record, in order"
    if timeline.width > 1:
        title += f" (means of {timeline.width})"
    return figure(
        title,
        f"Mean epsilon per record over {number(timeline.records)} records",
        ("narrow", 460, 180, _line(report, 460)),
        ("broad", 960, 180, _line(report, 960)),
        wide=True,
    )


def _line(report: Report, width: int) -> str:
    means = [each * report.copies * report.epsilon for each in report.timeline.means()]
    top = max([*means, 1e-9])
    records = report.timeline.records
    left, right = 48, width - 12
    scale = (right - left) * report.timeline.width / max(records, 1)
    points = []
    for at, mean in enumerate(means):
        y = 150 - 132 * mean / top
        points.append(
            f"{left + at * scale:.1f},{y:.1f} {min(left + (at + 1) * scale, right):.1f},{y:.1f}"
        )
    shape = " ".join(points)
    return (
        f'<polygon points="{left},150 {shape} {right},150" fill="var(--a)" fill-opacity=".25"/>'
        f'<polyline points="{shape}" fill="none" stroke="var(--a)" stroke-width="1.5"/>'
        f'<path d="M{left} 150H{right}" stroke="var(--line)"/>'
        f'<text x="42" y="22" text-anchor="end">{_short(top)}</text>'
        '<text x="42" y="154" text-anchor="end">0</text>'
        f'<text x="{left}" y="172">record 1</text><text x="{right}" y="172" text-anchor="end">'
        f"{counted(records, 'record')} with words</text>"
    )


def _short(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.3g}{unit}"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _files(told: dict[str, Any]) -> str:
    heads = ("file", "records", "words", *ACTIONS, "epsilon")
    rows = [
        (
            each["name"] or f"input {each['file']}",
            number(each["records"]) if each["finished"] else "not finished",
            number(each["words"]),
            *(number(each[action]) for action in ACTIONS),
            number(each["epsilon_sum"]),
        )
        for each in told["files"]
    ]
    hashes = "".join(
        f"<p>{html.escape(each['name'] or str(each['file']))}<br><span class=soft>"
        f"<code>{html.escape(str(each['output_sha256']))}</code></span></p>"
        for each in told["files"]
        if each["finished"]
    )
    return table(heads, rows) + f"<details><summary>SHA-256 of outputs</summary>{hashes}</details>"
