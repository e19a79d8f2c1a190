"""Interface of a container format: records in, the same records with other texts out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, repeat
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.passing import Fields, named_type

if TYPE_CHECKING:
    from dpsan.text.spanned_tokens import Spans  # numpy comes with it

_RECORDS: Final = 1000
"""Records of which the paths are listed."""
Part: TypeAlias = Literal["record", "mark", "header", "frame"]
"""Kind of a piece of a container.

A ``record``; a byte order ``mark``, written only at the very start of an output; a ``header``,
written once for inputs joined into one output; a ``frame`` that holds records together. Copies are
made of records alone."""


Reject: TypeAlias = Callable[[bytes, InputError], None]
"""Takes a bad record and what is wrong."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading texts from bytes."""

    encoding: str = "utf-8"
    invalid: str = ""
    """``replace`` (U+FFFD, counted) or ``error``; empty: ``error`` of records that have fields."""
    max_record: ClassVar[int] = 64 << 20
    """Largest record in bytes; it takes up to ten times as much memory."""
    force_text: bool = False
    """True if NUL bytes, and what looks like another format, are read as text all the same."""
    fields: tuple[str, ...] = ()
    """Fields of a structured record that are text."""
    excluded: tuple[str, ...] = ()
    """Paths that are no text after all, with all that is inside of them."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Class of which each word of a field is drawn, by the name of the field."""
    by_name: bool = False
    """True if other fields have the class that their names tell."""
    header: bool = True
    """True if CSV and TSV start with a row of names."""
    strict: bool = False
    """True if content that cannot be rewritten is refused, such as attachments of mails, and not
    left out."""
    drop_other: bool = False
    """True if fields that are not chosen are left out instead of passing unchanged."""
    mixed: bool = False
    """True if files of several formats are read: each ignores the options of others."""
    field_owners: bool = False
    """True if ``fields`` are for the formats that need them, and not for those that may do without
    (one of them is among the files)."""
    delimiter: str = ""
    """Delimiter of CSV, one ASCII character; default: the format's own."""
    keep_equal: bool = False
    """True if a text that stays the same keeps its bytes, for outputs that hide nothing."""
    unit_field: str = ""
    """Field of a record that names its unit."""
    reject: Reject | None = None
    """Takes bad records of JSONL, CSV and TSV, which end the input otherwise."""
    first_line: int = 1
    """Line of its file at which an HTML page begins: above 1 for a part of a mail."""

    def classes(
        self, fields: Sequence[str], names: Sequence[str], typed: dict[str, str]
    ) -> list[str]:
        """Return the classes of texts, see :attr:`Record.kinds`; nothing if none has one.

        Args:
            fields: the field of each.
            names: the name or path of each in its record.
            typed: gets the type of each that its name alone tells.
        """
        told = map(named_type, names) if self.by_name else repeat("")
        kinds = [self.kinds.get(of) or by_name for of, by_name in zip(fields, told, strict=False)]
        of_names = zip(names, kinds, strict=False)
        typed.update((name, kind[1:]) for name, kind in of_names if kind.startswith("="))
        return kinds if any(kinds) else []


@dataclass(slots=True)
class Record:
    """One record: its texts, and how to write it with other texts."""

    line: int
    """1-based, for messages and the audit."""
    texts: Sequence[str] = field(repr=False)
    render: Callable[[list[str]], bytes] = field(repr=False)
    invalid: int = 0
    """Undecodable byte sequences that were replaced."""
    part: Part = "record"
    owes: bytes = b""
    """The ending it lacks: written before whatever follows it, if anything does."""
    size: int = 0
    """Bytes that it holds besides its texts, about."""
    bare: bool = False
    """A structured record that has none of the chosen fields; it is written unchanged."""
    spans: Spans | None = None
    """Spans of its one text that are sanitized; None: all of every text."""
    kinds: Sequence[str] = ()
    """Class of which each word of a text is drawn, or nothing, where fields have classes."""
    noted: Mapping[str, int] | None = None
    """Other text of the container, see :class:`~dpsan.formats.passing.Passing`."""
    unit: str = ""
    """Value of the field that ``unit_field`` names."""
    fields: Sequence[Fields] = ()
    """Fields of the input, which its reader completes while it reads: once for each input."""
    lines: Sequence[int] = ()
    """The lines of a record that has several."""
    unmarked: int = 0
    """Those without a span, where there are spans."""


@dataclass(slots=True, repr=False)
class Unchanged:
    """Renders bytes that stay as they are."""

    raw: bytes

    def __call__(self, texts: list[str]) -> bytes:
        """Return the bytes as they are."""
        return self.raw


class Format(ABC):
    """A container format, and what it can do.

    All capabilities are false until a format declares them: an option that a new format does not
    mention is refused for it.
    """

    name: ClassVar[str]
    one_text: ClassVar[bool] = False
    """True if the records of an input are the lines of one text."""
    one_document: ClassVar[bool] = False
    """True if the records of an input are the texts of one document."""
    joinable: ClassVar[bool] = False
    """True if several inputs can be written into one output, one after the other."""
    takes_budget: ClassVar[bool] = False
    """True if an output that ``--budget`` ends early can be read."""
    copyable: ClassVar[bool] = False
    """True if a record can be written several times (``--copies``)."""
    takes_spans: ClassVar[bool] = False
    """True if ``--spans`` can number its records."""
    takes_fields: ClassVar[bool] = False
    """True if ``--field`` chooses something."""
    needs_fields: ClassVar[bool] = False
    """True if nothing is sanitized without ``--field``; other fields pass unchanged."""
    field_paths: ClassVar[bool] = False
    """True if a field is always a path such as ``a.b[]``."""
    nested: ClassVar[bool] = False
    """True if a record may hold others: ``--except`` leaves out some of it."""
    own_encoding: ClassVar[str] = ""
    """Why ``--encoding`` is refused; empty if it is not."""
    leaves_out: ClassVar[bool] = False
    """True if content that cannot be rewritten is left out; ``--strict`` refuses it."""
    takes_header: ClassVar[bool] = False
    """True if the first row may be a header; ``--no-header`` declares it data."""
    takes_delimiter: ClassVar[bool] = False
    takes_units: ClassVar[bool] = False
    """True if a field of a record can name its unit."""
    skips_bad_records: ClassVar[bool] = False
    """True if ``--bad-records`` can leave out an unreadable record."""

    @classmethod
    def suited(cls, options: ReadOptions) -> ReadOptions:
        """Return the options; of mixed files those that concern this format, and no others."""
        options = replace(options, invalid=options.invalid or "error" * cls.needs_fields)
        if not options.mixed:
            return options
        default = ReadOptions()
        concerns = {
            "fields": cls.needs_fields if options.field_owners else cls.takes_fields,
            "excluded": cls.nested,
            "encoding": not cls.own_encoding,
            "header": cls.takes_header,
            "delimiter": cls.takes_delimiter,
            "strict": cls.leaves_out,
            "drop_other": cls.needs_fields,
        }
        others = {name: getattr(default, name) for name, does in concerns.items() if not does}
        return replace(options, **others)

    def labels(self, source: Source, field: str, options: ReadOptions) -> Iterator[str]:
        """Yield one field of each record as text.  Raises as :meth:`read`."""
        for record in self.read(source, replace(options, fields=(field,))):
            if record is not None and record.part == "record" and not record.bare and record.texts:
                yield str(record.texts[0])

    def headers(self, source: Source, options: ReadOptions) -> list[str]:
        """Return the paths of the first records, those of strings first.

        Raises:
            InputError: as :meth:`read`.
        """
        records = islice(self.read(source, replace(options, fields=("**",))), _RECORDS)
        read = [record.fields[0] for record in records if record is not None and record.fields]
        names = {name: None for fields in read for name in fields.chosen}
        return [*(names | {name: None for fields in read for name in fields.others})]

    @abstractmethod
    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        """Records in order; None whenever the source is idle, so that output can be flushed.

        Raises:
            InputError: naming file and line.
        """
