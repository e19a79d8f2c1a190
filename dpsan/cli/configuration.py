"""Defaults from the environment, and from the file that DPSAN_CONFIG names: a table for a command.

Knows TOML and the names of options.  Must not know what options do.  A key or a variable that
nobody knows is an error: a budget that is misspelt would not exist, and nobody would hear of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from dpsan.errors import UsageError, check_name, unknown_name
from dpsan.errors import reason as os_reason

_OURS: Final = ("DPSAN_CACHE_DIR", "DPSAN_CONFIG")
"""Variables that are not the default of an option."""


def check_variables(names: Iterable[str], commands: Mapping[str, Any]) -> None:
    """Refuse variables that look like ours and are none.

    Args:
        names: of all variables of the environment.
        commands: looked up only if a name is not one of the two that every command reads.

    Raises:
        UsageError: a name that begins with DPSAN_ and belongs to no option.
    """
    ours = [name for name in names if name.startswith("DPSAN_") and name not in _OURS]
    if ours:
        options = (option for command in commands.values() for option in command.params)
        known = {str(option.envvar) for option in options if option.envvar} | {*_OURS}
        for name in ours:
            check_name("environment variable", name, sorted(known))


def configured(path: str, commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The defaults of each command, by the names of its parameters.

    Args:
        path: of the file.
        commands: the commands by name; those that the file has a table for are looked up.

    Raises:
        UsageError: no TOML, a table or a key that no command has, a value of the wrong kind.
    """
    import tomllib

    try:
        with Path(path).open("rb") as file:
            config = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {os_reason(error)}", "DPSAN_CONFIG names it") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise UsageError(f"{path}: not valid TOML", "DPSAN_CONFIG names it") from None
    out = {}
    for command, table in config.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: '{command}' must be a table, such as [rewrite]")
        if command not in commands:
            raise _unknown(f"{path}:", "table", command, commands)
        out[command] = _defaults(f"{path}: [{command}]", table, commands[command])
    return out


def _defaults(where: str, table: dict[str, Any], command: Any) -> dict[str, Any]:
    # By their long names: the parameter of --format is not called "format".
    known = {
        name.removeprefix("--"): option
        for option in command.params
        for name in option.opts
        if name.startswith("--")
    }
    out: dict[str, Any] = {}
    for key, value in table.items():
        option = known.get(key.replace("_", "-"))
        if option is None:
            raise _unknown(where, "key", key, known)
        if option.name in out:
            raise UsageError(f"{where} {key} is given twice")
        wanted = _wanted(option, value)
        if wanted:
            raise UsageError(f"{where} {key} must be {wanted}")
        out[option.name] = value
    return out


def _wanted(option: Any, value: object) -> str:
    """What the value of an option must be; empty if it is."""
    if option.is_flag:
        return "" if isinstance(value, bool) else "true or false"
    if option.multiple:
        good = isinstance(value, list) and all(map(_plain, value))
        return "" if good else "a list"
    return "" if _plain(value) else "text or a number"


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _unknown(where: str, kind: str, name: str, known: Mapping[str, Any]) -> UsageError:
    error = unknown_name(kind, name, known)
    return UsageError(f"{where} {error.message}", error.hint)
