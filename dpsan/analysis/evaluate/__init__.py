"""What a sanitized text kept of its original, and what a reader who attacks it can read back.

Knows two versions of a text, a vocabulary and perhaps the mechanism between them.  Must not know
command lines.  Results hold figures only: no word of a text, no label, no file's content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from dpsan import __version__
from dpsan.analysis.evaluate import accuracy, similarity, spans
from dpsan.analysis.evaluate.accuracy import Accuracy, Labelled
from dpsan.analysis.evaluate.attack import Attack, attacks
from dpsan.analysis.evaluate.pairs import Inputs, Pairs, read_pairs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary, WordClass
from dpsan.embeddings.base import Embeddings
from dpsan.errors import ExtraMissingError, InputError
from dpsan.formats.base import ReadOptions
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.intervals import CONFIDENCE, Share
from dpsan.space.metric_space import MetricSpace

__all__ = ["Evaluation", "Question", "check", "evaluate"]

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Question:
    """What is to be judged.

    Args:
        original: file of the texts.
        sanitized: file of their sanitized versions.
        mechanism: between the two, None if it is not known: then there are no attacks.
        tokenizer: name of the tokenizer that was used.
        public: files of public text, for the attack that reads context.
        spans: file of spans of personal data.
        labels: column of the labels.
        test: original and sanitized test records; without them every fifth record is one.
    """

    original: Path
    sanitized: Path
    inputs: Inputs = field(default_factory=Inputs)
    mechanism: Mechanism | None = None
    tokenizer: str = "unicode"
    public: Sequence[Path] = ()
    spans: Path | None = None
    labels: str | None = None
    test: tuple[Path, Path] | None = None


@dataclass(frozen=True)
class Evaluation:
    """All figures."""

    question: Question
    embeddings: dict[str, Any]
    records: int
    texts: int
    unaligned: int
    words: int
    unchanged: dict[WordClass, Share]
    cosine: tuple[float | None, int]
    rouge: dict[str, float] | None
    bleu: dict[str, Any] | None
    lengths: dict[str, dict[str, Any]]
    attacks: tuple[Attack, ...]
    public_words: int
    impossible: int
    """Output words that the mechanism cannot have given."""
    span_recovery: dict[str, dict[str, spans.Recovery]] | None
    """By attack, then by type."""
    spans_left_out: int
    accuracy: Accuracy | None
    notes: tuple[str, ...]

    @property
    def best(self) -> Attack:
        """The attack that was right most often."""
        return max(self.attacks, key=lambda each: each.shares[WordClass.ALL].value or 0.0)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        mechanism = self.question.mechanism
        return {
            "dpsan": __version__,
            "original": str(self.question.original),
            "sanitized": str(self.question.sanitized),
            "embeddings": self.embeddings,
            "tokenizer": self.question.tokenizer,
            "mechanism": None if mechanism is None else mechanism.name,
            "epsilon": None if mechanism is None else mechanism.epsilon,
            "parameters": {}
            if mechanism is None
            else {name: getattr(mechanism, name) for name in mechanism.parameters()},
            "records": self.records,
            "texts": self.texts,
            "unaligned": self.unaligned,
            "words": self.words,
            "confidence": CONFIDENCE,
            "unchanged": {str(kind): share.as_json() for kind, share in self.unchanged.items()},
            "cosine": {"mean": self.cosine[0], "words": self.cosine[1]},
            "rouge1": self.rouge,
            "bleu": self.bleu,
            "length": self.lengths,
            "attacks": [each.as_json() for each in self.attacks],
            "public_words": self.public_words,
            "impossible_outputs": self.impossible,
            "spans": None
            if self.span_recovery is None
            else {
                "left_out": self.spans_left_out,
                "best_attack": self.best.key,
                "by_attack": {
                    name: {kind: _recovery(each) for kind, each in kinds.items()}
                    for name, kinds in self.span_recovery.items()
                },
            },
            "accuracy": None if self.accuracy is None else self.accuracy.as_json(),
            "notes": list(self.notes),
        }


def _recovery(each: spans.Recovery) -> dict[str, Any]:
    return {
        "fully": Share(each.fully, each.total).as_json(),
        "partly": Share(each.partly, each.total).as_json(),
        "none": Share(each.none, each.total).as_json(),
    }


_SCORERS: Final = {"rouge_score": "ROUGE", "sacrebleu": "BLEU"}
"""Libraries of the extra ``evaluate``."""


def check(question: Question, *, scores: bool = True) -> None:
    """Complain about what would fail late, before the long work.

    Args:
        question: files and mechanism.
        scores: whether ROUGE and BLEU are wanted.

    Raises:
        InputError: a file of public text cannot be read.
        ExtraMissingError: a library is not installed.
    """
    for library, name in _SCORERS.items() if scores else ():
        if find_spec(library) is None:
            raise ExtraMissingError(f"{name} (see --no-scores)", "evaluate")
    if question.labels is not None and find_spec("sklearn") is None:
        raise ExtraMissingError("--labels", "evaluate")
    for path in question.public:
        if path.is_file() or not path.exists():  # a pipe can be read only once
            next(_lines([path]), None)


_READ: Final = 0.2
"""Share of the work, about, that reading is."""
_LEARNT: Final = 0.6
"""Share that reading is with learning from public text."""
_CHARACTERS: Final = 500_000


def evaluate(
    question: Question,
    embeddings: Embeddings,
    space: MetricSpace,
    *,
    scores: bool = True,
    progress: Progress = lambda _: None,
) -> Evaluation:
    """Judge a sanitized text.

    Args:
        question: files and mechanism.
        embeddings: those that were used for rewriting.
        space: of the same.
        scores: compute ROUGE and BLEU, which need an extra.
        progress: called with the share of the work done, 0 ... 1.

    Raises:
        InputError: a file cannot be read, or does not fit the others.
        ExtraMissingError: a library is not installed.
        UsageError: labels that cannot be learnt.
    """
    vocabulary = Vocabulary(embeddings, question.tokenizer)
    pairs = read_pairs(question.original, question.sanitized, question.inputs, vocabulary)
    progress(_READ)
    table = None
    if question.spans is not None:  # mistakes in small files come before the long work
        found = spans.read_spans(question.spans, question.inputs.max_records)
        table = spans.locate(question.spans, found, pairs)
    judged = None if question.labels is None else _accuracy(question, question.labels, pairs)
    read = _LEARNT if question.public else _READ
    public = _public_lines(question.public, lambda share: progress(_READ + (read - _READ) * share))
    result = attacks(
        pairs,
        vocabulary,
        space,
        question.mechanism,
        public if question.public else None,
        lambda share: progress(read + (0.95 - read) * share),
    )
    recovery = None
    if table is not None:
        recovery = {each.key: spans.recovered(table, each.right) for each in result.attacks}
    rouge = bleu = None
    if scores:
        rouge = similarity.rouge(pairs.original, pairs.sanitized)
        bleu = similarity.bleu(pairs.original, pairs.sanitized)
    progress(1.0)
    return Evaluation(
        question=question,
        embeddings={
            "source": Path(embeddings.source).name,
            "digest": embeddings.digest,
            "words": embeddings.n,
            "dimensions": embeddings.d,
        },
        records=pairs.records,
        texts=len(pairs.original),
        unaligned=pairs.unaligned,
        words=len(pairs.same),
        unchanged=result.attacks[0].shares,  # reading the output as it stands
        cosine=similarity.cosines(pairs, space.vectors),
        rouge=rouge,
        bleu=bleu,
        lengths=similarity.lengths(pairs, vocabulary.split),
        attacks=result.attacks,
        public_words=result.public_words,
        impossible=result.impossible,
        span_recovery=recovery,
        spans_left_out=0 if table is None else table.left_out,
        accuracy=judged,
        notes=_notes(question, pairs, result.impossible),
    )


def _lines(paths: Sequence[Path]) -> Iterator[str]:
    plain = Inputs("text", ReadOptions())
    for path in paths:
        for record in records(path, plain):
            yield record.strings[0]


def _public_lines(paths: Sequence[Path], progress: Progress) -> Iterator[str]:
    """The lines of public text, and the share of its bytes that has been taken, about."""
    size = sum(path.stat().st_size for path in paths if path.is_file())
    taken = reported = 0
    for line in _lines(paths):
        yield line
        taken += len(line) + 1
        if taken - reported >= _CHARACTERS:
            reported = taken
            progress(min(taken / max(size, 1), 1.0))


def _accuracy(question: Question, column: str, pairs: Pairs) -> Accuracy:
    whole = _labelled(question.original, column, question.inputs, pairs)
    if question.test is None:
        return accuracy.judge(*accuracy.split(whole))
    original, sanitized = question.test
    clean = [" ".join(each.strings) for each in records(original, question.inputs)]
    other = [" ".join(each.strings) for each in records(sanitized, question.inputs)]
    labels = accuracy.read_labels(original, column, question.inputs)
    if not len(clean) == len(other) == len(labels):
        raise InputError(
            sanitized, f"{len(other)} records where {original} has {len(clean)}", "in order"
        )
    return accuracy.judge(whole, Labelled(clean, other, labels))


def _labelled(path: Path, column: str, inputs: Inputs, pairs: Pairs) -> Labelled:
    labels = accuracy.read_labels(path, column, inputs)
    if len(labels) != pairs.records:
        raise InputError(path, f"{len(labels)} labels for {pairs.records} records")
    each = len(pairs.original) // max(pairs.records, 1)
    if each * pairs.records != len(pairs.original):
        raise InputError(path, "records have different numbers of texts", "--labels needs one")

    def joined(texts: list[str]) -> list[str]:
        return [" ".join(texts[at : at + each]) for at in range(0, len(texts), each)]

    return Labelled(joined(pairs.original), joined(pairs.sanitized), labels)


def _notes(question: Question, pairs: Pairs, impossible: int) -> tuple[str, ...]:
    notes = []
    if pairs.unaligned:
        notes.append(
            f"{pairs.unaligned} of {len(pairs.original)} texts could not be aligned and are left "
            "out of all figures by word"
        )
    if question.mechanism is None:
        notes.append("no attack but reading: the mechanism is not given (--epsilon or --audit)")
    elif not question.public:
        notes.append("no attack that reads context: it needs public text (--public)")
    if impossible:
        notes.append(
            f"{impossible} words cannot be outputs of this mechanism: is it the one that was used?"
        )
    return tuple(notes)
