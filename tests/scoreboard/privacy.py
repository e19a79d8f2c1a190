"""Planted secrets and planted defects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scoreboard.base import TWO, Row, environment

_STAGES = {
    "tokenizer": "dpsan.text:_split_unicode",
    "lookup": "dpsan.sanitizer:lookup_keys",
    "subwords": "dpsan.sanitizer:subwords",
    "streams": "dpsan.rng:streams_for",
    "sanitize": "dpsan.sanitizer:Sanitizer.sanitize",
    "decode": "dpsan.formats.text:decode",
    "jsonl": "dpsan.formats.jsonl:_parsed",
    "json render": "dpsan.formats.jsonl:_string",
    "csv": "dpsan.formats.csv:_value",
    "csv render": "dpsan.formats.csv:_Render._cell",
    "batch": "dpsan.batch:_Flow._write",
    "sink": "dpsan.files:Sink.write",
    "audit": "dpsan.audit:AuditWriter.words",
    "totals": "dpsan.accounting:Accountant.add",
}

_FAILING = """
import importlib, os, sys
module, _, path = os.environ["STAGE"].partition(":")
owner = importlib.import_module(module)
*inner, name = path.split(".")
for each in inner: owner = getattr(owner, each)
kind = getattr(__import__("builtins"), os.environ["RAISE"])
def fail(*a, **k):
    if kind is OSError:
        raise OSError(5, os.environ["DPSAN_SECRET_FOR_TEST"])
    raise kind(os.environ["DPSAN_SECRET_FOR_TEST"], a, k)
setattr(owner, name, fail)
if path == "_split_unicode":
    owner.TOKENIZERS["unicode"] = owner.Tokenizer("unicode", fail)
sys.argv = ["dpsan", *sys.argv[1:]]
from dpsan.cli.guard import main
main()
"""


def failing_stages(quick: bool, folder: Path) -> Row:
    """Stages fail with the secret in hand and in the message; nobody else may get to see it."""
    row = Row("stages made to fail × channels searched for planted secrets", "≥ 200 × 6")
    (folder / "two.txt").write_text(TWO)
    inputs = {
        "s.txt": "here {0} there\n",
        "s.jsonl": '{{"t":"here {0}"}}\n',
        "s.csv": 't\n"{0} here"\n',
    }
    kinds = (
        ["ValueError", "OSError"]
        if quick
        else [
            "ValueError",
            "OSError",
            "RecursionError",
            "MemoryError",
            "KeyError",
            "RuntimeError",
            "AssertionError",
            "TypeError",
        ]
    )
    plan = [(stage, name, kind) for stage in _STAGES for name in inputs for kind in kinds]

    def one(at: int) -> tuple[int, dict[str, bool]]:
        stage, name, kind = plan[at]
        own = folder / f"p{at}"
        own.mkdir()
        env = environment(own)
        work = own / "work"
        work.mkdir()
        secret = f"CANARY-{uuid.uuid4()}"
        text = inputs[name].format(secret)
        command = [
            sys.executable,
            "-c",
            _FAILING,
            "rewrite",
            "-v",
            "-e",
            "5",
            "-m",
            "laplace",
            "-E",
            str(folder / "two.txt"),
            "-a",
            str(own / "audit"),
            "-O",
            "out",
        ]
        env |= {
            "STAGE": _STAGES[stage],
            "RAISE": kind,
            "DPSAN_SECRET_FOR_TEST": secret,
            "RICH_TRACEBACK": "1",
        }
        (work / name).write_text(text)
        command += [name] + ([] if name == "s.txt" else ["-k", "t"])
        old = os.umask(0) if at == 0 else None
        done = subprocess.run(command, cwd=work, env=env, capture_output=True)
        if old is not None:
            os.umask(old)
        (work / name).unlink()
        found = {
            "standard error": secret.encode() in done.stderr,
            "standard output": secret.encode() in done.stdout,
            "cache": _holds(own / "cache", secret),
            "temporary directory": _holds(own / "tmp", secret),
            "home": _holds(own / "home", secret),
            "working directory, core file": _holds(work, secret),
        }
        if (own / "audit").exists():
            found["audit open to others"] = (own / "audit").stat().st_mode & 0o077 != 0
        found["traceback"] = b"Traceback" in done.stderr
        shutil.rmtree(own)
        return int(done.returncode != 0), found

    with ThreadPoolExecutor(2) as pool:
        for failed, found in pool.map(one, range(len(plan))):
            row.tried += failed
            for channel, there in found.items():
                row.count(channel, there)
    row.note = "counted: runs in which the stage was reached and failed"
    return row


def _holds(folder: Path, secret: str) -> bool:
    return any(
        secret.encode() in path.read_bytes() or secret in path.name
        for path in folder.rglob("*")
        if path.is_file()
    )


def audited_pairs(quick: bool, folder: Path) -> Row:
    """Every proved mechanism is verified, and every planted defect must be found."""
    from planted import BROKEN, DRAWS, planted
    from support import make_embeddings

    from dpsan.errors import UsageError
    from dpsan.guarantee import Status
    from dpsan.mechanisms import MECHANISMS
    from dpsan.sanitizer import Sanitizer
    from dpsan.verify import Verdict, verify

    row = Row("word pairs audited at 99.9 %", "≥ 200 / 0 / 0")
    words, draws = 24, 20_000 if quick else 200_000
    embeddings = make_embeddings(n=60, d=4)
    count = 0
    for name, kind in MECHANISMS.items():
        if kind.status is not Status.PROVED:
            continue
        # Small enough for a vocabulary of this size, large enough to be seen by so many draws.
        for epsilon in (0.5, 1.0, 4.0):
            try:
                sanitizer = Sanitizer(
                    name, epsilon=epsilon, embeddings=embeddings, cache=folder / "cache"
                )
            except UsageError:  # outside the domain of the mechanism's theorem
                continue
            found = verify(sanitizer, words=words, draws=draws, confidence=0.999)
            row.count("guarantees violated", found.verdict is Verdict.VIOLATED)
            # ... and the unknown words and the capitalised word that verify adds are not counted.
            row.tried += words * (words - 1) // 2
            count += 1
    for defect in BROKEN:
        found = verify(planted(defect), words=12, draws=DRAWS)
        row.count("planted defects missed", not found.empirical.violated)
    row.note = f"{count} guarantees, {len(BROKEN)} planted defects"
    return row
