"""The scoreboard of reliability: ``python tests/reliability.py [--quick] [--json] [ROW ...]``.

Every row is a count of attempts and the bad outcomes among them; the targets are those of the full
run, and what was done is printed beside them.  Exit status 1 if anything bad happened.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "formats"), str(ROOT / "tests" / "embeddings"), str(ROOT)]

from scoreboard.base import Row  # noqa: E402
from scoreboard.deaths import deaths  # noqa: E402
from scoreboard.faults import faults  # noqa: E402
from scoreboard.files import corrupted_cache, hostile_embeddings, killed_index  # noqa: E402
from scoreboard.privacy import audited_pairs, failing_stages  # noqa: E402
from scoreboard.processes import first_runs, signals  # noqa: E402
from scoreboard.records import bad_records  # noqa: E402
from scoreboard.streams import configurations, latency, streamed  # noqa: E402

ROWS: Final[dict[str, Callable[[bool, Path], Row]]] = {
    "faults": faults,
    "kill": killed_index,
    "cache": corrupted_cache,
    "hostile": hostile_embeddings,
    "records": bad_records,
    "signals": signals,
    "deaths": deaths,
    "first": first_runs,
    "stream": streamed,
    "latency": latency,
    "seed": configurations,
    "secrets": failing_stages,
    "verify": audited_pairs,
}


def measured(names: list[str], quick: bool) -> Iterator[Row]:
    """The rows, one after the other."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="dpsan-reliability-") as folder:
            started = time.perf_counter()
            before = source_digest()
            row = ROWS[name](quick, Path(folder))
            # New processes import what is on disk now: such a row says nothing.
            row.count("INVALID: the source changed meanwhile", source_digest() != before)
            row.seconds = round(time.perf_counter() - started, 1)
            yield row


def source_digest() -> str:
    """Of the program that is measured."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "dpsan").rglob("*.py")):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def machine() -> dict[str, str]:
    """Where and when."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    changed = subprocess.run(
        ["git", "status", "--porcelain", "dpsan"], cwd=ROOT, capture_output=True, text=True
    )
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return {
        "machine": f"{model}, {os.cpu_count()} cores, {system}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip() + (" with changes" if changed.stdout.strip() else ""),
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="smaller counts, for CI")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows = []
    for row in measured(given.rows or list(ROWS), given.quick):
        rows.append(row)
        print(f"{row.seconds:6.1f} s  {row.figure}", file=sys.stderr, flush=True)
    about = machine() | {"run": "quick" if given.quick else "full"}
    if given.json:
        print(json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print(
            f"{about['machine']}; {about['date']}; commit {about['commit']}; {about['run']} run\n"
        )
        print("| figure | target of the full run | done | bad outcomes |\n|---|---|---|---|")
        for row in rows:
            bad = ", ".join(f"{kind}: {value:g}" for kind, value in row.bad.items())
            note = f" ({row.note})" if row.note else ""
            print(f"| {row.figure} | {row.target} | {row.tried:,} | {bad}{note} |")
    return int(any(row.failed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
