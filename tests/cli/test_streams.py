"""Stream manners of the real program: pipes, signals, full disks, batches, one seed."""

import csv
import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))

LINE = b"here there, HERE\r\n"
BASE = ["-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--case", "vocabulary"]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "eval" / "pii"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return tmp_path


@pytest.fixture
def env(cache):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    return {**clean, "DPSAN_CACHE_DIR": str(cache), "DPSAN": f"{sys.executable} -m dpsan"}


def shell(command, folder, env):
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, capture_output=True, timeout=60
    )


def start(arguments, folder, env, **more):
    more = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen(
        [sys.executable, "-m", "dpsan", "rewrite", *arguments], cwd=folder, env=env, **more
    )


def leftovers(folder):
    return [path.name for path in folder.rglob("*") if path.name.endswith(".tmp")]


@pytest.mark.parametrize("jobs", ["", "-j 2"])
def test_endless_input_and_a_reader_that_leaves(folder, env, jobs):
    done = shell(
        "set -o pipefail; yes 'a line of text' | $DPSAN rewrite -q -e 8 -m laplace -E two.txt "
        f"{jobs} | head -3; echo ${{PIPESTATUS[1]}} >&2",
        folder,
        env,
    )
    assert done.stdout.count(b"\n") == 3
    assert done.stderr == b"141\n"


def test_full_disk(folder, env):
    for end in ("> /dev/full", "-o /dev/full"):
        done = shell(f"echo here | $DPSAN rewrite {' '.join(BASE)} {end}", folder, env)
        assert done.returncode == 1
        assert done.stderr.count(b"\n") == 1
        assert done.stderr.endswith(b": cannot write: No space left on device\n")


@pytest.mark.parametrize("arguments", [(), ("-j", "2"), ("-f", "jsonl", "-k", "t")])
def test_latency(folder, env, arguments):
    """A line is answered at once, while the input stays open."""
    child = start([*BASE, *arguments], folder, env)
    for number in range(3):
        line = b'{"t":"here"}\n' if "jsonl" in arguments else b"here\n"
        child.stdin.write(line)
        child.stdin.flush()
        begun = time.monotonic()
        assert child.stdout.readline() == line
        if number:  # the first waits for the start of the program
            assert time.monotonic() - begun < 1.0
    child.stdin.close()
    assert child.wait(timeout=20) == 0
    assert child.stderr.read() == b""
    child.stdout.close()
    child.stderr.close()


@pytest.mark.parametrize(
    ("sent", "jobs"), [(signal.SIGINT, "1"), (signal.SIGTERM, "2"), (signal.SIGHUP, "1")]
)
def test_signals_and_resume(folder, env, sent, jobs):
    """Stopped inside the second file, which waits for ever: the first stays, no other is left."""
    (folder / "a.txt").write_bytes(LINE)
    os.mkfifo(folder / "b.txt")
    child = start(
        [*BASE, "-j", jobs, "-O", "out", "a.txt", "b.txt"],
        folder,
        env,
        start_new_session=True,
    )
    feed = os.open(folder / "b.txt", os.O_WRONLY)
    os.write(feed, LINE * 100)
    begun = time.monotonic()
    while not leftovers(folder) and time.monotonic() - begun < 20:
        time.sleep(0.05)
    assert leftovers(folder)
    os.killpg(child.pid, sent)  # as the terminal does
    out, told = child.communicate(timeout=20)
    os.close(feed)
    message = b"1 of 2 files are complete (the same command with --resume goes on)\n"
    assert (child.returncode, out, told) == (-sent, b"", b"dpsan: interrupted: " + message)
    assert not leftovers(folder)
    assert {path.name for path in (folder / "out").iterdir()} == {".dpsan-request", "a.txt"}
    before = (folder / "out" / "a.txt").stat()
    (folder / "b.txt").unlink()
    (folder / "b.txt").write_bytes(LINE)
    done = start([*BASE, "--resume", "-O", "out", "a.txt", "b.txt"], folder, env)
    assert (*done.communicate(timeout=20), done.returncode) == (b"", b"", 0)
    assert (folder / "out" / "b.txt").read_bytes() == LINE.lower()
    after = (folder / "out" / "a.txt").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_workers_end_when_the_program_is_killed(folder, env):
    child = start([*BASE, "-j", "2"], folder, env, start_new_session=True)
    child.stdin.write(b"here\n")
    child.stdin.flush()
    child.stdout.readline()
    child.kill()
    child.communicate()
    for _ in range(100):
        try:
            os.killpg(child.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a worker is left")


def test_batch_with_a_failure_and_a_table(folder, dpsan):
    (folder / "a.txt").write_bytes(LINE * 2)
    (folder / "b.txt").write_bytes(b"x" * 100)
    (folder / "c.txt").write_bytes(LINE)
    done = dpsan(
        "rewrite", *BASE[1:], "--max-record", "50", "-O", "out", "a.txt", "b.txt", "c.txt",
        cwd=folder,
    )  # fmt: skip
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert told[0] == "dpsan: b.txt:1: record longer than 50 bytes (raise --max-record)"
    assert [line.split()[1:] for line in told[1:5]] == [
        ["records", "words", "drawn", "unknown", "kept", "epsilon", "file"],
        ["2", "6", "6", "0", "0", "6,000", "a.txt"],
        ["failed", "b.txt"],
        ["1", "3", "3", "0", "0", "3,000", "c.txt"],
    ]
    assert told[-1] == "dpsan: 1 of 3 files failed"
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == [".dpsan-request", "a.txt", "c.txt"]


def test_in_place_backup_and_compression(folder, dpsan):
    for name in ("a.txt", "b.txt.gz"):
        data = gzip.compress(LINE) if name.endswith(".gz") else LINE
        (folder / name).write_bytes(data)
    (folder / "a.txt").chmod(0o640)
    done = dpsan("rewrite", *BASE, "-i", "--backup", ".orig", "a.txt", "b.txt.gz", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "a.txt").read_bytes() == LINE.lower()
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o640
    assert (folder / "a.txt.orig").read_bytes() == LINE
    assert gzip.decompress((folder / "b.txt.gz").read_bytes()) == LINE.lower()
    assert gzip.decompress((folder / "b.txt.gz.orig").read_bytes()) == LINE
    done = dpsan("rewrite", *BASE, "-i", "--backup", ".orig", "a.txt", cwd=folder)
    assert done.stderr == b"dpsan: a.txt.orig: exists (--force replaces it)\n"
    # Standard output is never compressed; a hash in the audit is that of the file.
    done = dpsan("rewrite", *BASE, "b.txt.gz", cwd=folder)
    assert done.stdout == LINE.lower()
    done = dpsan("rewrite", *BASE, "a.txt", "-o", "c.gz", "-a", "audit", cwd=folder)
    assert gzip.decompress((folder / "c.gz").read_bytes()) == LINE.lower()
    told = [json.loads(row) for row in (folder / "audit").read_bytes().splitlines()]
    digest = hashlib.sha256((folder / "c.gz").read_bytes()).hexdigest()
    assert [row["output_sha256"] for row in told[-2:]] == [digest, digest]


def test_a_run_killed_between_backup_and_output_is_run_again(folder, dpsan):
    """The backup is a second name of the input then; another name still refuses it."""
    path, backup = folder / "a.txt", folder / "a.txt.orig"
    path.write_bytes(LINE)
    backup.hardlink_to(path)
    command = ["rewrite", *BASE, "-i", "--backup", ".orig", "a.txt"]
    done = dpsan(*command, cwd=folder)
    assert (done.returncode, path.read_bytes(), backup.read_bytes()) == (1, LINE, LINE)
    assert done.stderr == b"dpsan: a.txt.orig: exists (--force replaces it)\n"
    (folder / "third").hardlink_to(path)
    done = dpsan(*command, "--force", cwd=folder)
    assert (done.returncode, path.read_bytes(), backup.read_bytes()) == (1, LINE, LINE)
    (folder / "third").unlink()
    done = dpsan(*command, "--force", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (path.read_bytes(), backup.read_bytes()) == (LINE.lower(), LINE)


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
        b"dpsan: no.txt.zst: damaged zstd data\ndpsan: 2 of 2 files failed\n"
    )


def test_null_data_and_appending_to_oneself(folder, dpsan, env):
    done = dpsan("rewrite", *BASE, "-z", cwd=folder, stdin=b"here\nthere\0HERE")
    assert done.stdout == b"here\nthere\0here"
    (folder / "a.txt").write_bytes(LINE)
    done = shell(f"$DPSAN rewrite {' '.join(BASE)} a.txt >> a.txt", folder, env)
    assert done.returncode == 2
    assert done.stderr == (
        b"dpsan: a.txt: input and standard output are the same file (-i does that)\n"
    )
    assert (folder / "a.txt").read_bytes() == LINE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("-k", "t"),
            "standard input does not tell its format (with -f: jsonl, json, csv, "
            "tsv, html, eml and parquet have fields)",
        ),
        (
            ("-f", "text", "-k", "t"),
            "text has no --field (with -f: jsonl, json, csv, "
            "tsv, html, eml and parquet have fields)",
        ),
        (("-f", "jsonl"), "jsonl needs --field (a column's name, path or number)"),
        (("-f", "jsonl", "-k", "a..b"), "--field: not a path: a..b (such as text, a.b or "),
        (("-f", "csv", "-k", "1", "-z"), "-z is for text and jsonl"),
        (("--no-header",), "--no-header is for csv and tsv"),
        (("-f", "cvs"), "unknown format 'cvs'; did you mean 'csv'?"),
        (("-f", "parquet", "-k", "t", "a.parquet", "b.parquet"), "parquet files cannot be joined"),
    ],
)
def test_usage(folder, dpsan, arguments, message):
    done = dpsan("rewrite", *BASE, *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"dpsan: {message}")
    assert done.stderr.count(b"\n") == 1


def test_one_seed_one_output(folder, dpsan):
    """Jobs, batches, formats, compression and resuming do not change a word."""
    texts = [f"word{n} here, there {n}" for n in range(300)]
    (folder / "v.txt").write_text(
        "".join(f"word{n} {n % 17} {n % 5} {n % 3}\n" for n in range(300))
    )
    (folder / "a.txt").write_text("\n".join(texts) + "\n")
    (folder / "a.jsonl").write_text("".join(json.dumps({"t": each}) + "\n" for each in texts))
    (folder / "a.csv").write_text("t\n" + "".join(f'"{each}"\n' for each in texts))
    (folder / "a.txt.gz").write_bytes(gzip.compress((folder / "a.txt").read_bytes()))
    found = set()
    for extra in (["-j", "2", "--line-buffered"], []):
        for name in ("a.txt", "a.jsonl", "a.csv", "a.txt.gz"):
            if extra and name != "a.jsonl":
                continue
            field = [] if "txt" in name else ["-k", "t"]
            done = dpsan(
                "rewrite", "-q", "-e", "1", "-m", "laplace", "-E", "v.txt", "--seed", "s",
                *field, *extra, name, cwd=folder,
            )  # fmt: skip
            out = done.stdout.decode().splitlines()
            if name == "a.jsonl":
                out = [json.loads(each)["t"] for each in out]
            elif name == "a.csv":
                out = [row[0] for row in csv.reader(out[1:])]
            found.add("\n".join(out))
    assert len(found) == 1
    assert found != {"\n".join(texts)}


@pytest.fixture(scope="module")
def tickets():
    path = DATA / "customer_support_tickets.csv"
    if not path.is_file():
        pytest.skip(f"real data not present: {path}")
    return path


COLUMN = "Ticket Description"


def test_tickets(tickets, folder, dpsan):
    """All other cells byte for byte, embedded newlines, count of rows; the same as JSONL."""
    raw = tickets.read_bytes()
    with tickets.open(newline="", encoding="utf-8") as file:
        before = list(csv.reader(file))
    head, at = before[0], before[0].index(COLUMN)
    (folder / "t.csv").write_bytes(raw)
    rows = before[1:]
    (folder / "t.jsonl").write_text(
        "".join(
            f'{{"big":{10**29 + n},"price":1.10 , "e":1E5,'
            f"{json.dumps(COLUMN)}:{json.dumps(row[at])},"
            f'"name":{json.dumps(row[1])}}}\r\n'
            for n, row in enumerate(rows)
        )
    )
    arguments = ["-q", "-e", "8", "-m", "laplace", "-E", "two.txt", "-k", COLUMN, "-O", "out"]
    assert dpsan("rewrite", *arguments, "t.csv", "t.jsonl", cwd=folder).returncode == 0
    with (folder / "out" / "t.csv").open(newline="", encoding="utf-8") as file:
        after = list(csv.reader(file))
    assert len(after) == len(before)
    assert after[0] == head
    changed = 0
    for old, new in zip(rows, after[1:], strict=True):
        assert old[:at] + old[at + 1 :] == new[:at] + new[at + 1 :]
        assert old[at].count("\n") == new[at].count("\n")
        changed += old[at] != new[at]
    assert changed == len(rows)
    # Cells that were not chosen keep their bytes: putting the old texts back gives the old file.
    from identity import identity, through

    assert through(identity(), raw, "csv", fields=(COLUMN,))[0] == raw
    old_lines = (folder / "t.jsonl").read_bytes().split(b"\n")
    new_lines = (folder / "out" / "t.jsonl").read_bytes().split(b"\n")
    key = json.dumps(COLUMN).encode() + b":"
    for old, new in zip(old_lines[:-1], new_lines[:-1], strict=True):
        assert old.split(key)[0] == new.split(key)[0]
        assert old[old.index(b',"name":') :] == new[new.index(b',"name":') :]
    assert old_lines[-1] == new_lines[-1] == b""


def test_tickets_as_parquet_with_nulls(tickets, folder, dpsan):
    pa = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    with tickets.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[:2000]
    table = pa.Table.from_pylist(
        [{name: value or None for name, value in row.items()} for row in rows]
    )
    table = table.set_column(
        table.schema.get_field_index(COLUMN),
        COLUMN,
        pa.array([row[COLUMN] if n % 7 else None for n, row in enumerate(rows)]),
    )
    pq.write_table(table, folder / "t.parquet", row_group_size=300)
    done = dpsan("rewrite", *BASE, "-k", COLUMN, "-O", "out", "t.parquet", cwd=folder)
    assert done.returncode == 0
    assert done.stderr.startswith(b"dpsan: 17 of 18 columns pass unchanged: Ticket ID, ")
    after = pq.read_table(folder / "out" / "t.parquet")
    before = pq.read_table(folder / "t.parquet")
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.drop_columns([COLUMN]).equals(before.drop_columns([COLUMN]))
    old, new = before[COLUMN].to_pylist(), after[COLUMN].to_pylist()
    assert [each is None for each in old] == [each is None for each in new]
    assert all(a != b for a, b in zip(old, new, strict=True) if a)
    done = dpsan(
        "rewrite", *BASE, "-f", "parquet", "-k", COLUMN,
        cwd=folder, stdin=(folder / "t.parquet").read_bytes(),
    )  # fmt: skip
    assert done.stderr == (
        b"dpsan: standard input: parquet needs a file, not a pipe or compressed file\n"
    )


def test_a_refused_output_begins_no_audit(folder, env):
    """Else the corrected command would be refused because of the audit."""
    (folder / "out.txt").write_bytes(b"here\n")
    (folder / "a.txt").write_bytes(LINE)
    command = "$DPSAN rewrite " + " ".join(BASE) + " a.txt -o out.txt -a audit"
    done = shell(command, folder, env)
    assert done.returncode != 0
    assert b"exists (--force replaces it)" in done.stderr
    assert not (folder / "audit").exists()
    assert shell(command + " --force", folder, env).returncode == 0
    assert (folder / "audit").exists()
