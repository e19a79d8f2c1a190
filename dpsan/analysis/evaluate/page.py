"""Sentences and tables about an evaluation, for the terminal and a page.  They contain no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpsan.analysis.evaluate import Evaluation
from dpsan.analysis.evaluate.accuracy import VERSIONS
from dpsan.analysis.evaluate.attack import Attack
from dpsan.analysis.evaluate.vocabulary import WordClass
from dpsan.analysis.pages.sections import Cell, Section, Shown, written
from dpsan.outcomes.intervals import Share
from dpsan.text.numerals import counted, number


def shown(result: Evaluation) -> Shown:
    """Return all figures, in the order in which they are read."""
    mean, many = result.cosine.values()
    cosine = ("cosine", mean, f"of word and output, mean over {number(many)} words")
    parts = [
        _table("kept", {"unchanged": result.unchanged}),
        Section(("similarity", "value", "what it is"), [cosine]),
    ]
    readers = [attack for attack in result.attacks[1:] if attack.attack != "informed"]
    informed = [attack for attack in result.attacks if attack.attack == "informed"]
    # Apart: three do not fit a terminal.
    parts += [_attacks("read back", readers), _attacks("others known", informed)]
    parts += [*_spans(result), *_accuracy(result)]
    return Shown(_about(result), parts, _conclusion(result), warnings=result.notes)


def _about(result: Evaluation) -> str:
    size = f"{counted(result.records, 'record')}, {counted(result.words, 'word')}"
    measured = f"{size}; compared without letter case, 95 % intervals."
    mechanism = result.question.mechanism
    if mechanism is None:
        return measured
    values = [(name, getattr(mechanism, name)) for name in ("epsilon", *mechanism.parameters())]
    named = [f"{name} {number(x) if isinstance(x, float) else x}" for name, x in values]
    return f"{mechanism.name}: {', '.join(named)}.\n{measured}"


def _conclusion(result: Evaluation) -> str:
    unchanged = written(result.unchanged[WordClass.ALL], intervals=False)
    told = f"{unchanged} of the words stand unchanged."
    if result.question.mechanism is None:
        return f"{told} No attacker was tried: the mechanism is not given."
    best = result.best
    read = written(best.success[WordClass.ALL], intervals=False)
    told += f" The best attacker here ({best.attack}) reads back {read}"
    listed = best.success[WordClass.LISTED]
    if listed.total:
        told += f", and {written(listed, intervals=False)} of the words of classes"
    return f"{told}. A stronger attacker may read more."


def _table(title: str, columns: Mapping[str, Mapping[Any, Share]], **more: Any) -> Section:
    """Return how many there are of each kind, and their shares side by side; empty if none."""
    first = next(iter(columns.values()), {})
    rows: list[Sequence[Cell]] = [
        (str(kind)[:40], first[kind].total, *(column[kind] for column in columns.values()))
        for kind in first
    ]
    return Section((title, more.pop("of", "words"), *columns), rows, **more)


def _attacks(title: str, attacks: Sequence[Attack]) -> Section:
    notes = [f"{attack.attack}: {attack.name}" for attack in attacks]
    return _table(title, {attack.attack: attack.success for attack in attacks}, notes=notes)


def _spans(result: Evaluation) -> list[Section]:
    if result.spans is None:
        return []
    left, out = result.spans["left_out"], []
    notes = [f"left out: {left} spans without words or not aligned"] if left else []
    for name in dict.fromkeys(("verbatim", result.best.attack)):
        kinds, title = result.spans["by_attack"][name], "as written" if name == "verbatim" else name
        parts = {"fully": "fully", "partly": "partly", "not": "none"}
        columns = {
            head: {kind: kinds[kind][part] for kind in kinds} for head, part in parts.items()
        }
        out.append(_table(f"spans, {title}", columns, of="spans", notes=notes, intervals=False))
    if persons := result.spans.get("persons"):
        out.append(_table("persons, by attack", {"fully hidden": persons}, of="persons"))
    return out


def _accuracy(result: Evaluation) -> list[Section]:
    accuracy = result.accuracy
    if accuracy is None:
        return []
    notes = [
        f"{accuracy.classes} classes, {accuracy.train} training and {accuracy.test} test records",
        f"always the most frequent label: {written(accuracy.majority)}",
    ]
    tested = [f"tested on {version}" for version in VERSIONS]
    rows: list[tuple[Cell, ...]]
    rows = [(f"on {a}", *(accuracy.pairs[a, b] for b in VERSIONS)) for a in VERSIONS]
    return [Section(("accuracy, trained", *tested), rows, notes)]
