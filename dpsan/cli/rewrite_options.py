"""The options of ``dpsan rewrite``, the files that it reads and writes, and which are complete."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import typer

from dpsan.cli.command import argument, flag, option, rows_of
from dpsan.cli.options import STDIN, Container, Sanitizing
from dpsan.cli.output import INPUT, OUTPUT, PRIVACY, RARE, RUNNING
from dpsan.errors import OutputError, refuse
from dpsan.files.same_files import FileUses, Use
from dpsan.files.source import stream_number
from dpsan.restore.map_file import is_bare
from dpsan.run import run, side_outputs

_ABSENT = 0


def _read_policy(context: typer.Context, path: Path | None) -> Path | None:
    from dpsan.cli.policy import read_policy  # heavy import

    return read_policy(context, path, fields(RewriteOptions))


@dataclass(frozen=True, kw_only=True)
class RewriteOptions(Container, Sanitizing):
    """Options of ``rewrite``, and the files that they name."""

    files: list[Path] | None = argument("[FILE]...", None, use=None, decides=False, readable=False)
    """Default or -: stdin."""
    policy: Path | None = option(
        "--policy FILE", panel=PRIVACY, decides=False, is_eager=True, callback=_read_policy
    )
    """Take these options from FILE, in TOML; those on the command line win."""
    budget: float | None = option("--budget X", panel=PRIVACY, capability="takes_budget")
    """Refuse a record whose draws cost more than the LDP epsilon X; with --ledger, those of all
    runs."""
    memo: Path | None = option("--memo DIR", panel=PRIVACY, use=None)
    """Draw each message once, and write its earlier output when it comes again. DIR is as
    sensitive as the input."""
    forget: str | None = option("--forget UNIT", panel=PRIVACY, decides=False)
    """With --memo alone: erase a unit, whose name --unit-field gave, and what it became."""
    ledger: Path | None = option("--ledger FILE", panel=PRIVACY, use=None)
    """Add up in FILE what each record has cost over all runs, for --budget."""
    recursive: bool = flag("-r, --recursive", panel=INPUT)
    """Read all files below a directory, except hidden ones and links."""
    spans: Path | None = option("--spans FILE", panel=INPUT, capability="takes_spans")
    """Draw only words that these spans touch (docs/formats.md), or with --only, these too, from
    the group of their type. All other words pass: NOT PROTECTED."""
    strict: bool = flag("--strict", panel=INPUT, decides=False, capability="leaves_out")
    """Refuse a document whose content cannot all be rewritten, such as attachments and metadata,
    instead of leaving that out. Always with -i."""
    drop_other: bool = flag("--drop-other", panel=INPUT, capability="needs_fields")
    """Leave out the columns and fields that --field does not choose. By default they pass
    unchanged."""
    bad_records: Path | None = option(
        "--bad-records FILE", panel=INPUT, use=Use.WRITTEN, capability="skips_bad_records"
    )
    """Write unreadable or over-budget records to FILE and continue. FILE is as sensitive as the
    input."""
    output: Path | None = option("-o, --output FILE", panel=OUTPUT, use=None, decides=False)
    """Write to FILE."""
    output_dir: Path | None = option("-O, --output-dir DIR", panel=OUTPUT, use=None, decides=False)
    """Write each file below DIR, keeping the tree."""
    in_place: bool = flag("-i, --in-place", panel=OUTPUT, decides=False)
    """Overwrite the input files."""
    audit: Path | None = option("-a, --audit FILE", panel=OUTPUT, use=Use.WRITTEN, decides=False)
    """Write one JSON row for each word. FILE is as sensitive as the input."""
    audit_originals: bool = flag("--audit-originals", panel=OUTPUT, decides=False)
    """Write the input words to the audit, too."""
    map_: Path | None = option("--map FILE", panel=OUTPUT, use=Use.WRITTEN, decides=False)
    """With --only: write what each replacement stands for, so that 'dpsan restore' can put it
    back. FILE is as sensitive as the input."""
    unit_field: str | None = option("--unit-field NAME", panel=OUTPUT, capability="takes_units")
    """The column or JSON path that names a record's unit, such as a conversation. With --memo,
    each distinct word of a unit has one replacement in all runs. With --map, in all files of the
    run; default: each record is a unit, named by file and line."""
    unit: str | None = option("--unit NAME", panel=OUTPUT)
    """With --memo: all records are of this unit. So a name stays one name over all files and runs,
    also with --resume."""
    review: Path | None = option("--review FILE", panel=OUTPUT, use=Use.WRITTEN, decides=False)
    """With --only: write each different word with its count and the list or rule by which it
    passed or was replaced, for a reviewer. FILE is as sensitive as the input."""
    force: bool = flag("--force", panel=OUTPUT, decides=False)
    """Replace existing files."""
    resume: bool = flag("--resume", panel=OUTPUT, decides=False)
    """With -O: skip finished outputs."""
    dry_run: bool = flag("-n, --dry-run", panel=OUTPUT, decides=False)
    """Write nothing. Print the number of words, the privacy cost and three examples."""
    copies: int = option("--copies N", 1, min=1, max=1000, panel=OUTPUT, capability="copyable")
    """Write N independent outputs of every record. They cost N times epsilon."""
    jobs: int | None = option("-j, --jobs N", min=1, max=1024, panel=RUNNING, decides=False)
    """Number of processes. Each holds the vectors; with --engine ray, default one for each CPU."""
    log_json: Path | None = option("--log-json FILE", panel=RUNNING, use=Use.WRITTEN, decides=False)
    """Write a line of JSON for each input when it ends: path, status, records, words, epsilon,
    seconds."""
    quiet: bool = flag("-q, --quiet", panel=RUNNING, decides=False)
    """Print only errors and what needs a look: columns and fields that pass, what is left out, and
    other warnings."""
    verbose: bool = flag("-v, --verbose", panel=RUNNING, decides=False)
    """Also print the privacy cost of the run and what it does not protect."""
    invalid: str | None = option("--invalid replace|error", panel=RARE)
    """Replace undecodable bytes by U+FFFD, or fail. Default: replace in text, fail in tables and
    JSON, and with -i."""
    engine: str = option("--engine local|ray", "local", panel=RARE, decides=False)
    """`ray` runs on a cluster; it needs -O. The words under a seed are the same."""
    address: str | None = option("--address ADDR", panel=RARE, decides=False)
    """With --engine ray: address of a running cluster. Default: a cluster on this machine."""
    seed: str | None = option("--seed TEXT", panel=RARE)
    """Make the output repeatable, for tests. NOT PRIVATE."""
    line_buffered: bool = flag("--line-buffered", panel=RARE, decides=False)
    """Write every line at once."""

    @cached_property
    def inputs(self) -> list[Path]:
        """Return the files to read, in order of their names below a directory; without one standard
        input.

        Raises:
            UsageError: a directory without files.
        """
        if not self.recursive:
            return self.files or [STDIN]
        files: list[Path] = []
        for path in self.files or [Path()]:
            below = path.rglob("*") if path.is_dir() else ()
            inner = sorted(
                entry
                for entry in below
                if entry.is_file()
                and not entry.is_symlink()
                and not any(part.startswith(".") for part in entry.relative_to(path).parts)
            )
            refuse(path.is_dir() and not inner, f"{path}: no file below it")
            files += inner if path.is_dir() else [path]
        return files

    @property
    def roots(self) -> list[Path]:
        """Return the directories that are searched for inputs."""
        return [path for path in self.files or [Path()] if path.is_dir()] if self.recursive else []

    @property
    def outputs(self) -> Iterator[Path]:
        """Yield what is written, one for each input, with ``-O`` or ``-i``."""
        if self.output_dir is not None:
            yield from run.plan_outputs(self.inputs, self.output_dir, self.roots)
        elif self.in_place:
            yield from self.inputs

    def check_outputs(self) -> None:
        """Refuse combinations that make no sense, before anything is read or written.

        Raises:
            UsageError: options that exclude or need each other.
            OutputError: an output exists.
        """
        audit, output = self.audit, self.output
        for name in ("audit", "map", "review"):
            path = getattr(self, {"map": "map_"}.get(name, name))
            told = self.files or self.recursive or self.force
            if path and path.is_file() and not told and not (name == "map" and is_bare(path)):
                hint = f"--{name} writes it, and the text is another FILE; --force replaces it"
                raise OutputError(f"{path}: exists", hint)
        first, *rest = self.inputs
        if output is None and self.output_dir is None and not self.in_place and not self.recursive:
            second = rest[0] if len(rest) == 1 else first
            misplaced = first != STDIN and first.exists() and not second.exists()
            refuse(misplaced, f"{second}: no such file", f"to write it: -o {second}")
        wrong = self.output_dir is not None and self.output_dir.is_file()
        hint = f"-o {self.output_dir} writes one file"
        refuse(wrong, f"-O {self.output_dir}: a file, not a directory", hint)
        stdin = (self.output_dir or self.in_place) and STDIN in self.inputs
        refuse(stdin, "-O and -i need files, not standard input")
        self._check_directory()
        if self.resume and audit is not None and audit.is_file() and not self.force:
            hint = "name another: dpsan report adds several up; --force replaces it"
            raise OutputError(f"{audit}: exists, and has the rows of the finished outputs", hint)
        replaced = output is not None and output.is_file() and stream_number(output) is None
        if replaced and not self.force:
            # Checked again when it is written; here before an audit that would be in the way.
            swapped = first != STDIN and not first.exists()
            refuse(swapped, f"{first}: no such file", f"to write it: {output} -o {first}")
            raise OutputError(f"{output}: exists", "--force replaces it")

    def _check_directory(self) -> None:
        """Refuse to write into a directory that is searched: the next run would find outputs."""
        if self.output_dir is None:
            return
        real = Path(os.path.realpath(self.output_dir))
        above = [*filter(os.path.exists, (real, *real.parents))]
        for root in self.roots:
            what = f"-O {self.output_dir}: lies in the input {root}"
            hint = "a directory beside it; the next run would take outputs for inputs"
            refuse(any(map(root.samefile, above)), what, hint)

    def uses(self) -> FileUses:
        """Return all files of the run but the embeddings.

        Raises:
            UsageError: one is written to and also read, or written to twice.
        """
        uses = FileUses()
        uses.add_stream(Use.STANDING, "standard error", 2)
        self.add_options(uses, Use.READ)
        for path in self.inputs:
            if path == STDIN:
                uses.add_stream(Use.READ, "input", 0)
            else:
                uses.add(Use.WRITTEN if self.in_place else Use.READ, "input", path)
        if self.output_dir is not None:
            uses.add(Use.WRITTEN, side_outputs.NAME, self.output_dir / side_outputs.NAME)
            made: dict[str, Path] = {}
            for path, target in zip(self.inputs, self.outputs, strict=True):
                first = made.setdefault(str(target), path)
                what = f"{first} and {path} would both be written to {target}"
                refuse(first is not path, what)
                there = self.resume and run.is_finished(path, target)
                uses.add(Use.STANDING if there else Use.WRITTEN, "output", target)
        elif self.output is not None:
            there = stream_number(self.output) is not None
            uses.add(Use.STANDING if there else Use.WRITTEN, "output", self.output)
        elif not self.in_place:
            uses.add_stream(Use.STANDING, "standard output", 1)
        self.add_options(uses, Use.WRITTEN)
        return uses


class Completed:
    """Outputs that have become complete since this object was made.

    A file under its final name is complete, so the files themselves say which are.

    Args:
        files: of the run.
    """

    def __init__(self, files: RewriteOptions) -> None:
        self._files = files
        self._before = array("q", map(_state, files.outputs))
        self._audit_before = files.audit and _state(files.audit)

    def message(self) -> str:
        """Return the message after a signal: the complete outputs, and how to go on."""
        path = self._files.audit  # it grows under its own name
        partial = path is not None and path.is_file() and _state(path) != self._audit_before
        left = f"; {path} is incomplete: remove it, or name another"
        return self._message() + left * partial

    def _message(self) -> str:
        files, before = self._files, self._before
        skips = files.resume and not files.in_place
        rest = [
            path
            for path, old in zip(files.outputs, before, strict=True)
            if (now := _state(path)) == _ABSENT or (now == old and not skips)
        ]
        many = f"{len(before) - len(rest)} of {len(before)} files"
        where = f", not {rest[0]} and what follows it" if rest else ""
        for condition, what in rows_of("interrupted", "rewrite"):
            if all(map(files.has, condition.split())):
                return "interrupted: " + what.format(many=many, where=where)
        output = files.output
        if output is not None and (output.is_file() or not output.exists()):
            return f"interrupted: {output} was not written (the same command begins again)"
        why = "discard it before you begin again: two outputs tell more than one"
        return f"interrupted: the output is not complete ({why})"


def _state(path: Path) -> int:
    """A number for device, inode and time of change, as there may be very many files."""
    try:
        status = path.stat()
    except OSError:
        return _ABSENT
    return hash((status.st_dev, status.st_ino, status.st_mtime_ns))
