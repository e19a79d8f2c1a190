"""Set every mechanism to the same certified LDP epsilons and measure the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from dpsan.analysis.compare.measure import Figure, Folds, measure
from dpsan.analysis.compare.texts import Corpus, public_words, read_corpus
from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.base import Embeddings
from dpsan.errors import DpsanError, ExtraMissingError, UnexpectedError
from dpsan.mechanisms import is_own, space_for
from dpsan.outcomes.calibrate import calibrate
from dpsan.outcomes.calibrate.target import Draft, Target
from dpsan.outcomes.distributions import Progress, part_of
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.space.metric_space import MetricSpace

Report = Callable[[str, float], None]
"""Called with what is done now and the share of all work that is done."""


@dataclass(frozen=True)
class Request:
    """Mechanisms, epsilons and texts of one comparison."""

    drafts: Sequence[Draft]
    epsilons: Sequence[float]
    """Certified LDP epsilons, nats."""
    seeds: int = 5
    data: Path | None = None
    """File of texts; None: words of the vocabulary."""
    inputs: Inputs = field(default_factory=Inputs)
    labels: str | None = None
    """Field with the labels of the records."""


@dataclass(frozen=True)
class Row:
    """A mechanism at an epsilon: its figures, or the reason why it has none."""

    mechanism: str
    status: str
    wanted: float
    """LDP epsilon, nats."""
    figures: Mapping[str, Figure | None] = field(default_factory=dict)
    reason: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    certified: float | None = None
    """At most ``wanted``, by up to 0.2 %."""
    exact: bool = False
    """True if an exact certificate gives ``certified``; else the guarantee or a claim does."""
    delta: float = 0.0
    epsilon: float | None = None
    unit: str = ""
    """Unit of ``epsilon``: nats or 1/distance."""
    optimal: bool = True
    """True if the attackers know the distribution; else their success is a lower bound."""

    @property
    def certificate(self) -> str | None:
        """Source of the LDP epsilon: ``exact`` certificate, ``guarantee`` or ``claim``."""
        if self.reason or self.exact:
            return None if self.reason else "exact"
        return "claim" if self.status == UNREVIEWED else "guarantee"


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they are of."""

    request: Request
    rows: Sequence[Row]
    about: str
    """The texts, in a phrase."""
    baseline: Mapping[str, Figure | None]
    """Accuracies of the texts as they are; empty without labels."""

    @property
    def measured(self) -> list[Row]:
        """Return the rows with figures."""
        return [row for row in self.rows if not row.reason]


def compare(
    request: Request,
    embeddings: Embeddings,
    space: MetricSpace,
    report: Report = lambda what, share: None,
) -> Comparison:
    """Measure every mechanism at every epsilon.

    A mechanism that fails, or cannot be set to an epsilon, gets a row with the reason.

    Raises:
        InputError: the data cannot be read, or holds no words.
        UsageError: labels that cannot be learnt.
        ExtraMissingError: labels are given, and scikit-learn is not installed.
    """
    if request.labels is not None and find_spec("sklearn") is None:
        raise ExtraMissingError("--labels", "evaluate")
    vocabulary, folds = Vocabulary(embeddings, "unicode"), None
    if request.data is None:
        corpus = public_words(vocabulary, space)
    else:
        corpus = read_corpus(request.data, request.inputs, request.labels, vocabulary)
    if request.labels is not None:
        report("classifiers of the original texts", 0.0)
        folds = Folds(corpus, embeddings.index_to_key, request.seeds)
    rows = []
    pairs = list(product(request.drafts, request.epsilons))
    for at, (draft, epsilon) in enumerate(pairs):
        what = partial(report, f"{draft.kind.name} at LDP epsilon {epsilon:g}")
        tell = part_of(what, at / len(pairs), (at + 1) / len(pairs))
        tell(0.0)
        rows.append(_row(draft, epsilon, (corpus, folds, request.seeds), space, tell))
    return Comparison(request, rows, corpus.about, {} if folds is None else folds.baseline())


def _row(
    draft: Draft,
    epsilon: float,
    texts: tuple[Corpus, Folds | None, int],
    space: MetricSpace,
    progress: Progress,
) -> Row:
    """Return the figures of a mechanism at an epsilon, or why there are none."""
    kind = draft.kind
    status = UNREVIEWED if is_own(kind.name) else str(kind.status)
    space = space_for(space, kind.name)
    try:
        found = calibrate(draft, space, Target.EPSILON_LDP, epsilon, claims=True)
        mechanism = found.mechanism.resolved(space)
        figures, optimal = measure(mechanism, *texts, space, progress)
    except Exception as error:  # noqa: BLE001, a mechanism that fails takes no other one's row
        told = error if isinstance(error, DpsanError) else UnexpectedError(error)
        # The mechanism's name stands beside it.
        reason = told.on_command_line().removeprefix(f"{kind.name} ")
        return Row(kind.name, status, epsilon, reason=reason)
    return Row(
        mechanism=kind.name,
        status=status,
        wanted=epsilon,
        figures=figures,
        parameters={name: getattr(mechanism, name) for name in mechanism.parameters()},
        certified=found.achieved,
        exact=found.exact,
        delta=mechanism.guarantee(space).delta,
        epsilon=mechanism.epsilon,
        unit=mechanism.epsilon_unit,
        optimal=optimal,
    )
