"""Sentences and tables about an evaluation, for the terminal and a page.  They contain no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpsan.analysis.evaluate import Evaluation
from dpsan.analysis.evaluate.accuracy import VERSIONS
from dpsan.analysis.evaluate.attack import Attack
from dpsan.analysis.evaluate.readability import Readability
from dpsan.analysis.evaluate.vocabulary import WordClass
from dpsan.analysis.pages.sections import Cell, Section, Shown, written
from dpsan.outcomes.intervals import Share
from dpsan.text.numerals import counted, number


def shown(found: Evaluation) -> Shown:
    """Return all figures, in the order in which they are read."""
    mean, many = found.cosine.values()
    cosine = ("cosine", mean, f"of word and output, mean over {number(many)} words")
    parts = [
        _table("kept", {"unchanged": found.unchanged}),
        Section(("similarity", "value", "what it is"), [cosine]),
        *([] if found.readability is None else [_readability(found.readability)]),
    ]
    readers = [each for each in found.attacks[1:] if each.attack != "informed"]
    informed = [each for each in found.attacks if each.attack == "informed"]
    # Apart: three do not fit a terminal.
    parts += [_attacks("read back", readers), _attacks("others known", informed)]
    parts += [_classes(found), *_linkage(found), *_authors(found), *_spans(found)]
    return Shown(_about(found), parts + _accuracy(found), _conclusion(found), warnings=found.notes)


def _about(found: Evaluation) -> str:
    size = f"{counted(found.records, 'record')}, {counted(found.words, 'word')}"
    measured = f"{size}; compared without letter case, 95 % intervals."
    mechanism = found.question.mechanism
    if mechanism is None:
        return measured
    values = [(name, getattr(mechanism, name)) for name in ("epsilon", *mechanism.parameters())]
    named = [f"{name} {number(x) if isinstance(x, float) else x}" for name, x in values]
    return f"{mechanism.name}: {', '.join(named)}.\n{measured}"


def _conclusion(found: Evaluation) -> str:
    unchanged = written(found.unchanged[WordClass.ALL], intervals=False)
    told = f"{unchanged} of the words stand unchanged."
    if found.question.mechanism is None:
        return f"{told} No attacker was tried: the mechanism is not given."
    best = found.best
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
        (str(kind)[:40], first[kind].total, *(each[kind] for each in columns.values()))
        for kind in first
    ]
    return Section((title, more.pop("of", "words"), *columns), rows, **more)


def _attacks(title: str, attacks: Sequence[Attack]) -> Section:
    notes = [f"{each.attack}: {each.name}" for each in attacks]
    return _table(title, {each.attack: each.success for each in attacks}, notes=notes)


def _classes(found: Evaluation) -> Section:
    rows = [(c.class_, c.read_back.total, c.unchanged, c.read_back) for c in found.classes]
    notes = ["read back by what the group and the words around it give away"] * bool(rows)
    return Section(("class", "words", "unchanged", "read back"), rows, notes)


def _readability(readable: Readability) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, value, times in readable.rows:
        whole = None if value is None else round(value)
        rows.append((name, whole, None if times is None else round(times, 2)))
    notes = [f"trigrams of {number(readable.public_words)} words of public text"]
    notes += filter(None, [readable.verdict])
    return Section(("readability", "perplexity", "times the original's"), rows, notes)


def _spans(found: Evaluation) -> list[Section]:
    if found.spans is None:
        return []
    left, out = found.spans["left_out"], []
    notes = [f"left out: {left} spans without words or not aligned"] if left else []
    for name in dict.fromkeys(("verbatim", found.best.attack)):
        kinds, title = found.spans["by_attack"][name], "as written" if name == "verbatim" else name
        parts = {"fully": "fully", "partly": "partly", "not": "none"}
        columns = {
            head: {kind: kinds[kind][part] for kind in kinds} for head, part in parts.items()
        }
        out.append(_table(f"spans, {title}", columns, of="spans", notes=notes, intervals=False))
    if persons := found.spans.get("persons"):
        out.append(_table("persons, by attack", {"fully hidden": persons}, of="persons"))
    return out


def _linkage(found: Evaluation) -> list[Section]:
    if found.linkage is None:
        return []
    rows: list[tuple[Cell, ...]] = []
    for each in found.linkage.readers:
        seen = "all" if each.words is None else f"first {each.words}"
        rank = f"{each.median_rank.value:g} ({each.median_rank.low:g}-{each.median_rank.high:g})"
        rows.append((each.reader, seen, each.candidates, each.first.total, each.first, rank))
    columns = ("original found by", "words", "among", "texts", "first", "rank")
    return [Section(columns, rows, found.linkage.notes)]


def _authors(found: Evaluation) -> list[Section]:
    authors = found.authors
    if authors is None:
        return []
    learnt = f"{authors.authors} authors, learnt from {number(authors.known)} other texts"
    notes = [f"{learnt}; a guess at random is right in {100 * authors.chance:.2f} %"]
    if authors.left_out:
        notes.append(f"left out: {number(authors.left_out)} texts whose author has no other one")
    return [_table("author found", {"share": authors.readers}, of="texts", notes=notes)]


def _accuracy(found: Evaluation) -> list[Section]:
    accuracy = found.accuracy
    if accuracy is None:
        return []
    notes = [
        f"{accuracy.classes} classes, {accuracy.train} training and {accuracy.test} test records",
        f"always the most frequent label: {written(accuracy.majority)}",
    ]
    tested = [f"tested on {each}" for each in VERSIONS]
    one, other = (
        [(f"on {a}", *(pairs[a, b] for b in VERSIONS)) for a in VERSIONS]
        for pairs in (accuracy.pairs, accuracy.f1)
    )
    first = Section(("accuracy, trained", *tested), one, notes)
    return [first, Section(("weighted F1, trained", *tested), other)]
