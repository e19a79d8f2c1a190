"""Measure what a sanitized text kept of its original, and what attackers read back.

Knows two versions of a text, a vocabulary and perhaps the mechanism between them.  Must not know
command lines.  Results hold figures only: no word of a text, no label, no file's content.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpsan import __version__
from dpsan.analysis.evaluate import accuracy
from dpsan.analysis.evaluate import attack as reading
from dpsan.analysis.evaluate.accuracy import VERSIONS, Accuracy, Labelled, read_labels
from dpsan.analysis.evaluate.attack import Attack, attacks, strongest
from dpsan.analysis.evaluate.pairs import Inputs, Pairs, read_pairs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary, WordKind
from dpsan.analysis.pages import Cell, Section, Shown, by_name, holding, written
from dpsan.embeddings.words import Embeddings
from dpsan.errors import InputError, counted, number
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.distributions import check_outputs, cosines
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.ngrams import Ngrams, model_for
from dpsan.space.arrays import unit_rows
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class Question:
    """Files, mechanism and options of an evaluation.

    Args:
        mechanism: between the two, None if it is not known: then there are no attacks.
        spans: file of spans of personal data.
        copies: versions of each record in the sanitized file, one after the other: attackers who
            know the mechanism get all.
    """

    original: Path
    sanitized: Path
    inputs: Inputs = field(default_factory=Inputs)
    mechanism: Mechanism | None = None
    tokenizer: str = "unicode"
    spans: Path | None = None
    labels: str | None = None
    copies: int = 1
    audited: bool = False
    """True if an audit says that the mechanism wrote the sanitized texts."""
    by_value: bool = False
    """True if numbers were drawn by value, which no attack here models."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All figures."""

    question: Question = field(repr=False)
    embeddings: dict[str, Any] = field(repr=False)
    records: int
    texts: int
    unaligned: int
    words: int
    confidence: float = CONFIDENCE
    unchanged: dict[WordKind, Share]
    cosine: dict[str, float | None]
    """Mean cosine of word and output, and the number of words whose both are known."""
    attacks: tuple[Attack, ...]
    impossible_outputs: int
    """Output words that the mechanism cannot have given."""
    spans: dict[str, Any] | None
    """Spans that were left out, the best attack, shares by attack, then by type, and the shares of
    persons fully hidden by attack, where spans have a subject.
    """
    accuracy: Accuracy | None
    notes: tuple[str, ...]

    @property
    def best(self) -> Attack:
        """Return the attack that was right most often, of those who know no word of the text."""
        return strongest(self.attacks)

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        mechanism = self.question.mechanism
        names = () if mechanism is None else mechanism.parameters()
        about = {
            "dpsan": __version__,
            "original": str(self.question.original),
            "sanitized": str(self.question.sanitized),
            "embeddings": self.embeddings,
            "tokenizer": self.question.tokenizer,
            "mechanism": None if mechanism is None else mechanism.name,
            "epsilon": None if mechanism is None else mechanism.epsilon,
            "parameters": {name: getattr(mechanism, name) for name in names},
        }
        return {**about, **by_name(self)}


def evaluate(
    question: Question,
    embeddings: Embeddings,
    space: MetricSpace,
    *,
    report: Callable[[str, float], None] = lambda what, share: None,
) -> Evaluation:
    """Judge a sanitized text.

    Args:
        report: called with what is done now, and the share of the steps before it.

    Raises:
        InputError: a file cannot be read, or does not fit the others.
        ExtraMissingError: a library is not installed.
        UsageError: labels that cannot be learnt, or texts of other settings.
    """
    vocabulary, inputs = Vocabulary(embeddings, question.tokenizer), question.inputs
    paths = question.original, question.sanitized
    pairs = read_pairs(*paths, inputs, vocabulary, question.copies)
    if not len(pairs.text):
        hint = "is it the right file, and --field?"
        if pairs.unaligned:
            what = f"no text has the shape of one of {question.original}, from line"
            raise InputError(question.sanitized, f"{what} {pairs.lines[0]} on", hint)
        raise InputError(question.original, "no words, so there is nothing to compare", hint)
    if not (question.mechanism is None or question.audited or question.spans):
        shown = pairs.outputs[pairs.outputs >= 0]
        check_outputs(question.mechanism.prepare(space), np.bincount(shown, minlength=space.n))
    table = None
    if question.spans is not None:  # mistakes in small files come before the long work
        table = reading.locate(question.spans, pairs)
    judged = None
    if question.labels is not None:
        judged = accuracy.judge(*accuracy.split(_labelled(question, question.labels)))
    model, _ = model_for(embeddings) or (None, "")
    report("attacks on words", 0.2)
    made, impossible = attacks(pairs, vocabulary, space, question.mechanism, model)
    spans = None
    if table is not None:
        by_attack = {attack.attack: reading.recovered(table, attack.right) for attack in made}
        best = strongest(made).attack
        spans = {"left_out": table.left_out, "best_attack": best, "by_attack": by_attack}
        if (table.persons >= 0).any():
            spans["persons"] = {
                attack.attack: reading.hidden_persons(table, attack.right) for attack in made
            }
    both = (pairs.inputs < space.n) & (pairs.outputs >= 0)
    similar = cosines(unit_rows(space.vectors), pairs.inputs[both], pairs.outputs[both])
    mean = float(similar.mean()) if len(similar) else None
    return Evaluation(
        question=question,
        embeddings=embeddings.told(),
        records=pairs.records,
        texts=len(pairs.original),
        unaligned=pairs.unaligned,
        words=len(pairs.same),
        unchanged=made[0].success,  # reading the output as it stands
        cosine={"mean": mean, "words": len(similar)},
        attacks=made,
        impossible_outputs=impossible,
        spans=spans,
        accuracy=judged,
        notes=_notes(question, pairs, impossible, model),
    )


def _labelled(question: Question, column: str) -> Labelled:
    """Return the texts of two files with labels; of each one the first copy."""
    inputs, original, sanitized = question.inputs, question.original, question.sanitized
    clean, other = (
        [" ".join(record.texts) for record in records(path, inputs)]
        for path in (original, sanitized)
    )
    labels, other = read_labels(original, column, inputs), other[:: question.copies]
    if not len(clean) == len(other) == len(labels):
        what = f"{len(other)} records where {original} has {len(clean)}, with {len(labels)} labels"
        raise InputError(sanitized, what, "in order")
    return Labelled(clean, other, labels)


def _notes(
    question: Question, pairs: Pairs, impossible: int, model: Ngrams | None
) -> tuple[str, ...]:
    unknown = question.mechanism is None
    unread = "no attack that reads context: only the bundled vocabulary has a language model"
    wrong = f"{impossible} words cannot be outputs of this mechanism"
    notes = {
        f"{pairs.unaligned} of {len(pairs.original)} texts could not be aligned and are left out "
        "of all figures by word": pairs.unaligned,
        "no attack but reading: the mechanism is not given (--epsilon or --audit)": unknown,
        f"{len(pairs.more) + 1} noisings: what was kept is judged by the first one; attackers who "
        "know the mechanism read all of them": pairs.more,
        unread: model is None and not unknown,
        "numbers were drawn by value, which the attacks do not know: what they read back of "
        "numbers is less than others would": question.by_value,
        f"{wrong}: is it the one that was used, and the first file the original?": impossible,
    }
    return tuple(holding(notes))


# Sentences and tables about an evaluation, for the terminal and a page.  They contain no text.


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
    unchanged = written(result.unchanged[WordKind.ALL], intervals=False)
    told = f"{unchanged} of the words stand unchanged."
    if result.question.mechanism is None:
        return f"{told} No attacker was tried: the mechanism is not given."
    best = result.best
    read = written(best.success[WordKind.ALL], intervals=False)
    told += f" The best attacker here ({best.attack}) reads back {read}"
    listed = best.success[WordKind.LISTED]
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
