"""The tables and figures of the papers, on any embedding.

Knows the list of studies and what each can be asked for.  Must not know how one is made: modules,
named like their studies, are loaded when one runs, so the list costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from dpsan.errors import ExtraMissingError, UsageError, check_name

if TYPE_CHECKING:
    from dpsan.analysis.study.base import Result
    from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class Study:
    """What is known of a study before it is loaded."""

    summary: str
    """One line for lists."""
    source: str
    """Bibliography keys and places."""
    least_words: int
    """Words that its vocabulary must have (the bundled one unless another is given); 0: it can do
    without one."""
    uses: frozenset[str]
    """Which of ``mechanisms``, ``epsilons``, ``words`` and ``draws`` mean something to it."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Its own parameters and their meaning; those of mechanisms are not listed."""
    libraries: tuple[str, ...] = ()
    """Modules of the extra ``evaluate`` that it needs."""


_ALL: Final = frozenset({"mechanisms", "epsilons", "words", "draws"})
_DIMENSIONS: Final = "dimensions, separated by commas"
_TEXTS: Final = {
    "train": "file of training texts with labels: CSV, TSV or JSON lines",
    "test": "file of test texts, of the same form; default: every fifth of train",
    "text": "column or key of the text",
    "label": "column or key of the label",
    "header": "yes, or no: columns have numbers, the first is 1",
    "delimiter": "what stands between the cells of CSV, such as ;",
    "records": "how many records of each file are taken, the first",
}
"""Parameters of studies that read labelled public texts."""
FILES: Final = ("train", "test")
"""Those that name files."""

STUDIES: Final[dict[str, Study]] = {
    "neighbours": Study(
        "why noise skips near words: distances and gaps between neighbours",
        "[Curse] Table 2, Figure 6",
        least_words=1,
        uses=frozenset({"words", "epsilons"}),
    ),
    "proportions": Study(
        "original, close and distant outputs against epsilon",
        "[Curse] §2, Figures 1, 2, 8, 9",
        least_words=3,
        uses=_ALL,
        parameters={"d": "principal components that are kept of the words, such as 1"},
    ),
    "dot-product": Study(
        "length of noise, and noise along a fixed direction: density, moments, tail bounds",
        "[Curse] Figure 4, Theorems 7, 8, Corollary 10",
        least_words=0,
        uses=frozenset({"epsilons", "draws"}),
        parameters={"d": _DIMENSIONS},
    ),
    "deniability": Study(
        "words unchanged and distinct outputs: N_w, S_w",
        "[TGumbel] Figures 1, 2",
        least_words=3,
        uses=_ALL,
    ),
    "theorems": Study(
        "claimed against true guarantee of refuted mechanisms",
        "[TrLap] Theorem 3, [TLDP] Theorem 3, Algorithms 1, 2, [TGumbel] Algorithm 2, Appendix C",
        least_words=0,
        uses=frozenset({"mechanisms", "epsilons", "words"}),
        parameters={"d": _DIMENSIONS},
    ),
    "variance": Study(
        "noise of mechanisms at the same true guarantee",
        "[TrLap] Theorem 4, [TLDP] Table V",
        least_words=0,
        uses=frozenset({"mechanisms", "epsilons"}),
        parameters={
            "d": _DIMENSIONS,
            "delta": "delta of mechanisms that need one",
            "clip": "radius that vectors are clipped to, a length",
        },
    ),
    "utility": Study(
        "words kept, ROUGE and accuracy on labelled texts, by method (needs dpsan[evaluate])",
        "[TrLap] Tables 1-3, Figures 2, 3, 5",
        least_words=2,
        uses=frozenset({"mechanisms", "epsilons"}),
        parameters=_TEXTS,
        libraries=("sklearn", "rouge_score"),
    ),
    "robustness": Study(
        "accuracy under attack of classifiers trained on rewrites (needs dpsan[evaluate])",
        "[TGumbel] Tables 2, 3",
        least_words=3,
        uses=frozenset({"mechanisms", "epsilons"}),
        parameters={
            **_TEXTS,
            "copies": "rewrites of each training text",
            "attacked": "how many test texts are attacked, the first",
            "near": "nearest words that an attacker may put in a word's place",
            "changed": "share of the words that an attacker may replace",
        },
        libraries=("sklearn",),
    ),
    "frontier": Study(
        "utility and attack success at equal certified LDP epsilon",
        "this project",
        least_words=3,
        uses=_ALL,
    ),
    "equal": Study(
        "mechanisms where two words are told apart equally well, and at equal certified epsilon",
        "[TeDA]",
        least_words=12,
        uses=frozenset({"mechanisms", "epsilons", "words"}),
        parameters={
            "target": "mean divergence of the two outputs, between 0 and 1",
            "distance": "between the two words, a length",
            "loss": "nats of the hockey-stick divergence; 0: total variation",
        },
    ),
    "linkage": Study(
        "whole texts linked to their originals, by words and epsilon",
        "this project",
        least_words=3,
        uses=_ALL,
        parameters={"candidates": "how many texts the reader holds"},
    ),
}


def find(name: str) -> Study:
    """The entry of a study.  Raises UsageError for an unknown name."""
    check_name("study", name, STUDIES)
    return STUDIES[name]


def study(name: str, space: MetricSpace | None = None, **fields: Any) -> Result:
    """Make a study.

    Args:
        space: the vocabulary; None where the study does without.

    Raises:
        UsageError: an unknown name, a missing or too small vocabulary, or what the study has no
            use for.
        ExtraMissingError: a library that the study needs is not installed.
    """
    import importlib
    from importlib.util import find_spec

    from dpsan.analysis.study.base import Asked
    from dpsan.mechanisms import space_for

    entry, asked = find(name), Asked(**fields)
    least = entry.least_words
    if space is None and least:
        raise UsageError(f"study {name} needs a vocabulary")
    for option in sorted(_ALL - entry.uses):
        if getattr(asked, option) not in (None, (), []):
            raise UsageError(f"study {name} takes no {option}")
    for each in asked.parameters:
        check_name(f"parameter of study {name}:", each, entry.parameters)
    if space is not None:
        if space.n < least:
            raise UsageError(f"study {name} needs a vocabulary of at least {least} words")
        space = space_for(space, *(each.kind.name for each in asked.mechanisms))
    if not all(map(find_spec, entry.libraries)):
        raise ExtraMissingError(f"study {name}", "evaluate")  # before minutes of work
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    result: Result = module.run(space, asked)
    return replace(result, name=name, source=result.source or entry.source)
