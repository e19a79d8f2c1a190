"""What a ``dpsan rewrite`` is asked to do: its options together, checked, and what they stand for.

Knows option names.  Must not know how text is rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsan.cli import options
from dpsan.cli.rewrite_files import STDIN, Files
from dpsan.errors import UsageError

if TYPE_CHECKING:
    from dpsan.run.same_files import FileUses
    from dpsan.run.stream import Plan
    from dpsan.sanitize.request import RunSpec


@dataclass(frozen=True)
class Request(Files):
    """The options of the command, and what they stand for."""

    def check(self) -> FileUses:
        """Refuse what cannot be, before anything is read, written or imported.

        Returns:
            All files of the run but the embeddings.

        Raises:
            UsageError: a value outside its domain, or options that exclude or need each other.
            OutputError: an output exists.
        """
        options.epsilon_or_ldp(self.epsilon, self.epsilon_ldp)
        others = self.audit, self.bad_records, self.resume or None
        if self.dry_run and (others != (None, None, None) or self.engine != "local"):
            raise UsageError("--dry-run excludes --audit, --bad-records, --resume and --engine ray")
        self._check_engine()
        from dpsan.run.same_files import Use

        uses = self.uses()
        self.check_places()
        uses.add(Use.WRITTEN, "--bad-records", self.bad_records)
        uses.add(Use.READ, "--spans", self.spans)
        self._check_fields()
        self._check_spans()
        if self.consistent == "run" and self.resume and self.seed is None:
            raise UsageError(
                "--consistent run cannot be resumed: nobody keeps the key of the first run",
                "--consistent file can",
            )
        if self.bad_records is not None and (self.in_place or self.engine != "local"):
            raise UsageError("--bad-records excludes -i and --engine ray")
        if self.memo is not None:
            if self.copies > 1 or self.consistent or self.seed is not None:
                raise UsageError("--memo excludes --copies, --consistent and --seed")
            if self.spans is not None:
                raise UsageError("--memo excludes --spans", "a memo remembers whole messages")
            from dpsan.run.memo import NAME

            uses.add_database("--memo", self.memo / NAME)
        if self.ledger is not None and self.seed is not None:
            raise UsageError("--ledger excludes --seed", "what is not private has no cost")
        uses.add_database("--ledger", self.ledger)
        if self.budget is not None and not 0 < self.budget < float("inf"):
            raise UsageError(f"--budget must be > 0 (got {self.budget:g})")
        return uses

    def _check_engine(self) -> None:
        if self.engine == "local":
            if self.address is not None:
                raise UsageError("--address needs --engine ray")
            return
        if STDIN in self.inputs:
            raise UsageError("--engine ray needs files, not standard input")
        if self.output_dir is None:
            raise UsageError("--engine ray needs -O DIR", "it writes one output for each input")
        books = {"--budget": self.budget, "--memo": self.memo, "--ledger": self.ledger}
        for name, given in books.items():
            if given is not None:
                hint = "pieces are rewritten at once"
                raise UsageError(f"{name} cannot be kept by --engine ray", hint)
        if self.line_buffered:
            raise UsageError("--line-buffered is not for --engine ray")
        from dpsan.run.ray.engine import require_ray  # numpy comes with it

        require_ray()

    def _check_fields(self) -> None:
        """Formats and fields that cannot go together."""
        from dpsan.formats.fields import parse_field
        from dpsan.formats.registry import format_name
        from dpsan.formats.text import text_encoding

        encoding = text_encoding(self.encoding)
        inputs = self.inputs
        formats = {format_name(self.format_, str(path)) for path in inputs}
        if formats <= {"jsonl", "json"} and encoding != "utf-8":
            raise UsageError(f"{min(formats)} is always UTF-8", "leave out --encoding")
        if formats <= {"docx", "eml"} and encoding != "utf-8":
            raise UsageError(f"{min(formats)} says its encoding itself", "leave out --encoding")
        if self.strip and not formats & {"docx", "eml"}:
            raise UsageError("--strip is for docx and eml")
        if self.budget is not None and (documents := formats & {"docx", "eml", "html"}):
            raise UsageError(f"--budget is not for {min(documents)}: half of it is none")
        if self.spans is not None and (documents := formats & {"docx", "eml", "html"}):
            raise UsageError(f"--spans is not for {min(documents)}: its texts have no numbers")
        if self.field:
            if formats == {"docx"}:
                raise UsageError("docx has no --field", "its paragraphs are text")
            if formats == {"text"}:
                stdin = STDIN in inputs and self.format_ == "auto"
                raise UsageError(
                    "standard input does not tell its format" if stdin else "text has no --field",
                    "-f jsonl, csv, html and others have",
                )
            if formats <= {"jsonl", "json"}:
                for each in self.field:
                    parse_field(each)
        elif formats <= {"jsonl", "json", "csv", "tsv", "parquet"}:
            # Of which columns there are nothing is said: no file was read.
            raise UsageError(f"{min(formats)} needs --field", "a column's name, path or number")
        if self.copies > 1 and "json" in formats:
            raise UsageError("--copies is not for json: commas belong between records", "use jsonl")
        if self.copies > 1 and (documents := formats & {"docx", "eml", "html"}):
            raise UsageError(f"--copies is not for {min(documents)}", "run it several times")
        if self.no_header and not formats & {"csv", "tsv"}:
            raise UsageError("--no-header is for csv and tsv")
        if options.delimiter_character(self.delimiter) and "csv" not in formats:
            raise UsageError("--delimiter is for csv")
        if self.null_data and formats - {"text", "jsonl"}:
            raise UsageError("-z is for text and jsonl")
        if self.bad_records is not None and not formats <= {"jsonl", "csv", "tsv"}:
            raise UsageError("--bad-records is for jsonl, csv and tsv")

    def _check_spans(self) -> None:
        if self.spans is None:
            return
        if len(self.inputs) != 1:
            raise UsageError("--spans is for one input", "its records are those of one file")
        if len(self.field or ()) > 1:
            raise UsageError("--spans is for one --field", "offsets count in one text a record")
        if self.bad_records is not None:
            raise UsageError(
                "--spans excludes --bad-records", "behind a record set aside, spans would be wrong"
            )
        if self.engine != "local":
            raise UsageError("--spans is not for --engine ray", "spans are read in step")

    @property
    def doubtful_header(self) -> bool:
        """Whether columns are chosen by number behind a first row that passes as a header."""
        from dpsan.formats.registry import format_name

        formats = {format_name(self.format_, str(path)) for path in self.inputs}
        numbered = any(each.isdecimal() for each in self.field or ())
        return numbered and not self.no_header and bool(formats & {"csv", "tsv"})

    def spec(self) -> RunSpec:
        """What is asked of the sanitizer.  Raises DpsanError."""
        from dpsan.embeddings.public_words import public_words
        from dpsan.sanitize.consistent import Unit
        from dpsan.sanitize.request import RunSpec
        from dpsan.text.out_of_vocabulary import UnknownPolicy, read_word_list

        return RunSpec(
            epsilon=self.epsilon,
            mechanism=self.mechanism,
            parameters=dict(options.parameters(self.param)),
            embeddings=self.embeddings,
            vocab_size=self.vocab_size,
            tokenizer=self.tokenizer,
            unknown=UnknownPolicy(self.unknown),
            keep=frozenset(read_word_list(self.keep, self.tokenizer) if self.keep else ()),
            public=None if self.public is None else public_words(self.public),
            case=self.case,
            consistent=Unit(self.consistent) if self.consistent else None,
            numbers=self.numbers,
            allow_unproved=self.allow_unproved,
            epsilon_ldp=self.epsilon_ldp,
        )

    def plan(self) -> Plan:
        """What is done to every input.  Raises UsageError."""
        from dpsan.formats.base import ReadOptions
        from dpsan.run.stream import Plan

        return Plan(
            format=self.format_,
            options=ReadOptions(
                encoding=self.encoding,
                invalid=self.invalid,
                max_record=options.size(self.max_record),
                force_text=self.text,
                null_data=self.null_data,
                fields=tuple(self.field or ()),
                header=not self.no_header,
                strip=self.strip,
                delimiter=options.delimiter_character(self.delimiter),
            ),
            copies=self.copies,
            line_buffered=self.line_buffered,
            force=self.force,
            spans=self.spans,
        )
