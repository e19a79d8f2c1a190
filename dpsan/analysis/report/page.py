"""Format a report for the terminal, or as one HTML page with inline charts and no script."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Final

from dpsan.analysis.pages.html import document, facts, heading, listing, table, verdict, warnings
from dpsan.analysis.pages.meaning import plain_meaning
from dpsan.analysis.pages.sections import Section
from dpsan.analysis.report import ACTIONS, QUANTILES, Report
from dpsan.formats.passing import fields_line, noted_lines
from dpsan.outcomes.intervals import Share
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.sanitize.unprotected import CHOICE, CHOSEN
from dpsan.text.numerals import counted, number, percent

_MEANING: Final = {
    "unknown": "unknown, drawn as one input",
    "string": "string of a kind, made up",
    "masked": "unknown, masked",
    "kept": "kept (not protected)",
    "outside": "outside spans, passed (not protected)",
    "plain": "of no class, unchanged (not protected)",
}
_UNCHANGED: Final = ("plain", "outside", "kept")
_SUMS: Final = {
    "record": "the sum of its words: how well a whole record is hidden",
    "file": "the sum of all its words",
}


def complaints(report: Report) -> list[str]:
    """Return the warnings of a report, and what passed unchanged."""
    return [*_warnings(report), *_passed(report)]


def _warnings(report: Report) -> list[str]:
    guarantee, weak = report.header["guarantee"], report.header["weak"]
    status, public = guarantee["status"], guarantee["public_words"]
    found = {
        "not finished: some inputs are missing or incomplete": not report.complete,
        "NOT PRIVATE: the random numbers come from a public seed": report.header["seeded"],
        "the words of a keep-list were written unchanged": report.counts["kept"],
        f"{CHOSEN if report.header['only'] else CHOICE} is not protected": report.header["spans"],
        f"{number(public or 0)} public words are not protected": public,
        f"WEAK: {weak}": weak,
        f"the mechanism's guarantee is {status}": status != "PROVED",
    }
    return [text for text, holds in found.items() if holds]


def _passed(report: Report) -> list[str]:
    """Return lines about columns, fields and metadata that passed unchanged."""
    rows = [report.passing] if report.passing else [each.passing for each in report.files.values()]
    passing: list[str] = []
    for row in filter(None, rows):
        passing += [*map(fields_line, row["fields"]), *noted_lines(row["noted"])]
    return [*dict.fromkeys(passing)]


_HIDDEN: Final = "Which word of its group stood at a replaced word is hidden completely."


def conclusion(report: Report) -> tuple[str, bool]:
    """Return the sentence that a report begins with, and whether it is no warning."""
    guarantee, header = report.header["guarantee"], report.header
    epsilon = guarantee["epsilon_ldp"]
    if header["seeded"]:
        return "Not private: the random numbers of this run are public.", False
    if (status := guarantee["status"]) != "PROVED":
        return f"No proved guarantee: that of {header['mechanism']} is {status}.", False
    if not report.complete:
        return "The run did not finish. The figures below are those of the part that did.", False
    words = f"any one {report.as_json()['per']}"
    if header["only"]:
        words = "any one number"
    elif guarantee["public_words"]:
        words = "any one protected word"
    total = math.inf if epsilon is None else report.copies * epsilon
    meaning = plain_meaning(total, words, report.copies * guarantee["delta"])
    if header["only"]:
        meaning = f"{_HIDDEN} {meaning}" if epsilon else _HIDDEN
    if plain := sum(report.counts[action] for action in _UNCHANGED):
        passed = f"{counted(plain, 'word')} of {number(report.counts.total())} passed unchanged."
        return f"{meaning} {passed} These are not protected.", False
    if header["linked"]:
        return f"{meaning} The texts are not anonymous: {header['linked']}.", False
    return meaning, epsilon is not None


def figures(report: Report) -> list[tuple[str, str, str]]:
    """Return the figures of a run: name, value, and what it means."""
    sums = report.as_json()
    each, loss = sums["per"], "LDP epsilon"
    if sums["public_words"]:
        each, loss = f"protected {each}", "high-low LDP epsilon"
    cost = _cost(sums["epsilon_ldp"], sums["delta"])
    one = "number by value" if sums["only"] else each
    out = [(f"{loss} per {one}", cost, "how well one word is hidden; smaller is better")]
    if sums["only"]:
        what = "between two words of one group; which group it is shows"
        out.insert(0, ("LDP epsilon per replaced word", number(0.0), what))
        if not sums["epsilon_ldp"]:
            share = percent(sums["expected_unchanged"])
            return [out[0], ("expected unchanged", share, "share of replaced words, at most")]
    if not sums["spans"]:  # a share of running words, and spans hold names
        what = "share of drawn words that come out as they were; which ones is not visible"
        out.append(("expected unchanged", percent(sums["expected_unchanged"]), what))
    if sums["linked"]:
        out.append(("whole texts", sums["linked"], "how easily a text is found again"))
    whole = ", all copies" if report.copies > 1 else ""
    for unit, what in _SUMS.items():
        out.append((f"{loss}, largest {unit}{whole}", _cost(**sums[f"largest_{unit}"]), what))
    records = " / ".join(map(number, sums["epsilon_per_record"].values()))
    name = "epsilon per record, 5/50/95 %/largest"
    return [*out, (name, records, "records with more words lose more")]


def parameters(report: Report) -> list[tuple[str, str, str]]:
    """Return the settings of a run: name, value, and an empty meaning or one line."""
    sums = report.as_json()
    grade = sums["status"]
    if grade == "PROVED":
        grade += f" {sums['arithmetic']}"
    if not report.header["guarantee"]["reviewed"]:
        grade += f", {UNREVIEWED}"
    if sums["own"]:
        grade += f": {sums['own']['file']}, SHA-256 {sums['own']['sha256'][:16]}"
    unit = f" ({sums['epsilon_unit']})" if sums["epsilon_unit"] else ""
    each = f"protected {sums['per']}" if sums["public_words"] else sums["per"]
    rows = {
        "mechanism": f"{sums['mechanism']} ({grade})",
        f"epsilon per {each}{unit}": number(sums["epsilon"]),
        "epsilon, all draws": number(sums["epsilon_sum"]),
    }
    if sums["only"]:
        rows["classes"] = ", ".join(sums["only"])
    if by_class := sums["classes"]:
        sizes = (f"{name} {', '.join(map(number, words))}" for name, words in by_class.items())
        rows["words of each group, by class"] = "; ".join(sizes)
    if report.copies > 1:
        rows["copies of every record"] = number(report.copies)
    return [(name, value, "") for name, value in rows.items()]


def files(report: Report) -> list[Section]:
    """Return the inputs of a run, and the digests of their outputs."""
    rows, digests = [], []
    for each in report.as_json()["files"]:
        name = each["name"] or f"input {each['file']}"
        records = each["records"] if each["finished"] else "not finished"
        counts = [each[action] for action in ("words", *ACTIONS)]
        rows.append((name, records, *counts, each["epsilon_sum"]))
        if each["finished"]:
            digests.append((each["output_sha256"], name))
    inputs = Section(("file", "records", "words", *ACTIONS, "epsilon"), rows)
    return [inputs, Section(("SHA-256 of the output", "file"), digests)]


def reasons(report: Report) -> list[Section]:
    """Return the words by class and rule, and by the list or rule by which they pass."""
    rows = report.as_json()["reasons"]
    drawn = [(row["class"] or "-", row["rule"], row["words"]) for row in rows if row["rule"]]
    passed = [(row["passes"], row["words"]) for row in rows if row["passes"]]
    return [
        Section(
            ("class", "rule that replaced", "words"), sorted(drawn, key=lambda row: str(row[0]))
        ),
        Section(("passed by", "words"), passed),
    ]


def page(reports: list[Report]) -> str:
    """One self-contained HTML page: no script, nothing loaded from elsewhere."""
    about = "What was done to the words of a text, without any of its words."
    shown = "Line counts and file names are shown."
    return document("dpsan report", f"{about} {shown}", "".join(map(_section, reports)))


def _section(report: Report) -> str:
    header, counts = report.header, report.counts
    inputs, digests = files(report)
    rows = [
        (_MEANING.get(action, action), counts[action], Share(counts[action], counts.total()))
        for action in ACTIONS
        if counts[action]
    ]
    vocabulary = header["embeddings"]
    sentence, good = conclusion(report)
    made = f"{header['created'] or ''}, dpsan {header['dpsan'] or ''}"
    words = f"{vocabulary['source']}, {number(vocabulary['words'])} words"
    return (
        "<section>"
        + heading(Path(report.path).name, 2)
        + verdict(sentence, good=good)
        + warnings(_warnings(report))
        + heading("What passed unchanged or is not protected")
        + listing([*_passed(report), *report.as_json()["not_protected"]])
        + heading("Words")
        + table(Section(("words", "number", "share"), rows, intervals=False))
        + "".join(table(each) for each in reasons(report) if each.rows)
        + heading("Figures")
        + facts(figures(report))
        + _histogram(report)
        + heading("Files")
        + table(inputs.without_zeros(ACTIONS))
        + f"<details><summary>{digests.columns[0]}</summary>{table(digests)}</details>"
        + heading("Parameters")
        + facts([*parameters(report), ("made", made, ""), ("vocabulary", words, "")])
        + "</section>"
    )


def _cost(epsilon_ldp: float | None, delta: float) -> str:
    return number(epsilon_ldp) + (f" (delta {number(delta)})" if delta else "")


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
    quantiles = (f"{name} {number(report.quantile(each))}" for name, each in QUANTILES.items())
    label = html.escape(f"Histogram of epsilon per record; {', '.join(quantiles)}")
    return (
        '<figure><h3>Records by epsilon</h3><svg viewBox="0 0 460 192" role="img" '
        f'aria-label="{label}">{bars}<path d="M40 150H452" stroke="var(--line)"/>'
        f'<text x="34" y="22" text-anchor="end">{_short(top)}</text>'
        '<text x="34" y="154" text-anchor="end">0</text>'
        f'<text x="40" y="168">0</text>'
        f'<text x="452" y="168" text-anchor="end">{number(most * charge)}</text>'
        '<text x="246" y="182" text-anchor="middle">epsilon of a record (records with words)</text>'
        "</svg></figure>"
    )


def _short(value: int) -> str:
    for least, unit, size in ((1e9, "G", 1e9), (1e6, "M", 1e6), (1e4, "k", 1e3)):
        if value >= least:
            return f"{value / size:.3g}{unit}"
    return str(value)
