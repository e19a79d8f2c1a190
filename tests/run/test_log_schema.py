"""docs/log.schema.json, a JSON Schema of the rows of --log-json; run as a script, it is written."""

import gzip
import json

import pytest
from json_schema import wrong
from support import ROOT, cases

PATH = ROOT / "docs/log.schema.json"
TEXT, COUNT = {"type": "string"}, {"type": "integer"}
NUMBER = {"anyOf": [{"type": "number"}, {"type": "null"}]}
ALL = {
    "time": TEXT | {"description": "when the row was written, UTC, ISO 8601"},
    "run": TEXT | {"description": "name of the run, the same in all its rows"},
    "dpsan": TEXT | {"description": "version of the program"},
}
SECONDS = {"type": "number", "description": "since the input, or the run, began"}
PATHS = {"path": TEXT | {"description": "of the input as it was given, or 'standard input'"}}
BAD = {"bad_records": COUNT | {"description": "records that --bad-records left out"}}
SUMS = {
    "records": COUNT,
    "words": COUNT,
    "drawn": COUNT | {"description": "words that were drawn or replaced"},
    "epsilon": NUMBER | {"description": "what the draws cost together; null: no finite value"},
    "delta": NUMBER,
}
ERROR = {
    "code": {"anyOf": [{"const": kind} for kind in ("input", "output", "usage", "internal")]},
    "error": TEXT | {"description": "the message, which holds no text of the input"},
}
INPUTS = dict.fromkeys(("complete", "failed", "skipped"), COUNT)


def row(kind, statuses, *groups):
    status = [{"const": name} for name in statuses]
    fields = {"type": {"const": kind}, **ALL}
    fields["status"] = status[0] if len(status) == 1 else {"anyOf": status}
    for group in groups:
        fields |= group
    rule = {"type": "object", "properties": fields | {"seconds": SECONDS}}
    # An input that never began, such as one whose output was there, took no time.
    return rule | {"required": [*fields], "additionalProperties": False}


def written():
    rows = [
        row("input", ["complete"], PATHS, BAD, SUMS),
        row("input", ["failed"], PATHS, BAD, ERROR),
        row("input", ["skipped"], PATHS),
        row("run", ["complete", "partial", "failed"], INPUTS, BAD, SUMS),
        row("run", ["interrupted"]),
    ]
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of the log of dpsan rewrite --log-json: of an input, or last of the run",
        "anyOf": rows,
    }
    return json.dumps(about, indent=1) + "\n"


def test_the_stored_schema_is_that_of_the_program():
    assert PATH.read_text() == written()


RUN = ("rewrite", "-q", "--only", "people", "--log-json", "log", "-k", "b")


@pytest.fixture
def logged(dpsan, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"b":"Grace left"}\n{"b":\n{"b": 1\n')
    (tmp_path / "b.csv").write_bytes(b"b,c\nGrace,1\nAnna\xff,2\n")
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'x\n{"b":"Anna left"}\n'))
    for name in ("empty.csv", "empty.jsonl", "empty.tsv"):
        (tmp_path / name).touch()

    def run(*given, stdin=b""):
        done = dpsan(*given, cwd=tmp_path, stdin=stdin)
        found = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        (tmp_path / "log").unlink()
        rule = json.loads(PATH.read_text())
        assert [why for item in found for why in wrong(item, rule)] == []
        assert [item["type"] for item in found] == ["input"] * (len(found) - 1) + ["run"]
        by_path = {item.get("path", ""): item for item in found}
        assert len(by_path) == len(found)
        return done.returncode, by_path

    return run


NAMES = ("a.jsonl", "b.csv", "c.jsonl.gz", "empty.csv", "empty.jsonl", "empty.tsv")


@cases("way", ["-O", "out"], ["-O", "out", "-j", "2"], ["-f", "jsonl"])
def test_bad_records_are_counted_by_input(logged, way):
    """Issue 60: the same key in every row of an input that was read, 0 where none is bad."""
    names = [name for name in NAMES if "jsonl" in name or "-O" in way]
    status, rows = logged(*RUN, *way, "--bad-records", "bad", *names)
    assert (status, {*rows}) == (0, {*names, ""})
    counts = {"a.jsonl": 2, "c.jsonl.gz": 1, "b.csv": 1}
    wanted = {name: counts.get(name, 0) for name in names}
    assert {name: rows[name]["bad_records"] for name in names} == wanted
    assert rows[""]["bad_records"] == sum(counts.get(name, 0) for name in names)


def test_what_fails_and_what_was_there_have_rows(logged):
    status, rows = logged(*RUN, "-O", "out", *NAMES, "none.csv")
    assert (status, rows[""]["status"]) == (1, "partial")
    failed = {name for name in rows if rows[name]["status"] == "failed"}
    assert failed == {"a.jsonl", "b.csv", "c.jsonl.gz", "none.csv"}
    assert {rows[name]["bad_records"] for name in (*failed, "")} == {0}
    status, rows = logged(*RUN, "-O", "out", "--resume", "empty.csv")
    assert (rows["empty.csv"]["status"], rows[""]["skipped"]) == ("skipped", 1)


@cases("kind", "text", "csv", "tsv", "jsonl", "eml", "html", "json", "docx", "parquet")
def test_an_empty_input_has_a_row(logged, kind):
    """Issue 60: whatever its format, as a file and on standard input."""
    status, rows = logged(
        *("rewrite", "-q", "--only", "people", "--log-json", "log", "-f", kind),
        *(["-k", "b"] if kind not in ("text", "eml", "html", "docx") else []),
    )
    assert len(rows) == 2
    (name,) = {*rows} - {""}
    assert name == "standard input"
    complete = kind not in ("docx", "parquet")  # nothing is none of these
    assert rows[name]["status"] == ("complete" if complete else "failed")
    assert (status, rows[""]["status"]) == ((0, "complete") if complete else (1, "failed"))


if __name__ == "__main__":
    PATH.write_text(written())


def test_a_stream_of_which_a_part_was_written_is_no_failure_without_output(logged, tmp_path):
    """It was failed, which says that nothing was written."""
    (tmp_path / "part.jsonl").write_text('{"b": "Maria"}\nno json\n')
    run = ("rewrite", "-q", "--only", "people", "--log-json", "log", "-k", "b")
    for more, whole in (
        ((), "partial"),
        (("-o", "out.jsonl"), "failed"),
        (("-O", "out"), "failed"),
    ):
        status, rows = logged(*run, *more, "part.jsonl")
        assert (status, rows[""]["status"]) == (1, whole)
        assert rows["part.jsonl"]["status"] == "failed"
