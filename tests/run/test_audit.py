import hashlib
import json
import os
import stat
import subprocess
import sys

import pytest

TEXT = "Maria Gonzalez's flight, the zyxwvq one, leaves at 10:30.\r\n\nNo 😀 words?\n".encode()

HEADER = {
    "type": str,
    "schema": int,
    "dpsan": str,
    "created": str,
    "mechanism": str,
    "epsilon": float,
    "epsilon_unit": str,
    "own": type(None),
    "parameters": dict,
    "guarantee": dict,
    "expected_unchanged": float,
    "weak": (str, type(None)),
    "linked": (str, type(None)),
    "embeddings": dict,
    "tokenizer": str,
    "unknown": str,
    "case": str,
    "keep_words": int,
    "numbers": str,
    "strings": str,
    "only": list | None,
    "classes": list | None,
    "fluent": str | None,
    "public": (dict, type(None)),
    "copies": int,
    "consistent": (str, type(None)),
    "spans": bool,
    "fields": list,
    "drop_other": bool,
    "originals": bool,
    "seeded": bool,
    "private": bool,
    "not_protected": list,
}
WORD = {
    "type": str,
    "file": int,
    "line": int,
    "text": int,
    "start": int,
    "end": int,
    "action": str,
    "out": str,
    "epsilon": (float, type(None)),
}
ORIGINALS = {
    "in": str,
    "in_start": int,
    "in_end": int,
    "unchanged": bool,
    "rank": (int, type(None)),
    "distance": (float, type(None)),
}


def check_types(row, schema):
    assert set(row) == set(schema)
    for name, kind in schema.items():
        assert isinstance(row[name], kind), name


def run(dpsan, tmp_path, *more):
    path = tmp_path / "a.jsonl"
    done = dpsan("rewrite", "-e", "8", "--audit", str(path), *more, stdin=TEXT)
    assert done.returncode == 0, done.stderr
    return done.stdout, [json.loads(line) for line in path.read_bytes().splitlines()], path


def test_schema(dpsan, tmp_path):
    out, rows, _ = run(dpsan, tmp_path)
    header, words, file, totals = rows[0], rows[1:-2], rows[-2], rows[-1]
    check_types(header, HEADER)
    assert header["private"] is True
    assert header["guarantee"]["status"] == "PROVED"
    assert header["guarantee"]["arithmetic"] == "on integers"
    assert header["guarantee"]["epsilon_ldp"] <= 8
    for row in words:
        check_types(row, WORD)
        assert row["type"] == "word"
    assert file["type"] == "file"
    assert file["passing"] == totals["passing"] == {"fields": [], "noted": {}}
    assert totals["type"] == "totals"
    assert totals["complete"] is True
    assert totals["input_sha256"] == hashlib.sha256(TEXT).hexdigest()
    assert totals["output_sha256"] == hashlib.sha256(out).hexdigest()
    assert totals["words"] == len(words)
    assert totals["epsilon_sum"] == sum(row["epsilon"] or 0 for row in words)
    for action in ("drawn", "unknown", "number", "masked", "kept", "passed", "outside"):
        assert totals[action] == sum(row["action"] == action for row in words)


def test_rows_match_the_output_words(dpsan, tmp_path):
    out, rows, _ = run(dpsan, tmp_path)
    lines = out.decode().split("\n")
    for row in rows[1:-2]:
        assert lines[row["line"] - 1][row["start"] : row["end"]] == row["out"]
    # Everything outside the rows is the input's, character by character.
    gaps = []
    for number, line in enumerate(lines, start=1):
        at = 0
        for row in [r for r in rows[1:-2] if r["line"] == number]:
            gaps.append(line[at : row["start"]])
            at = row["end"]
        gaps.append(line[at:])
    assert gaps == [
        *["", " ", "'s ", ", ", " ", " ", ", ", " ", " ", ".\r"],
        "",
        *["", " ", " ", "?"],
        "",
    ]


def test_no_input_word_without_originals(dpsan, tmp_path):
    _, _, path = run(dpsan, tmp_path, "--unknown", "mask")
    assert b"zyxwvq" not in path.read_bytes()
    assert "😀".encode() not in path.read_bytes()


def test_originals(dpsan, tmp_path):
    _, rows, _ = run(dpsan, tmp_path, "--audit-originals")
    text = TEXT.decode().split("\n")
    assert rows[0]["originals"] is True
    for row in rows[1:-2]:
        check_types(row, {**WORD, **ORIGINALS})
        assert text[row["line"] - 1][row["in_start"] : row["in_end"]] == row["in"]
        assert row["unchanged"] == (row["rank"] == 0 or row["in"] == row["out"])
    assert "zyxwvq" in [row["in"] for row in rows[1:-2]]


def test_mode_under_any_umask(dpsan, tmp_path):
    for mask in (0o000, 0o077, 0o277):
        path = tmp_path / f"{mask}.jsonl"
        old = os.umask(mask)
        try:
            dpsan("rewrite", "-q", "-e", "8", "-a", str(path), stdin=b"hello\n")
        finally:
            os.umask(old)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_existing_audit_is_not_overwritten(dpsan, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("mine")
    done = dpsan("rewrite", "-q", "-e", "8", "-a", str(path), stdin=b"hello\n")
    assert done.returncode == 1
    assert b"exists" in done.stderr
    assert path.read_text() == "mine"
    assert dpsan("rewrite", "-q", "-e", "8", "-a", str(path), "--force", stdin=b"x").returncode == 0
    assert path.read_text() != "mine"


def test_seed_is_marked(dpsan, tmp_path):
    _, rows, _ = run(dpsan, tmp_path, "--seed", "1")
    assert rows[0]["seeded"] is True
    assert rows[0]["private"] is False


def test_full_disk_is_one_line(dpsan):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpsan", "rewrite", "-q", "-e", "8"],
            input=b"hello world\n" * 1000,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert done.stderr == b"dpsan: standard output: cannot write: No space left on device\n"
