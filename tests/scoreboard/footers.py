"""Damaged Parquet files in a batch: Arrow's C++ must not end the process."""

import re
from pathlib import Path

from scoreboard.base import TWO, Row, Size, dpsan, row

_BATCH = 400
_CHANGES = (0x80, 0x01, 0xFF, 0x20, 0x55)


@row(
    "footers",
    "Parquet footers with a damaged byte in a batch / processes that died, files without a line",
    "≥ 3,000 / 0",
)
def damaged_footers(row: Row, size: Size, folder: Path) -> None:
    """Every byte of the footer is changed; the last file of each batch is whole."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    (folder / "two.txt").write_text(TWO)
    whole = folder / "whole.parquet"
    write_table(pa.table({"t": ["here there"], "n": [1]}), whole, store_schema=False)
    data = whole.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    damaged = []
    for change in _CHANGES[: size.of(2, 2, 5)]:
        for at in range(start, len(data)):
            path = folder / f"{len(damaged)}.parquet"
            path.write_bytes(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
            damaged.append(path)
    for first in range(0, len(damaged), _BATCH):
        batch = damaged[first : first + _BATCH]
        for more in ([], ["--drop-other"]):
            out = folder / f"out-{first}{''.join(more)}"
            command = f"rewrite -q -e 8 -m krr -E two.txt -k t -O {out}".split()
            done = dpsan([*command, *more, *batch, whole], folder)
            told = done.stderr.decode().splitlines()
            named = {name for line in told for name in re.findall(r"\d+\.parquet", line)}
            written = {path.name for path in out.iterdir()}
            names = {path.name for path in batch}
            row.tried += len(batch)
            row.count("the process died", done.returncode != 1)
            row.count("the next file was not done", whole.name not in written)
            row.count(
                "a damaged file without a line or an output", names - named - written != set()
            )
            left = {name for name in written - names if name != whole.name}
            row.count("a temporary was left", bool(left - {".dpsan-request"}))
            wrong = [x for x in told if not x.startswith("dpsan: ") or "internal error" in x]
            row.count("not a line for the user", bool(wrong))
