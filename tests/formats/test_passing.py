"""Fields and text that are not sanitized: a message names them, whatever the container."""

from __future__ import annotations

import json

import pytest
from identity import marker, through, through_file
from support import cases

from dpsan.errors import InputError
from dpsan.formats import passing

MASK = marker()
BASE = ("rewrite", "-q", "-e", "5", "-m", "krr", "-E", "two.txt")


@pytest.fixture
def table(folder):
    (folder / "a.csv").write_text("name,ssn,body\nMaria,1,here\nJosé,2,there\n")
    return folder


def lines(data, kind, *fields, **options):
    """What a message says of an input."""
    _, outcome = through(MASK, data, kind, fields=fields, **options)
    return [*outcome.passing.lines()]


def test_issue_39_columns_that_pass_are_named_by_run_dry_run_audit_and_report(table, dpsan):
    told = b"dpsan: 2 of 3 columns pass unchanged: name, ssn\n"
    arguments = (*BASE, "-k", "body", "a.csv")
    done = dpsan(*arguments, "-o", "o.csv", "-a", "audit", cwd=table)
    assert (done.returncode, done.stderr) == (0, told)
    assert b"Maria,1," in (table / "o.csv").read_bytes()
    dry = dpsan(*arguments, "-n", cwd=table)
    assert dry.stderr.startswith(told + b"dpsan: dry run")
    rows = [json.loads(line) for line in (table / "audit").read_bytes().splitlines()]
    assert (rows[0]["fields"], rows[0]["drop_other"]) == (["body"], False)
    named = {"kind": "column", "of": 3, "others": 2, "names": ["name", "ssn"], "left_out": False}
    for row in rows[-2:]:
        assert row["passing"] == {"fields": [named], "noted": {}, "by_name": {}}
    assert told[7:-1] in dpsan("report", "audit", cwd=table).stdout
    report = json.loads(dpsan("report", "--json", "audit", cwd=table).stdout)[0]
    assert report["passing"]["fields"] == report["files"][0]["passing"]["fields"] == [named]
    assert dpsan("report", "--html", "r.html", "audit", cwd=table).returncode == 0
    assert told[7:-1] in (table / "r.html").read_bytes()


@cases("suffix text", ("csv", "driverName,note\nHope,x\n"), ("jsonl", '{"driverName": "Hope"}\n'))
def test_columns_that_were_read_by_their_name_are_named(tmp_path, dpsan, suffix, text):
    source = tmp_path / f"a.{suffix}"
    source.write_text(text)
    command = ["--only", "names", "-k", "driverName", source, "-o", "o", "-a", "audit"]
    assert dpsan("rewrite", "-q", *command, cwd=tmp_path).returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "audit").read_bytes().splitlines()]
    assert all(row["passing"]["by_name"] == {"driverName": "name"} for row in rows[-2:])
    assert b"driverName (name)" in dpsan("report", "audit", cwd=tmp_path).stdout


@cases(
    "data fields header names",
    (b"a,b,c\n1,2,3\n", ("b",), True, "a, c"),
    (b"open,secret,x\n1,2,3\n", ("2",), True, "1, 3"),  # the first row may be data
    (b"Maria,secret,x\n", ("2",), False, "1, 3"),
    (b"a,,c\n1,2,3\n", ("a",), True, "column 2, c"),
    (b"a,b,b\n1,2,3\n", ("a",), True, "b (2), b (3)"),
)
def test_names_or_numbers_of_columns(data, fields, header, names):
    assert lines(data, "csv", *fields, header=header) == [f"2 of 3 columns pass unchanged: {names}"]


def test_twenty_names_then_the_number():
    names = [f"column{at}" for at in range(1000)]
    told = lines((",".join(["t", *names]) + "\n" + "x," * 1000 + "x\n").encode(), "csv", "t")
    assert told == [f"1,000 of 1,001 columns pass unchanged: {', '.join(names[:20])} and 980 more"]


def test_a_long_name_is_cut_and_a_name_cannot_forge_a_line(folder, dpsan):
    (folder / "a.csv").write_text(f'"x\ndpsan: all is well",{"y" * 500},t\n1,2,3\n')
    done = dpsan(*BASE, "-k", "t", "a.csv", cwd=folder)
    told = done.stderr.decode()
    assert told.count("\n") == 1
    assert len(told) < 200


def test_a_field_that_differs_in_case_is_pointed_out():
    told = lines(b'{"Body":"secret"}\n{"body":"x"}\n', "jsonl", "body")
    assert told == [
        "1 of 2 fields passes unchanged: Body",
        "field 'Body' differs from --field 'body' in letter case and is not sanitized",
    ]
    told = lines(b"BODY,body\n1,2\n", "csv", "body", drop_other=True)
    assert told[1].endswith("in letter case and is left out")
    with pytest.raises(InputError, match=r"no column 'BODY' \(did you mean 'body'\?; columns: "):
        lines(b"body,x\n1,2\n", "csv", "BODY")


def test_paths_of_json():
    data = b'{"a":{"b.c":"x","d":[1,[true]],"e":{"f":null}},"t":"x","l":[{"m":"x"},{"n":"x"}]}'
    expected = "5 of 6 fields pass unchanged: a.b\\.c, a.d[], a.d[][], l[].m, l[].n"
    assert lines(data, "jsonl", "t") == [expected]
    assert lines(data, "json", "t") == [expected]
    assert lines(b"[" + data + b"]", "json", "[].t") == [
        "5 of 6 fields pass unchanged: [].a.b\\.c, [].a.d[], [].a.d[][], [].l[].m, [].l[].n"
    ]


def test_names_that_are_data_are_not_shown():
    """More than 64 in one place: addresses, numbers of customers."""
    row = b'{"users":{"u%d@example.org":{"text":"x","age":1}},"t":"x"}\n'
    data = b"".join(row % at for at in range(300))
    assert lines(data, "jsonl", "t") == ["2 of 3 fields pass unchanged: users.*.text, users.*.age"]
    flat = b"".join(b'{"t":"x","k%d":1}\n' % at for at in range(100))
    assert lines(flat, "jsonl", "t") == ["1 of 2 fields passes unchanged: *"]


def test_a_chosen_field_is_found_among_names_that_are_data():
    flat = b"".join(b'{"t":"word","k%d":1}\n' % at for at in range(200))
    out, _ = through(MASK, flat + b'{"u":"word","t":"word"}\n', "jsonl", fields=("t", "u?"))
    assert out.endswith(b'{"u":"<unk>","t":"<unk>"}\n')
    assert out.count(b"<unk>") == 202


def test_deep_and_many_places_take_bounded_memory(monkeypatch):
    deep = b'{"t":"x","a":' + b"[" * 50_000 + b"1" + b"]" * 50_000 + b"}"
    (told,) = lines(deep, "jsonl", "t")
    assert len(told) < 200
    deep = b'{"t":"x","a":' + b'{"b":' * 50_000 + b"1" + b"}" * 50_000 + b"}"
    assert len(lines(deep, "jsonl", "t")[0]) < 200
    places = (divmod(at, 60) for at in range(60 * 18))
    wide = b"".join(b'{"t":"x","a%d":{"b%d":{"c":1}}}\n' % place for place in places)
    assert passing._MOST_POSITIONS <= 10_000
    for most in (1000, 10_000):  # the twin: fewer than the bound are all named
        monkeypatch.setattr(passing, "_MOST_POSITIONS", most)
        _, outcome = through(MASK, wide, "jsonl", fields=("t",))
        named = len(outcome.passing.fields["field", False].others)
        assert (named <= 1000) is (most == 1000)


@cases(
    "data out",
    (b'{"a":1,"t":"word","b":{"t":"x"}}\n', b'{"t":"<unk>"}\n'),
    (b' {"t" : "word" , "a" : [ ] } \r\n', b'{"t":"<unk>"} \r\n'),
    (b'{"a":"x"}\n{"t":"word"}\n', b'{}\n{"t":"<unk>"}\n'),
    (b'{"t":null,"a":"x"}\n{"t":"","t":"word"}', b'{"t":null}\n{"t":"","t":"<unk>"}'),
    (b'{"\\u0074":"word","x":{"y":[{"z":0}]}}', b'{"t":"<unk>"}'),
    (b"\n", b"\n"),
)
def test_dropped_fields_of_json_lines(data, out):
    assert through(MASK, data, "jsonl", fields=("t?",), drop_other=True)[0] == out


def test_dropped_fields_inside_lists_and_objects():
    data = b'[ {"m":[{"t":"word","r":"x"},{"r":1},null],"n":{"t":"x"}}, {"m":[],"o":2} ]\n'
    expected = b'[{"m":[{"t":"<unk>"},{},null]},{"m":[]}]'
    out, _ = through(MASK, data, "json", fields=("m[].t",), drop_other=True)
    assert json.loads(out) == json.loads(expected)
    line = b'{"a":[[{"b":"word","c":"x"}],[]],"d":"x"}\n'
    out, _ = through(MASK, line, "jsonl", fields=("a[][].b",), drop_other=True)
    assert out == b'{"a":[[{"b":"<unk>"}],[]]}\n'


def test_a_bad_record_is_bad_also_where_it_would_be_dropped():
    for data in (b'{"a":tru,"t":"x"}\n', b'{"t":"x","a":"\\q"}\n', b'{"t":"x"} {"a":1}\n'):
        with pytest.raises(InputError, match="invalid JSON at byte"):
            through(MASK, data, "jsonl", fields=("t",), drop_other=True)


def test_dropped_columns_keep_every_row():
    """One empty cell alone would be an empty line, which is no row."""
    data = b'a,t\n1,word\n2,\n3,""\n4," "\n\n5,x'
    out, _ = through(MASK, data, "csv", fields=("t",), drop_other=True)
    assert out == b't\n<unk>\n""\n""\n" "\n\n<unk>'
    out, _ = through(MASK, b"1\tword\tx\n", "tsv", fields=("2", "3"), header=False, drop_other=True)
    assert out == b"<unk>\t<unk>\n"


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize("rows", [0, 7])
def test_dropped_columns_and_metadata_of_parquet_are_gone(tmp_path, kind, rows):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    string = getattr(pa, kind)()
    many = pa.large_list if kind == "large_string" else pa.list_
    leaf = pa.struct([("c", string), ("d", pa.int64())])
    fields = {"x": pa.int64(), "a": pa.struct([("b", many(leaf)), ("e", string)]), "t": string}
    value = {"b": [{"c": "word", "d": 1}, {"c": None, "d": 2}, None], "e": "secret"}
    values = [value, None, {"b": None, "e": "x"}, {"b": [], "e": None}]
    schema = pa.schema([*fields.items()], {"k": "secret"})
    columns = [[1] * rows, [values[at % 4] for at in range(rows)], ["word"] * rows]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns, schema=schema), path, row_group_size=3)
    data, outcome = through_file(MASK, path, fields=("t", "a.b[].c"), drop_other=True)
    assert b"secret" not in data
    after = pq.read_table(pa.BufferReader(data))
    assert not after.schema.metadata
    masks = [{"b": [{"c": "<unk>"}, {"c": None}, None]}, None, {"b": None}, {"b": []}]
    wanted = {"a": [masks[at % 4] for at in range(rows)], "t": ["<unk>"] * rows}
    assert after.to_pydict() == wanted
    assert after.schema.field("t").type == pa.string()  # large strings are Arrow's
    assert not rows or [*outcome.passing.lines()] == [
        "3 of 5 columns are left out: x, a.b[].d, a.e",
        "1 metadata item is left out: k",
    ]
