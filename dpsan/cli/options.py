"""Options that several commands share, defined once.

Knows names, help texts and environment variables.  Must not know what options do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from dpsan.cli.completion import choices, embedding_files, mechanism_names
from dpsan.errors import UsageError

__all__ = [
    "CASES",
    "DEFAULT_MECHANISM",
    "INPUT",
    "RARE",
    "UNKNOWN",
    "Case",
    "Embeddings",
    "Encoding",
    "Epsilon",
    "Field",
    "Format",
    "Json",
    "Keep",
    "Mechanism",
    "NoHeader",
    "Parameters",
    "Quiet",
    "Unknown",
    "Unproved",
    "VocabSize",
    "check_epsilon",
    "epsilon_or_ldp",
    "one_of",
    "parameters",
    "size",
]

# The registry would load numpy; a test compares the two.
DEFAULT_MECHANISM: Final = "knn-response"

PRIVACY: Final = "Privacy"
INPUT: Final = "Input"
RARE: Final = "Rarely needed"
UNKNOWN: Final = ("sample", "mask", "keep")
CASES: Final = ("vocabulary", "input")

Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="X",
        help="Privacy parameter, required: smaller is more private. In nats for knn-response "
        "(8 keeps most words near their meaning, 4 little), per unit of distance for laplace and "
        "exponential (see 'dpsan index' for distances).",
        envvar="DPSAN_EPSILON",
        rich_help_panel=PRIVACY,
        show_default=False,
    ),
]
Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        "-m",
        metavar="NAME",
        help="How words are drawn; 'dpsan mechanisms' lists them.",
        envvar="DPSAN_MECHANISM",
        autocompletion=mechanism_names,
        rich_help_panel=PRIVACY,
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="Parameter of the mechanism, repeatable: k=20, outputs=5000 ...",
        rich_help_panel=PRIVACY,
        show_default=False,
    ),
]
Embeddings = Annotated[
    Path | None,
    typer.Option(
        "--embeddings",
        "-E",
        metavar="FILE",
        help="Word vectors: word2vec, GloVe, fastText .vec, .npz; .gz of each. "
        "Default: the bundled English vocabulary.",
        envvar="DPSAN_EMBEDDINGS",
        autocompletion=embedding_files,
        rich_help_panel=PRIVACY,
        show_default=False,
    ),
]
VocabSize = Annotated[
    int | None,
    typer.Option(
        "--vocab-size",
        metavar="N",
        min=2,
        help="Use only the first N words of the file.",
        envvar="DPSAN_VOCAB_SIZE",
        rich_help_panel=PRIVACY,
        show_default=False,
    ),
]
Unknown = Annotated[
    str,
    typer.Option(
        metavar="sample|mask|keep",
        help="Words that the vocabulary lacks: drawn inside the guarantee, written as <unk>, "
        "or passed unchanged (NOT PRIVATE).",
        envvar="DPSAN_UNKNOWN",
        autocompletion=choices(*UNKNOWN),
        rich_help_panel=PRIVACY,
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Words passed unchanged, one a line; not protected.",
        envvar="DPSAN_KEEP",
        rich_help_panel=PRIVACY,
        show_default=False,
    ),
]
Case = Annotated[
    str,
    typer.Option(
        metavar="vocabulary|input",
        help="Letter case of the output: the vocabulary's, or the input's capitals put back "
        "(which leaks them).",
        envvar="DPSAN_CASE",
        autocompletion=choices(*CASES),
        rich_help_panel=PRIVACY,
    ),
]
Unproved = Annotated[
    bool,
    typer.Option(
        "--allow-unproved",
        help="Run a mechanism whose status is not PROVED.",
        rich_help_panel=PRIVACY,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        metavar="auto|text|jsonl|csv|tsv|parquet",
        autocompletion=choices("auto", "text", "jsonl", "csv", "tsv", "parquet"),
        help="Container of the text; auto goes by the file's suffix.",
        envvar="DPSAN_FORMAT",
        rich_help_panel=INPUT,
    ),
]
Field = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        "-k",
        metavar="NAME",
        help="What to sanitize in jsonl, csv, tsv and parquet, repeatable: a column's name or "
        "number; a path such as user.name or messages[].content, with ? at the end if no "
        "record need have it. Everything else passes unchanged.",
        rich_help_panel=INPUT,
        show_default=False,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first row of csv and tsv is data: choose columns by number.",
        rich_help_panel=INPUT,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Encoding of input and output.",
        envvar="DPSAN_ENCODING",
        rich_help_panel=INPUT,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No statement and no notes.", rich_help_panel="Running"),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def check_epsilon(epsilon: float | None) -> float:
    """The epsilon given; it is the user's decision, so there is no default.

    Raises:
        UsageError: missing or not positive.
    """
    if epsilon is None:
        raise UsageError("--epsilon is required: it is your decision", "try --epsilon 8")
    if not 0 < epsilon < float("inf"):
        raise UsageError(f"--epsilon must be > 0 (got {epsilon:g})")
    return epsilon


def epsilon_or_ldp(epsilon: float | None, epsilon_ldp: float | None) -> float | None:
    """The epsilon given; None where it is to be found for an LDP epsilon.

    Raises:
        UsageError: none or both, or one that is not positive.
    """
    if epsilon_ldp is None:
        return check_epsilon(epsilon)
    if epsilon is not None:
        raise UsageError("--epsilon and --epsilon-ldp exclude each other")
    if not 0 < epsilon_ldp < float("inf"):
        raise UsageError(f"--epsilon-ldp must be > 0 (got {epsilon_ldp:g})")
    return None


def parameters(given: list[str] | None) -> dict[str, str]:
    """``NAME=VALUE`` pairs.  Raises UsageError for anything else, and for a name given twice."""
    out: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise UsageError(f"--param must be NAME=VALUE (got {each})")
        if name in out:
            raise UsageError(f"--param {name} was given twice")
        out[name] = value
    return out


def one_of(option: str, given: str, allowed: tuple[str, ...]) -> str:
    """The value given.  Raises UsageError if it is none of those allowed."""
    if given not in allowed:
        raise UsageError(f"{option} must be one of {', '.join(allowed)} (got {given})")
    return given


_UNITS: Final = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(text: str) -> int:
    """Bytes of a size such as ``16MiB``, ``64k`` or ``1000``.  Raises UsageError."""
    lower = text.strip().lower()
    digits = lower.rstrip("bikmg")
    unit = lower[len(digits) :].removesuffix("ib").removesuffix("b")
    if not digits.isascii() or not digits.isdigit() or unit not in _UNITS or int(digits) == 0:
        raise UsageError(f"not a size: {text}", "such as 16MiB or 64k")
    return int(digits) * _UNITS[unit]
