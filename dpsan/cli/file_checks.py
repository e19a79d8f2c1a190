"""What every command asks before it opens anything: would it write over what it reads?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpsan.files.same_files import FileUses, Use


def known_files() -> FileUses:
    """Return the files of every command: standard error, where messages go."""
    uses = FileUses()
    uses.add_stream(Use.STANDING, "standard error", 2)
    return uses


def read_embeddings(uses: FileUses, embeddings: Path | None) -> None:
    """Take in all files of an embedding, or of the bundled vocabulary.  Raises UsageError."""
    from dpsan.embeddings.loading import files_of  # heavy import

    uses.add(Use.READ, "--embeddings", *files_of(embeddings))


def check_files(
    *,
    reads: Mapping[str, Path | Sequence[Path] | None],
    writes: Mapping[str, Path | None] | None = None,
    stdin: bool = False,
) -> FileUses:
    """The files of a command that prints its answer.

    Args:
        reads: by option or argument.
        writes: those that it makes besides.
        stdin: whether standard input is read.

    Raises:
        UsageError: one is written to and also read, or written to twice.
    """
    uses = known_files()
    if stdin:
        uses.add_stream(Use.READ, "standard input", 0)
    for what, paths in reads.items():
        uses.add(Use.READ, what, *([paths] if isinstance(paths, Path) else paths or ()))
    for what, path in (writes or {}).items():
        uses.add(Use.WRITTEN, what, path)
    uses.add_stream(Use.STANDING, "standard output", 1)
    return uses
