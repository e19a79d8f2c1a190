"""Sentences and tables about a report, for the terminal and a page."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final

from dpsan.analysis import pages
from dpsan.analysis.report import ACTIONS, Report
from dpsan.errors import counted, number, percent
from dpsan.formats.passing import fields_line, noted_lines
from dpsan.outcomes.intervals import Share
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.sanitize.accountant import FACTS

_PARAMETERS: Final = (
    *("mechanism", "arithmetic", "own", "policy", "epsilon", "epsilon_unit"),
    *("per", "epsilon_sum", "only", "classes", "copies", "created", "dpsan", "embeddings"),
)
"""Settings of a run that are shown, by their names in the JSON values."""
_UNCHANGED: Final = ("plain", "outside", "kept")


def _warnings(report: Report) -> list[str]:
    status, public = report["status"], report["public_words"]
    warnings = {
        "not finished: some inputs are missing or incomplete": not report["complete"],
        "NOT PRIVATE: the random numbers come from a public seed": report["seeded"],
        "the words of a keep-list were written unchanged": report["kept"],
        f"{FACTS['chosen' if report['only'] else 'choice']} is not protected": report["spans"],
        f"{number(public or 0)} public words are not protected": public,
        f"WEAK: {report['weak']}": report["weak"],
        f"the mechanism's guarantee is {status}": status != "PROVED",
        f"the mechanism is {UNREVIEWED}": not report["reviewed"],
    }
    return pages.holding(warnings)


def _passed(report: Report) -> list[str]:
    """Return lines about columns, fields and metadata that passed unchanged."""
    passing: list[str] = []
    whole = report["passing"]
    for row in filter(None, [whole] if whole else [file["passing"] for file in report["files"]]):
        passing += [*map(fields_line, row["fields"]), *noted_lines(row["noted"])]
        names = ", ".join(f"{name} ({of})" for name, of in row["by_name"].items())
        passing += [f"read as the name of their column or member tells: {names}"] * bool(names)
    return [*dict.fromkeys(passing)]


_HEADING: Final = "What passed unchanged or is not protected"


def conclusion(sums: Report) -> tuple[str, bool]:
    """Return the sentence that a report begins with, and whether it is no warning."""
    epsilon, only = sums["epsilon_ldp"], sums["only"]
    if sums["seeded"]:
        return "Not private: the random numbers of this run are public.", False
    if (status := sums["status"]) != "PROVED":
        return f"No proved guarantee: that of {sums['mechanism']} is {status}.", False
    if not sums["complete"]:
        return "The run did not finish. The figures are those of the part that did.", False
    words = f"any one {sums['per']}"
    if only or sums["public_words"]:
        words = "any one number" if only else "any one protected word"
    total = math.inf if epsilon is None else sums["copies"] * epsilon
    meaning = pages.plain_meaning(total, words, sums["copies"] * sums["delta"])
    if only:
        meaning = f"{pages.WORDING['hidden']} {meaning}" if epsilon else pages.WORDING["hidden"]
    if plain := sum(sums[action] for action in _UNCHANGED):
        passed = f"{counted(plain, 'word')} of {number(sums['words'])} passed unchanged."
        return f"{meaning} {passed} These are not protected.", False
    if sums["linked"]:
        return f"{meaning} The texts are not anonymous: {sums['linked']}.", False
    return meaning, epsilon is not None


def figures(sums: Report) -> list[tuple[str, str, str]]:
    """Return the figures of a run: name, value, and what it means."""
    scope, loss = sums["per"], "LDP epsilon"
    if sums["public_words"]:
        scope, loss = f"protected {scope}", "high-low LDP epsilon"
    cost = _cost(sums["epsilon_ldp"], sums["delta"])
    charged = "number by value" if sums["only"] else scope
    out = [(f"{loss} per {charged}", cost, "how well one word is hidden; smaller is better")]
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
    whole = ", all copies" if sums["copies"] > 1 else ""
    for unit in ("record", "file"):
        what = pages.WORDING[f"largest {unit}"]
        out.append((f"{loss}, largest {unit}{whole}", _cost(**sums[f"largest_{unit}"]), what))
    records = " / ".join(map(number, sums["epsilon_per_record"].values()))
    name = "epsilon per record, 5/50/95 %/largest"
    return [*out, (name, records, "records with more words lose more")]


def files(sums: Report) -> list[pages.Section]:
    """Return the inputs of a run, and the digests of their outputs."""
    rows, digests = [], []
    actions = [action for action in ACTIONS if any(file[action] for file in sums["files"])]
    for file in sums["files"]:
        name = file["name"] or f"input {file['file']}"
        records = file["records"] if file["finished"] else "not finished"
        counts = [file[action] for action in ("words", *actions)]
        rows.append((name, records, *counts, file["epsilon_sum"]))
        if file["finished"]:
            digests.append((file["output_sha256"], name))
    inputs = pages.Section(("file", "records", "words", *actions, "epsilon"), rows)
    return [inputs, pages.Section(("SHA-256 of the output", "file"), digests)]


def reasons(sums: Report) -> list[pages.Section]:
    """Return the words by class and rule, and by the list or rule by which they pass."""
    rows = sums["reasons"]
    drawn = [(row["class"] or "-", row["rule"], row["words"]) for row in rows if row["rule"]]
    passed = [(row["passes"], row["words"]) for row in rows if row["passes"]]
    by_class = sorted(drawn, key=lambda row: str(row[0]))
    replaced = pages.Section(("class", "rule that replaced", "words"), by_class)
    return [replaced, pages.Section(("passed by", "words"), passed)]


_FIGURES: Final = "What follows is for those who know the terms; docs/glossary.md explains them."
_FILES: Final = 20
"""Digests of outputs beside the signature; all stand in the table."""


def _facts(sums: Report) -> dict[str, list[str]]:
    """Return lines about a run, by the heading of the page for whoever signs."""
    by_class = Counter[str]()
    for row in filter(itemgetter("rule"), sums["reasons"]):
        by_class[row["class"] or "others"] += row["words"]
    words, plain = number(sums["words"]), sum(sums[action] for action in _UNCHANGED)
    made = f"Made on {(sums['created'] or 'an unknown day')[:10]} by dpsan {sums['dpsan']}."
    stores = ", ".join(sums["beside"] or ())
    beside = f"Written beside the output: {stores}; whoever has it can find originals again."
    beside = beside if stores else "No map, memo or review file was made by this run."
    beside += " The audit log, from which this page is made, may hold personal data."
    columns = [f"Chosen columns or fields: {', '.join(sums['fields'])}."] * bool(sums["fields"])
    about_stores = [beside] * (sums["beside"] is not None)
    counts = ", ".join(f"{name} {number(many)}" for name, many in by_class.most_common())
    share = percent(sums["expected_unchanged"])
    replaced = [
        f"Of {words} words, by class: {counts}.",
        f"By chance a replaced word may be the original one: {share} of them, at most.",
    ] * bool(by_class)
    drawn = [f"Epsilon of each word: {number(sums['epsilon'])}. {conclusion(sums)[0]}"]
    drawn += [] if sums["classes"] else _passed(sums)
    done = [row for row in sums["files"] if row["finished"]]
    digests = [f"Output of {row['name']}: SHA-256 {row['output_sha256']}" for row in done]
    return {
        "The decision": [made, *about_stores, *columns],
        "What was replaced": replaced,
        "What stays by design": [f"Here {number(plain)} of {words} words.", *_passed(sums)],
        "If every word was drawn": [] if sums["only"] else drawn,
        "Signed": digests[:_FILES],
    }


def shown(sums: Report, *, signed: bool = False) -> pages.Shown:
    """Return what was done to the words of a text, what passed, and what it cost.

    Args:
        signed: begin with the page for whoever signs.
    """
    wording = pages.WORDING
    rows = [
        (wording.get(f"words {action}", action), sums[action], Share(sums[action], sums["words"]))
        for action in ACTIONS
        if sums[action]
    ]
    sentence, good = conclusion(sums)
    first: list[pages.Part] = []
    if signed:
        drawn = not sums["only"] and not sums["classes"]
        without = _OF_ONLY if drawn else _OF_DRAWN if sums["only"] else ()
        first = signing(_facts(sums), without)
        first += [pages.Prose("In figures", _FIGURES)]
    settings = {"guarantee": sums["status"]} | {name: sums[name] for name in _PARAMETERS}
    if isinstance(sums["only"], dict):  # lists of dpsan, which have no size
        settings["only"] = ", ".join(sums["only"])
    parts: list[pages.Part] = [
        pages.Prose("", lines=_warnings(sums), loud=True),
        *first,
        pages.Prose(_HEADING, lines=[*_passed(sums), *sums["not_protected"]]),
        pages.Section(("words", "number", "share"), rows, intervals=False),
        *reasons(sums),
        pages.Facts("Figures", figures(sums)),
        *files(sums),
        pages.Facts("Parameters", pages.named(settings)),
        pages.Prose("Counting words", lines=[] if sums["only"] else [pages.WORDING["counting"]]),
    ]
    return pages.Shown(pages.WORDING["report"], parts, sentence, good, title=sums["audit"])


def _cost(epsilon_ldp: float | None, delta: float) -> str:
    return number(epsilon_ldp) + (f" (delta {number(delta)})" if delta else "")


# The page for whoever signs, with the figures of a run below its headings.

_NAME: Final = "for_whoever_signs.md"
_MARKS: Final = re.compile(r"\*\*|`|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
"""Marks of Markdown around words; a page is plain text."""


def _text() -> str:
    """Return the page, in the installed package or the source checkout."""
    package = Path(__file__).resolve().parents[2]
    folders = (package / "_docs", package.parent / "docs")
    path = next(folder / _NAME for folder in folders if (folder / _NAME).is_file())
    return path.read_text(encoding="utf-8")


_OF_ONLY: Final = ("What was replaced", "What stays by design", "What lists miss")
"""Sections that would be wrong where every word was drawn."""
_OF_DRAWN: Final = ("If every word was drawn",)
"""Those about nothing that was done where words were replaced."""


def signing(facts: Mapping[str, Sequence[str]], without: Collection[str] = ()) -> list[pages.Part]:
    """Return the sections of docs/for_whoever_signs.md.

    Args:
        facts: lines about a run, by the heading under which they stand first.
        without: headings of sections that are left out.
    """
    parts: list[pages.Part] = []
    for section in _text().split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        if heading in without:
            continue
        blocks = [block for block in body.strip().split("\n\n") if block]
        texts = [block for block in blocks if block[0] not in "*|"]
        lines = [line for block in blocks if block[0] == "*" for line in block.split("\n* ")]
        said = [*facts.get(heading, ()), *(_plain(line.removeprefix("* ")) for line in lines)]
        parts.append(pages.Prose(heading, _plain(" ".join(texts)), said))
        parts += [_table(block) for block in blocks if block[0] == "|"]
    return parts


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split())


def _table(block: str) -> pages.Section:
    rows = [[_plain(cell) for cell in line[1:-1].split("|")] for line in block.split("\n")]
    return pages.Section(rows[0], rows[2:])
