"""Options that several commands share, defined once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dpsan.errors import UsageError
from dpsan.formats.registry import FORMATS

# The registry would load numpy; a test compares the two.
DEFAULT_MECHANISM: Final = "optimal-response"

PRIVACY: Final = "Privacy"
INPUT: Final = "Input"
RARE: Final = "Rarely needed"
PUBLIC: Final = ("function", "common")


def option(
    names: str,
    text: str,
    panel: str | None = None,
    *,
    env: str | None = None,
    complete: Any = None,
    **more: Any,
) -> Any:
    """An option with a value, such as ``-e, --epsilon X``.

    Args:
        names: as in the help; the last word stands for the value.
        text: of the help.
        panel: heading of the help that it stands under.
        env: environment variable with its default.
        complete: returns the values that begin with what is typed so far, for the shell.
        more: arguments of ``typer.Option``.
    """
    *flags, metavar = names.replace(", ", " ").split()
    return typer.Option(
        *flags,
        metavar=metavar,
        help=text,
        rich_help_panel=panel,
        envvar=env,
        autocompletion=complete,
        **more,
    )


def choice(
    names: str, text: str, panel: str | None = None, *, others: bool = False, **more: Any
) -> Any:
    """An option with one of a few values, ``--case a|b|c``, which the shell completes.

    Args:
        others: whether other values are let through: ``FILE``, or what a registry will judge.
        names, text, panel, more: as of :func:`option`.
    """
    *_, name, values = names.split()
    allowed = [each for each in values.split("|") if not each.isupper()]

    def complete(incomplete: str) -> list[str]:
        return [each for each in allowed if each.startswith(incomplete)]

    def check(given: str | None) -> str | None:
        if not (given is None or others or given in allowed):
            raise UsageError(f"{name} must be one of {', '.join(allowed)} (got {given})")
        return given

    return option(names, text, panel, complete=complete, callback=check, **more)


def mechanism_names(incomplete: str) -> list[tuple[str, str]]:
    """Return names and summaries of mechanisms, for the shell to complete."""
    from dpsan.mechanisms import MECHANISMS

    return [
        (name, kind.summary) for name, kind in MECHANISMS.items() if name.startswith(incomplete)
    ]


def flag(names: str, text: str, panel: str | None = None) -> Any:
    """An option without a value, such as ``-q, --quiet``."""
    return typer.Option(*names.split(", "), help=text, rich_help_panel=panel)


Epsilon = Annotated[
    float | None,
    option(
        "-e, --epsilon X",
        "Privacy parameter, required: smaller is more private. In nats for optimal-response "
        "(8 keeps most words near their meaning, 4 little), per unit of distance for laplace and "
        "exponential (see 'dpsan index' for distances).",
        PRIVACY,
        env="DPSAN_EPSILON",
    ),
]
Mechanism = Annotated[
    str,
    option(
        "-m, --mechanism NAME",
        "How words are drawn; 'dpsan mechanisms' lists them. One of your own: FILE.py:CLASS.",
        PRIVACY,
        env="DPSAN_MECHANISM",
        complete=mechanism_names,
    ),
]
Parameters = Annotated[
    list[str] | None,
    option(
        "-p, --param NAME=VALUE",
        "Parameter of the mechanism, repeatable: k=20, outputs=5000 ...",
        PRIVACY,
    ),
]
Embeddings = Annotated[
    Path | None,
    option(
        "-E, --embeddings FILE",
        "Word vectors: word2vec, GloVe, fastText .vec, .npz; .gz of each. Default: the bundled "
        "English vocabulary.",
        PRIVACY,
        env="DPSAN_EMBEDDINGS",
    ),
]
VocabSize = Annotated[
    int | None,
    option(
        "--vocab-size N",
        "Use only the first N words of the file.",
        PRIVACY,
        env="DPSAN_VOCAB_SIZE",
        min=2,
    ),
]
Unknown = Annotated[
    str,
    choice(
        "--unknown sample|mask|keep",
        "Words that the vocabulary lacks: drawn inside the guarantee, written as <unk>, "
        "or passed unchanged (NOT PRIVATE).",
        PRIVACY,
        env="DPSAN_UNKNOWN",
    ),
]
Keep = Annotated[
    Path | None,
    option(
        "--keep FILE",
        "Words passed unchanged, one a line: NOT PRIVATE, any other output shows that the "
        "word was none of them (infinite loss).",
        PRIVACY,
        env="DPSAN_KEEP",
    ),
]
Public = Annotated[
    str | None,
    choice(
        "--public FILE|function|common",
        "Words that need no protection, one a line; or dpsan's own list of function words, or "
        "of common everyday words. They mostly stay, at times come out as others, so that the "
        "guarantee holds for all other words. For optimal-response and knn-response.",
        PRIVACY,
        others=True,
        env="DPSAN_PUBLIC",
    ),
]
Case = Annotated[
    str,
    choice(
        "--case natural|vocabulary|input",
        "Letter case of the output: each word's usual spelling with capitals where sentences "
        "begin, the vocabulary's, or the input's capitals put back (which leaks them).",
        PRIVACY,
        env="DPSAN_CASE",
    ),
]
Consistent = Annotated[
    str | None,
    choice(
        "--consistent record|file|run",
        "One draw for each distinct word of a record, a file or the run: equal words come "
        "out equal, which is not protected, and the loss counts distinct words.",
        PRIVACY,
        env="DPSAN_CONSISTENT",
    ),
]
Numbers = Annotated[
    str,
    choice(
        "--numbers word|value",
        "A number becomes a word, or a number of the same form, mostly near in value; then which "
        "words are numbers, and their form, is not protected.",
        PRIVACY,
        env="DPSAN_NUMBERS",
    ),
]
Tokenizer = Annotated[
    str,
    choice(
        "--tokenizer unicode|ptb|whitespace",
        "How lines become words; ptb splits contractions as GloVe was trained.",
        RARE,
        others=True,
        env="DPSAN_TOKENIZER",
    ),
]
Unproved = Annotated[
    bool, flag("--allow-unproved", "Run a mechanism whose status is not PROVED.", PRIVACY)
]
Format = Annotated[
    str,
    choice(
        f"-f, --format {'|'.join(['auto', *FORMATS])}",
        "Container of the text; auto goes by the file's suffix.",
        INPUT,
        others=True,
        env="DPSAN_FORMAT",
    ),
]
Field = Annotated[
    list[str] | None,
    option(
        "-k, --field NAME",
        "Which columns or fields to sanitize, repeatable: a column's name or number; a path such "
        "as user.name or messages[].content, with ? at the end if no record need have it. Other "
        "fields pass unchanged. Of a page: one more attribute; of a mail: one more header.",
        INPUT,
    ),
]
NoHeader = Annotated[
    bool,
    flag("--no-header", "The first row of a table is data: choose columns by number.", INPUT),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter CHAR",
        "Character between the cells of a table, such as ';' or '\\t'.",
        INPUT,
        env="DPSAN_DELIMITER",
    ),
]
Encoding = Annotated[
    str, option("--encoding NAME", "Encoding of input and output.", INPUT, env="DPSAN_ENCODING")
]
Quiet = Annotated[
    bool,
    flag("-q, --quiet", "No statement, notes or progress; errors and warnings only.", "Running"),
]
Json = Annotated[bool, flag("--json", "Write JSON.")]
Html = Annotated[Path | None, option("--html FILE", "Write one page with charts.")]
Force = Annotated[bool, flag("--force", "Replace an existing FILE.")]


def given(context: typer.Context, name: str) -> bool:
    """Whether an option is on the command line: there it cannot be meant as a default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


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


def whole_numbers(name: str, given: list[str] | None) -> tuple[int, ...]:
    """Whole numbers >= 1, in each text separated by commas; ascending.  Raises UsageError."""
    out = set[int]()
    for part in ",".join(given or ()).split(",") if given else ():
        if not part.strip().isascii() or not part.strip().isdigit() or int(part) < 1:
            raise UsageError(f"{name} must be whole numbers >= 1 (got {part})")
        out.add(int(part))
    return tuple(sorted(out))


def positive_numbers(name: str, given: list[str]) -> tuple[float, ...]:
    """Numbers > 0, in each text separated by commas; in order, each once.  Raises UsageError."""
    out = []
    for part in ",".join(given).split(","):
        try:
            value = float(part)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise UsageError(f"{name} must be numbers > 0 (got {part})")
        out.append(value)
    return tuple(dict.fromkeys(out))


def own_files(*names: str) -> list[Path]:
    """The files that mechanisms are to be loaded from: those of names such as own.py:Class."""
    if not any(".py:" in each for each in names):
        return []  # what follows loads numpy
    from dpsan.mechanisms import path_of

    return [path for path in map(path_of, names) if path is not None]


def public_file(given: str | None) -> Path | None:
    """The file that --public reads; None for the lists that come with dpsan."""
    return None if given is None or given in PUBLIC else Path(given)


def delimiter_character(given: str | None) -> str:
    """The character that --delimiter names; empty without one.  Raises UsageError."""
    if given is None:
        return ""
    from dpsan.formats.csv import one_delimiter

    return one_delimiter(given, "--delimiter")


_UNITS: Final = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(text: str) -> int:
    """Bytes of a size such as ``16MiB``, ``64k`` or ``1000``.  Raises UsageError."""
    lower = text.strip().lower()
    digits = lower.rstrip("bikmg")
    unit = lower[len(digits) :].removesuffix("ib").removesuffix("b")
    if not digits.isascii() or not digits.isdigit() or unit not in _UNITS or int(digits) == 0:
        raise UsageError(f"not a size: {text}", "such as 16MiB or 64k")
    return int(digits) * _UNITS[unit]
