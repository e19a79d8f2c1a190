"""The options of ``dpsan rewrite`` together: checked, and what they stand for."""

import os
import sys
from dataclasses import Field, dataclass, fields
from functools import cached_property
from glob import glob
from hashlib import file_digest
from pathlib import Path
from typing import Any

from dpsan import __version__
from dpsan.cli.options import STDIN, parameters, positive
from dpsan.cli.rewrite_options import RewriteOptions
from dpsan.embeddings.word_lists import CLASSES, FIELD_CLASSES, PRESETS, SPANS
from dpsan.errors import UsageError, refuse
from dpsan.files.same_files import FileUses
from dpsan.formats.base import Format
from dpsan.formats.kinds import MANUAL, described_in, is_code, suggested_format
from dpsan.formats.paths import parse_field, parse_fields
from dpsan.formats.text import text_encoding
from dpsan.run.plan import Plan
from dpsan.sanitize.sanitizer import Sanitizer


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, kw_only=True)
class Request(RewriteOptions):
    """The options of the command, and what they stand for."""

    def check(self) -> FileUses:
        """Refuse what cannot be, before anything is read, written or imported.

        Returns:
            All files of the run but the embeddings.

        Raises:
            UsageError: a value outside its domain, or options that exclude or need each other.
            OutputError: an output exists.
        """
        self._check_shell()
        self._check_quotes()
        self.check_rules()
        self._check_engine()
        uses = self.uses()
        self.check_outputs()
        self._check_fields()
        self._check_suffix()
        if self.spans is not None:
            why = "its records are those of one file"
            refuse(len(self.inputs) != 1, "--spans is for one input", why)
            why = "offsets refer to one text of each record"
            refuse(len(self.field or ()) > 1, "--spans is for one --field", why)
        if self.memo is not None:
            from dpsan.run.memo_file import NAME

            uses.add_database("--memo", self.memo / NAME)
        uses.add_database("--ledger", self.ledger)
        uses.check_outside(self.memo)
        if self.budget is not None:
            positive("--budget", self.budget)
        self._check_only()
        return uses

    def _check_shell(self) -> None:
        """Refuse what the shell made of ``-k **``, and classes or a text in each other's place."""
        for name in filter(os.path.exists, self.field or ()):
            # As the shell does, before it makes the file of >, which is empty.
            left = {*glob("*")} - {name, *map(str, self.files or ())}  # noqa: PTH207
            others = [path for path in map(Path, left) if not path.is_file() or path.stat().st_size]
            refuse(not others, f"-k {name}: the shell put names of files for **", "-k '**'")
        for item in ("field", "seed", "unit", "unit_field") if self.inputs == [STDIN] else ():
            word, name = str(getattr(self, item) or "").strip("[']"), item.replace("_", "-")
            what = f"--{name} took the file {word}, and no FILE is left to read"
            refuse("." in word and Path(word).is_file(), what, f"--{name} VALUE {word}")
        options = [item.metadata.get("name") for item in fields(self)]
        for path in self.inputs:
            name = f"--{str(path).lstrip('/').partition('=')[0]}"
            wrong = name in options and not path.exists()
            refuse(wrong, f"{path}: no such file", f"an option: {name}")
        first = self.inputs[0]
        missing = first != STDIN and not first.exists()
        column = missing and self.inputs[1:] and self.field and not first.suffix
        listed = ",".join([*filter(None, self.field or ()), str(first)])
        refuse(column, f"{first}: no such file", f"-k {listed}")
        if self.only is None:
            return
        apart = missing and str(first) in (*CLASSES, *PRESETS)
        refuse(apart, f"{first}: no such file", f"--only {self.only.rstrip(',')},{first}")
        lists = self.inputs == [STDIN] and sys.stdin.isatty() and Path(self.only).is_file()
        hint = f"if it is the text: --only sensitive {self.only}"
        refuse(lists, f"--only {self.only}: a list of words, and no FILE to read", hint)

    def _check_quotes(self) -> None:
        """Refuse a name with spaces that the shell has parted."""
        names = [*map(str, self.inputs)]
        lost = [at for at, path in enumerate(self.inputs) if path != STDIN and not path.exists()]
        if not lost:
            return
        at, first, last = lost[0], self.inputs[0], self.inputs[-1]
        joined = (" ".join(names[at:end]) for end in range(at + 2, at + 9))
        meant = next(filter(os.path.exists, joined), "")
        parted = len(lost) == len(names) > 1 and last.suffix and not first.suffix
        hint = "quote a name with spaces" + f": '{meant}'" * bool(meant)
        refuse(meant or parted, f"{names[at]}: no such file", hint)

    def _check_only(self) -> None:
        """Refuse what classes of fields and units exclude, and spans alone without spans."""
        given = any(self._fields.values())
        refuse(given and self.only is None, "-k NAME:CLASS needs --only, not --epsilon")
        nothing = self.only == SPANS and self.spans is None and not given
        refuse(nothing, "--only spans needs --spans FILE or -k NAME:CLASS")

    def _check_engine(self) -> None:
        if self.engine == "local":
            return
        refuse(STDIN in self.inputs, "--engine ray needs files, not standard input")
        from dpsan.run.cluster import require_ray  # numpy comes with it

        require_ray()

    def _check_fields(self) -> None:
        """Refuse options that do not concern the formats of the inputs."""
        code = [path for path in self.inputs if is_code(str(path))]
        drawn = code and self.only is None and self.format_ == "auto"
        why = f"{(code or [STDIN])[0]}: a program or settings, whose keywords would be drawn too"
        refuse(drawn, why, "--only sensitive leaves them; -f text draws every word")
        kinds, encoding = self.kinds, text_encoding(self.encoding)
        refusals = {kind.own_encoding: kind for kind in kinds if kind.own_encoding}
        fixed = len(refusals) == len(kinds) and encoding != "utf-8"
        refuse(fixed, min(refusals, default=""), "leave out --encoding")
        for name in self.field_names if all(kind.field_paths for kind in kinds) else ():
            parse_field(name)
        parse_fields(self.except_ or (), "--except")

    def from_policy(self, about: Field[Any]) -> bool:
        return self.policy is not None and about.name not in self.typed

    @cached_property
    def _fields(self) -> dict[str, str]:
        """Return by the name of each field its class, or nothing."""
        class_of: dict[str, str] = {}
        for text in self.field or ():
            name, _, of = text.rpartition(":")
            class_of |= {name: of} if name and of in FIELD_CLASSES else {text: ""}
        return class_of

    @property
    def field_names(self) -> tuple[str, ...]:
        """Return the chosen columns and paths, without their classes."""
        return tuple(self._fields)

    @cached_property
    def kinds(self) -> list[type[Format]]:
        """Return the formats of the inputs, see :meth:`containers`.  Raises UsageError."""
        return self.containers(self.inputs)

    def _check_suffix(self) -> None:
        """Refuse a name of the output that tells of another format, unless an input has it too."""
        named = self.output and suggested_format(str(self.output))
        told = {suggested_format(str(path)) for path in self.inputs}
        text = "text" * self.kinds[0].joinable  # lines and tables are text, too
        if named not in {None, text, *told, *(kind.name for kind in self.kinds)}:
            what = f"{self.output}: the output is {self.kinds[0].name}, its name says {named}"
            raise UsageError(what, "name it otherwise; -f tells the format of the input")

    @property
    def doubtful_header(self) -> bool:
        """Return True if columns are chosen by number and the first row passes as a header."""
        numbered = any(name.isdecimal() for name in self.field_names)
        return numbered and not self.no_header and any(kind.takes_header for kind in self.kinds)

    def decisive(self, sanitizer: Sanitizer) -> dict[str, object]:
        """Return all that decides what the outputs are, by option: for ``--resume``."""
        spec, mechanism = sanitizer.spec, sanitizer.mechanism
        about = {item.name: item.metadata for item in fields(RewriteOptions)}
        decisive = {name: getattr(self, name) for name in about if about[name].get("decides")}
        decisive |= {**spec.contents(), "param": None, "mechanism": mechanism.name}
        listed = all(name in (*CLASSES, *PRESETS) for name in (self.only or "").split(","))
        paths = {"memo": self.memo, "ledger": self.ledger}
        decisive |= {name: path and [path.resolve()] for name, path in paths.items()}
        decisive |= {
            "epsilon": mechanism.epsilon,
            "embeddings": [sanitizer.embeddings.digest],
            "only": self.only if listed else spec.contents()["only"],
            "spans": self.spans and [_file_sha256(self.spans)],
            "bad_records": self.bad_records is not None,  # another file each time
            "line_buffered": (self.only and self.line_buffered) or None,  # lines are contexts
        }
        return {
            **{about[name]["name"]: value for name, value in decisive.items()},
            **{f"-p {name}": getattr(mechanism, name) for name in parameters(self.param)},
            "dpsan": __version__,
            "the file of the mechanism": spec.own_sha256,
            "the formats of packages": sorted({*map(described_in, self.kinds)} - {MANUAL}),
            "the language model": sanitizer.language_model,
        }

    @property
    def policy_sha256(self) -> str | None:
        """Return the digest of the policy that was read; None without one."""
        if self.policy is None:
            return None
        from dpsan.cli.policy import policy_sha256

        return policy_sha256(self.policy)

    def plan(self) -> Plan:
        """Return the plan for every input. Raises UsageError."""
        kept = {"map": self.map_, "memo": self.memo, "review": self.review}
        return Plan(
            format=self.format_,
            options=self.read_options(
                # Written over the input, the bytes would be lost.
                invalid="error" if self.in_place else self.invalid or "",
                # Written over the input, what is left out would be lost.
                strict=self.strict or self.in_place,
                unit_field=self.unit_field or "",
                kinds={name.removesuffix("?"): of for name, of in self._fields.items() if of},
                by_name=self.only not in (None, "spans"),
                drop_other=self.drop_other,
                mixed=self.recursive and len(self.kinds) > 1,
                field_owners=any(kind.needs_fields for kind in self.kinds),
            ),
            copies=self.copies,
            line_buffered=self.line_buffered,
            force=self.force,
            seeded=self.seed is not None,
            memo=self.memo is not None,
            unit=self.unit or "",
            beside=tuple(name for name, path in kept.items() if path is not None),
            originals=self.audit_originals,
            policy=self.policy_sha256,
            spans=self.spans,
        )
