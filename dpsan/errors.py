"""Every error dpsan raises on purpose: a message, a hint that can be typed, an exit status.

Messages name file, line and column and never contain input text.  Numbers in messages are as people
read them: 1,284,105 words, 10.3 million, 8 and not 7.999999999999999; those that somebody may type
again (the epsilon of a ``calibrate``) and JSON keep all their digits and do not come here.
"""

import difflib
import math
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Hint:
    """Advice on what to do next, for callers of Python and for users of the command line."""

    python: str
    """Names arguments: ``vocab_size=50000``."""
    shell: str
    """Names options: ``--vocab-size 50000``."""

    def __str__(self) -> str:
        return self.python


def fewer_words(most: float) -> Hint:
    """To take only so many words, rounded down to two digits."""
    unit = 10 ** max(0, len(str(int(most))) - 2)
    number = int(most) // unit * unit
    return Hint(f"such as vocab_size={number}", f"such as --vocab-size {number}")


class DpsanError(Exception):
    """Base of all errors that a user can cause or mend.

    Args:
        message: one line, without input text.
        hint: what to do, shown in parentheses after the message; a :class:`Hint` where options
            and arguments differ.
    """

    exit_status = 1

    def __init__(self, message: str, hint: str | Hint = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error as it is: constructors that take other arguments would run twice."""
        return type(self).__new__, (type(self), self.message, self.hint), vars(self)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def on_command_line(self) -> str:
        """Return the same for those who type commands."""
        hint = self.hint.shell if isinstance(self.hint, Hint) else self.hint
        return f"{self.message} ({hint})" if hint else self.message


class UsageError(DpsanError):
    """The call cannot be carried out as written."""

    exit_status = 2


class UnprovedError(UsageError):
    """A mechanism without a proved guarantee was requested without ``--allow-unproved``."""


class ExtraMissingError(UsageError):
    """A feature needs an optional dependency."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra", f"pip install 'dpsan[{extra}]'")


class GensimMissingError(UsageError):
    """A feature needs gensim, which is not there for every Python."""

    def __init__(self, feature: str) -> None:
        super().__init__(f"{feature} needs gensim, which is not installed", "pip install gensim")


class FileError(DpsanError):
    """A file, or one line of it, cannot be used."""

    at_line = ":{}"

    def __init__(
        self, path: Path | str, message: str, hint: str | Hint = "", *, line: int | None = None
    ) -> None:
        where = name_or_count(path) if message == NO_FILE else str(path)
        where += "" if line is None else self.at_line.format(line)
        super().__init__(f"{where}: {message}", _near(path, message, hint))
        self.path, self.what, self.line = str(path), message, line


class EmbeddingError(FileError):
    """An embedding file cannot be used."""

    at_line = ": line {}"


class InputError(FileError):
    """A file of text, or one record of it, cannot be read."""


class MalformedError(Exception):
    """File content that the format does not allow, at a byte offset."""

    def __init__(self, at: int, what: str = "", hint: str = "") -> None:
        super().__init__()
        self.at, self.what, self.hint = at, what, hint

    def in_file(self, path: Path | str, data: bytes, first_line: int = 1) -> InputError:
        """Return the error of a file that holds ``data``, with line and byte."""
        column = self.at - data.rfind(b"\n", 0, self.at)
        line = first_line + data.count(b"\n", 0, self.at)
        return InputError(path, f"{self.what} at byte {column}", self.hint, line=line)


class OutputError(DpsanError):
    """A result cannot be written."""


class CacheError(DpsanError):
    """The cache directory cannot be used."""


class UnexpectedError(DpsanError):
    """Unforeseen error: its type and position only, as its message could quote input."""

    def __init__(self, error: BaseException) -> None:
        if isinstance(error, MemoryError):
            text = "out of memory"
        elif isinstance(error, OSError):
            text = reason(error)
        else:
            frames: list[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
            last = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
            text = f"internal error: {type(error).__name__}{last}"
        hint = "please report this line" if text.startswith("internal") else ""
        if isinstance(error, ModuleNotFoundError) and error.name:
            text = f"needs {error.name}, which is not installed"
            hint = f"pip install {_PACKAGES.get(error.name, error.name)}"
        if place := own_place(error):
            text = f"{place}: {type(error).__name__}"
            hint = f"your own, or a package's; {TRACEBACK}=1 shows where, and may show text"
            if os.environ.get(TRACEBACK) == "1":
                sys.stderr.write("dpsan: the traceback may contain text: do not pass it on\n")
                traceback.print_exception(error)
        super().__init__(text, hint)


_PACKAGES: Final = {"faiss": "faiss-cpu", "sklearn": "scikit-learn"}
"""Names of packages for pip, by other names under which they are imported."""
TRACEBACK: Final = "DPSAN_TRACEBACK"
"""The variable that asks for the traceback of an error in a file of one's own."""
OWN_MODULE: Final = "dpsan_own_"
"""Beginning of the names of modules that are made of such files."""
PACKAGED: Final[set[str]] = set()
"""Names of modules of other packages, which brought mechanisms and formats."""


def own_place(error: BaseException) -> str:
    """Return the last place in a file of one's own or of another package that an error went
    through, or nothing.
    """
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(OWN_MODULE) or name in PACKAGED:
            place = f"{frame.f_code.co_filename}:{line}"
    return place


def error_code(error: BaseException) -> str:
    """Return the kind of an error in a word, for programs: ``input``, ``output``, ``internal``."""
    if not isinstance(error, DpsanError) or isinstance(error, UnexpectedError):
        return "internal"
    return type(error).__name__.removesuffix("Error").lower()


def failure(path: Path | str, error: Exception) -> str:
    """One line for one of several files that failed; the others go on."""
    if not isinstance(error, DpsanError):
        error = UnexpectedError(error)
    line = error.on_command_line()
    return f"{path}: {line}" if isinstance(error, (UsageError, UnexpectedError)) else line


def refuse(wrong: object, message: str, hint: str | Hint = "") -> None:
    """Raise UsageError if something is wrong, such as options together."""
    if wrong:
        raise UsageError(message, hint)


def check_positive(name: str, value: object) -> None:
    """Raise UsageError unless a value is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} must be a number > 0 (got {value!r}, a {type(value).__name__})")
    if not 0 < float(value) < math.inf:
        raise UsageError(f"{name} must be > 0 (got {value})")


def unknown_name(kind: str, name: str, registered: Iterable[str]) -> UsageError:
    """Return the error for a name that is not in a registry: the nearest name, else the whole
    list.
    """
    names = list(registered)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near and "," not in name:
        return UsageError(f"unknown {kind} '{name}'; did you mean '{near[0]}'?")
    hint = "each by itself, without commas" if "," in name else f"known: {', '.join(names)}"
    return UsageError(f"unknown {kind} '{name}'", hint)


def check_name(kind: str, name: str, registered: Collection[str]) -> None:
    """Raises UsageError for a name that is not in a registry."""
    if name not in registered:
        raise unknown_name(kind, name, registered)


def printable(text: str) -> str:
    r"""Text from outside (a file's name, a word of a vocabulary) as one line of a terminal.

    Control characters, line separators, invisible format characters and undecodable bytes become
    escapes such as ``\x1b``: a name can neither forge a line nor steer the terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character) for character in text
    )


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


class NotRegularError(OSError):
    """A file is a directory, a pipe or a device; the message says which."""


def reason(error: OSError) -> str:
    """Return the system's own words for an error: nothing that a library may have put in."""
    if isinstance(error, NotRegularError):
        return str(error)
    return os.strerror(error.errno) if error.errno else type(error).__name__


def file_reason(error: OSError) -> str:
    """Why a file cannot be read, in a few words."""
    if isinstance(error, FileNotFoundError):
        return NO_STDIN if str(error.filename) == "-" else NO_FILE
    return reason(error)


NO_FILE: Final = "no such file"


def _near(path: Path | str, message: str, hint: str | Hint) -> str | Hint:
    """Return the hint of an error; of a file that is not there a near name, or what the name is."""
    if message != NO_FILE or hint not in ("", PIPE):
        return hint
    if all(map(os.path.exists, parts := str(path).split(","))):
        return f"several files have spaces between them: {' '.join(parts)}"
    if os.path.islink(path):  # noqa: PTH114 - a text
        return "a link to a file that is not there"
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")[:10_000]  # noqa: PTH208 - as above
    except OSError:
        return hint
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return f"did you mean {os.path.join(folder, near[0])}?" if near else hint  # noqa: PTH118


NO_STDIN: Final = "standard input is not read here (write it to a file)"
PIPE: Final = "text comes from standard input: echo TEXT | dpsan rewrite ..."


def name_or_count(name: Path | str) -> str:
    """Return a name that was typed; of a text in its place, which no message repeats, its words."""
    words = len(str(name).split())
    named = words < 4 or re.search(r"^[^@]*\.\w{1,5}$", str(name))
    return str(name) if named else f"a name of {words} words"


_LARGE: Final = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))


def number(value: float | None) -> str:
    """Return a count in full; any other number in five digits, or in three and a word from a
    million on.

    Args:
        value: an int is a count; None stands for infinity, as in the audit.
    """
    if value is None or math.isinf(value):
        return "infinite" if value is None or value > 0 else "-infinite"
    if isinstance(value, int):
        return f"{value:,}"
    rounded = float(f"{value:.5g}") if abs(value) < 1e4 else float(round(value))
    size = abs(rounded)
    if size == 0:
        return "0"
    if size < 1e-3 or size >= 1e15:
        digits, _, exponent = f"{value:.3g}".partition("e")
        return f"{digits}e{int(exponent)}" if exponent else digits
    for unit, name in _LARGE:
        if size >= unit or float(f"{size:.3g}") >= unit:
            return f"{float(f'{value / unit:.3g}'):,g} {name}"
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:,}"


def counted(count: int, what: str) -> str:
    """Return a count with its noun, whose plural ends in s."""
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share 0 ... 1 in whole per cent; near the ends a bound, for estimates cannot tell
    them.
    """
    if share < 0.01:
        return "under 1 %"
    return "over 99 %" if share > 0.99 else f"{100 * share:.0f} %"
