"""Files that a run writes besides its outputs: bad records, a log, and words for a reviewer.

Bad records are written to a file of their own while the others go on, as they were, so that file is
as secret as the input.  The log has a line of JSON for each input, for programs that watch a run.
The file of ``--review`` has lines of JSON, UTF-8, as sensitive as the input: a header, then each
different word with its count, those that pass before those that are drawn, the most frequent ones
first, but before all others what passes and may be a name (``"may_be_name": true``)::

    {"type": "review", "schema": 1, "dpsan": VERSION, "complete": true}
    {"word": ..., "count": N, "class": ..., "group": ..., "rule": ..., "passes": null}
    {"word": ..., "count": N, "class": null, "group": null, "rule": null, "passes": BY}

The file ``.dpsan-request`` says with which options, and from which inputs, outputs of ``-O`` were
made.  Each run appends one line of JSON with all that decides the outputs: numbers and the values
of a few options as they are, a keyed digest of whatever may hold text.  ``--resume`` goes on only
where all these lines are as its own, and names what differs.  Before an output gets its name, a
line with keyed digests of that name and of its input is on disk, so ``--resume`` notices an input
that has changed.  The key lies in the user's cache, so nobody else can find a word list, a seed or
a text by trying digests.
"""

import datetime
import hashlib
import hmac
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import orjson

from dpsan import __version__, errors
from dpsan.files import private_files, source
from dpsan.files.atomic_files import AtomicFile, PrivateFile, append_synced, made_once, write_all
from dpsan.privacy.randomness import KEY_BYTES, new_key
from dpsan.run.plan import Outcome, Result
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.result import AuditTable

_SHOWN: Final = 3
"""Number of problems that are printed one by one; the file has the others."""


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class BadRecords(PrivateFile):
    """Takes bad records; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        force: replace an existing file.
        complain: called with the first problems.

    Raises:
        OutputError: it exists or cannot be written.
    """

    def __init__(self, path: Path, *, force: bool, complain: Callable[[str], None]) -> None:
        super().__init__(path, force=force)
        self.place()
        self._complain, self.of_input = complain, Counter[str]()

    def __call__(self, raw: bytes, problem: errors.InputError) -> None:
        """Write a record to the file of bad records.

        Args:
            raw: as it stands in the input, with its ending.
            problem: names file and line.
        """
        self.send(raw)
        self.of_input[problem.path] += 1
        if self.of_input.total() <= _SHOWN:
            self._complain(f"{problem.on_command_line()}: left out")


class FileLog(PrivateFile):
    """An open log, for the owner alone; lines are written as inputs end.  A context manager.

    It has names of files, numbers and errors, and no text (docs/log.schema.json).  Each line has
    the time, the version and the name of the run; the last one is of the run as a whole.

    Args:
        path: created; ``/dev/stderr`` and other open streams are written to.
        run: name of the run, which tells nothing of its key.
        force: replace an existing file.
        left_out: how many records of each input are missing in its output.

    Raises:
        OutputError: it exists and ``force`` is not given, or it cannot be created.
    """

    def __init__(
        self, path: Path, run: str, force: bool, left_out: Counter[str] | None = None
    ) -> None:
        self._left_out = Counter[str]() if left_out is None else left_out
        self._run, self._began, self._ended = run, {0: time.monotonic()}, False
        if (stream := source.stream_number(path)) is None:
            super().__init__(path, force=force)
            self.place()
        else:
            self._path, self._new, self._descriptor = path, None, os.dup(stream)

    def begin(self, file: int) -> None:
        """Note when an input begins."""
        self._began[file] = time.monotonic()

    def end(self, outcome: Outcome) -> None:
        """Write the line of an input.  Raises OutputError: it cannot be written."""
        error, name = outcome.error, outcome.name
        more: dict[str, Any] = {"path": encodable(name)}
        if outcome.status == "complete":
            more |= {"bad_records": self._left_out[name]} | _sums(outcome.totals)
        elif error:
            more |= {"bad_records": self._left_out[name], "code": errors.error_code(error)}
            more["error"] = encodable(errors.failure(outcome.task.path, error))
        self._write("input", outcome.task.file, outcome.status, more)

    def _write(self, kind: str, file: int, status: str, more: dict[str, Any]) -> None:
        """Write a line, with the time since an input began; 0 is the run."""
        time_now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        row: dict[str, Any] = {"type": kind, "time": time_now, "run": self._run}
        row |= {"dpsan": __version__, "status": status, **more}
        if (began := self._began.pop(file, None)) is not None:
            row["seconds"] = round(time.monotonic() - began, 3)
        write_all(self._descriptor, orjson.dumps(row) + b"\n", self._path)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Write the line of a run that was interrupted.  Raises OutputError."""
        if not self._ended:
            self._write("run", 0, "interrupted", {})
        super().__exit__(kind, *rest)

    def run(self, result: Result) -> None:
        """Write the line of the run: how many inputs are complete, failed and skipped.

        Raises:
            OutputError: it cannot be written.
        """
        self._ended = True
        failed = len(result.failed)
        written = result.done or result.skipped or result.totals.records
        status = "partial" if written else "failed"
        counts = {"complete": result.done, "failed": failed, "skipped": result.skipped}
        counts["bad_records"] = self._left_out.total()
        self._write("run", 0, status if failed else "complete", counts | _sums(result.totals))


def _sums(totals: Accountant) -> dict[str, Any]:
    whole = totals.composed(totals.charges)
    counts = {"records": totals.records, "words": totals.words, "drawn": totals.draws}
    return counts | {"epsilon": whole.epsilon, "delta": whole.delta}  # not finite: null


SCHEMA: Final = 1
_NAMES: Final = ("names", "given names that are words", "places", "form of words")
_FOREIGN: Final = "rule foreign, the rest"
"""By what a word passes that may be a name, and one with a capital."""


def _may_be_name(word: str, passes: str | None) -> dict[str, Any]:
    """Return what the row of a word that passes says besides; nothing if it is hardly a name."""
    by = (passes or "").removeprefix("list ")
    return {"may_be_name": True} if by in _NAMES or (by == _FOREIGN and word[:1].isupper()) else {}


class Review:
    """Counts words, and writes them when the run ends; a context manager.

    In memory a different word takes about 200 bytes.

    Args:
        path: created with mode 0600 under every umask.
        classes: class of each group.
        force: replace an existing file.

    Raises:
        OutputError: the file exists or cannot be created.
    """

    def __init__(self, path: Path, classes: Mapping[str, str | None], *, force: bool) -> None:
        self._sink = AtomicFile(path, force=force, private=True)
        self._classes = classes
        self._counts = Counter[tuple[str, tuple[str, str] | None, str | None]]()

    def add(self, table: AuditTable) -> None:
        """Count the words of a batch, in one of its copies."""
        assert table.reasons is not None and table.passes is not None  # noqa: S101, PT018
        self._counts.update(zip(table.originals, table.reasons, table.passes, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write it, also for a run that failed.  Raises OutputError."""
        with self._sink:
            head = {"type": "review", "schema": SCHEMA, "dpsan": __version__}
            self._sink.write(orjson.dumps(head | {"complete": kind is None}) + b"\n")
            pairs = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0][0]))
            pairs.sort(key=lambda pair: (not pair[0][2], not _may_be_name(pair[0][0], pair[0][2])))
            for (word, decision, passes), count in pairs:
                group, rule = decision or (None, None)
                row = {"word": encodable(word), "count": count}
                row |= {"class": self._classes.get(group or ""), "group": group, "rule": rule}
                row |= {"passes": passes} | _may_be_name(word, passes)
                self._sink.write(orjson.dumps(row) + b"\n")
            self._sink.commit()


NAME: Final = ".dpsan-request"
_KEY: Final = "request.key"
_LONGEST: Final = 1 << 14
"""Bytes of a line."""
_NAMED: Final = (
    *("--mechanism", "--only", "--format", "--unknown", "--case", "--consistent", "--numbers"),
    *("--roles", "--tokenizer", "--encoding", "--invalid", "--delimiter", "dpsan"),
)
"""Options whose values are strings that hold no text and name no file or column."""
_ELSEWHERE: Final = "-O another directory begins anew"
_HARMLESS: Final = ("--bad-records", [False, True])
"""A change that no finished output would show: without the option it lacks no record."""


class RequestFile:
    """The requests of the runs that wrote below a directory.

    Args:
        directory: of the outputs.
        cache: directory that holds the key, which is made if need be.
        values: all that decides the bytes of an output, by option.

    Raises:
        CacheError: the key cannot be read or made.
    """

    def __init__(self, directory: Path, cache: Path, values: Mapping[str, object]) -> None:
        self._path, self._key = directory / NAME, _key(cache)
        self._values = {name: self._told(name, value) for name, value in values.items()}
        self._key_id = hashlib.sha256(self._key).hexdigest()[:16]
        self._inputs: dict[int, int] = {}
        """Short keyed digests of the outputs of earlier runs, and of their inputs."""

    def check(self, outputs: Iterable[Path]) -> None:
        """Refuse to go on with the outputs of another request.

        Args:
            outputs: files that this run would write.

        Raises:
            UsageError: some are there, and were or may have been made with other options.
        """
        if not any(map(os.path.lexists, outputs)):
            return
        directory = self._path.parent
        runs = 0
        for row in self._rows():
            runs += 1
            if row.get("key") != self._key_id:
                what = f"--resume: {self._path} was written with the key of another cache"
                raise errors.UsageError(what, f"DPSAN_CACHE_DIR names that cache, or {_ELSEWHERE}")
            if other := _differences(row["request"], self._values):
                what = f"--resume: {directory} holds outputs that were made with other options: "
                hint = f"go on with the first run's, or {_ELSEWHERE}"
                raise errors.UsageError(what + other, hint)
        if not runs:
            what = f"--resume: {directory} holds outputs but no {NAME} that says how they were made"
            raise errors.UsageError(what, _ELSEWHERE)

    def append(self) -> None:
        """Add the line of this run, on disk.  Raises OutputError."""
        row = {"key": self._key_id, "request": self._values}
        self._write(orjson.dumps(row) + b"\n")

    def add_outputs(self, made: Iterable[tuple[Path, str]]) -> None:
        """Add lines of outputs that are about to get their names, on disk.

        Args:
            made: name of each output, and the SHA-256 (hex) of its input.

        Raises:
            OutputError: they cannot be written.
        """
        lines = []
        for target, sha256 in made:
            output, input_ = self._digests(target, sha256)
            lines.append(b'{"output":%d,"input":%d}\n' % (output, input_))
        self._write(b"".join(lines))

    def check_input(self, path: Path, target: Path) -> None:
        """Raise InputError unless the finished output ``target`` was made from the input as it is.

        To know that, the input is read.
        """
        try:
            with os.fdopen(source.open_regular(path), "rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise errors.InputError(path, errors.file_reason(error)) from None
        output, input_ = self._digests(target, sha256)
        if self._inputs.get(output) != input_:
            what = f"has changed since {target} was made, which stays as it is"
            hint = "remove that output to rewrite it again: two outputs tell more than one"
            raise errors.InputError(path, what, hint)

    def _digests(self, target: Path, sha256: str) -> tuple[int, int]:
        """Return keyed digests of an output's name, and of that and its input."""
        name = os.fsencode(target.relative_to(self._path.parent))
        both = b"output\0" + name, b"input\0" + name + b"\0" + sha256.encode()
        output, input_ = (hmac.digest(self._key, text, "sha256")[:7] for text in both)
        return int.from_bytes(output), int.from_bytes(input_)

    def _write(self, lines: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not made_once(self._path, lambda sink: sink.write(lines)):
                append_synced(self._path, lines)
        except OSError as error:
            what = f"{self._path}: cannot write: {errors.reason(error)}"
            raise errors.OutputError(what) from None

    def _told(self, name: str, value: object) -> object:
        """Return a value as it is if it can hold no text, else a list with a keyed digest of it."""
        if value is None or isinstance(value, int | float | (str if name in _NAMED else int)):
            return value
        return [hmac.new(self._key, repr((name, value)).encode(), "sha256").hexdigest()[:32]]

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of runs, and take in those of outputs.

        Raises:
            UsageError: the file cannot be read, or is damaged.
        """
        line = 0
        try:
            with os.fdopen(source.open_regular(self._path, follow=False), "rb") as file:
                while raw := file.readline(_LONGEST):
                    line += 1
                    row = orjson.loads(raw)
                    if "request" in row:
                        yield row | {"request": dict(row["request"])}
                    else:
                        self._inputs[int(row["output"])] = int(row["input"])
        except FileNotFoundError:
            return
        except OSError as error:
            what = f"--resume: {self._path}: cannot read: {errors.reason(error)}"
            raise errors.UsageError(what, _ELSEWHERE) from None
        except (ValueError, TypeError, KeyError):
            raise errors.UsageError(f"--resume: {self._path}:{line}: damaged", _ELSEWHERE) from None


def _differences(first: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Return what had other values in the first run, and which they were if they may be shown."""
    told: list[str] = []
    for name in sorted({*first, *now}):
        pair = [values.get(name) for values in (first, now)]
        shown = (
            f"{value:g}" if type(value) is float else str(value or "not given") for value in pair
        )
        before, here = ("given" if text == "True" else text for text in shown)
        what = "had another value" if list in map(type, pair) else f"{before}, now {here}"
        told += [f"{name} {what}"] * (pair[0] != pair[1] and (name, pair) != _HARMLESS)
    return "; ".join(told)


def _key(cache: Path) -> bytes:
    """Return the key of a cache, made by whoever needs it first.  Raises CacheError."""
    path = cache / _KEY
    try:
        private_files.make_private(cache)
        made_once(path, lambda sink: sink.write(new_key()))
        return _checked(path)
    except errors.OutputError as error:
        raise errors.CacheError(str(error)) from None
    except OSError as error:
        raise errors.CacheError(f"{path}: cannot use: {errors.reason(error)}") from None


def _checked(path: Path) -> bytes:
    """Return the key in a file.  Raises OSError, CacheError: it is no such file."""
    with os.fdopen(source.open_regular(path, follow=False), "rb") as file:
        key, status = file.read(KEY_BYTES + 1), os.fstat(file.fileno())
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(key) != KEY_BYTES:
        raise errors.CacheError(f"{path}: not a key that only you can read", "remove it")
    return key
