"""Planted secrets: stages made to fail with them in hand, messages provoked, processes looked into."""

# ruff: noqa: E501, SIM905

from __future__ import annotations

import builtins
import hashlib
import importlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from scoreboard import fork
from scoreboard.base import DPSAN, TWO, Row, Size, environment
from scoreboard.patterns import mutants

_STAGES: Final = {
    "tokenizer": "dpsan.text.tokens:shape",
    "lookup": "dpsan.text.lookup:lookup_keys",
    "amount": "dpsan.text.lookup:amount",
    "streams": "dpsan.privacy.randomness:streams_for",
    "sanitize": "dpsan.sanitize.sanitizer:Sanitizer.sanitize",
    "case": "dpsan.text.letter_case:NaturalCase.write",
    "decode": "dpsan.formats.text:decode",
    "jsonl": "dpsan.formats.json_records:parsed",
    "json render": "dpsan.formats.json_records:written",
    "csv": "dpsan.formats.csv:value",
    "csv render": "dpsan.formats.csv:_Render._cell",
    "batch": "dpsan.run.stream:_Flow._write",
    "sink": "dpsan.files.atomic_files:Sink.write",
    "audit": "dpsan.run.audit:AuditWriter.words",
    "totals": "dpsan.sanitize.accountant:Accountant.add",
}
_KINDS: Final = [
    "ValueError", "OSError", "RuntimeError", "RecursionError", "MemoryError", "KeyError",
    "AssertionError", "TypeError", "SystemExit", "KeyboardInterrupt", "StopIteration",
]  # fmt: skip
KNOWN: Final = "Vermilionette"
"""A secret that the vocabulary has: it may come out as a word, but nobody may speak of it."""


class _Secret:
    """Some words that must not be found: in any case, and none of their parts."""

    def __init__(self) -> None:
        letters = uuid.uuid4().hex.translate(str.maketrans("0123456789", "ghijklmnop"))
        digits = str(uuid.uuid4().int)[:11]
        self.words = f"Quetzal{letters[:8]} {digits} MiXeD{letters[8:14]}-SideKick{letters[14:20]}"
        self.text = f"here {self.words} {KNOWN} there"
        self.needles = [each.lower().encode() for each in re.findall(r"\w{6,}", self.words)]

    def within(self, data: bytes, *, known: bool = False) -> bool:
        low = data.lower()
        needles = [*self.needles, KNOWN.lower().encode()] if known else self.needles
        return any(each in low for each in needles)

    def below(self, folder: Path, but: set[Path]) -> bool:
        return any(
            self.within(path.read_bytes() + os.fsencode(path.name))
            for path in folder.rglob("*")
            if path.is_file() and path not in but
        )


def failing_stages(size: Size, folder: Path) -> Row:
    """Nobody may learn of the secret: by message, file, name, argument or environment."""
    row = Row("stages made to fail and messages provoked × channels searched", "≥ 200 × 8")
    fork.preload()
    words = f"{TWO}{KNOWN.lower()} 1 1\n"
    number = itertools.count()

    def fresh() -> tuple[Path, dict[str, str]]:
        own = folder / f"p{next(number)}"
        env = environment(own) | {"RICH_TRACEBACK": "1", "PYTHONDEVMODE": ""}
        (own / "work").mkdir()
        (own / "work" / "words.txt").write_text(words)
        return own, env

    _stages(row, size, fresh)
    _provoked(row, size, fresh)
    _names(row, fresh)
    _reports(row, fresh)
    if size is not Size.MUTANT:
        _live(row, *fresh())
    return row


def _searched(
    row: Row, secret: _Secret, own: Path, done: fork.Done, inputs: set[Path], where: str = ""
) -> None:
    row.count(f"standard error{where}", secret.within(done.err, known=True))
    row.count("standard output", secret.within(done.out))
    for name in ("cache", "tmp", "home"):
        row.count(f"{name} directory", secret.below(own / name, set()))
    row.count("working directory, audit, names", secret.below(own / "work", inputs))
    row.count("traceback", b"Traceback" in done.err)
    row.count("control character in a message", _controls(done.err))
    audit = own / "work" / "audit"
    row.count("audit open to others", audit.exists() and audit.stat().st_mode & 0o077 != 0)
    shutil.rmtree(own)


def _controls(told: bytes) -> bool:
    return any(byte < 0x20 and byte != 0x0A for byte in told)


def _command(name: str, where: str) -> list[str]:
    chosen = [] if name.endswith(".txt") else ["-k", "t"]
    common = f"rewrite -v -e 5 -m laplace -E words.txt -a audit {where}".split()
    return [*common, *chosen, name]


def _stages(row: Row, size: Size, fresh: Callable[[], tuple[Path, dict[str, str]]]) -> None:
    inputs = {"s.txt": "{0}\n", "s.jsonl": '{{"t":"{0}"}}\n', "s.csv": 't\n"{0}"\n'}
    kinds = _KINDS[: size.of(2, 2, len(_KINDS))]
    ways = ["-O out", "", "-i"][: size.of(2, 2, 3)]
    for stage, name, kind, way in itertools.product(_STAGES, inputs, kinds, ways):
        if size is Size.MUTANT and (stage not in ("lookup", "decode", "sink") or name != "s.csv"):
            continue
        own, env = fresh()
        secret, work = _Secret(), own / "work"
        (work / name).write_text(inputs[name].format(secret.text))
        umask = os.umask(0)
        done = fork.run(_command(name, way), work, env, _failing(_STAGES[stage], kind, secret.text))
        os.umask(umask)
        row.tried += done.status != 0
        row.count("a stage that is there no more", b"NO SUCH STAGE" in done.err)
        _searched(row, secret, own, done, {work / name})


def _failing(stage: str, kind: str, secret: str) -> Callable[[], None]:
    """Makes a stage fail with its arguments and the secret in the message."""
    module, _, path = stage.partition(":")

    def install() -> None:
        raised: Any = getattr(builtins, kind)

        def fail(*arguments: Any, **more: Any) -> None:
            if raised is OSError:
                raise OSError(5, secret, secret)
            raise raised(secret, arguments, more)

        owner = importlib.import_module(module)
        *inner, name = path.split(".")
        for each in inner:
            owner = getattr(owner, each)
        if not hasattr(owner, name):
            raise AssertionError("NO SUCH STAGE")
        setattr(owner, name, fail)

    return install


_EVALUATE: Final = "evaluate -q --no-scores -e 1 -m laplace -E words.txt -k t"
_REWRITE: Final = "rewrite -v -e 5 -m laplace -E words.txt -a audit -O out"
_PROVOKED: Final[list[tuple[str, str, bytes, str]]] = [
    # what it is, name and content of the input ({0}: the secret, {1}: one word of it), the command
    ("csv without header", "s.csv", b"{1},x\n{0},y\n", f"{_REWRITE} -k t"),
    ("tsv without header", "s.tsv", b"{1}\tx\n", f"{_REWRITE} -k t"),
    ("csv, a column by number", "s.csv", b"{1},x\n", f"{_REWRITE} -k 7"),
    ("csv, rows of different length", "s.csv", b"t,n\n{0},1\n{0}\n", f"{_REWRITE} -k t"),
    ("csv, rows, two workers", "s.csv", b"t,n\n{0},1\n{0}\n", f"{_REWRITE} -k t"),
    ("csv, text behind a quote", "s.csv", b't\n"x"{0}\n', f"{_REWRITE} -k t"),
    ("csv, open quote", "s.csv", b't\n"{0}\n', f"{_REWRITE} -k t"),
    ("csv, no fields", "s.csv", b"{1},x\n", _REWRITE),
    ("csv, the same name twice", "s.csv", b"t,t,{1}\n", f"{_REWRITE} -k t"),
    ("jsonl, malformed", "s.jsonl", b'{"t":"{0}"\n', f"{_REWRITE} -k t"),
    ("jsonl, bare words", "s.jsonl", b"{0}\n", f"{_REWRITE} -k t"),
    ("jsonl, an object", "s.jsonl", b'{"t":{"{0}":1}}\n', f"{_REWRITE} -k t"),
    ("jsonl, no such field", "s.jsonl", b'{"{0}":"{0}"}\n', f"{_REWRITE} -k t"),
    ("jsonl, a list", "s.jsonl", b'["{0}"]\n', f"{_REWRITE} -k t"),
    ("invalid bytes", "s.txt", b"{0}\xff\n", f"{_REWRITE} --invalid error"),
    ("not ASCII", "s.txt", b"{0}\xc3\xa9\n", f"{_REWRITE} --encoding ascii --invalid error"),
    ("a long record", "s.txt", b"{0}\n", f"{_REWRITE} --max-record 10"),
    ("UTF-16", "s.txt", b"\xff\xfe{0}\n", _REWRITE),
    ("bad UTF-16", "s.txt", b"{0}\n\xd8", f"{_REWRITE} --encoding utf-16-le"),
    ("no gzip", "s.txt.gz", b"{0}\n", _REWRITE),
    ("no Parquet", "s.parquet", b"PAR1{0}PAR1", f"{_REWRITE} -k t"),
    ("html, a tag that is a name", "s.html", b"<p>\n<{1} x>{0}", _REWRITE),
    ("html, a script without end", "s.html", b"<script>{0}", _REWRITE),
    ("eml, an attachment", "s.eml", b"Content-Type: image/{1}\n\n{0}\n", _REWRITE),
    ("eml, no headers", "s.eml", b"{0}\n", f"{_REWRITE} --strip"),
    ("docx, no archive", "s.docx", b"PK\x03\x04{0}", f"{_REWRITE} --strip"),
    ("a budget", "s.txt", b"{0}\n{0}\n", f"{_REWRITE} --budget 3"),
    ("a full disk", "s.txt", b"{0}\n" * 9, "rewrite -q -e 5 -m laplace -E words.txt -o /dev/full"),
    ("no audit", "s.txt", b"{0}\n", "report"),
    ("no audit but JSON", "s.txt", b'{"type":"{0}"}\n', "report"),
    ("no embeddings", "s.txt", b"{0}\n{0}\n", "index"),
    ("embeddings, a bad row", "s.txt", b"here 1 2\n{0}\n", "index"),
    ("embeddings, one word", "s.txt", b"{0} 1 2\n{0} 1 x\n", "index"),
    ("a keep-list", "s.txt", b"{0}\xff\n", "rewrite -e 5 -E words.txt words.txt --keep"),
    ("no labels", "s.csv", b"t,{1}\nhere,x\n", f"{_EVALUATE} --labels nolabel s.csv"),
    ("labels, ragged", "s.csv", b"t,l\n{0},x\n{0}\n", f"{_EVALUATE} --labels l s.csv"),
    ("spans", "s.txt", b'{"{0}":1}\n', "evaluate -e 1 -E words.txt words.txt words.txt --spans"),
]


def _provoked(row: Row, size: Size, fresh: Callable[[], tuple[Path, dict[str, str]]]) -> None:
    """Every message about an input that the program has, with the secret where it looks."""
    for name, file, template, command in _PROVOKED:
        own, env = fresh()
        secret, work = _Secret(), own / "work"
        one = secret.words.split()[0].encode()
        content = template.replace(b"{0}", secret.text.encode()).replace(b"{1}", one)
        (work / file).write_bytes(content)
        arguments = command.split()
        if "two workers" in name:
            if size is Size.MUTANT:
                continue
            arguments += ["-j", "2"]
        done = fork.run([*arguments, file], work, env)
        row.tried += 1
        row.count("a provocation that provokes nothing", done.status == 0)
        row.count("internal error", b"internal error" in done.err)
        first = ", of a first row" if b"{1}" in template else ""
        _searched(row, secret, own, done, {work / file}, first)


def _names(row: Row, fresh: Callable[[], tuple[Path, dict[str, str]]]) -> None:
    """File names that would write lines of their own, or to the terminal."""
    for name in ("a\ndpsan: b.txt", "a\x1b[2Jb.txt", "a\rb.txt", "a\x9b1mb.txt"):
        for more in ([], ["--max-record", "4"]):
            own, env = fresh()
            secret, work = _Secret(), own / "work"
            (work / name).write_text(f"{secret.text}\n")
            done = fork.run([*_REWRITE.split(), *more, name, "no such file"], work, env)
            row.tried += 1
            row.count("forged line", b"\ndpsan: b.txt" in done.err)
            row.count("control character in a message", "\x9b" in done.err.decode(errors="replace"))
            shutil.rmtree(work / "out", ignore_errors=True)
            _searched(row, secret, own, done, {work / name})


def _reports(row: Row, fresh: Callable[[], tuple[Path, dict[str, str]]]) -> None:
    """A report is shared: nothing in it lets somebody test a guess of the input."""
    own, env = fresh()
    secret, work = _Secret(), own / "work"
    text = f"{secret.text}\n".encode()
    (work / "s.txt").write_bytes(text)
    done = fork.run([*_REWRITE.split(), "s.txt"], work, env)
    row.count("a run for a report failed", done.status != 0)
    told = fork.run(["report", "audit"], work, env).out
    told += fork.run(["report", "--json", "audit"], work, env).out
    fork.run(["report", "--html", "page.html", "audit"], work, env)
    told += (work / "page.html").read_bytes()
    digests = [
        kind(text).hexdigest().encode() for kind in (hashlib.sha256, hashlib.sha1, hashlib.md5)
    ]
    row.count("a report holds a digest of the input", any(each in told for each in digests))
    row.tried += 3
    _searched(row, secret, own, done, {work / "s.txt"})


def _live(row: Row, own: Path, env: dict[str, str]) -> None:
    """While two workers hold the secret: what the system shows of them."""
    secret, work = _Secret(), own / "work"
    # The output goes to a file outside: a pipe that nobody reads stops the program when it is full.
    with (
        tempfile.TemporaryFile() as written,
        subprocess.Popen(
            [*DPSAN, *"rewrite -v -e 5 -m laplace -E words.txt -j 2 -a audit".split()],
            cwd=work,
            env=env,
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=subprocess.PIPE,
        ) as child,
    ):
        assert child.stdin is not None
        child.stdin.write(f"{secret.text}\n".encode() * 50_000)
        child.stdin.flush()
        time.sleep(2)
        for process in [child.pid, *_children(child.pid)]:
            for what in ("cmdline", "environ", "comm", "status", "maps"):
                shown = Path(f"/proc/{process}/{what}").read_bytes()
                row.count("/proc", secret.within(shown))
        row.count("working directory, audit, names", secret.below(own, set()))
        _, err = child.communicate()
        written.seek(0)
        out = written.read()
    row.tried += 1
    _searched(row, secret, own, fork.Done(child.returncode, out, err), set())


def _children(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(each) for each in listed]


MUTANTS: Final = mutants(
    "secrets",
    r"""
a message quotes a cell @ Rows._line
- f"column {len(self._cells)}: text behind a closing quote"
+ f"column {len(self._cells)}: text behind a closing quote {raw!r}"
a message quotes a row @ _Table.record
- f"{len(cells)} columns, expected {self._width}"
+ f"{len(cells)} columns, expected {self._width}: {cells}"
a message quotes a word in capitals @ decode
- f"invalid {options.encoding} at byte {error.start + 1}"
+ f"invalid {options.encoding} at {error.object.upper()!r}"
a message quotes a line of JSON @ jsonl._records
- f"invalid JSON at byte {error.at + 1}"
+ f"invalid JSON {raw[:30]!r} at byte {error.at + 1}"
an internal error shows its message @ UnexpectedError.__init__
- f"internal error: {type(error).__name__}{last}"
+ f"internal error: {error!r}{last}"
an error of the system shows its message @ UnexpectedError.__init__
- reason(error)
+ str(error)
an error in a file shows its message @ rewrite_file
- os.strerror(error.errno or 0)
+ error
a traceback is shown @ failure
- error = UnexpectedError(error)
+ traceback.print_exception(error)
+ error = UnexpectedError(error)
a message quotes a key of JSON @ JsonReader.record
- f"field '{error.path}'"
+ f"{raw} field '{error.path}'"
the audit is open to others @ create_private
- os.fchmod(descriptor, 0o600)
+ os.fchmod(descriptor, 0o644)
a message quotes a row of embeddings @ _parse_one
- f"{found} numbers, expected {d}"
+ f"{found} numbers, expected {d}: {line!r}"
the audit holds the input words @ Rows.of
- [..., indices, outputs, add(tails)[which]]
+ [..., indices, add(as_json([*table.originals])), add(tails)[which]]
""",
)
