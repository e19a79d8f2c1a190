"""All mechanisms by name: those of dpsan, and those of third parties once they are loaded."""

from __future__ import annotations

import hashlib
import importlib
import math
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dpsan.errors import OWN_MODULE, UsageError, check_name, file_reason, refuse
from dpsan.files.packages import imported, installed
from dpsan.mechanisms.mechanism import CLASSES, BaseResponse, Mechanism
from dpsan.privacy.guarantee import Status

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from dpsan.space.metric_space import MetricSpace

DEFAULT_MECHANISM: Final = "optimal-response"


NAMES: Final = [*CLASSES]
"""Mechanisms of dpsan, in the order in which they are listed."""
_OWN: Final[dict[str, type[Mechanism]]] = {}
"""Mechanisms that this process has registered."""
_FAMILIES: Final = ("point", "table", "tensor")
_UNITS: Final = ("1/distance", "nats")


class _Registry(Mapping[str, type[Mechanism]]):
    """Imports a mechanism when it is requested: all take a fifth of the program's starting time."""

    def __getitem__(self, name: str) -> type[Mechanism]:
        if name in _OWN:
            return _OWN[name]
        if name not in NAMES:
            raise KeyError(name)
        module, _, kind = CLASSES[name].rpartition(".")
        return getattr(importlib.import_module(module), kind)  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        return name in NAMES or name in _OWN

    def __iter__(self) -> Iterator[str]:
        return iter([*NAMES, *_OWN])

    def __len__(self) -> int:
        return len(NAMES) + len(_OWN)


MECHANISMS: Final[Mapping[str, type[Mechanism]]] = _Registry()


def register(kind: type[Mechanism]) -> type[Mechanism]:
    """Let a mechanism of your own run under its name in this process; usable as a decorator.

    ``Sanitizer``, ``verify``, ``explain``, ``evaluate`` and ``compare`` then take it as they take
    those of dpsan (docs/own_mechanism.py).  A script that starts worker processes must register it
    at the top level, not below ``if __name__ == "__main__"``.  A name registered again is replaced.

    Args:
        kind: a class with the class attributes of :class:`Mechanism`.  Its status is
            CLAIMED, REFUTED or NONE: PROVED is for what docs/proofs.md proves.

    Returns:
        The same class.

    Raises:
        UsageError: it is no such class, an attribute is missing or wrong, or dpsan has the name.
    """
    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise UsageError("register takes a subclass of Mechanism")
    missing = sorted(kind.__abstractmethods__)
    ways = ("table", "noise", "prepare")
    if all(getattr(kind, way) is getattr(Mechanism, way) for way in ways):
        missing.append("table")
    refuse(missing, f"{kind.__name__} has no {' and no '.join(missing)}")
    for attribute in ("name", "summary", "source", "family", "epsilon_unit", "status"):
        if not getattr(kind, attribute, None):
            raise UsageError(f"{kind.__name__} needs the class attribute {attribute}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", kind.name) or kind.name in NAMES:
        taken = "dpsan has one of that name" if kind.name in NAMES else "such as my-mechanism"
        raise UsageError(f"{kind.__name__} needs another name", taken)
    wrong = kind.family not in _FAMILIES or kind.epsilon_unit not in _UNITS
    families, units = ", ".join(_FAMILIES), " or ".join(_UNITS)
    refuse(wrong, f"{kind.__name__}: family is one of {families}; epsilon_unit is {units}")
    reserved = kind.status not in (Status.CLAIMED, Status.REFUTED, Status.NONE)
    what = f"{kind.__name__} cannot be {kind.status}: that is for what docs/proofs.md proves"
    refuse(reserved, what, "status = Status.CLAIMED")
    _OWN[kind.name] = kind
    return kind


def is_own(name: str) -> bool:
    """Return True if a mechanism was registered and is not one of dpsan's."""
    return name in _OWN


def check_base(kind: type[Mechanism], what: str) -> None:
    """Raise UsageError if a mechanism has no public base, which public words and classes need."""
    if not issubclass(kind, BaseResponse):
        able = " and ".join(name for name in NAMES if issubclass(MECHANISMS[name], BaseResponse))
        raise UsageError(f"mechanism '{kind.name}' has no {what}", f"{able} have")


def list_mechanisms() -> list[dict[str, str]]:
    """Return every mechanism: name, status, family, delta or not, epsilon unit, summary and
    source.
    """
    names = "name status family delta epsilon_unit summary source"
    return [_about(kind, names) for kind in MECHANISMS.values()]


def _about(kind: type[Mechanism], names: str) -> dict[str, str]:
    delta = {"delta": "yes" if "delta" in kind.parameters() else "no"}
    return {name: delta.get(name) or str(getattr(kind, name)) for name in names.split()}


# A mechanism of a third party: in a file of the user's, or of a package that is installed.
#
# ``path/to/own.py:ClassName`` may stand where a name may.  The file is read once, and what was read
# is hashed and run: the digest is that of the program.  A package names its mechanisms as entry
# points of the group ``dpsan.mechanisms``; dpsan imports one when somebody names it.  Both are
# programs with all rights of this process, and nothing of them is reviewed.


class OwnFile(NamedTuple):
    """A file that a mechanism was loaded from."""

    path: Path
    """Absolute."""
    class_name: str
    sha256: str
    entry: str = ""
    """Name of the entry point, if a package has it."""

    @property
    def name(self) -> str:
        """Return the name that loads it again, in any directory."""
        return self.entry or f"{self.path}:{self.class_name}"


_FILES: Final[dict[type[Mechanism], OwnFile]] = {}
"""Files of the classes that were loaded here."""


_OF_PROGRAMS: Final = (ImportError, SyntaxError, NameError, AttributeError)


def path_of(name: str) -> Path | None:
    """Return the file that a mechanism is to be loaded from, None for a registered name."""
    path, _, _ = name.rpartition(":")
    return Path(path) if path.endswith(".py") else None


def own_file(name: str) -> OwnFile | None:
    """Return the file that the mechanism of this name was loaded from."""
    return _FILES.get(MECHANISMS[name]) if is_own(name) else None


def space_for(space: MetricSpace, name: str) -> MetricSpace:
    """Return the space for work with a mechanism.

    A registered one may be another program than that of the same name and parameters whose tables
    are in the cache: it gets those that it made with the same file, and none about a mechanism.
    """
    if not is_own(name):
        return space
    file = own_file(name)
    return space.for_code_that_changes(file and file.sha256)


def mechanism_class(name: str, sha256: str | None = None) -> type[Mechanism]:
    """Return a mechanism's class, by its name, that of an entry point, or from FILE.py:CLASS.

    Args:
        name: of any of these forms.
        sha256: digest that the file must have.

    Raises:
        UsageError: unknown name; no such file or class, the file cannot be imported, the class is
            no mechanism, or the file was changed.
    """
    path = path_of(name)
    if path is None:
        if name not in MECHANISMS and (entry := brought().get(name)) is not None:
            new, path, digest = imported(entry, Mechanism)
            refuse(sha256 not in (None, digest), f"{path}: changed after the start")
            _FILES[register(new)] = OwnFile(path, entry.attr, digest, entry.name)
        refuse(name.endswith(".py"), f"{name}: which of its classes?", f"{name}:CLASS")
        check_name("mechanism", name, MECHANISMS)
        return MECHANISMS[name]
    try:
        if not path.is_file():  # a pipe would block
            raise FileNotFoundError
        code = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {file_reason(error)}") from None
    file = OwnFile(path.absolute(), name.rpartition(":")[2], hashlib.sha256(code).hexdigest())
    refuse(sha256 not in (None, file.sha256), f"{path}: changed after the start")
    for kind, loaded in _FILES.items():
        if loaded == file and own_file(kind.name) == file:
            return kind
    new = _class(file, path, code)
    ours = isinstance(new, type) and issubclass(new, Mechanism)
    refuse(not ours, f"{path}: {file.class_name} is no subclass of Mechanism")
    _FILES[kind := register(new)] = file
    return kind


def brought() -> dict[str, EntryPoint]:
    """Return the mechanisms of installed packages by name; dpsan's names are dpsan's."""
    return installed("dpsan.mechanisms", frozenset(NAMES))


def _class(file: OwnFile, path: Path, code: bytes) -> Any:
    """Run a file as a module, and return the class.  Raises UsageError."""
    module = ModuleType(f"{OWN_MODULE}{file.sha256[:16]}")
    module.__file__ = str(file.path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    try:
        with redirect_stdout(sys.stderr):  # standard output is for sanitized text
            exec(compile(code, file.path, "exec", dont_inherit=True), vars(module))  # noqa: S102
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it may be anything
        lines = [item.lineno for item in extract_tb(error.__traceback__)]
        line = error.lineno if isinstance(error, SyntaxError) else [*lines, None][1]
        where = path if line is None else f"{path}:{line}"
        # Python's own messages about a program quote its names, and no text.
        about = f": {error}".splitlines()[0] if isinstance(error, _OF_PROGRAMS) else ""
        raise UsageError(f"{where}: cannot import: {type(error).__name__}{about}") from None
    kind = vars(module).get(file.class_name)
    if kind is None:
        types = [item for item in vars(module).values() if isinstance(item, type)]
        classes = ", ".join(kind.__name__ for kind in types if kind.__module__ == module.__name__)
        hint = f"classes: {classes}" if classes else "it defines no class"
        raise UsageError(f"{path}: no class '{file.class_name}'", hint)
    return kind


# One mechanism in words: what it is, what is claimed, what is true.


def sections(name: str) -> dict[str, str]:
    """Return the parts of a mechanism's docstring by heading, unindented; ``Summary`` is the
    first.
    """
    text = sys.modules[MECHANISMS[name].__module__].__doc__ or ""
    parts = re.split("^(?=``)", text, flags=re.MULTILINE)  # a file may hold several
    # One may be about several forms: that of the longest part of the name.
    about = [part for part in parts if part[:2] == "``" and name.startswith(part.split("`")[2])]
    first, _, rest = max(about, key=lambda part: part.index("``", 2), default=text).partition("\n")
    out = {"Summary": first.partition(": ")[2] or MECHANISMS[name].summary}
    parts = re.split(r"^([A-Z][\w ]*)\n", rest, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        out[heading] = textwrap.dedent(body).strip("\n")
    return out


def bibtex(source: str) -> list[str]:
    """Return the BibTeX entries that the sources of mechanisms name, each once."""
    text = (Path(__file__).parent / "bibliography.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^(@\w+\{([^,]+),.*?^\})", text, re.MULTILINE | re.DOTALL)
    bodies = {key: body for body, key in entries}
    return [bodies[word] for word in dict.fromkeys(re.findall(r"[\w]+", source)) if word in bodies]


def parameter_rows(name: str) -> list[dict[str, Any]]:
    """Return the parameters besides epsilon: name, default, unit, domain, help."""
    kind = MECHANISMS[name]
    defaults = {key: about.default for key, about in kind.__dataclass_fields__.items()}
    return [
        {
            **{"name": key, "value": defaults[key], "required": about.required},
            **{"unit": about.unit, "domain": about.domain(), "help": about.help},
        }
        for key, about in kind.parameters().items()
    ]


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null means that no finite value holds."""
    return None if value is None or math.isinf(value) else float(value)


def described(name: str) -> dict[str, Any]:
    """Return what is known of a mechanism without a vocabulary."""
    parameters = {row["name"]: row["value"] for row in parameter_rows(name)}
    about = _about(MECHANISMS[name], "name status family epsilon_unit source")
    return {**about, "parameters": parameters}
