"""A memo, a ledger, a cache and an audit log that an earlier dpsan wrote: read, or refused.

Commit 4f1abd4 wrote those in ``stored/``, with ``DPSAN_CACHE_DIR=cache``: ``dpsan rewrite -e 0.5
-m krr --allow-unproved -E words.txt --memo memo --ledger ledger -a audit.jsonl --audit-originals
-o output.txt input.txt``.  A dpsan that changes one of the formats must read the old file or
refuse it in one line that names it, and must not change a file that it refuses.  Whoever refuses a
format writes the refusal down in :data:`REFUSED`.
"""

import json
import shutil
from pathlib import Path

import pytest

STORED = Path(__file__).parent / "stored"
REWRITE = ["rewrite", "-e", "0.5", "-m", "krr", "--allow-unproved", "-E", "words.txt"]
REFUSED = {"audit.jsonl": "an audit of another schema than 16"}
"""File: what the refusal says of it."""


@pytest.fixture
def folder(tmp_path):
    """The stored files with the modes that they had: git keeps none."""
    work = tmp_path / "work"
    shutil.copytree(STORED, work)
    for path in (work, *work.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return work


def refused(done, folder, name):
    """Whether a file was refused as :data:`REFUSED` says: in one line, and left as it was."""
    if name not in REFUSED:
        assert done.returncode == 0, done.stderr.decode()
        return False
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"dpsan: {folder / name}:")
    assert REFUSED[name] in line
    assert done.returncode == 1
    assert not done.stdout
    assert (folder / name).read_bytes() == (STORED / name).read_bytes()
    return True


def test_a_stored_memo_adds_up_what_its_messages_have_cost(dpsan, folder):
    """It was written under other rules of where words begin, so its messages are drawn again."""
    said = []
    for _ in range(2):
        done = dpsan(*REWRITE, "--memo", str(folder / "memo"), "input.txt", cwd=folder)
        if refused(done, folder, "memo/memo.sqlite"):
            return
        said.append((done.stdout, done.stderr.decode()))
    assert "3 messages drawn now, 0 remembered" in said[0][1]
    assert "0 messages drawn now, 3 remembered" in said[1][1]
    for output, told in said:
        assert output == said[0][0]
        assert "over its life 3 messages drawn 6 times, LDP epsilon 9 for one of them" in told


@pytest.mark.parametrize("budget", ["4.4", "8.5"])
def test_a_stored_ledger_knows_what_each_record_has_cost(dpsan, folder, budget):
    """Its records of 9, 8 and 4 words have cost 4.5, 4 and 2 and would cost that again."""
    ledger = str(folder / "ledger")
    lines = (STORED / "input.txt").read_text().splitlines()
    records = "".join(json.dumps({"t": line}) + "\n" for line in lines).encode()
    more = ("--ledger", ledger, "--budget", budget, "--bad-records", "bad", "-f", "jsonl")
    done = dpsan(*REWRITE, *more, "-k", "t", stdin=records, cwd=folder)
    if not refused(done, folder, "ledger"):
        paid = sum(map(bool, done.stdout.splitlines()))
        left = (folder / "bad").read_bytes().splitlines()
        assert (paid, len(left)) == ((1, 2) if budget == "4.4" else (2, 1))


def test_a_stored_cache_is_read_or_built_again(dpsan, folder):
    """A cache holds nothing that cannot be made again, so nobody has to refuse it."""
    command = [*REWRITE, "-q", "--seed", "s", "input.txt"]
    outputs = []
    for cache in ("cache", "empty"):
        done = dpsan(*command, cwd=folder, env={"DPSAN_CACHE_DIR": str(folder / cache)})
        assert (done.returncode, len(done.stderr.splitlines())) == (0, 1), done.stderr.decode()
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] != b""


def test_a_stored_audit_log_is_reported(dpsan, folder):
    done = dpsan("report", str(folder / "audit.jsonl"))
    if not refused(done, folder, "audit.jsonl"):
        assert b"21 drawn" in done.stdout
        assert b"LDP epsilon, largest record            4.5" in done.stdout
