"""Planted secrets: stages made to fail with them in hand, messages provoked, processes looked into."""

# ruff: noqa: E501, SIM905

import builtins
import hashlib
import itertools
import os
import pkgutil
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dpsan.formats.base import ReadOptions
from scoreboard import fork
from scoreboard.base import TWO, Row, Size, children, environment, row, start

_STAGES = (
    "text.lookup:lookup_keys formats.text:decode files.atomic_files:Sink.write text.shape:shape "
    "text.lookup:amount privacy.randomness:streams_for sanitize.sanitizer:Sanitizer.sanitize "
    "text.letter_case:NaturalCase.write formats.json_scan:parsed formats.json_scan:written "
    "formats.csv:value formats.csv:_Table._cell run.stream:_Flow._write "
    "run.audit.writer:AuditWriter.words sanitize.accountant:Accountant.add"
).split()
_KINDS = (
    "ValueError OSError RuntimeError RecursionError MemoryError KeyError AssertionError TypeError "
    "SystemExit KeyboardInterrupt StopIteration"
).split()
KNOWN = "Vermilionette"
"""A secret that the vocabulary has: it may come out as a word, but nobody may speak of it."""


class _Secret:
    """Some words that must not be found, in any case, and none of their parts; and a place."""

    def __init__(self, own: Path) -> None:
        letters = uuid.uuid4().hex.translate(str.maketrans("0123456789", "ghijklmnop"))
        digits = str(uuid.uuid4().int)[:11]
        self.words = f"Quetzal{letters[:8]} {digits} MiXeD{letters[8:14]}-SideKick{letters[14:20]}"
        self.text = f"here {self.words} {KNOWN} there"
        self.needles = [each.lower().encode() for each in re.findall(r"\w{6,}", self.words)]
        self.own, self.work = own, own / "work"
        self.env = environment(own) | {"RICH_TRACEBACK": "1", "PYTHONDEVMODE": ""}
        self.work.mkdir()
        (self.work / "words.txt").write_text(f"{TWO}{KNOWN.lower()} 1 1\n")
        self.inputs: set[Path] = set()

    def write(self, name: str, content: bytes) -> None:
        """An input; in its content {0} is the secret, {1} one word of it."""
        one = self.words.split()[0].encode()
        data = content.replace(b"{0}", self.text.encode()).replace(b"{1}", one)
        (self.work / name).write_bytes(data)
        self.inputs.add(self.work / name)

    def run(self, command, *names, before=None):
        return fork.run([*command.split(), *names], self.work, self.env, before)

    def within(self, data: bytes) -> bool:
        return any(each in data.lower() for each in self.needles)

    def below(self, folder: Path) -> bool:
        files = [path for path in folder.rglob("*") if path.is_file() and path not in self.inputs]
        return any(self.within(path.read_bytes() + os.fsencode(path.name)) for path in files)

    def searched(self, row: Row, done: fork.Done, where: str = "") -> None:
        """Everywhere; then the place is gone."""
        row.tried += 1
        told = self.within(done.err) or KNOWN.lower().encode() in done.err.lower()
        row.count(f"standard error{where}", told)
        row.count("standard output", self.within(done.out))
        for name in ("cache", "tmp", "home"):
            row.count(f"{name} directory", self.below(self.own / name))
        row.count("working directory, audit, names", self.below(self.work))
        row.count("traceback", b"Traceback" in done.err)
        controls = any(byte < 0x20 and byte != 0x0A for byte in done.err)
        row.count("control character in a message", controls)
        audit = self.work / "audit"
        row.count("audit open to others", audit.exists() and audit.stat().st_mode & 0o077 != 0)
        shutil.rmtree(self.own)


@row("secrets", "stages made to fail and messages provoked × channels searched", "≥ 200 × 8")
def failing_stages(row: Row, size: Size, folder: Path) -> None:
    """Nobody may learn of the secret: by message, file, name, argument or environment."""
    fork.preload()
    places = map(_Secret, (folder / f"p{number}" for number in itertools.count()))
    _stages(row, size, places)
    _provoked(row, size, places)
    _reports(row, next(places))
    if size is not Size.MUTANT:
        _live(row, next(places))


def _stages(row: Row, size: Size, places: Iterator[_Secret]) -> None:
    inputs = {"s.txt": b"{0}\n", "s.jsonl": b'{"t":"{0}"}\n', "s.csv": b't\n"{0}"\n'}
    kinds = _KINDS[: size.of(2, 2, len(_KINDS))]
    ways = ["-O out", "", "-i"][: size.of(2, 2, 3)]
    cases = itertools.product(_STAGES, inputs, kinds, ways)
    # A third of a stage's 12 cases has every input, kind and way.
    for stage, name, kind, way in itertools.islice(cases, 0, None, size.of(1, 3, 1)):
        if size is Size.MUTANT and (stage not in _STAGES[:3] or name != "s.csv"):
            continue
        it = next(places)
        it.write(name, inputs[name])
        chosen = "" if name == "s.txt" else "-k t"
        command = f"rewrite -v -e 5 -m laplace -E words.txt -a audit {way} {chosen}"
        umask = os.umask(0)
        done = it.run(command, name, before=_failing(f"dpsan.{stage}", kind, it.text))
        os.umask(umask)
        row.tried -= done.status == 0
        row.count("a stage that is there no more", b"NO SUCH STAGE" in done.err)
        it.searched(row, done)


def _failing(stage: str, kind: str, secret: str) -> Callable[[], None]:
    """Makes a stage fail with its arguments and the secret in the message."""
    module, _, path = stage.partition(":")
    path, _, name = path.rpartition(".")

    def fail(*arguments: Any, **more: Any) -> None:
        raised: Any = getattr(builtins, kind)
        raise OSError(5, secret, secret) if raised is OSError else raised(secret, arguments, more)

    def install() -> None:
        owner = pkgutil.resolve_name(f"{module}:{path}" if path else module)
        assert hasattr(owner, name), "NO SUCH STAGE"
        setattr(owner, name, fail)

    return install


_EVALUATE = "evaluate -q -e 1 -m laplace -E words.txt -k t"
_REWRITE = "rewrite -v -e 5 -m laplace -E words.txt -a audit -O out"
_PROVOKED: list[tuple[str, str, bytes, str]] = [
    # what it is, name and content of the input ({0}: the secret, {1}: one word of it), the command
    ("csv without header", "s.csv", b"{1},x\n{0},y\n", f"{_REWRITE} -k t"),
    ("csv, a column by number", "s.csv", b"{1},x\n", f"{_REWRITE} -k 7"),
    ("csv, rows of different length", "s.csv", b"t,n\n{0},1\n{0}\n", f"{_REWRITE} -k t"),
    ("csv, rows, two workers", "s.csv", b"t,n\n{0},1\n{0}\n", f"{_REWRITE} -k t -j 2"),
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
    ("a long record", "s.txt", b"{0}\n", _REWRITE),
    ("UTF-16", "s.txt", b"\xff\xfe{0}\n", _REWRITE),
    ("no gzip", "s.txt.gz", b"{0}\n", _REWRITE),
    ("no Parquet", "s.parquet", b"PAR1{0}PAR1", f"{_REWRITE} -k t"),
    ("html, a tag that is a name", "s.html", b"<p>\n<{1} x>{0}", _REWRITE),
    ("html, a script without end", "s.html", b"<script>{0}", _REWRITE),
    ("eml, an attachment", "s.eml", b"Content-Type: image/{1}\n\n{0}\n", _REWRITE),
    ("eml, no headers", "s.eml", b"{0}\n", f"{_REWRITE}"),
    ("docx, no archive", "s.docx", b"PK\x03\x04{0}", f"{_REWRITE}"),
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


def _short() -> None:
    """Let no record be longer than a few bytes."""
    ReadOptions.max_record = 10


def _provoked(row: Row, size: Size, places: Iterator[_Secret]) -> None:
    """Every message about an input that the program has, with the secret where it looks."""
    for what, file, template, command in _PROVOKED:
        if "-j" in command and size is Size.MUTANT:
            continue
        it = next(places)
        it.write(file, template)
        done = it.run(command, file, before=_short if what == "a long record" else None)
        row.count("a provocation that provokes nothing", done.status == 0)
        row.count("internal error", b"internal error" in done.err)
        it.searched(row, done, ", of a first row" if b"{1}" in template else "")


def _reports(row: Row, it: _Secret) -> None:
    """A report is shared: nothing in it lets somebody test a guess of the input."""
    it.write("s.txt", b"{0}\n")
    done = it.run(_REWRITE, "s.txt")
    row.count("a run for a report failed", done.status != 0)
    told = it.run("report audit").out + it.run("report --json audit").out
    page = it.run("report --html page.html audit")
    assert page.status == 0, page
    told += (it.work / "page.html").read_bytes()
    text = (it.work / "s.txt").read_bytes()
    digests = [hashlib.new(kind, text).hexdigest() for kind in ("sha256", "sha1", "md5")]
    shown = any(each.encode() in told for each in digests)
    row.count("a report holds a digest of the input", shown)
    row.tried += 2
    it.searched(row, done)


def _live(row: Row, it: _Secret) -> None:
    """While two workers hold the secret: what the system shows of them."""
    command = "rewrite -v -e 5 -m laplace -E words.txt -j 2 -a audit"
    # The output goes to a file outside: a pipe that nobody reads stops the program when it is full.
    written = it.own.with_suffix(".out")
    with written.open("wb") as out, start(command, it.work, it.env, stdout=out) as child:
        child.stdin.write(f"{it.text}\n".encode() * 50_000)
        child.stdin.flush()
        time.sleep(2)
        for process in [child.pid, *children(child.pid)]:
            for what in ("cmdline", "environ", "comm", "status", "maps"):
                row.count("/proc", it.within(Path(f"/proc/{process}/{what}").read_bytes()))
        row.count("working directory, audit, names", it.below(it.own))
        _, err = child.communicate()
    it.searched(row, fork.Done(child.returncode, written.read_bytes(), err))
