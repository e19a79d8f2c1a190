"""Bad input records."""

# ruff: noqa: BLE001, E501

from __future__ import annotations

import json
import random
from pathlib import Path

from scoreboard.base import Row

_ALPHABET = [
    "a", "é", " ", "\t", "\r", "\x85", "\u2028", "\x0b", "\x0c", "\0", '"', "\\", ",", "'", "-", "1",
    ".", "👩‍👩‍👧", "\u0301", "\u202e", "\u1112\u1161", "\ufeff", "\ue000", "/", "{", "}", "[", "]", ":",
]  # fmt: skip


def _bad_text(generator: random.Random) -> str:
    return "".join(generator.choices(_ALPHABET, k=generator.randrange(12)))


def bad_records(quick: bool, folder: Path) -> Row:
    """Random Unicode, bytes, JSON and CSV through an identity: nothing may change."""
    import csv
    import io

    from identity import identity, through

    row = Row("bad input records (Unicode, bytes, lengths, JSON, CSV)", "≥ 1,000,000")
    same = identity()
    generator = random.Random(4)
    goal = 40_000 if quick else 1_000_000
    while row.tried < goal:
        size = generator.choice([1, 7, 4096, 1 << 18]) if generator.random() < 0.1 else 1 << 18
        kind = generator.choice(["bytes", "text", "jsonl", "csv"])
        texts = [_bad_text(generator) for _ in range(500)]
        end = generator.choice(["\n", "\r\n"])
        last = generator.choice(["", end])
        options: dict[str, object] = {"force_text": True}
        if kind == "bytes":
            data = (
                generator.randbytes(generator.randrange(20_000))
                .replace(b"\xff\xfe", b"")
                .replace(b"\xfe\xff", b"")
            )
            expected = data.decode("utf-8", "replace").encode()
        elif kind == "text":
            expected = data = (end.join(texts) + last).encode()
        elif kind == "jsonl":
            ascii_ = generator.random() < 0.5
            rows = [
                json.dumps({"n": index, "text": text, "o": text}, ensure_ascii=ascii_).replace(
                    '"n": ', '"n":123456789012345678901234567890, "e":1E5, "f" : 1.10,"n":'
                )
                for index, text in enumerate(texts)
            ]
            expected = data = (end.join(rows) + last).encode()
            options["fields"] = ("text",)
        else:
            held = io.StringIO()
            quoting = generator.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
            writer = csv.writer(held, lineterminator=end, quoting=quoting)
            writer.writerow(["id", "text", "o"])
            writer.writerows([index, text, text] for index, text in enumerate(texts))
            expected = data = held.getvalue().encode()
            options["fields"] = ("text",)
        name = "text" if kind in ("bytes", "text") else kind
        try:
            out, outcome = through(same, data, name, size=size, **options)
        except Exception:
            out, outcome = b"", None
        row.count("lost, added, reordered or changed", out != expected)
        row.tried += outcome.totals.records if outcome else 1
    return row
