"""Options that several commands share, each defined once, in groups that commands inherit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields
from functools import cached_property
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Any, Final

from dpsan.cli.command import Command, flag, option, setting
from dpsan.cli.output import INPUT, OUTPUT, RUNNING, Progress, print_json, print_result, say
from dpsan.errors import UsageError, refuse
from dpsan.files.atomic_files import check_writable, write_whole
from dpsan.files.same_files import FileUses, Use
from dpsan.formats.base import Format, ReadOptions
from dpsan.formats.kinds import (
    FORMATS,
    file_choices,
    format_class,
    format_name,
    formats_with,
    refuse_suffix,
)
from dpsan.sanitize.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from dpsan.analysis.evaluate.pairs import Inputs
    from dpsan.analysis.pages import Shown
    from dpsan.embeddings.store import Store
    from dpsan.embeddings.words import Embeddings
    from dpsan.space.metric_space import MetricSpace


STDIN: Final = Path("-")
_SOME: Final = ("leaves_out", "takes_header", "takes_delimiter")
"""Capabilities that one of several named files must have; of other ones, all files must."""
_EVERY: Final = ("takes_budget", "takes_spans", "copyable", "takes_units")
"""Capabilities that all files must have, below a directory and with a policy too."""
_FORMAT: Final = f"-f, --format {'|'.join(['auto', *FORMATS])}"


@dataclass(frozen=True, kw_only=True)
class Quiet(Command):
    """The option that silences a command."""

    quiet: bool = flag("-q, --quiet", panel=RUNNING, decides=False)
    """Print errors and warnings only."""

    @cached_property
    def progress(self) -> Progress:
        """Return what shows the progress of this command."""
        return Progress(self.quiet)


@dataclass(frozen=True, kw_only=True)
class Json(Command):
    """The option of the form of an answer."""

    as_json: bool = flag("--json", panel=OUTPUT)
    """Write JSON."""

    def show(self, values: object, results: Sequence[Shown]) -> None:
        """Print JSON, or else what is said of the results."""
        if self.as_json:
            print_json(values)
        for at, shown in enumerate(() if self.as_json else results):
            print_result(shown, again=at > 0)


@dataclass(frozen=True, kw_only=True)
class JsonAndFile(Json):
    """The options of commands that can write their answer to a file."""

    force: bool = flag("--force", panel=OUTPUT)
    """Replace an existing FILE."""


@dataclass(frozen=True, kw_only=True)
class Page(JsonAndFile):
    """An answer on the terminal, as JSON, or as an HTML page."""

    html: Path | None = option("--html FILE", use=Use.WRITTEN, panel=OUTPUT)
    """Write one HTML page."""

    def check_page(self) -> None:
        """Complain about the page before the long work.  Raises OutputError."""
        if self.html is not None:
            check_writable(self.html, force=self.force)

    def show(self, values: object, results: Sequence[Shown], *, private: bool = False) -> None:
        """Write the page or print JSON, or both, else what is said of the results.

        Args:
            values: of JSON.
            private: a page for its owner alone.
        """
        if self.html is not None and results:
            from dpsan.analysis.pages import page

            written = page(f"dpsan {type(self).__name__.lower()}", results).encode()
            write_whole(self.html, written, force=self.force, private=private)
        printed = self.html is None and not self.as_json
        quiet = getattr(self, "quiet", False)
        for shown in results if not quiet and (printed or private) else ():
            for warning in shown.warnings:
                say(warning)
        super().show(values, results if self.html is None else ())


@dataclass(frozen=True, kw_only=True)
class Privacy(Command):
    """A mechanism, its epsilon, which has no default, and the words that need no protection."""

    epsilon: float | None = setting("epsilon")
    param: list[str] | None = setting("parameters")
    mechanism: str = setting("mechanism")
    public: Path | None = setting("public")

    def check_rules(self) -> None:
        """Raise UsageError with the first rule that is not kept, or if epsilon is not above 0."""
        super().check_rules()
        if self.epsilon is not None:
            positive("--epsilon", self.epsilon)

    def spec(self, **more: Any) -> Settings:
        """Return the settings of a run; ``more``: others than the options have.

        Raises:
            DpsanError: a value outside its domain, or a list that cannot be read.
        """
        given = {name: getattr(self, name) for name in SETTINGS if name in vars(self)}
        return Settings.read(**{**given, **more}, parameters=parameters(self.param))


@dataclass(frozen=True, kw_only=True)
class Vocabulary(Quiet):
    """Word vectors, and the cache that holds what is computed from them."""

    embeddings: Path | None = setting("embeddings", use=None)
    vocab_size: int | None = setting("vocab_size", min=2)

    def store(self) -> Store:
        """Return the cache; its complaints and the progress of long tables go to stderr."""
        from dpsan.embeddings.store import Store

        if self.quiet:
            return Store()
        from dpsan.embeddings.words import WATCH

        WATCH.set(self.progress.table)
        return Store(note=say)

    def open_space(self, store: Store | None = None) -> tuple[Embeddings, MetricSpace]:
        """Return the word vectors and their metric space.  Raises DpsanError."""
        from dpsan.space.cached_index import open_space

        return open_space(self.embeddings, self.vocab_size, store or self.store())

    def check_files(self, *, stdin: bool = False) -> FileUses:
        """Check all files, those of embeddings and mechanisms too. Raises UsageError."""
        uses = super().check_files(stdin=stdin)
        self.add_files(uses)
        return uses

    def add_files(self, uses: FileUses) -> None:
        """Take in all files of embeddings and mechanisms.  Raises UsageError."""
        from dpsan.embeddings.loading import files_of  # heavy import
        from dpsan.mechanisms.registry import path_of

        names = getattr(self, "mechanism", None) or []
        for name in [names] if isinstance(names, str) else names:
            uses.add(Use.READ, "--mechanism", path_of(name))
        uses.add(Use.READ, "--embeddings", *files_of(self.embeddings))


# It has no objects of its own, and to make it so would take time at each start.
@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Sanitizing(Vocabulary, Privacy):
    """Everything that decides how words are drawn."""

    unknown: str = setting("unknown")
    keep: Path | None = setting("keep")
    case: str = setting("case")
    consistent: str | None = setting("consistent")
    numbers: str = setting("numbers")
    only: str | None = setting("only")
    roles: str = setting("roles")
    classes: list[str] | None = setting("classes")
    fluent: bool = setting("fluent")
    tokenizer: str = setting("tokenizer", checked=False)  # its values are checked later
    allow_unproved: bool = setting("allow_unproved")


@dataclass(frozen=True, kw_only=True)
class Reading(Command):
    """Options of how the bytes of a file are read."""

    format_: str = option(_FORMAT, "auto", checked=False, panel=INPUT)
    """Container. `auto` goes by the suffix of the file; `text` reads any file as lines."""
    delimiter: str | None = option("--delimiter CHAR", panel=INPUT, capability="takes_delimiter")
    r"""Character between the cells of a table, such as ';' or '\t'."""
    encoding: str = option("--encoding NAME", "utf-8", panel=INPUT)
    """Encoding of input and output."""

    def cell_delimiter(self) -> str:
        """Return the character of ``--delimiter``; empty without one.  Raises UsageError."""
        if self.delimiter is None:
            return ""
        from dpsan.formats.csv import one_delimiter

        return one_delimiter(self.delimiter, "--delimiter")

    def read_options(self, **more: Any) -> ReadOptions:
        """Return how files are read; ``more``: further fields.  Raises UsageError."""
        return ReadOptions(encoding=self.encoding, delimiter=self.cell_delimiter(), **more)

    def choices(self, path: Path) -> str:
        """Return the hint that lists what ``--field`` can choose of a file."""
        return file_choices(path, self.format_, Reading.read_options(self))


def several(given: list[str] | None) -> list[str] | None:
    """Return the names of ``-k a,b``; a comma of a name has a backslash before it."""
    parts = (part for text in given or () for part in re.split(r"(?<!\\),", text))
    return [part.replace("\\,", ",") for part in parts] or None


@dataclass(frozen=True, kw_only=True)
class Container(Reading):
    """Options of containers."""

    field: list[str] | None = option("-k, --field NAME", panel=INPUT, callback=several)
    """Sanitize this column or JSON path, such as body or messages[].content, or with '**' every
    string. Repeatable, or with commas; other fields pass unchanged. With --only, name:names
    replaces each word of it by a name. `dpsan headers FILE` lists the names."""
    except_: list[str] | None = option("--except PATH", panel=INPUT, capability="nested")
    """Leave out this path of JSON or Parquet, and all inside of it: with -k '**', let it pass.
    Repeatable."""
    no_header: bool = flag("--no-header", panel=INPUT, capability="takes_header")
    """Treat the first row of a table as data. Choose columns by number."""

    @property
    def field_names(self) -> tuple[str, ...]:
        """Return the chosen columns and paths."""
        return tuple(self.field or ())

    def containers(self, paths: Sequence[Path]) -> list[type[Format]]:
        """Return the formats of files, by name.  Raises UsageError: an option is not for them."""
        from dpsan.formats.text import ICONV, UTF16

        names = {format_name(self.format_, str(path)) for path in paths}
        kinds = [format_class(name, "") for name in sorted(names)]
        if self.field:
            what = f"{kinds[0].name} has no --field"
            if STDIN in paths and self.format_ == "auto":
                what = "standard input does not tell its format"
                with suppress(OSError):
                    there = not os.isatty(0) and select([0], [], [], 1)[0]
                    hint = ICONV.format("UTF-16")
                    wrong = there and os.read(0, 2) in UTF16  # refused in any case
                    refuse(wrong, "standard input looks like UTF-16", hint)
            if not any(kind.takes_fields for kind in kinds):  # else no other format is imported
                refuse_suffix(str(paths[0]))
                raise UsageError(what, f"with -f: {formats_with('takes_fields')} have fields")
        elif all(kind.needs_fields for kind in kinds):  # no column is named: no file was read
            raise UsageError(f"{kinds[0].name} needs --field", self.choices(paths[0]))
        self.cell_delimiter()
        for item in fields(self):
            capability = str(item.metadata.get("capability", ""))
            every = capability in _EVERY
            if capability and self.is_given(item) and (every or not self.from_policy(item)):
                # Among files that -r found, an option may concern some of them only.
                mixed = capability in _SOME or (getattr(self, "recursive", False) and not every)
                if not (any if mixed else all)(getattr(kind, capability) for kind in kinds):
                    raise UsageError(f"{item.metadata['name']} is for {formats_with(capability)}")
        return kinds

    def from_policy(self, _: Field[Any]) -> bool:
        """Return whether a policy gave an option: it is for files of many formats."""
        return False

    def read_options(self, *, force_text: bool = False, **more: Any) -> ReadOptions:
        """Return how files are read; ``more``: further fields.  Raises UsageError.

        Args:
            force_text: read as text what looks like another format, as ``--format text`` does.
        """
        return super().read_options(
            force_text=force_text or self.format_ == "text",
            fields=self.field_names,
            excluded=tuple(self.except_ or ()),
            header=not self.no_header,
            **more,
        )

    def input_options(self, path: Path, *, force_text: bool = True) -> Inputs:
        """Return how files of texts are read that are judged, not sanitized.

        Args:
            path: of one of them; the others are of the same format.
            force_text: as for :meth:`read_options`.

        Raises:
            UsageError: an option that is not for its format.
        """
        from dpsan.analysis.evaluate.pairs import Inputs

        self.containers([path])
        return Inputs(self.format_, self.read_options(force_text=force_text))


def positive(name: str, value: float) -> float:
    """Return a value.  Raises UsageError unless it is a finite number above 0."""
    finite = " and finite" * (value == float("inf"))
    refuse(not 0 < value < float("inf"), f"{name} must be > 0{finite} (got {value:g})")
    return value


def parameters(given: list[str] | None) -> dict[str, str]:
    """Return values by name.  Raises UsageError: not ``NAME=VALUE``, or a name given twice."""
    out: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        refuse(not equals or not name, f"--param must be NAME=VALUE (got {text})")
        refuse(name in out, f"--param {name} was given twice")
        out[name] = value
    return out


def positive_numbers(name: str, given: list[str]) -> tuple[float, ...]:
    """Return numbers > 0 of texts separated by commas, each once.  Raises UsageError."""
    out: dict[float, None] = {}
    for part in ",".join(given).split(","):
        try:
            out[positive(name, float(part))] = None
        except (ValueError, UsageError):
            raise UsageError(f"{name} must be numbers > 0 (got {part})", "such as 4,8") from None
    return tuple(out)
