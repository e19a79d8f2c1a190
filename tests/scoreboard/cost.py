"""What a large record takes in memory, and how often many small files ask the disk: no times."""

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from scoreboard.base import TWO, Row, Size, environment, row

_LIMIT = 10
"""Times its own size that a record may take, beside what a record of one line takes."""
_ARROW = 12
"""The same of Parquet: Arrow holds what is read and what is written whole."""
_UNIT = 'here "there", \u00e9 / ' + "- " * 60 + "\U0001f600 "
"""Quotes, escapes, and a character for which a string takes four bytes for each of them."""
_FEWEST = 100
"""Files that are synced before the first of them gets its name."""

_REWRITE = """
import atexit, re, runpy
peak = re.compile(r"VmHWM:\\s+(\\d+)")
atexit.register(lambda: print(peak.search(open("/proc/self/status").read())[1], flush=True))
runpy.run_module("dpsan", run_name="__main__")
"""
"""The command, and last the peak of its memory in KiB."""

_SYNCS = """
import atexit, json, os, runpy, threading
import dpsan.run.group as group
group._SECONDS = float("inf")  # a slow machine makes groups smaller; that is not what we count
together, calls, real, lock = threading.Condition(), [], os.fsync, threading.Lock()
active = most = waited = 0

def fsync(descriptor):
    global active, most, waited
    folder = os.path.isdir(f"/proc/self/fd/{descriptor}")
    if not folder:
        with together:
            active += 1
            most = max(most, active)
            together.notify_all()
            if most == 1 and waited < 5:
                waited += 1
                together.wait(1)
    real(descriptor)
    with together:
        calls.append("folder" if folder else f"sync {os.fstat(descriptor).st_ino}")
        active -= not folder

def named(change):
    def act(old, new, *rest, **options):
        calls.append(f"name {os.stat(old, follow_symlinks=False).st_ino}")
        return change(old, new, *rest, **options)
    return act

os.fsync, os.link, os.rename = fsync, named(os.link), named(os.rename)
atexit.register(lambda: print(json.dumps([most, calls]), flush=True))
runpy.run_module("dpsan", run_name="__main__")
"""
"""The command, and last how many files were synced at once, and what was asked in order."""


_KINDS = {"txt": "line of text", "csv": "cell of CSV", "jsonl": "string of JSON"}
_KINDS |= {"parquet": "cell of Parquet"}


def _written(path: Path, text: str) -> None:
    """A file of one record."""
    import pyarrow as pa
    from pyarrow.csv import write_csv
    from pyarrow.parquet import write_table

    table = pa.table({"id": [1], "text": [text]})
    if path.suffix == ".parquet":  # with statistics Arrow's writer alone keeps a value five times
        write_table(table, path, compression="none", write_statistics=False)
    elif path.suffix == ".csv":
        write_csv(table, path)
    else:
        json_ = json.dumps({"text": text}, ensure_ascii=False)
        path.write_text(f"{text if path.suffix == '.txt' else json_}\n")


@row(
    "cost",
    f"large records / over {_LIMIT} times their size of memory (Parquet {_ARROW}); syncs of "
    "many small files",
    "4 of 60 MiB / 0; 2,000 files",
)
def cost(row: Row, size: Size, folder: Path) -> None:
    """Peak memory over the size of one large record, and the syncs of many small files."""
    (folder / "two.txt").write_text(TWO)
    bases: dict[bool, int] = {}
    for suffix, kind in _KINDS.items():
        path = folder / f"record.{suffix}"
        arrow = suffix == "parquet"
        if arrow not in bases:
            _written(path, _UNIT)
            bases[arrow] = _peak(path)
        _written(path, _UNIT * ((size.of(12, 12, 60) << 20) // len(_UNIT.encode())))
        share = (_peak(path) - bases[arrow]) / path.stat().st_size
        row.bad[f"% times its size, {kind}"] = round(share, 1)
        limit = _ARROW if arrow else _LIMIT
        row.count(f"{kind}: over {limit} times its size", share > limit)
        row.tried += 1
    _small_files(row, size.of(300, 300, 2000), folder)


def _peak(path: Path) -> int:
    """Bytes of memory that rewriting a file takes."""
    fields = [] if path.suffix == ".txt" else ["-k", "text"]
    given = [*fields, "-o", "out", path.name]
    return int(_dpsan(_REWRITE, path.parent, *given)) << 10


def _small_files(row: Row, files: int, folder: Path) -> None:
    (folder / "in").mkdir()
    names = [f"in/{number}.txt" for number in range(files)]
    for name in names:
        (folder / name).write_text("here there\n")
    most, calls = json.loads(_dpsan(_SYNCS, folder, "-O", "tree", *names))
    before, calls = calls[:6], calls[6:]  # the key of the cache, and the file of requests
    noted = f"sync {(folder / 'tree' / '.dpsan-request').stat().st_ino}"  # inputs of each group
    calls = [call for call in calls if call != noted]
    kinds = [call.split()[0] for call in before]
    row.count("small files: no request before them", kinds != ["sync", "name", "folder"] * 2)
    synced = [call for call in calls if call.startswith("sync")]
    runs = [(kind, len([*run])) for kind, run in groupby(call.split()[0] for call in calls)]
    groups = [length for kind, length in runs if kind == "sync"]
    wrong = len(synced) != files or len({*synced}) != files
    row.count("small files: a file is synced twice, or not at all", wrong)
    row.count("small files: synced in small groups", min(groups[:-1], default=0) < _FEWEST)
    often = calls.count("folder") > len(groups)
    row.count("small files: a folder is synced more than once for a group", often)
    row.count("small files: synced one after the other", most < 2)
    named = [(at, call.removeprefix("name")) for at, call in enumerate(calls) if "name" in call]
    early = any(f"sync{number}" not in calls[:at] for at, number in named)
    row.count("small files: a name before all of its group are synced", early)
    row.tried += files
    syncs = f"{len(synced)} + {calls.count('folder')} syncs"
    row.note = f"{files} files in {len(groups)} groups, {syncs}"


def _dpsan(driver: str, folder: Path, *arguments: str) -> str:
    """The last line that a driver prints."""
    base = ["rewrite", "-q", "--force", "-e", "5", "-m", "krr", "-E", "two.txt"]
    done = subprocess.run(
        [sys.executable, "-c", driver, *base, *arguments],
        cwd=folder,
        # Large blocks go back to the system when they are freed, as those over 32 MiB always do.
        env=environment(folder) | {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]
