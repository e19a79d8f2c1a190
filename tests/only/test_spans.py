"""Spans with types, columns of a class, and ``--only spans``."""

import json

import pytest
from support import cases, tables, unmarked

from dpsan import Memo, Sanitizer
from dpsan.errors import UsageError
from dpsan.formats.passing import named_type

CASES = tables("only/cases")
FOUND = [(0, 12, "PERSON"), (27, 33, "city")]
TEXT = "Zqxorp Blarg met Grace near xville today."
TABLE = """id,name,town,note
1,Zqxorp Blarg,plain,Grace met Zqxorp
2,"Little, Mr. Jordan",word,the word
"""


def groups(text, spans, only="spans"):
    """The group of each word of a text that is drawn in spans."""
    sanitizer = Sanitizer(only=only)
    (table,) = [sanitizer.sanitize([text], b"k" * 32, audit=True, spans=[spans]).records]
    pairs = zip(table.originals, table.reasons, strict=True)
    return {word: reason and reason[0] for word, reason in pairs}


@cases("kind marked", *CASES["types"])
def test_a_word_is_drawn_from_the_group_of_its_type(kind, marked):
    text, marks = unmarked(marked)
    found = groups(text, [(0, len(text), kind.strip("-"))])
    assert [(word, found[word] or "") for word, _ in marks] == marks


def test_a_type_is_stronger_than_a_rule():
    found = groups("in Peru", [(3, 7, "PERSON")], "sensitive")
    assert found == {"in": None, "Peru": "surname"}


def test_spans_alone_let_everything_else_pass():
    output = Sanitizer(only="spans").rewrite(TEXT, FOUND)
    assert output.split()[2:5] == ["met", "Grace", "near"]
    assert output.split()[6] == "today."
    assert "Zqxorp" not in output
    beside = Sanitizer(only="names").rewrite([TEXT] * 8, [FOUND] * 8)
    assert any("Grace" not in output for output in beside)


def test_spans_alone_need_spans():
    with pytest.raises(UsageError, match="needs spans"):
        Sanitizer(only="spans").rewrite(TEXT)


@pytest.mark.parametrize("span", [(0, 1, "FOO"), (0, 1, 7), (0, 1, "a", "b")])
def test_what_is_no_type_is_one_error_without_it(span):
    with pytest.raises(UsageError) as told:
        Sanitizer(only="names").rewrite(["x y"], [[span]])
    assert "FOO" not in str(told.value)


def test_a_mechanism_draws_a_span_of_any_type(dpsan, tmp_path):
    (tmp_path / "w.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / "s").write_text('{"spans": [{"start": 0, "end": 4, "type": "FOO"}]}\n')
    more = ("-e", "2", "-m", "krr", "-E", "w.txt", "--spans", "s")
    dpsan("rewrite", "-q", *more, stdin=b"here here\n", cwd=tmp_path, status=0)


@pytest.mark.parametrize("key", ["type", "label"])
def test_a_file_of_typed_spans(dpsan, tmp_path, key):
    rows = [{"spans": [{"start": 0, "end": 5, key: "PERSON"}]}, {"spans": []}]
    (tmp_path / "s").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = ("rewrite", "--only", "spans", "--spans", "s", "-a", "audit")
    done = dpsan(*command, stdin=b"plain Grace\nGrace\n", cwd=tmp_path, status=0)
    first, second = done.stdout.decode().splitlines()
    assert first.split()[1] == second == "Grace"
    words = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    (drawn,) = [row for row in words if row["type"] == "word" and row["group"]]
    assert (drawn["group"], drawn["rule"]) == ("surname", "span")
    assert b"the choice of spans is not protected" in done.stderr


def test_an_unknown_type_names_its_line(dpsan, tmp_path):
    (tmp_path / "s").write_text(
        '{"spans": []}\n{"spans": [{"start": 0, "end": 1, "type": "Bob"}]}\n'
    )
    done = dpsan("rewrite", "--only", "names", "--spans", "s", stdin=b"a\nb\n", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(b"dpsan: s:2: a span has a type that no class has")
    assert b"Bob" not in done.stderr


def rewritten(dpsan, *command, stdin):
    done = dpsan("rewrite", "-q", *command, stdin=stdin, status=0)
    return done.stdout.decode().splitlines()


def test_each_word_of_a_column_of_a_class_is_drawn(dpsan):
    fields = ("-k", "name:names", "-k", "town:city", "-k", "note")
    for only in ("spans", "sensitive"):
        lines = rewritten(dpsan, "--only", only, *fields, "-f", "csv", stdin=TABLE.encode())
        one, two = lines[1].split(","), lines[2].split(",")
        assert not {"Zqxorp", "Blarg"} & {*one[1].split()}
        assert one[2] != "plain"
        assert two[2].startswith(" Mr. ")
        assert "Jordan" not in lines[2]
        assert two[4] == "the word"
        assert one[3].endswith(one[1].split()[0]) == (only == "sensitive")
    assert one[2].islower()


def test_fields_of_a_class_in_json_and_by_number(dpsan):
    line = b'{"a": {"n": ["Zqxorp Blarg", "plain"]}, "t": "plain"}\n{"t": "Zqxorp"}\n'
    more = ("-f", "jsonl", "-k", "a.n[]:names", "-k", "t")
    first, second = map(json.loads, rewritten(dpsan, "--only", "spans", *more, stdin=line))
    assert first["t"] == "plain"
    assert second == {"t": "Zqxorp"}
    assert not {"Zqxorp Blarg", "plain"} & {*first["a"]["n"]}
    (row,) = rewritten(
        dpsan,
        *("--only", "spans", "-f", "tsv", "-k", "2:names", "--no-header"),
        stdin=b"a\tplain\n",
    )
    assert row.startswith("a\t")
    assert row != "a\tplain"


def test_fields_of_a_class_in_parquet(dpsan, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"n": ["plain", None], "m": [["here", "there"], []], "t": ["as", "is"]})
    pq.write_table(table, tmp_path / "a.parquet")
    more = ("-k", "n:names", "-k", "m[]:city", "-k", "t", "a.parquet", "-o", "b.parquet")
    dpsan("rewrite", "-q", "--only", "spans", *more, cwd=tmp_path, status=0)
    found = pq.read_table(tmp_path / "b.parquet").to_pydict()
    assert found["t"] == ["as", "is"]
    table = pa.table({"last_name": ["Hope"], "to": [{"city": "Reading"}]})
    pq.write_table(table, tmp_path / "a.parquet")
    more = ("-k", "**", "a.parquet", "-o", "c.parquet")
    dpsan("rewrite", "-q", "--only", "people", *more, cwd=tmp_path, status=0)
    [row] = pq.read_table(tmp_path / "c.parquet").to_pylist()
    assert row["last_name"] != "Hope"
    assert row["to"]["city"] != "Reading"
    assert "plain" not in found["n"]
    assert not {"here", "there"} & {*found["m"][0]}


CUSTOMER = {
    "last": "Hope",
    "in": '{"firstName": "faith"}',
    "to": {"Home City": "Reading"},
    "as": "Mercy",
}


def originals(value):
    """What is left of the customer: a surname, a given name, a city, and a word of no class."""
    return (
        value["last"] == "Hope",
        "faith" in value["in"],
        value["to"]["Home City"] == "Reading",
        value["as"] == "Mercy",
    )


@cases("only left", ("people", (0, 0, 0, 1)), ("places", (1, 1, 0, 1)), ("contacts", (1, 1, 1, 1)))
def test_columns_and_members_whose_names_tell_their_class_are_drawn(dpsan, tmp_path, only, left):
    """A customer called Hope passes as a word of a text, and not in a column of last names."""
    line = json.dumps(CUSTOMER).encode()
    for more in (
        (),
        ("--memo", tmp_path / "memo"),
        ("--memo", tmp_path / "u", "--unit-field", "as"),
    ):
        again = [
            rewritten(dpsan, "--only", only, "-f", "jsonl", "-k", "**", *more, stdin=line)
            for _ in range(1 + bool(more))
        ]
        assert again.count(again[0]) == len(again)
        assert originals(json.loads(*again[0])) == left, more
    sanitizer = Sanitizer(only=only)
    with Memo(tmp_path / "python", sanitizer) as memo:
        for draw in (sanitizer.rewrite_object, lambda value: memo.rewrite_object(value, "unit")):
            assert originals(draw(CUSTOMER)) == left
        assert memo.rewrite("Hope", "other") == "Hope"  # what is stored is no column
    table = b"last_name,Home City,note\nHope,Reading,Mercy\n"
    fields = ("-k", "last_name", "-k", "Home City", "-k", "note")
    row = rewritten(dpsan, "--only", only, *fields, "-f", "csv", stdin=table)[1].split(",")
    cells = zip(row, ("Hope", "Reading", "Mercy"), strict=True)
    assert [cell == old for cell, old in cells] == [left[0], left[2], left[3]]


def test_a_class_that_is_asked_for_comes_before_the_name_of_a_column(dpsan):
    command = ("--only", "spans", "-f", "jsonl", "-k", "city:names,last")
    line = b'{"city": "Reading", "last": "Hope"}'
    value = json.loads(*rewritten(dpsan, *command, stdin=line))
    assert value["city"] in {*Sanitizer(only="names").replacing.outputs["surname"]}
    assert value["last"] == "Hope"  # of spans alone


@cases("name of", *CASES["columns"])
def test_names_of_columns_that_tell_a_class(name, of):
    assert named_type(name) == ((of != "-" and f"={of}") or "")


@cases(
    "name, text, stays",
    ("Hope Miller", "I hope you can help. Hope called.", "I hope you can help. "),
    ("Will Ngo", "Will it come? You will.", "Will it come? You will."),
    ("hope x", "we hope so. it was hope", "we hope so. "),
    ("Early Ngo", "It is Early. It rains.", "It is "),
)
def test_a_name_of_a_column_does_not_replace_the_word_that_it_is(dpsan, name, text, stays):
    """*I kristy you can help* would tell the name."""
    told = ("rewrite", "-q", "-f", "csv", "--only", "people", "-k", "name,text", "--seed", "1")
    table = f"name,text\n{name},{text}\n".encode()
    row = dpsan(*told, stdin=table, status=0).stdout.decode().splitlines()[1]
    assert f",{stays}" in row
    assert name.split()[0] not in row.replace(stays, "")


def test_a_name_with_a_colon_is_a_column(dpsan):
    (_, row) = rewritten(dpsan, "--only", "names", "-k", "a:b", "-f", "csv", stdin=b"a:b\nplain\n")
    assert row == "plain"


def test_workers_and_batches_draw_the_same(dpsan):
    command = ("--only", "spans", "-k", "name:names", "-f", "csv", "--seed", "1")
    stdin = (TABLE + "".join(f"{at},plain word,a,b\n" for at in range(300))).encode()
    assert rewritten(dpsan, *command, stdin=stdin) == rewritten(
        dpsan, *command, "-j", "2", stdin=stdin
    )
