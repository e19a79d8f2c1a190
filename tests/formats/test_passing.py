"""Fields and text that are not sanitized: a message names them, whatever the container."""

from __future__ import annotations

import json

import pytest
from identity import marker, through, through_file

from dpsan.errors import InputError

MASK = marker()
BASE = ("rewrite", "-q", "-e", "5", "-m", "krr", "-E", "two.txt")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / "a.csv").write_text("name,ssn,body\nMaria,1,here\nJosé,2,there\n")
    return tmp_path


def lines(data, kind, *fields, **options):
    """What a message says of an input."""
    _, outcome = through(MASK, data, kind, fields=fields, **options)
    return [*outcome.passing.lines()]


def test_issue_39_columns_that_pass_are_named_by_run_dry_run_audit_and_report(folder, dpsan):
    told = b"dpsan: 2 of 3 columns pass unchanged: name, ssn\n"
    arguments = (*BASE, "-k", "body", "a.csv")
    done = dpsan(*arguments, "-o", "o.csv", "-a", "audit", cwd=folder)
    assert (done.returncode, done.stderr) == (0, told)
    assert b"Maria,1," in (folder / "o.csv").read_bytes()
    dry = dpsan(*arguments, "-n", cwd=folder)
    assert dry.stderr.startswith(told + b"dpsan: dry run")
    rows = [json.loads(line) for line in (folder / "audit").read_bytes().splitlines()]
    assert (rows[0]["fields"], rows[0]["drop_other"]) == (["body"], False)
    named = {"kind": "column", "of": 3, "others": 2, "names": ["name", "ssn"], "left_out": False}
    for row in rows[-2:]:
        assert row["passing"] == {"fields": [named], "noted": {}}
    assert told[7:-1] in dpsan("report", "audit", cwd=folder).stdout
    report = json.loads(dpsan("report", "--json", "audit", cwd=folder).stdout)[0]
    assert report["passing"]["fields"] == report["files"][0]["passing"]["fields"] == [named]
    assert dpsan("report", "--html", "r.html", "audit", cwd=folder).returncode == 0
    assert told[7:-1] in (folder / "r.html").read_bytes()


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        ("-j 2 a.csv", 0, "2 of 3 columns pass unchanged: name, ssn\n"),
        ("--drop-other a.csv", 0, "2 of 3 columns are left out: name, ssn\n"),
        ("-O out a.csv b.csv", 0, "3 of 4 columns pass unchanged: name, ssn, mail\n"),
        ("broken.csv", 1, "1 of 2 columns passes unchanged: name\n"),
        ("empty.csv", 0, ""),  # a table without rows
    ],
)
def test_columns_are_named_whatever_becomes_of_them(folder, dpsan, options, status, told):
    (folder / "b.csv").write_text("ssn,body,mail\n1,here,x\n")
    (folder / "broken.csv").write_text("name,body\nMaria,here\nx\n")
    (folder / "empty.csv").write_text("name,body\n")
    done = dpsan(*BASE, "-k", "body", *options.split(), cwd=folder)
    assert done.returncode == status
    assert (f"dpsan: {told}" if told else "") in done.stderr.decode()
    assert status or done.stderr.decode().count("\n") == bool(told)
    if "--drop-other" in options:
        assert len(done.stdout.split()) == 3
        assert b"," not in done.stdout


@pytest.mark.parametrize(
    ("data", "fields", "header", "names"),
    [
        (b"a,b,c\n1,2,3\n", ("b",), True, "a, c"),
        (b"Maria,secret,x\n1,2,3\n", ("2",), True, "1, 3"),  # the first row may be data
        (b"Maria,secret,x\n", ("2",), False, "1, 3"),
        (b"a,,c\n1,2,3\n", ("a",), True, "column 2, c"),
        (b"a,b,b\n1,2,3\n", ("a",), True, "b (2), b (3)"),
    ],
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
    with pytest.raises(InputError, match=r"no column 'BODY' \(did you mean 'body'\?\)"):
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
    data = b"".join(
        b'{"users":{"u%d@example.org":{"text":"x","age":1}},"t":"x"}\n' % at for at in range(300)
    )
    assert lines(data, "jsonl", "t") == ["2 of 3 fields pass unchanged: users.*.text, users.*.age"]
    flat = b"".join(b'{"t":"x","k%d":1}\n' % at for at in range(100))
    assert lines(flat, "jsonl", "t") == ["1 of 2 fields passes unchanged: *"]


def test_a_chosen_field_is_found_among_names_that_are_data():
    flat = b"".join(b'{"t":"word","k%d":1}\n' % at for at in range(200))
    out, _ = through(MASK, flat + b'{"u":"word","t":"word"}\n', "jsonl", fields=("t", "u?"))
    assert out.endswith(b'{"u":"<unk>","t":"<unk>"}\n')
    assert out.count(b"<unk>") == 202


def test_deep_and_many_places_take_bounded_memory():
    deep = b'{"t":"x","a":' + b"[" * 50_000 + b"1" + b"]" * 50_000 + b"}"
    (told,) = lines(deep, "jsonl", "t")
    assert len(told) < 200
    deep = b'{"t":"x","a":' + b'{"b":' * 50_000 + b"1" + b"}" * 50_000 + b"}"
    assert len(lines(deep, "jsonl", "t")[0]) < 200
    wide = b"".join(
        json.dumps({"t": "x", f"a{at % 60}": {f"b{at // 60}": {"c": 1}}}).encode() + b"\n"
        for at in range(60 * 60)
    )
    _, outcome = through(MASK, wide * 4, "jsonl", fields=("t",))
    assert len(outcome.passing.fields["field", False].others) <= 10_000


@pytest.mark.parametrize(
    ("data", "out"),
    [
        (b'{"a":1,"t":"word","b":{"t":"x"}}\n', b'{"t":"<unk>"}\n'),
        (b' {"t" : "word" , "a" : [ ] } \r\n', b'{"t":"<unk>"} \r\n'),
        (b'{"a":"x"}\n{"t":"word"}\n', b'{}\n{"t":"<unk>"}\n'),
        (b'{"t":null,"a":"x"}\n{"t":"","t":"word"}', b'{"t":null}\n{"t":"","t":"<unk>"}'),
        (b'{"\\u0074":"word","x":{"y":[{"z":0}]}}', b'{"\\u0074":"<unk>"}'),
        (b"\n", b"\n"),
    ],
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


class TestParquet:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def written(self, table, tmp_path, **options):
        self.pq.write_table(table, tmp_path / "a.parquet", **options)
        return tmp_path / "a.parquet"

    def test_columns_and_metadata_are_named(self, tmp_path):
        fields = [
            self.pa.field("t", self.pa.string()),
            self.pa.field("m", self.pa.map_(self.pa.string(), self.pa.string())),
            self.pa.field("s", self.pa.struct([("a", self.pa.int32())])).with_metadata(
                {"about": "x"}
            ),
        ]
        schema = self.pa.schema(fields, {"maker": "Maria"})
        table = self.pa.table([["word"], [[("k", "v")]], [{"a": 1}]], schema=schema)
        _, outcome = through_file(MASK, self.written(table, tmp_path), fields=("t",))
        assert [*outcome.passing.lines()] == [
            "3 of 4 columns pass unchanged: m.key, m.value, s.a",
            "2 metadata items pass unchanged: maker, s: about",
        ]

    @pytest.mark.parametrize("large", [False, True])
    @pytest.mark.parametrize("rows", [0, 1, 7])
    def test_dropped_columns_and_metadata_are_gone(self, tmp_path, large, rows):
        pa, pq = self.pa, self.pq
        string = pa.large_string() if large else pa.string()
        many = pa.large_list if large else pa.list_
        leaf = pa.struct([("c", string), ("d", pa.int64())])
        inner = pa.struct([("b", many(leaf)), ("e", string)])
        value = {"b": [{"c": "word", "d": 1}, {"c": None, "d": 2}, None], "e": "secret"}
        values = [value, None, {"b": None, "e": "x"}, {"b": [], "e": None}]
        kinds = {"x": pa.int64(), "a": inner, "t": string}
        schema = pa.schema([pa.field(*each) for each in kinds.items()], {"k": "secret"})
        columns = [[1] * rows, [values[at % 4] for at in range(rows)], ["word"] * rows]
        path = self.written(pa.table(columns, schema=schema), tmp_path, row_group_size=3)
        fields = ("t", "a.b[].c")
        data, outcome = through_file(MASK, path, fields=fields, drop_other=True)
        assert b"secret" not in data
        after = pq.read_table(pa.BufferReader(data))
        assert not after.schema.metadata
        assert after.column("t").to_pylist() == ["<unk>"] * rows
        cut = [
            each and {"b": each["b"] and [i and {"c": i["c"] and "<unk>"} for i in each["b"]]}
            for each in columns[1]
        ]
        assert after.column("a").to_pylist() == cut
        assert after.schema.names == ["a", "t"]
        assert after.schema.field("t").type == pa.string()  # large strings are Arrow's
        if rows:
            assert [*outcome.passing.lines()] == [
                "3 of 5 columns are left out: x, a.b[].d, a.e",
                "1 metadata item is left out: k",
            ]
