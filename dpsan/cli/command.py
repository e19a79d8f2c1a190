"""Commands as dataclasses: a field is an option, and ``run`` carries the command out.

Options that several commands share are defined once, in base classes (``options.py``).  Values are
checked by the dataclass and not by the parser, so that each message is ours.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import Parameter, Signature, getdoc, getsource
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, Final, get_type_hints

import typer

from dpsan.cli.output import DROPPED, PRIVACY, RARE
from dpsan.errors import refuse
from dpsan.files.same_files import FileUses, Use
from dpsan.files.source import stream_number
from dpsan.sanitize.settings import SETTINGS, Settings


def option(names: str, default: Any = None, *, checked: bool = True, **more: Any) -> Any:
    """Declare an option with a value.  What the help says of it stands below the field.

    Args:
        names: ``-e, --epsilon X``; the last word stands for the value.
        default: None for an option that may be missing.
        checked: refuse other values than those of ``a|b|c``, if no word in capitals is among them.
        more: ``panel``, the heading in the help; ``use`` of the file that it names, None if the
            command itself tells; ``capability`` of the formats that it is for; ``decides=False`` if
            no byte of an output depends on it, so that ``--resume`` allows another value; else
            arguments of ``typer.Option``.
    """
    *flags, value = names.replace(", ", " ").split()
    values = value.split("|")

    def check(given: str | None) -> str | None:
        what = f"{flags[-1]} must be one of {', '.join(values)} (got {given})"
        refuse(given not in (None, *values), what, DROPPED.get(f"{flags[-1]} {given}", ""))
        return given

    if checked and values[1:] and all(map(str.islower, values)):
        more["callback"] = check
    return _declared(typer.Option, flags, default, metavar=value, **more)


def setting(name: str, **more: Any) -> Any:
    """Declare the option of a setting of :mod:`dpsan.sanitize.settings`, whose help it has."""
    about = SETTINGS[name]
    more |= {"panel": RARE if "rare" in about.marks else PRIVACY, "setting": name}
    if isinstance(about.default, bool):
        return flag(about.flags, **more)
    default = str(about.default) if isinstance(about.default, str) else None
    return option(about.flags, default, **more)


def flag(names: str, **more: Any) -> Any:
    """Declare an option without a value: ``-q, --quiet``; see :func:`option`."""
    return _declared(typer.Option, names.split(", "), False, **more)


def argument(name: str, default: Any = MISSING, **more: Any) -> Any:
    """Declare an argument: ``FILE``, ``FILE...``, ``[FILE]...``; see :func:`option`."""
    return _declared(typer.Argument, (), default, metavar=name, **more)


_ROWS: Final = (Path(__file__).parent / "options.tsv").read_text("utf-8").splitlines()[1:]


def rows_of(kind: str, command: str) -> list[list[str]]:
    """Return the rows of a kind in ``options.tsv`` for a command: their other cells."""
    rows = (row.split("\t") for row in _ROWS)
    return [cells for name, of, *cells in rows if name == kind and command.lower() in of.split("|")]


_ABOUT: Final = {"use": Use.READ, "capability": "", "decides": True, "setting": ""}


def _declared(kind: Callable[..., Any], flags: Any, default: Any, **more: Any) -> Any:
    about = {name: more.pop(name, usual) for name, usual in _ABOUT.items()}
    name = flags[-1] if flags else more["metavar"].strip("[].")
    panel = more.pop("panel", None)
    about |= {"parser": kind(*flags, rich_help_panel=panel, **more), "name": name, "flags": flags}
    return field(default=default, metadata=about)


_RULE: Final = re.compile(r" (exclude|need)s? ")
_OPTION: Final = re.compile(r"(--?[A-Za-z][\w-]*)( [a-z]+)?(?=[,:]| and | or | [A-Z]|$)")


@dataclass(frozen=True, kw_only=True)
class Command:
    """The options of a command, and what it does."""

    typed: frozenset[str] = frozenset()
    """Fields whose values stand on the command line, and not in a policy."""

    def run(self) -> int:
        """Carry the command out and return its exit status.  Raises DpsanError."""
        raise NotImplementedError

    def check_rules(self) -> None:
        """Raise UsageError with the first rule of ``options.tsv`` that is not kept."""
        by_flag = {
            flag: item.name for item in fields(self) for flag in item.metadata.get("flags", ())
        }
        for condition, what, *hint in rows_of("rule", type(self).__name__):
            wrong = all(map(self.has, condition.split()))
            if not condition:
                head, verb, rest = _RULE.split(what)
                first, second = (
                    [self.has(f"{by_flag[flag]}{value}") for flag, value in _OPTION.findall(part)]
                    for part in (head, rest)
                )
                wrong = any(first) and any(second) == (verb == "exclude")
                if rest == "each other":
                    wrong = sum(first) > 1
            refuse(wrong, what, *hint)

    def has(self, term: str) -> bool:
        """Return whether a term of a condition holds."""
        names, _, values = term.removeprefix("!").replace(" ", "=").partition("=")
        given = any(
            str(getattr(self, item.name)) in values.split("|") if values else self.is_given(item)
            for item in fields(self)
            if item.name in names.split("|")
        )
        return given != term.startswith("!")

    def is_given(self, about: Field[Any]) -> bool:
        """Return whether a field has another value than its default."""
        return getattr(self, about.name) not in (about.default, [])

    def check_files(self, *, stdin: bool = False) -> FileUses:
        """Refuse a file that is written and also read, or written twice.

        Args:
            stdin: standard input is read.

        Raises:
            UsageError: two uses that exclude each other.
        """
        uses = FileUses()
        uses.add_stream(Use.STANDING, "standard error", 2)
        if stdin:
            uses.add_stream(Use.READ, "standard input", 0)
        self.add_options(uses, Use.READ)
        self.add_options(uses, Use.WRITTEN)
        uses.add_stream(Use.STANDING, "standard output", 1)
        return uses

    def add_options(self, uses: FileUses, use: Use) -> None:
        """Take in the files that options of one use name: values of type ``Path``."""
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            for path in value if isinstance(value, list) else [value]:
                if isinstance(path, Path) and parameter.metadata["use"] is use:
                    open_stream = use is Use.WRITTEN and stream_number(path) is not None
                    uses.add(Use.STANDING if open_stream else use, parameter.metadata["name"], path)


def _help_all(context: typer.Context, value: bool) -> None:
    """Print the help with all options, and exit."""
    if value:
        context.command.everyday = ()  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit


def described(kind: type[Command]) -> tuple[str, list[str]]:
    """Return what the help says of a command, and the examples that end it."""
    text, _, examples = (getdoc(kind) or "").partition("\n\nExamples:\n")
    return text, dedent(examples).splitlines()


def told(kind: type[Command]) -> dict[str, str]:
    """Return what stands below each field of a command: the help of its option."""
    out: dict[str, str] = {}
    for owner in (Settings, *reversed(kind.__mro__[:-1])):
        (tree,) = ast.parse(getsource(owner)).body
        assert isinstance(tree, ast.ClassDef)  # noqa: S101 - its source
        for node, text in pairwise(tree.body):
            if isinstance(node, ast.AnnAssign) and isinstance(text, ast.Expr):
                out[ast.unparse(node.target)] = " ".join(ast.literal_eval(text.value).split())
    options = {parameter.name: parameter.metadata.get("setting") for parameter in fields(kind)}
    return {name: out[setting] for name, setting in options.items() if setting} | out


def function(kind: type[Command]) -> Callable[..., int]:
    """Return the function that the parser calls: its parameters are the fields of a command."""
    hints = get_type_hints(kind)
    parameters: list[Parameter] = []

    def declare(name: str, hint: Any, default: Any = Parameter.empty) -> None:
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))

    declare("context", typer.Context)
    for item in fields(kind):
        if info := item.metadata.get("parser"):
            default = Parameter.empty if item.default is MISSING else item.default
            declare(item.name, Annotated[hints[item.name], info], default)
    if rows_of("everyday", kind.__name__):
        text = "Show all options and exit."
        info = typer.Option("--help-all", is_eager=True, callback=_help_all, help=text)
        declare("help_all", Annotated[bool, info], False)

    def call(context: typer.Context, **given: Any) -> int:
        given.pop("help_all", None)
        sources = {name: getattr(context.get_parameter_source(name), "name", "") for name in given}
        typed = frozenset(name for name, source in sources.items() if source == "COMMANDLINE")
        return kind(**given, typed=typed).run()

    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__doc__, _ = described(kind)
    return call
