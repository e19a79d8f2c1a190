"""A memo beside classes of fields, spans, a review file and a map."""

import json

import pytest
from support import cases, tables

CASES = tables("run/cases")

PEOPLE = ["--only", "people", "--memo", "m", "-q", "-k", "text"]
UNITS = ["--unit-field", "id"]
ROWS = [
    {"id": "a", "who": "Hope", "text": "Yesterday Maria Lopez met us. Maria left."},
    {"id": "b", "who": "Hope", "text": "We hope so. Call Peter Novak."},
    {"id": "a", "who": "Will", "text": "Peter Novak will call Maria."},
]


@pytest.fixture
def run(tmp_path, dpsan):
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))

    def run(*options, status=0):
        done = dpsan("rewrite", *options, "in.jsonl", cwd=tmp_path, status=status)
        return done.stderr.decode() if status else lines_of(done.stdout)

    return run


def lines_of(data):
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize("more", [[], UNITS])
def test_each_word_of_a_field_of_a_class_is_replaced_once(run, more, tmp_path):
    """Hope is a name there, and stays a word in a message."""
    first = run(*PEOPLE, "-k", "who:names", *more)
    assert run(*PEOPLE, "-k", "who:names", *more) == first
    assert not {row["who"] for row in first} & {"Hope", "Will"}
    assert first[1]["text"].startswith("We hope so.") or not more  # without, in its record
    assert (first[0]["who"] == first[1]["who"]) == (not more)  # one message; two units
    only = run("-q", "--only", "spans", "--memo", "n", "-k", "who:names", *more)
    assert [row["text"] for row in only] == [row["text"] for row in ROWS]
    assert "Hope" not in {row["who"] for row in only}


@pytest.mark.parametrize("more", [[], [*UNITS, "-j", "2"]])
def test_a_review_has_the_words_of_all_messages(run, more, tmp_path):
    """Also of those whose outputs are written again."""
    run("--only", "people", "-q", "-k", "text,who", "--review", "alone")
    reviews = [(tmp_path / "alone").read_text()]
    for name in ("first", "second"):
        run(*PEOPLE, "-k", "who", *more, "--review", name)
        reviews.append((tmp_path / name).read_text())
    assert reviews[1] == reviews[2]
    counts = [{row["word"]: row["count"] for row in lines_of(text)[1:]} for text in reviews]
    assert counts[0] == counts[1]
    assert counts[0]["Maria"] == 3


def test_a_message_with_other_spans_is_another_one(run, tmp_path):
    none = '{"spans": []}\n'
    (tmp_path / "one").write_text(f'{{"spans": [{{"start": 0, "end": 9}}]}}\n{2 * none}')
    (tmp_path / "none").write_text(3 * none)
    with_spans = run(*PEOPLE, "--spans", "one")
    assert not with_spans[0]["text"].startswith("Yesterday")
    assert run(*PEOPLE, "--spans", "one") == with_spans
    without = run(*PEOPLE, "--spans", "none")
    assert without[0]["text"].startswith("Yesterday")
    assert without[1:] == with_spans[1:]
    assert run(*PEOPLE) == without
    in_units = run(*PEOPLE, *UNITS, "--spans", "one")
    assert run(*PEOPLE, *UNITS, "--spans", "one") == in_units
    told = run("-e", "8", "--memo", "n", "-k", "text", "--spans", "one", status=2)
    assert "a message would be drawn again, and its losses not added up" in told


def test_a_map_has_what_a_memo_with_units_replaced(run, dpsan, tmp_path):
    """In each run; of a message without a unit an output that is written again has no row."""
    for name in ("first", "second"):
        written = run(*PEOPLE, *UNITS, "--map", name)
        data = "".join(f"{json.dumps(row)}\n" for row in written).encode()
        back = ["restore", "--map", name, "-k", "text", *UNITS, "-f", "jsonl"]
        assert lines_of(dpsan(*back, stdin=data, cwd=tmp_path).stdout) == ROWS
    assert "--map with --memo needs --unit-field NAME or --unit NAME" in run(
        *PEOPLE, "--map", "third", status=2
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--copies 2", "one output of each message"),
        ("--seed x", "must stay private"),
        ("--consistent record", "--unit-field keeps their words"),
    ],
)
def test_what_a_memo_excludes_has_a_reason(run, options, told):
    assert told in run(*PEOPLE, *options.split(), status=2)


@cases("more", *CASES["in a memo"])
def test_no_file_is_written_into_the_directory_of_a_memo(run, tmp_path, more):
    (tmp_path / "link").symlink_to("m")
    told = run(*PEOPLE, *UNITS, *more.split(), status=2)
    assert "lies in the memo m, which is a directory of its own" in told
    assert not (tmp_path / "m").exists()


def test_restore_writes_nothing_into_a_memo(run, dpsan, tmp_path):
    run(*PEOPLE, *UNITS)
    restore = ("restore", "--memo", "m", "--unit", "a", "-o", "m/answer")
    done = dpsan(*restore, stdin=b"Hello.", cwd=tmp_path, status=2)
    assert b"lies in the memo m" in done.stderr
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["memo.sqlite"]
