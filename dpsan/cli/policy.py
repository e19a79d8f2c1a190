"""Policy files: what ``rewrite`` is to do to text, decided once, in TOML.

A policy is always named: none is picked up from the working directory or beside an input, where a
stranger could lower the protection.  For the same reason the names of files in it are relative to
its own directory.  Its keys are the long names of the options on which an output depends; a list is
an option given several times.  Options on the command line win.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import Field
from pathlib import Path
from typing import Any, Final

import typer

from dpsan.embeddings.word_lists import BUNDLED, FIELD_CLASSES, PRESETS, SPANS
from dpsan.errors import InputError, file_reason
from dpsan.formats.paths import did_you_mean
from dpsan.mechanisms.registry import path_of

_OF_A_RUN: Final = frozenset({"bad_records", "recursive", "seed", "spans"})
"""Options that decide what an output is, but belong to one run."""
_TOO: Final = frozenset({"audit_originals", "strict"})
"""Options that a policy has although ``--resume`` allows another value."""
_FILES: Final = frozenset({"only", "classes"})
"""Options that may name a file although their type is another."""
_LISTS: Final = frozenset({*FIELD_CLASSES, *PRESETS, *BUNDLED, SPANS})
_DIGESTS: Final[dict[Path, str]] = {}
_VALUES: Final[list[tuple[typer.Context, str, tuple[list[str], list[str]], str]]] = []
"""Name of the option, flags, texts and place of each value of the policy."""


_ONCE: Final = 'once: several values have commas, only = "a,b", or are a list, param = ["k=1"]'


class PolicyError(InputError):
    """A policy cannot be read, or says what no option takes: no input was tried."""

    exit_status = 2


def policy_sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of the bytes that were read of a policy."""
    return _DIGESTS[path]


def read_policy(
    context: typer.Context, path: Path | None, options: Iterable[Field[Any]]
) -> Path | None:
    """Make the values of a policy the defaults of the options of a command.

    Args:
        options: of the command.

    Raises:
        PolicyError: a file that cannot be read, an unknown option, or a value of another type.
    """
    if path is None:
        return None
    try:
        raw = path.read_bytes()
        values = tomllib.loads(text := raw.decode("utf-8-sig"))
    except OSError as error:
        raise PolicyError(path, file_reason(error)) from None
    except UnicodeDecodeError:
        hint = "save it as UTF-8, or iconv -f ENCODING -t UTF-8"
        raise PolicyError(path, "not UTF-8", hint) from None
    except ValueError as error:  # the library's message has line and column
        what, at = str(error), re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        key = text.split("\n")[line - 1].partition("=")[0].strip()
        if what.startswith("Cannot overwrite"):
            raise PolicyError(path, f"{key} is given twice", _ONCE, line=line) from None
        what, hint = what.replace(at[0] if at else "", ""), 'texts in quotes: only = "people"'
        raise PolicyError(path, f"not TOML: {what}", hint, line=line) from None
    _DIGESTS[path] = hashlib.sha256(raw).hexdigest()
    by_name = options_of_a_policy(options)
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        match = re.search(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", text, re.MULTILINE)
        line = 1 + text.count("\n", 0, match.end()) if match else 1
        option = by_name.get(key.replace("_", "-"))
        if option is None:
            long = (name for name, it in by_name.items() if f"-{key}" in it.metadata["flags"])
            near, such = did_you_mean(next(long, key), by_name), "such as only, field, epsilon"
            hint = "options stand in no section" if isinstance(value, dict) else near or such
            raise PolicyError(path, f"a policy has no '{key}'", hint, line=line)
        if option.name in defaults:  # as a-b and a_b
            raise PolicyError(path, f"{key} is given twice", _ONCE, line=line)
        made = defaults[option.name] = _value(path, line, key, value, option)
        words = {"epsilon": ["epsilon"], "only": ["only and"]}.get(key, [])
        flags = [*option.metadata["flags"], *words]
        texts = [*map(str, made if isinstance(made, list) else [made])]
        parts = [part for value in texts for part in re.split("[,:=]", value)]
        texts += [part for part in parts if key == "param" or re.search("[./]", part)]
        _VALUES.append((context, option.name, (flags, texts), f"{path}:{line}: {key}: "))
    context.default_map = defaults
    return path


def place_in_policy(message: str) -> str:
    """Return file, line and key of the first value of the policy that a message names, by its
    option or as it is; nothing if there is none, or the command line gave another value.
    """
    for kind in range(2):
        for context, name, words, place in _VALUES:
            pattern = "|".join(map(re.escape, words[kind]))
            used = getattr(context.get_parameter_source(name), "name", "") == "DEFAULT_MAP"
            if used and re.search(rf"(?<![\w-])({pattern})(?![\w-])", message):
                return place
    return ""


def options_of_a_policy(options: Iterable[Field[Any]]) -> dict[str, Field[Any]]:
    """Return by long name the options that a policy may have."""
    return {
        flag.removeprefix("--"): option
        for option in options
        if (option.metadata.get("decides") and option.name not in _OF_A_RUN) or option.name in _TOO
        for flag in option.metadata["flags"]
        if flag.startswith("--")
    }


def _value(path: Path, line: int, key: str, value: Any, option: Field[Any]) -> Any:
    """Return the value of an option as the parser takes it.  Raises PolicyError: another type."""
    kind = str(option.type)
    given = value if isinstance(value, list) and kind.startswith("list") else [value]
    counted = kind.startswith(("int", "float"))
    wanted = bool if kind == "bool" else (int, float) if counted else (str, int, float)
    for item in given or [None]:
        if not isinstance(item, wanted) or isinstance(item, bool) != (wanted is bool):
            what = "a number, without quotes" if counted else "a string or a number"
            hint = "no list: a string with commas" if isinstance(value, list) else ""
            what = "true or false, without quotes" if wanted is bool else what
            raise PolicyError(path, f"{key} must be {what}", hint, line=line)
    if wanted is bool:
        return value
    texts = [str(item) for item in given]
    if kind.startswith("Path") or option.name in _FILES or path_of(texts[0]) is not None:
        texts = [_beside(path, text) for text in texts]
    return texts if kind.startswith("list") else texts[0]


def _beside(path: Path, text: str) -> str:
    """Return names of files as those in the directory of a policy, and others as they are."""
    names = [name.strip() for name in text.split(",")]
    return ",".join(name if name in _LISTS else str(path.parent / name) for name in names)
