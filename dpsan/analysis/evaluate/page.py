"""Sentences and tables about an evaluation, for the terminal and a page.  They contain no text."""

from __future__ import annotations

from dpsan.analysis.evaluate import Evaluation
from dpsan.analysis.evaluate.accuracy import VERSIONS
from dpsan.analysis.evaluate.readability import Readability
from dpsan.analysis.evaluate.vocabulary import WordClass
from dpsan.analysis.pages.sections import Cell, Section, Shown, written
from dpsan.mechanisms.base import Mechanism
from dpsan.text.numerals import counted, number

Rows = list[tuple[Cell, ...]]


def shown(found: Evaluation) -> Shown:
    """Return all figures, in the order in which they are read."""
    return Shown(about(found), sections(found), conclusion(found), warnings=found.notes)


def about(found: Evaluation) -> str:
    """Describe the evaluation in two sentences."""
    size = f"{counted(found.records, 'record')}, {counted(found.words, 'word')}"
    measured = f"{size}; compared without letter case, 95 % intervals."
    mechanism = found.question.mechanism
    if mechanism is None:
        return measured
    values = [f"{name} {value}" for name, value in _parameters(mechanism)]
    return f"{mechanism.name}: {', '.join(values)}.\n{measured}"


def _parameters(mechanism: Mechanism) -> list[tuple[str, str]]:
    values = [(name, getattr(mechanism, name)) for name in ("epsilon", *mechanism.parameters())]
    return [(name, number(each) if isinstance(each, float) else str(each)) for name, each in values]


def conclusion(found: Evaluation) -> str:
    """Return the sentence that an evaluation begins with."""
    unchanged = written(found.unchanged[WordClass.ALL], intervals=False)
    told = f"{unchanged} of the words stand unchanged."
    if found.question.mechanism is None:
        return f"{told} No attacker was tried: the mechanism is not given."
    best = found.best
    read = written(best.shares[WordClass.ALL], intervals=False)
    told += f" The best attacker here ({best.key}) reads back {read}"
    listed = best.shares[WordClass.LISTED]
    if listed.total:
        told += f", and {written(listed, intervals=False)} of the words of classes"
    return f"{told}. A stronger attacker may read more."


def sections(found: Evaluation) -> list[Section]:
    """Return all figures, in the order in which they are read."""
    unchanged: Rows = [(str(kind), each.total, each) for kind, each in found.unchanged.items()]
    out = [Section(("kept", "words", "unchanged"), unchanged)]
    mean, many = found.cosine
    cosine = ("cosine", mean, f"of word and output, mean over {number(many)} words")
    out.append(Section(("similarity", "value", "what it is"), [cosine]))
    if found.readability is not None:
        out.append(_readability(found.readability))
    readers = [each for each in found.attacks[1:] if each.key != "informed"]
    informed = [each for each in found.attacks if each.key == "informed"]
    for attacks in filter(None, (readers, informed)):  # apart: three do not fit a terminal
        notes = [f"{each.key}: {each.name}" for each in attacks]
        rows: Rows = [
            (str(kind), share.total, *(each.shares[kind] for each in attacks))
            for kind, share in found.unchanged.items()
        ]
        title = "others known" if attacks is informed else "read back"
        out.append(Section((title, "words", *(each.key for each in attacks)), rows, notes))
    classes: Rows = [(c.name, c.read.total, c.unchanged, c.read) for c in found.classes]
    if classes:
        notes = ["read back by what the group and the words around it give away"]
        head = ("class", "words", "unchanged", "read back")
        out.append(Section(head, classes, notes))
    return [*out, *_linkage(found), *_authors(found), *_spans(found), *_accuracy(found)]


def _readability(readable: Readability) -> Section:
    rows: Rows = []
    for name, value, times in readable.rows:
        whole = None if value is None else round(value)
        rows.append((name, whole, None if times is None else round(times, 2)))
    notes = [f"trigrams of {number(readable.public_words)} words of public text"]
    if readable.verdict is not None:
        notes.append(readable.verdict)
    return Section(("readability", "perplexity", "times the original's"), rows, notes)


def _spans(found: Evaluation) -> list[Section]:
    if found.span_recovery is None:
        return []
    out = []
    for name in dict.fromkeys(("verbatim", found.best.key)):
        title = f"spans, {'as written' if name == 'verbatim' else name}"
        kinds = found.span_recovery[name].items()
        rows: Rows = [(kind[:40], each["fully"].total, *each.values()) for kind, each in kinds]
        left = found.spans_left_out
        notes = [f"left out: {left} spans without words or not aligned"] if left else []
        columns = (title, "spans", "fully", "partly", "not")
        out.append(Section(columns, rows, notes, intervals=False))
    return out


def _linkage(found: Evaluation) -> list[Section]:
    if found.linkage is None:
        return []
    rows: Rows = []
    for each in found.linkage.rows:
        seen = "all" if each.words is None else f"first {each.words}"
        rank = f"{each.rank.value:g} ({each.rank.low:g}-{each.rank.high:g})"
        rows.append((each.reader, seen, each.candidates, each.first.total, each.first, rank))
    columns = ("original found by", "words", "among", "texts", "first", "rank")
    return [Section(columns, rows, found.linkage.notes)]


def _authors(found: Evaluation) -> list[Section]:
    authors = found.authors
    if authors is None:
        return []
    rows: Rows = [(name, share.total, share) for name, share in authors.shares.items()]
    learnt = f"{authors.authors} authors, learnt from {number(authors.known)} other texts"
    notes = [f"{learnt}; a guess at random is right in {100 * authors.chance:.2f} %"]
    if authors.left_out:
        notes.append(f"left out: {number(authors.left_out)} texts whose author has no other one")
    return [Section(("author found", "texts", "share"), rows, notes)]


def _accuracy(found: Evaluation) -> list[Section]:
    accuracy = found.accuracy
    if accuracy is None:
        return []
    notes = [
        f"{accuracy.classes} classes, {accuracy.train} training and {accuracy.test} test records",
        f"always the most frequent label: {written(accuracy.majority)}",
    ]
    tested = [f"tested on {each}" for each in VERSIONS]
    rows: Rows = [(f"on {a}", *(accuracy.pairs[a, b] for b in VERSIONS)) for a in VERSIONS]
    weighted: Rows = [(f"on {a}", *(accuracy.f1[a, b] for b in VERSIONS)) for a in VERSIONS]
    one = Section(("accuracy, trained", *tested), rows, notes)
    return [one, Section(("weighted F1, trained", *tested), weighted)]
