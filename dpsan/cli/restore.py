"""``dpsan restore``."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from dpsan.cli.command import argument, flag, option
from dpsan.cli.options import STDIN, Container, Quiet, several
from dpsan.cli.output import INPUT, OUTPUT, RARE, say
from dpsan.errors import InputError, UsageError, counted, refuse
from dpsan.files.atomic_files import AtomicFile, Sink
from dpsan.files.compression import decompressed, packer_for
from dpsan.files.same_files import Use
from dpsan.files.source import FileSource, opened_input
from dpsan.formats.kinds import format_for, formats_with
from dpsan.restore.map_file import read_map, rows_by_unit
from dpsan.restore.restoring import Restoring

_STAYED: Final = {
    "undecided": ("token", "unchanged: the {} has several originals"),
    "capitals": ("token", "unchanged: a replacement in other capitals, or an ordinary word"),
    "short": ("token", "unchanged: single letters, and numbers of fewer than four digits"),
    "strangers": ("record", "unchanged: the {} has no row of their unit"),
    "invalid": ("undecodable byte sequence", "replaced by U+FFFD"),
}
"""Messages by what is counted: the noun, and what happened."""


@dataclass(frozen=True, kw_only=True)
class Restore(Container, Quiet):
    """Put the originals of a map or memo back into an answer.

    Whoever holds the map of 'rewrite --map', or a memo with units, can undo its replacements; to
    them the text is only pseudonymized. The output is as sensitive as the map.

    Examples:
        dpsan restore --map names.map answer.txt
        dpsan restore --map names.map -k body --unit-field id answers.csv
        dpsan restore --memo chat.memo -k text --unit-field id answers.jsonl
    """

    file: Path | None = argument("[FILE]", None)
    """Default or -: stdin."""
    map_: Path | None = option("--map FILE", panel=INPUT)
    """The map that 'rewrite --map' wrote."""
    memo: Path | None = option("--memo DIR", panel=INPUT)
    """The memo of 'rewrite --only --memo --unit-field'."""
    unit: str | None = option("--unit UNIT", panel=INPUT)
    """With --memo: the unit of all records."""
    field: list[str] | None = option("-k, --field NAME", panel=INPUT, callback=several)
    """Put originals back into this column or JSON path. Repeatable."""
    unit_field: str | None = option("--unit-field NAME", panel=INPUT)
    """Use for each record the entries of its unit alone, which this column or JSON path names.
    Default: the whole map, but for replacements of which units disagree."""
    output: Path | None = option("-o, --output FILE", use=Use.WRITTEN, panel=OUTPUT)
    """Write to FILE, for its owner alone."""
    force: bool = flag("--force", panel=OUTPUT)
    """Replace an existing FILE."""
    invalid: str = option("--invalid replace|error", "replace", panel=RARE)
    """Replace undecodable bytes of a text with originals by U+FFFD, or fail."""

    rules: ClassVar = """
        --map and --memo exclude each other
        --unit and --unit-field exclude each other
        --unit needs --memo DIR
    """

    def run(self) -> int:
        """Restore the input, and say how much of it stays as it is."""
        self.check_rules()
        memo = self.map_ is not None and self.map_.is_dir()
        refuse(memo, f"--map {self.map_}: a directory", f"if it is a memo: --memo {self.map_}")
        neither = self.map_ is None and self.memo is None
        refuse(neither, "--map is required", "the file that 'dpsan rewrite --map' wrote")
        by_unit = self.unit_field is not None
        what = "--memo needs --unit-field NAME or --unit UNIT"
        refuse(self.memo is not None and not by_unit and self.unit is None, what)
        path = None if self.file == STDIN else self.file
        self.check_files(stdin=path is None)
        name = str(path or "standard input")
        (kind,) = self.containers([path or STDIN])
        if self.unit_field and not kind.takes_units:
            raise UsageError(f"--unit-field is for {formats_with('takes_units')}")
        options = self.read_options(
            invalid=self.invalid,
            unit_field=self.unit_field or "",
            keep_equal=True,
        )
        with ExitStack() as stack:
            restoring = self._restoring(stack)
            standard = nullcontext(FileSource(name, 0))
            source = stack.enter_context(standard if path is None else opened_input(path))
            sink = Sink("standard output", 1)
            if self.output is not None:
                packer = packer_for(self.output.name)
                new = AtomicFile(self.output, force=self.force, private=True, packer=packer)
                sink = stack.enter_context(new)
            records = format_for(self.format_, name).read(decompressed(source), options)
            restoring.write(records, sink)
            source.check_unchanged()
            if isinstance(sink, AtomicFile):
                sink.commit()
        return self._tell(restoring.counts, empty=restoring.empty)

    def _restoring(self, stack: ExitStack) -> Restoring:
        """Return what restores records.  Raises InputError, OutputError."""
        if self.map_ is not None:
            if self.unit_field is None:
                return Restoring(read_map(self.map_), lambda _: ())
            rows_of = rows_by_unit(self.map_)
            return Restoring(None, rows_of.__getitem__)
        from dpsan.run.memo_file import MemoFile

        assert self.memo is not None  # noqa: S101 - checked
        memo = stack.enter_context(MemoFile(self.memo, there=True))
        try:
            return Restoring(None if self.unit is None else memo.rows(self.unit), memo.rows)
        except UsageError:
            raise InputError(self.memo, "has no such unit") from None

    def _tell(self, counts: Counter[str], *, empty: bool) -> int:
        """Say how many tokens were put back, and how many could not be; 1 if the map has none.

        Args:
            empty: the map has no replacement at all.
        """
        source = "map" if self.map_ else "memo"
        kinds = "restored", "undecided", "capitals", "short"
        strange = not (empty or any(map(counts.get, kinds)))
        what = f"nothing was put back: no replacement of the {source} occurs in the text"
        what = what if strange else f"{counted(counts['restored'], 'original')} put back"
        if not self.quiet or (strange and self.map_):
            say(what + f" (is it the {source} of this text's run?)" * strange)
        for kind, (noun, what) in _STAYED.items() if not self.quiet else ():
            if counts[kind]:
                say(f"{counted(counts[kind], noun)} {what.format(source)}")
        return int(strange and self.map_ is not None)
