"""Stream manners of the real program; the scoreboard has endless inputs, latency and seeds."""

import gzip
import hashlib
import itertools
import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from support import cases, started, wait_for

LINE = b"here there, HERE\r\n"
BASE = ["-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--case", "vocabulary"]


def group_lives(number):
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_when_the_program_is_killed(folder, env):
    how = {"cwd": folder, "env": env, "start_new_session": True}
    with started("rewrite", *BASE, "-j", "2", **how) as child:
        child.stdin.write(b"here\n")
        child.stdin.flush()
        child.stdout.readline()
        child.kill()
    wait_for(lambda: not group_lives(child.pid))


DIED = (
    b"dpsan: a worker process died (out of memory? try a smaller -j)\n"
    b"dpsan: the output is not whole: it ends where the run failed\n"
)


def numbered(number):
    """A line that tells its number."""
    return b" ".join((b"here", b"there")[number >> bit & 1] for bit in range(16)) + b"\n"


def feed(child):
    with suppress(OSError, ValueError):
        for first in itertools.count(step=100):
            os.write(child.stdin.fileno(), b"".join(map(numbered, range(first, first + 100))))


KILLED = pytest.param("worker", 1, DIED, marks=pytest.mark.slow)


@cases("who status told", KILLED, ("reader", 128 + signal.SIGPIPE, b""))
def test_a_worker_that_is_killed_and_a_reader_that_leaves(folder, env, who, status, told):
    """What was written is a beginning of the output, in whole lines and in their order."""
    with started("rewrite", *BASE, "-j", "2", cwd=folder, env=env) as child:
        feeding = threading.Thread(target=feed, args=(child,))
        feeding.start()
        out = child.stdout.readline()
        if who == "reader":
            child.stdout.close()
        else:
            below = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
            named = {int(each): Path(f"/proc/{each}/cmdline").read_bytes() for each in below}
            os.kill(next(each for each in named if b"-fork" in named[each]), signal.SIGKILL)
            out += child.stdout.read()
        assert (child.wait(300), child.stderr.read()) == (status, told)
        feeding.join()
    lines = out.splitlines(keepends=True)
    assert lines == [numbered(number) for number in range(len(lines))]


def test_in_place_and_compression(folder, dpsan):
    for name in ("a.txt", "b.txt.gz"):
        data = gzip.compress(LINE) if name.endswith(".gz") else LINE
        (folder / name).write_bytes(data)
    (folder / "a.txt").chmod(0o640)
    done = dpsan("rewrite", *BASE, "-i", "a.txt", "b.txt.gz", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "a.txt").read_bytes() == LINE.lower()
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o640
    assert gzip.decompress((folder / "b.txt.gz").read_bytes()) == LINE.lower()
    # Standard output is never compressed; a hash in the audit is that of the file.
    done = dpsan("rewrite", *BASE, "b.txt.gz", cwd=folder)
    assert done.stdout == LINE.lower()
    done = dpsan("rewrite", *BASE, "a.txt", "-o", "c.gz", "-a", "audit", cwd=folder)
    assert gzip.decompress((folder / "c.gz").read_bytes()) == LINE.lower()
    told = [json.loads(row) for row in (folder / "audit").read_bytes().splitlines()]
    digest = hashlib.sha256((folder / "c.gz").read_bytes()).hexdigest()
    assert told[-2]["output_sha256"] == digest


PACKED = gzip.compress(LINE, mtime=0)


WHOLE = PACKED + gzip.compress(b"", mtime=0) + PACKED, PACKED + PACKED + bytes(99)
BROKEN = PACKED + PACKED[:-3], PACKED + PACKED[:-8] + bytes(8), PACKED + b"rubbish", LINE


@cases("data lines", *((data, 2) for data in WHOLE), *((data, 0) for data in BROKEN))
def test_members_of_gzip(folder, dpsan, data, lines):
    (folder / "a.txt.gz").write_bytes(data)
    done = dpsan("rewrite", *BASE, "a.txt.gz", "-o", "out", cwd=folder, status=int(not lines))
    assert done.stderr.count(b"\n") == int(not lines)
    assert not lines or (folder / "out").read_bytes() == LINE.lower() * lines


def test_zstandard(folder, dpsan):
    zstandard = pytest.importorskip("zstandard", reason="extra 'zst' is not installed")
    (folder / "a.txt.zst").write_bytes(zstandard.compress(LINE * 9) + zstandard.compress(LINE))
    assert dpsan("rewrite", *BASE, "a.txt.zst", "-O", "out", cwd=folder).returncode == 0
    packed = (folder / "out" / "a.txt.zst").read_bytes()
    out = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    assert out == (LINE * 10).lower()
    (folder / "bad.txt.zst").write_bytes(zstandard.compress(LINE * 1000)[:-5])
    (folder / "no.txt.zst").write_bytes(b"no zstd at all")
    done = dpsan("rewrite", *BASE, "bad.txt.zst", "no.txt.zst", cwd=folder)
    assert done.stderr == (
        b"dpsan: bad.txt.zst: zstd data ends too early\n"
        b"dpsan: no.txt.zst: damaged zstd data, or none (a text of another name is read as it is)\n"
        b"dpsan: 2 of 2 files failed; nothing was written\n"
    )


@pytest.mark.parametrize("name", ["missing.jsonl", "bad.jsonl"])
@pytest.mark.parametrize("output", ["-o out", "-O new"])
def test_force_loses_no_old_audit_when_nothing_is_published(folder, dpsan, name, output):
    """Else the old output would be left without its audit."""
    for old in ("audit", "out"):
        (folder / old).write_bytes(b"old\n")
    (folder / "bad.jsonl").write_bytes(b'{"t":"here"}\n' * 9 + b'{"t":5}\n')
    command = ("rewrite", *BASE, "--force", "-k", "t", "-a", "audit", *output.split())
    assert dpsan(*command, name, cwd=folder).returncode == 1
    assert (folder / "audit").read_bytes() == (folder / "out").read_bytes() == b"old\n"
    assert not [*folder.glob(".audit*")]
    # What standard output has got has its rows, also of an input that fails.
    given = (*command[:-2], name, "bad.jsonl")
    assert dpsan(*given, cwd=folder).stdout.count(b"here") == 9 * (given.count("bad.jsonl"))
    assert (folder / "audit").read_bytes().count(b'"type":"word"') == 9 * (given.count("bad.jsonl"))
    assert (folder / "audit").stat().st_mode & 0o777 == 0o600


def test_a_refused_output_begins_no_audit(folder, dpsan):
    """Else the corrected command would be refused because of the audit."""
    (folder / "out.txt").write_bytes(b"here\n")
    (folder / "a.txt").write_bytes(LINE)
    command = ("rewrite", *BASE, "a.txt", "-o", "out.txt", "-a", "audit")
    done = dpsan(*command, cwd=folder, status=1)
    assert b"exists (--force replaces it)" in done.stderr
    assert not (folder / "audit").exists()
    assert dpsan(*command, "--force", cwd=folder).returncode == 0
    assert (folder / "audit").exists()
