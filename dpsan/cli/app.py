"""The command tree, and the messages of its own errors."""

import difflib
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dpsan import __version__
from dpsan.cli import output, tree
from dpsan.errors import PIPE, TRACEBACK, DpsanError, UsageError, name_or_count

_EPILOG: Final = (
    "Not protected: the number of words and lines, punctuation, white space, language, word "
    "positions, correlation between words, repeated runs of --epsilon (they add up), timing, the "
    "words of a keep-list, and what passes with --only. See man dpsan."
)
COMMANDS: Final = tree.Commands(
    {
        "Use": "rewrite restore headers index train",
        "Decide": "preview mechanisms explain calibrate",
        "Judge": "report verify evaluate estimate compare",
    }
)


class _Root(tree.Group):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": COMMANDS})


app = typer.Typer(
    name="dpsan",
    cls=_Root,
    help="Replace names in text, or every word with differential privacy.",
    epilog=_EPILOG,
    pretty_exceptions_enable=False,  # they print local variables, which hold input text
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"dpsan {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("-V", "--version", help="Print the version and exit.", callback=_version)
    ] = False,
) -> None:
    pass


_VARIABLES: Final = frozenset({"DPSAN_CACHE_DIR", TRACEBACK})
"""All that is read of the environment."""

_NUMBERS: Final = (Path(__file__).parent / "parser.tsv").read_text("utf-8").splitlines()[1:]
"""Sentences of the parser and of what checks numbers, and shorter ones."""


def _plain(command: str, message: str) -> str:
    """Return a message of the parser about a command as our own are."""
    message = f"{command}|{message}"
    for pattern, ours in (row.split("\t") for row in _NUMBERS):
        message = re.sub(pattern, ours, message)
    message = message.removeprefix(f"{command}|")
    return f"{message[:1].lower()}{message[1:]}".rstrip(".")


def _hint(error: Exception) -> str:
    """Return what can be typed where the name of the command is missing; else nothing."""
    context = getattr(error, "ctx", None)
    if context is None or context.parent is not None or context.command.name != "dpsan":
        return ""
    words = sys.argv[1:]
    hint = output.DROPPED.get(words[0].lower(), "") if words else ""
    verb = hint == "rewrite"
    if hint and not verb:
        return f" ({hint})"
    words = words[1:] if verb else [word for word in words if word not in COMMANDS]
    given = any(argument.startswith(("-e", "--epsilon", "--only")) for argument in words)
    mode = [] if given else ["--only", "sensitive"]
    # Words that are no files may be text, which no message repeats.
    if not any(map(os.path.exists, words)):  # a long one is text
        if not verb:
            text = any(word != name_or_count(word) for word in words)
            return f" ({PIPE if text else 'dpsan --help lists the commands'})"
        words = ["FILE"]
    elif words[0][:1] != "-" and not os.path.exists(words[0]):  # noqa: PTH110 - as above
        words = words[1:]
    return f" (did you mean: {shlex.join(['dpsan', 'rewrite', *mode, *words])}?)"


def _check_variables() -> None:
    """Refuse other DPSAN_ variables: who thinks that one is a budget would have none.

    Raises:
        UsageError: unknown variable.
    """
    for name in sorted(name for name in os.environ if name.startswith("DPSAN_")):
        option = f"--{name.removeprefix('DPSAN_').lower().replace('_', '-')}"
        if name not in _VARIABLES:
            flags = [flag for param in COMMANDS["rewrite"].params for flag in param.opts]
            near = difflib.get_close_matches(option, flags, 1, 0.8)
            hint = f"{near[0]}, or --policy FILE" if near else "see dpsan rewrite --help-all"
            what = f"unknown environment variable '{name}'"
            raise UsageError(what, output.DROPPED.get(option, hint))


def _place(message: str) -> str:
    """Return where a policy has the value that a message speaks of, as its beginning."""
    policy = sys.modules.get("dpsan.cli.policy")  # else none was read
    return policy.place_in_policy(message) if policy else ""


_USAGE_ERROR: Final[type[Exception]] = next(
    each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException"
)


def run() -> int:
    """Parse the command line and run one command; returns the exit status."""
    _check_variables()
    try:
        result = app(standalone_mode=False, prog_name="dpsan")
    except _USAGE_ERROR as error:
        # The parser's messages quote command-line words only, never input text.
        name = getattr(error, "option_name", "")
        context: Any = getattr(error, "ctx", None)
        command = getattr(context, "info_name", "")
        text = _plain(command, getattr(error, "format_message", lambda: "bad usage")())
        if hint := output.DROPPED.get(name) or output.DROPPED.get(f"{command} {name}"):
            text = f"no such option: {name} ({hint})"
        dashed = (word for word in sys.argv[1:] if name and word[:1] == "-")
        if file := next((word for word in dashed if Path(word).exists()), ""):
            text = f"no such option: {file} (the file: ./{file})"
        bare, _, near = text.partition(" (Possible options: ")
        ours = difflib.get_close_matches(name, near.rstrip(")").split(", "), 1, 0.8)
        text = f"{bare} (did you mean {ours[0]}?)" if near and ours else bare
        if text == f"no such option: {name}" and command in COMMANDS:
            text += f" (dpsan {command} -h lists the options)"
        if text.startswith("missing argument"):
            pairs = zip(sys.argv, sys.argv[1:], strict=False)
            taken = [pair for pair in pairs if pair[0][:1] == "-" and Path(pair[1]).is_file()]
            took = [f"{name} took {file}" for name, file in taken] or ["standard input is not read"]
            text += f" ({took[-1]})"
        for word in sys.argv:
            text = text.replace(word, name_or_count(word))
        text = _place(text) + text
        what, _, near = text.partition(". Did you mean")
        dropped = "".join(sys.argv[1:2]).lower() in output.DROPPED
        output.say(text if near and not dropped else what + _hint(error) * (not what.endswith(")")))
        return int(getattr(error, "exit_code", 2))
    except DpsanError as error:
        if place := _place(error.message):
            if " exclude " in error.message:
                error.hint = "take it out of the policy, or leave the other one out"
            error.message = place + error.message
        raise
    except typer.Abort:
        return 130
    except SystemExit as stop:
        # The parser turns a closed pipe into an exit of its own, and nothing else.
        if stop.code == 1:
            raise BrokenPipeError from None
        raise
    return result if isinstance(result, int) else 0
