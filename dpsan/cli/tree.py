"""Commands that are imported when they are requested, and the look of their help.

A run of one command does not import the others, and help is plain text in sections: the library
that draws boxes takes longer to import than everything else that ``dpsan --help`` does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from dpsan.cli.output import OUTPUT, RARE, RUNNING
from dpsan.errors import PIPE, name_or_count, refuse
from dpsan.sanitize.settings import SETTINGS


class Command(TyperCommand):
    """A command whose help puts its options under the headings of their panels.

    ``--help`` shows the everyday options, ``--help-all`` all of them.
    """

    everyday: Sequence[str] = ()
    """Long options that are shown; empty: all."""
    examples: Sequence[str] = ()
    told: Callable[[], Mapping[str, str]] = dict
    """Returns the help of each option, by its name: read when it is shown."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, after a look at what no option says of its own value.

        Raises:
            UsageError: a setting that is given twice, of which the first would be lost; a name of a
                file that is empty, or that is the next option; one dash before a long name.
        """
        args = ["--help"] if args == ["help"] and not Path("help").exists() else args
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(args=[*args])
            every = {name: it if type(it) in (list, tuple) else [it] for name, it in values.items()}
            for param in self.params:
                _check(param, every.get(param.name, ()), order.count(param))
            options = {flag: param for param in self.params for flag in param.opts}
            for word in takewhile("--".__ne__, args):
                if re.match("-[^-].", word) and word not in chain(*every.values()):
                    _check_dash(word, options)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return completions, and what they are."""
        self.tell()
        return super().shell_complete(ctx, incomplete)

    def tell(self) -> None:
        """Give each option its help."""
        for name, text in self.told().items():
            for param in self.params:
                if param.name == name:
                    param.help = text  # type: ignore[attr-defined]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line; arguments stand in it as they are declared, such as
        ``[FILE]...``.
        """
        arguments = [item for item in self.get_params(ctx) if item.param_type_name == "argument"]
        return ["[OPTIONS]", *(str(item.metavar) for item in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by panel; those of no panel are last."""
        self.tell()
        sections: dict[str, list[tuple[str, str]]] = {}
        shown = {*self.everyday, "--help", "--help-all"}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            argument = param.param_type_name == "argument"
            if self.everyday and not argument and shown.isdisjoint(param.opts):
                continue
            if argument:
                # Its name says enough: "[FILE]...", not "[FILE]... <list[Path]>".
                section, name = "Arguments", name.split(" ", 1)[0]
            else:
                section = getattr(param, "rich_help_panel", None) or "Options"
            sections.setdefault(section, []).append((name, text))
        last = (OUTPUT, RUNNING, RARE, "Options")
        order = ["Arguments", *(panel for panel in sections if panel not in last), *last]
        for section in dict.fromkeys(panel for panel in order if panel in sections):
            with formatter.section(section):
                formatter.write_dl(sections[section])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are, one a line."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"  {line}\n")


def _check_dash(word: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for one dash before more than flags and a number, such as -qe8.

    ``-only names`` would write to a file called nly, and ``-notes.txt`` to none: it is a dry run.
    """
    name = word.partition("=")[0]
    long = (flag for flag in sorted(options) if flag.startswith(f"-{name}"))
    meant = next(long, "") if len(name) > 3 else ""  # -out, too
    at = 1 + len([*takewhile(lambda letter: options[f"-{letter}"].is_flag, word[1:])])
    value = word[at + 1 :].removeprefix("=")
    apart = f"a space before a value: -{word[at : at + 1]} {value}; a file: ./{word}"
    hint = f"two dashes: {meant}" if meant else apart if word == name_or_count(word) else PIPE
    text = value and not re.fullmatch(r"[\d.]+", word[at + 1 :])
    refuse(meant or text, f"no such option: {name_or_count(name)}", hint)


_TOO: Final = ("budget", "policy", "spans", "audit", "map_", "review", "output")
ONCE: Final = frozenset({*SETTINGS, *_TOO})
"""Options whose first value would protect something that a second one does not, or be lost."""
_LISTS: Final = ("only", "classes")
_UNSET: Final = "is a shell variable unset?"


def _check(param: Any, given: Any, often: int) -> None:
    """Raise UsageError for the values of an option as they were typed, see :class:`Command`."""
    name = param.opts[-1]
    option = param.param_type_name == "option"
    if not often or (option and param.is_flag):
        return
    once = param.name in ONCE and not param.multiple
    listed = f"; a list has commas: {name} names,places" if param.name in _LISTS else ""
    refuse(often > 1 and once, f"{name} is given twice", f"one of them would be lost{listed}")
    for value in filter(lambda value: isinstance(value, str), given):
        refuse(value == "", f"{name if option else param.metavar} is empty", _UNSET)
        typeset = re.fullmatch("[\u2013\u2014]{1,2}[a-z-]+", value)  # no text of the user
        refuse(typeset, f"{value}: its dash is not that of an option", "- of the keyboard")
        of_files = param.name == "only" or "Path" in str(param.type_descriptor)
        # Text: no file has a name of more than 255 bytes.
        text = of_files and max(map(len, value.encode(errors="replace").split(b"/"))) > 255
        refuse(text, f"a name of {len(value):,} characters: no such file", PIPE)
        tilde = of_files and value.startswith("~/") and not Path("~").exists()
        refuse(tilde, f"{value}: the shell left ~ as it is", f'"$HOME/{value[2:]}"')
        folder = option and value.endswith("/") and param.metavar == "FILE"
        hint = "-O DIR writes each file below it" if name == "--output" else f"{value}FILE"
        refuse(folder, f"{name} {value}: a directory, not a file", hint)
        swallowed = option and of_files and re.match(r"--?[A-Za-z]", value)
        refuse(swallowed, f"{name} needs a value (got {value})", f"a file of that name: ./{value}")


@cache
def _parser(kind: Any) -> TyperCommand:
    """Return the parser of a command.  Its class is a dataclass: not for the help."""
    from dpsan.cli.command import described, function, rows_of, told

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(kind.__name__.lower(), cls=Command)(function(kind))
    command = typer.main.get_command(app)
    assert isinstance(command, Command)  # noqa: S101 - a single command is no group
    rows = rows_of("everyday", kind.__name__)
    command.everyday = [flag for [flags] in rows for flag in flags.split()]
    _, command.examples = described(kind)
    command.told = partial(told, kind)
    return command


class Commands(Mapping[str, TyperCommand]):
    """Commands by name, each imported when it is first looked up.

    A command stands in the file of its name, else in that of its heading.

    Args:
        groups: headings of the help, and the names of the commands below each.
    """

    def __init__(self, groups: Mapping[str, str]) -> None:
        self.groups: Final = {heading: names.split() for heading, names in groups.items()}
        self._names: Final = [*chain(*self.groups.values())]

    def __getitem__(self, name: str) -> TyperCommand:
        return _parser(self.kind(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def summary(self, name: str) -> str:
        """Return one line about a command, without importing it."""
        source = self._path(name).read_text("utf-8")
        first = rf'^class {name.capitalize()}\(.*\):\n    """(.*)$'
        match = re.search(first, source, re.MULTILINE)
        return match[1] if match else ""

    def kind(self, name: str) -> Any:
        """Return the class of a command.  Raises KeyError."""
        if name not in self._names:
            raise KeyError(name)
        return getattr(import_module(f"dpsan.cli.{self._path(name).stem}"), name.capitalize())

    def _path(self, name: str) -> Path:
        """Return the file of a command."""
        path = Path(__file__).with_name(f"{name}.py")
        headings = (heading for heading, names in self.groups.items() if name in names)
        return path if path.is_file() else path.with_name(f"{next(headings).lower()}.py")


class Group(TyperGroup):
    """The root: its help lists the commands without importing them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments as any group; without arguments show the help and exit with status 2."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit(2)
        if args[:1] == ["help"]:  # dpsan help rewrite, as dpsan rewrite --help
            args = [*args[1:2], "--help"]
        args = ["--version"] if args in (["-v"], ["-version"]) else args
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write names and summaries."""
        if isinstance(self.commands, Commands):
            for heading, names in self.commands.groups.items():
                with formatter.section(heading):
                    formatter.write_dl([(name, self.commands.summary(name)) for name in names])
