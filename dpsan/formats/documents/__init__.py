"""Documents: pages, mails and Word files, which are read as a whole.

``Document`` is the base class of all three.  What a person may have written is text and is
sanitized; what passes is on a list and is counted; everything else is refused or left out.  A new
kind of document subclasses ``Document``.  Nothing here knows mechanisms or how records are drawn.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from dpsan.errors import InputError, UsageError
from dpsan.files.source import Source, read_whole
from dpsan.formats.base import Format, ReadOptions, Record
from dpsan.formats.text import TextFormat, text_encoding


def sections(path: Path) -> dict[str, str]:
    """Return the parts of a file by name: ``[NAME]`` begins one, # a line that is a remark."""
    text = re.sub("^#.*", "", path.read_text("utf-8"), flags=re.M)
    _, *parts = re.split(r"^\[(\w+)\]", text, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def name_lists(file: str) -> dict[str, frozenset[str]]:
    """Return the lists of a file in this folder; the members of one stand between white space."""
    bodies = sections(Path(__file__).parent / file)
    return {name: frozenset(body.split()) for name, body in bodies.items()}


class RefusedError(Exception):
    """A document cannot be read; raised where the name of its file is not known."""

    def __init__(self, what: str, hint: str = "", *, line: int | None = None) -> None:
        super().__init__()
        self.what, self.hint, self.line = what, hint, line


class Document(Format):
    """A format whose files are read as a whole, each into an output of its own.

    All records of a document are known before the first one is written: of a document that is
    refused, nothing is written.
    """

    one_document = True
    kind: ClassVar[str]
    """Noun for messages."""

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        """Raise UsageError for an option that documents of this kind lack."""
        if options.force_text:
            return TextFormat().read(source, options)
        if options.fields and not self.takes_fields:
            raise UsageError(f"{self.name} has no --field", "leave it out")
        if self.own_encoding and text_encoding(options.encoding) != "utf-8":
            raise UsageError(self.own_encoding, "leave out --encoding")
        return self._all(source, options)

    def _all(self, source: Source, options: ReadOptions) -> Iterator[Record]:
        data = read_whole(source, self.kind, options.max_record)
        try:
            records = [*self.records(source, data, options)]
        except RefusedError as error:
            raise InputError(source.name, error.what, error.hint, line=error.line) from None
        yield from records

    @abstractmethod
    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterable[Record]:
        """Return the records of a document, and frames with what stands between them.

        Args:
            source: of the data, for messages.
            data: all bytes of the document.
            options: see :class:`~dpsan.formats.base.ReadOptions`.

        Raises:
            InputError, RefusedError: with the line.
        """
