"""Measure what a sanitized text kept of its original, and what attackers read back.

Knows two versions of a text, a vocabulary and perhaps the mechanism between them.  Must not know
command lines.  Results hold figures only: no word of a text, no label, no file's content.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dpsan.analysis.evaluate import accuracy
from dpsan.analysis.evaluate.accuracy import Accuracy, Labelled, read_labels
from dpsan.analysis.evaluate.attack import (
    Attack,
    attacks,
    hidden_persons,
    locate,
    recovered,
    strongest,
)
from dpsan.analysis.evaluate.pairs import Inputs, Pairs, read_pairs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary, WordClass
from dpsan.analysis.pages.sections import by_name
from dpsan.embeddings.base import Embeddings
from dpsan.errors import ExtraMissingError, InputError
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.distributions import check_outputs, cosines
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.outcomes.language.ngrams import Ngrams, model_for
from dpsan.space.arrays import unit_rows
from dpsan.space.metric_space import MetricSpace
from dpsan.version import __version__


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
    unchanged: dict[WordClass, Share]
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


def check(question: Question) -> None:
    """Complain about what would fail late, before the long work.

    Raises:
        ExtraMissingError: a library is not installed.
    """
    if question.labels is not None and find_spec("sklearn") is None:
        raise ExtraMissingError("--labels", "evaluate")


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
        table = locate(question.spans, pairs, whole=inputs.max_records is None)
    judged = None
    if question.labels is not None:
        judged = accuracy.judge(*accuracy.split(_labelled(question, question.labels)))
    model, _ = model_for(embeddings) or (None, "")
    report("attacks on words", 0.2)
    made, impossible = attacks(pairs, vocabulary, space, question.mechanism, model)
    spans = None
    if table is not None:
        by_attack = {attack.attack: recovered(table, attack.right) for attack in made}
        best = strongest(made).attack
        spans = {"left_out": table.left_out, "best_attack": best, "by_attack": by_attack}
        if (table.persons >= 0).any():
            spans["persons"] = {
                attack.attack: hidden_persons(table, attack.right) for attack in made
            }
    shape = {"words": embeddings.n, "dimensions": embeddings.d}
    return Evaluation(
        question=question,
        embeddings={"source": Path(embeddings.source).name, "digest": embeddings.digest, **shape},
        records=pairs.records,
        texts=len(pairs.original),
        unaligned=pairs.unaligned,
        words=len(pairs.same),
        unchanged=made[0].success,  # reading the output as it stands
        cosine=_mean_cosine(pairs, space),
        attacks=made,
        impossible_outputs=impossible,
        spans=spans,
        accuracy=judged,
        notes=_notes(question, pairs, impossible, model),
    )


def _mean_cosine(pairs: Pairs, space: MetricSpace) -> dict[str, float | None]:
    both = (pairs.inputs < space.n) & (pairs.outputs >= 0)
    similarities = cosines(unit_rows(space.vectors), pairs.inputs[both], pairs.outputs[both])
    return {
        "mean": float(similarities.mean()) if len(similarities) else None,
        "words": len(similarities),
    }


def _labelled(question: Question, column: str) -> Labelled:
    """Return the texts of two files with labels; of each one the first copy."""
    inputs, copies = question.inputs, question.copies
    most = None if inputs.max_records is None else copies * inputs.max_records
    original, sanitized = question.original, question.sanitized
    clean, other = (
        [" ".join(record.texts) for record in records(path, replace(inputs, max_records=many))]
        for path, many in ((original, inputs.max_records), (sanitized, most))
    )
    labels, other = read_labels(original, column, inputs), other[::copies]
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
    return tuple(note for note, holds in notes.items() if holds)
