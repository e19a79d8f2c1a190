"""``--resume`` after a change of one option: refused, unless the option decides no output."""

from __future__ import annotations

import dataclasses
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from docx_files import document, paragraph

from dpsan.embeddings.loading import load
from dpsan.outcomes.language.kneser_ney import Counts, estimated
from scoreboard import fork
from scoreboard.base import Row, Size, embedding_file, environment
from scoreboard.patterns import mutants

_FILES: Final[dict[str, bytes]] = {
    "a.txt": b"w1 w2 one\n",
    "b.txt": b"w3 w4 two\n",
    "a.csv": b"t,u\nw1 w2,w3\n",
    "b.csv": b"t,u\nw4 w5,w6\n",
    "a.docx": document(paragraph("w1 w2")),
    "b.docx": document(paragraph("w3 w4")),
    "keep": b"w1\n",
    "other-keep": b"w2\n",
    "public": b"w1\n",
    "spans": b'{"record": 1, "spans": [{"start": 0, "end": 2}]}\n',
}
_TEXT, _CSV, _DOCX = ("a.txt", "b.txt"), ("a.csv", "b.csv"), ("a.docx", "b.docx")
_KNN: Final = "-e 5 -m knn-response -p k=5 -E words.txt"
_KRR: Final = "-e 5 -m krr -E words.txt"


@dataclass(frozen=True)
class _Change:
    """The options of two runs."""

    first: str
    second: str
    inputs: tuple[str, ...] = _TEXT
    noticed: bool = True


_FLUENT: Final = "-e 8 -E words.txt --fluent --language-model"
_CHANGES: Final[dict[str, list[_Change]]] = {
    "epsilon": [_Change(_KRR, "-e 4 -m krr -E words.txt")],
    "epsilon_ldp": [_Change(_KRR, "--epsilon-ldp 4 -m krr -E words.txt")],
    "mechanism": [_Change("-e 5 -m krr -E words.txt", "-e 5 -m exponential -E words.txt")],
    "param": [_Change(_KNN, _KNN.replace("k=5", "k=6"))],
    "embeddings": [_Change(_KRR, "-e 5 -m krr -E other.txt")],
    "vocab_size": [_Change(_KRR, f"{_KRR} --vocab-size 20")],
    "unknown": [_Change(_KRR, f"{_KRR} --unknown mask")],
    "keep": [
        _Change(_KRR, f"{_KRR} --keep keep"),
        _Change(f"{_KRR} --keep keep", f"{_KRR} --keep other-keep"),
    ],
    "public": [_Change(_KNN, f"{_KNN} --public public")],
    "case": [_Change(_KRR, f"{_KRR} --case input")],
    "consistent": [_Change(_KRR, f"{_KRR} --consistent file")],
    "numbers": [_Change(_KNN, f"{_KNN} --numbers value")],
    "strings": [_Change(_KNN, f"{_KNN} --strings kind")],
    "only": [
        _Change("-e 5 -E words.txt --only keep", "-e 5 -E words.txt --only other-keep"),
        _Change("-e 5 -E words.txt --only keep=1", "-e 5 -E words.txt --only keep=2"),
    ],
    "classes": [_Change("-e 5 -E words.txt --class keep=1", "-e 5 -E words.txt --class keep=2")],
    "fluent": [_Change("-e 8 -E words.txt", f"{_FLUENT} one.npz")],
    "language_model": [_Change(f"{_FLUENT} one.npz", f"{_FLUENT} two.npz")],
    "tokenizer": [_Change(_KRR, f"{_KRR} --tokenizer whitespace")],
    "allow_unproved": [_Change(_KRR, f"{_KRR} --allow-unproved")],
    "recursive": [_Change(_KRR, f"{_KRR} -r")],
    "format_": [_Change(_KRR, f"{_KRR} -f text")],
    "field": [_Change(f"{_KRR} -k t", f"{_KRR} -k u", _CSV)],
    "drop_other": [_Change(f"{_KRR} -k t", f"{_KRR} -k t --drop-other", _CSV)],
    "spans": [_Change(_KRR, f"{_KRR} --spans spans", ("a.txt",))],
    "no_header": [_Change(f"{_KRR} -k 1", f"{_KRR} -k 1 --no-header", _CSV)],
    "delimiter": [_Change(f"{_KRR} -k 1", f"{_KRR} -k 1 --delimiter ;", _CSV)],
    "strip": [_Change(_KRR, f"{_KRR} --strip", _DOCX)],
    "null_data": [_Change(_KRR, f"{_KRR} -z")],
    "text": [_Change(_KRR, f"{_KRR} --text")],
    "encoding": [_Change(_KRR, f"{_KRR} --encoding latin-1")],
    "invalid": [_Change(_KRR, f"{_KRR} --invalid error")],
    "max_record": [
        _Change(_KRR, f"{_KRR} --max-record 1MiB"),
        _Change(_KRR, f"{_KRR} --max-record 16384k", noticed=False),
    ],
    "bad_records": [_Change(f"{_KRR} -k t", f"{_KRR} -k t --bad-records bad", _CSV)],
    "budget": [_Change(_KRR, f"{_KRR} --budget 1000")],
    "memo": [_Change(_KRR, f"{_KRR} --memo memo")],
    "ledger": [_Change(_KRR, f"{_KRR} --ledger ledger")],
    "copies": [_Change(_KRR, f"{_KRR} --copies 2")],
    "seed": [
        _Change(_KRR, f"{_KRR} --seed 1"),
        _Change(f"{_KRR} --seed 1", f"{_KRR} --seed 2"),
    ],
    **{
        name: [_Change(_KRR, f"{_KRR} {option}", noticed=False)]
        for name, option in {
            "jobs": "-j 2",
            "quiet": "-q",
            "verbose": "-v",
            "progress": "--progress off",
            "force": "--force",
            "line_buffered": "--line-buffered",
            "audit": "-a audit",
            "audit_originals": "-a audit --audit-originals",
            "log_json": "--log-json log",
            "resume": "",
        }.items()
    },
}
"""By the name that the parser knows; each way round."""
_ELSEWHERE: Final = {"files", "output", "output_dir", "in_place", "backup", "dry_run"}
"""Where inputs and outputs are, and nothing is written: two such runs share no output."""
_CLUSTER: Final = {"engine", "address"}
"""Who does the work, on a cluster: needs Ray, and decides no output."""


def changed_options(size: Size, folder: Path) -> Row:
    """Half of the outputs are there, one option differs."""
    row = Row("runs continued with one option changed / not noticed", "every option, both ways / 0")
    fork.preload()
    env = environment(folder)
    embedding_file(folder / "words.txt", 40, 4)
    embedding_file(folder / "other.txt", 41, 4)
    digest = load(folder / "words.txt").digest
    for at, name in enumerate(("one.npz", "two.npz")):
        counts = Counts(40)
        counts.add(np.array([41, *range(at, 20), 41]))
        (folder / name).write_bytes(estimated(counts).to_bytes(digest))
    from dpsan.cli.rewrite_options import RewriteOptions

    options = {each.name for each in dataclasses.fields(RewriteOptions)}
    known = {*_CHANGES} | _ELSEWHERE | _CLUSTER
    row.count("an option that this row does not know", options != known)
    for name in sorted(_CHANGES)[:: size.of(4, 2, 1)]:
        for change in _CHANGES[name]:
            for first, second in _orders(change, size):
                _tried(row, folder, env, change, (first, second))
    _without_file(row, folder, env)
    return row


def _orders(change: _Change, size: Size) -> list[tuple[str, str]]:
    there, back = (change.first, change.second), (change.second, change.first)
    return [there, back] if size is Size.FULL else [there]


def _run(folder: Path, env: dict[str, str], options: str, inputs: tuple[str, ...]) -> fork.Done:
    return fork.run(["rewrite", *options.split(), "-O", "out", *inputs], folder, env)


def _fresh(folder: Path) -> None:
    for name in ("out", "memo"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in folder.glob("*"):
        if path.is_file() and path.name not in ("words.txt", "other.txt", "one.npz", "two.npz"):
            path.unlink()
    for name, data in _FILES.items():
        (folder / name).write_bytes(data)


def _tried(
    row: Row, folder: Path, env: dict[str, str], change: _Change, runs: tuple[str, str]
) -> None:
    _fresh(folder)
    first = _run(folder, env, runs[0], change.inputs)
    if first.status:
        row.count("the first run failed", True)
        row.note = f"{runs[0]}: {first.err[-200:]!r}"
        return
    row.tried += 1
    done = folder / "out" / change.inputs[0]
    before = done.read_bytes()
    for each in change.inputs[1:]:
        (folder / "out" / each).unlink()
    for each in ("audit", "bad"):
        (folder / each).unlink(missing_ok=True)
    second = _run(folder, env, f"{runs[1]} --resume", change.inputs)
    files = {path.name for path in (folder / "out").iterdir()} - {".dpsan-request"}
    if change.noticed:
        row.count("a change is not noticed", second.status != 2)
        row.count("something was written all the same", files != {change.inputs[0]})
        epsilons = re.findall(rb"epsilon [0-9.]+", second.err)
        row.count("the message does not name both epsilons", len(epsilons) < 2)
        if second.status != 2:
            row.note += f" {runs}: {second.status} {second.err[-200:]!r}"
    else:
        row.count("the same request is refused", second.status != 0)
        row.count("an output is missing", files != {*change.inputs})
    row.count("a finished output was written again", done.read_bytes() != before)
    requests = folder / "out" / ".dpsan-request"
    modes = {path.stat().st_mode & 0o777 for path in (requests,) if path.exists()}
    row.count("others may read the file of requests", bool(modes - {0o600}))


def _without_file(row: Row, folder: Path, env: dict[str, str]) -> None:
    """Outputs of which nobody knows how they were made."""
    _fresh(folder)
    _run(folder, env, _KRR, _TEXT)
    (folder / "out" / ".dpsan-request").unlink(missing_ok=True)
    (folder / "out" / _TEXT[1]).unlink()
    done = _run(folder, env, f"{_KRR} --resume", _TEXT)
    row.count("outputs without a file of requests are taken", done.status != 2)
    row.tried += 1


MUTANTS: Final = mutants(
    "resume",
    """
--resume asks nothing @ RequestFile.check
= lambda original: lambda self, outputs: None
no run says what it was asked @ RequestFile.append
= lambda original: lambda self: None
epsilon alone decides @ Request.decisive
= lambda original: lambda self, sanitizer: {}
every option decides @ Request.decisive
= lambda original: lambda self, made: {**original(self, made), 'resume': self.resume}
requests for all to read @ RequestFile.append
= lambda original: lambda self: (original(self), self._path.chmod(0o644))
""",
)
