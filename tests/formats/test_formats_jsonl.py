import json
import stat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from identity import identity, marker, through
from support import cases

from dpsan.errors import InputError, UsageError
from dpsan.formats.paths import parse_field

SAME, MASK = identity(), marker()

ROWS = st.sampled_from(
    [
        b'{"text":"a"}',
        b' { "id" :1.10e5, "text": "a \\u00e9\\/ \\ud83d\\ude00" , "x":[{}, [ ], null, true] }\r',
        '{"k":{"text":"b","":-0},"text":"caf\u00e9 \u6f22","z":"\\"\\\\"}'.encode(),
        b'{"a":123456789012345678901234567890,"text":null,"a":"\\ud800"}',
    ]
)


@given(line=ROWS, at=st.integers(0, 120), data=st.binary(max_size=3))
@example(line=b'{"text":"a"}', at=11, data=b",")
@example(line=b'{"text":"a"}', at=8, data=b"\x00")
@example(line=b'{"text":"a"}', at=0, data=b"[")
def test_damaged_rows_are_refused_or_right(line, at, data):
    """What Python's strict reader refuses is refused; what passes, passes whole."""
    damaged = (line[:at] + data + line[at:]).replace(b"\n", b"")
    try:
        out, _ = through(SAME, damaged, "jsonl", fields=("text",), force_text=True)
    except InputError as error:
        assert str(error).startswith("test:")  # noqa: PT017
        return
    text = damaged.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if text.strip(" \t\r"):
        json.loads(text)
    if "\ufffd" in text:  # a string that was not UTF-8 is written anew
        assert len(out) >= len(damaged) // 12
    else:
        assert _said(out) == _said(damaged)
        assert through(SAME, out, "jsonl", fields=("text",), force_text=True)[0] == out


def _said(line):
    """What a row says, numbers as they are written and keys that come twice included."""
    return json.loads(line, object_pairs_hook=list, parse_float=str, parse_int=str)


def run(data, *fields, sanitizer=MASK, **options):
    return through(sanitizer, data, "jsonl", fields=fields, **options)[0]


def test_paths():
    data = (
        b'{"messages":[{"role":"user","content":"one two"},{"role":"x","content":null}],'
        b'"a":{"b":"three","c":"kept"},"a.b":"four","l":[["five"],[]]}\n'
    )
    out = run(data, "messages[].content", "a.b", r"a\.b", "l[][]")
    assert out == (
        b'{"messages":[{"role":"user","content":"<unk> <unk>"},{"role":"x","content":null}],'
        b'"a":{"b":"<unk>","c":"kept"},"a.b":"<unk>","l":[["<unk>"],[]]}\n'
    )
    assert run(b'[{"t":"a"}]\n', "[].t") == b'[{"t":"<unk>"}]\n'
    data = b'{"te\\u0078t":"a","text":"b","text":"c"}\n'
    assert run(data, "text") == b'{"te\\u0078t":"<unk>","text":"<unk>","text":"<unk>"}\n'
    mixed = b'{"c":"a"}\n{"c":[{"t":"b"},{"u":1}]}\n'
    assert run(mixed, "c", "c[].t?") == b'{"c":"<unk>"}\n{"c":[{"t":"<unk>"},{"u":1}]}\n'


def test_what_is_not_text():
    kinds = {"17": "a number", "true": "true", "{}": "an object", '["secret"]': "a list"}
    for value, kind in kinds.items():
        data = b'{"text":"a"}\n{"text":%s}\n' % value.encode()
        with pytest.raises(InputError) as caught:
            run(data, "text")
        hint = " (its items: text[])" * (kind == "a list")
        assert str(caught.value) == f"test:2: field 'text' is {kind}, not a string{hint}"
    with pytest.raises(InputError, match="field 'a' is a string, not an object"):
        run(b'{"a":"secret"}\n', "a.b")
    with pytest.raises(InputError, match="record is a string, not an object"):
        run(b'"secret"\n', "a.b")
    assert run(b'{"text":null}\nnull\n', "text") == b'{"text":null}\nnull\n'


def test_a_field_named_twice_is_one_field():
    for given_ in (("text", "text"), ("text", "text?"), ("text?", "text")):
        assert run(b'{"text":"a"}\n', *given_) == b'{"text":"<unk>"}\n'
        with pytest.raises(InputError, match="no record up to line 1 has the field"):
            run(b'{"other":"a"}\n', *given_)


def test_a_misspelt_field_writes_nothing():
    for data in (b'{"text":"secret"}\n' * 3, b'{"text":"secret"}\n' * 5000):
        with pytest.raises(InputError, match=r"no record up to line (3|1024) has the field 'txet'"):
            run(data, "txet")
        with pytest.raises(InputError, match="has the field 'txet'"):
            run(data, "text", "txet")
    with pytest.raises(InputError, match=r"'txet' \(did you mean 'text'\?\)$"):
        run(b'{"text":"secret"}\n', "txet")
    with pytest.raises(InputError, match=r"did you mean 'messages\[\]\.content'\?"):
        run(b'{"messages":[{"content":"secret"}]}\n', "messages[].contnet")
    for data in (b'{"secret":"text"}\n', b'{"text":{"secret":1}}\n', b"[" * 99 + b"]" * 99):
        with pytest.raises(InputError) as caught:
            run(data, "txt.body")
        assert "secret" not in str(caught.value)
    # Where another chosen field is found, names are schema.
    with pytest.raises(InputError, match=r"the field 'body' \(fields: text, id; add \? to"):
        run(b'{"text":"secret","id":1}\n', "text", "body")
    rare = b'{"a":"b"}\n' * 900 + b'{"text":"c"}\n'
    out, outcome = through(MASK, rare, "jsonl", fields=("text",))
    assert out == b'{"a":"b"}\n' * 900 + b'{"text":"<unk>"}\n'
    assert outcome.bare == 900
    assert run(b'{"text":"secret"}\n', "x?") == b'{"text":"secret"}\n'
    assert run(b"", "text") == b""
    assert run(b"\n \n", "text") == b"\n \n"


def test_malformed_tells_place_and_no_content():
    for bad in (b"{'text':1}", b'{"text":"secret}', b'{"text":"secret"', b"nul", b'{"text":01}'):
        with pytest.raises(InputError) as caught:
            run(b'{"text":"a"}\n' + bad + b"\n", "text")
        assert str(caught.value).startswith("test:2: invalid JSON at byte ")
        assert "secret" not in str(caught.value)
    deep = b'{"text":"a","d":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    assert run(deep, "text", sanitizer=SAME) == deep
    with pytest.raises(UsageError, match="UTF-8"):
        run(b"{}", "text", encoding="latin-1")


def test_invalid_bytes():
    data = b'{"text":"a \xff","n":"\xff"}\n'
    expected = '{"text":"a \ufffd","n":"'.encode() + b'\xff"}\n'
    assert run(data, "text", sanitizer=SAME, invalid="replace") == expected
    for invalid in ("error", ""):
        with pytest.raises(InputError, match=r"1: invalid utf-8 at byte 12 .*iconv -f latin1"):
            run(data, "text", invalid=invalid)


def test_grammar_of_fields():
    assert parse_field("a.b").steps == ("a", "b")
    assert parse_field("a[].b?").steps == ("a", None, "b")
    assert parse_field("a[].b?").optional
    assert parse_field(r"a\.b\[\]\?").steps == ("a.b[]?",)
    assert parse_field("[][]").steps == (None, None)
    for bad in ("", ".", "a.", ".a", "a..b", "a[0]", "a]", "a[", "a?b", "?", "\\"):
        with pytest.raises(UsageError, match="not a path"):
            parse_field(bad)


# ``--bad-records``: what cannot be read is set aside as it is, and the rest goes on.


BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-k", "text"]
CSV = b'id,text\r\n1,"here, there"\r\n2,here,x\r\n3,"a"b\n4,here\n"5\n6",there,\n7,THERE'
GOOD = b'id,text\r\n1,"Here, there"\r\n4,here\n7,there'
BAD = b'2,here,x\r\n3,"a"b\n"5\n6",there,\n'
JSONL = b'{"text":"here"}\nno\n\n{"text":1}\n[]\n{"text":"THERE"}'


@cases(
    "name data good bad",
    ("a.csv", CSV, GOOD, BAD),
    ("a.tsv", CSV.replace(b",", b"\t"), GOOD.replace(b",", b"\t"), BAD.replace(b",", b"\t")),
    ("a.jsonl", JSONL, b'{"text":"here"}\n\n{"text":"there"}', b'no\n{"text":1}\n[]\n'),
)
def test_bad_records_are_set_aside(folder, dpsan, name, data, good, bad):
    (folder / name).write_bytes(data)
    done = dpsan(*BASE, "--bad-records", "bad", name, cwd=folder)
    assert done.returncode == 0
    assert done.stdout.replace(b"Here\t", b"Here,") == good.replace(b"Here\t", b"Here,")
    assert (folder / "bad").read_bytes() == bad
    assert stat.S_IMODE((folder / "bad").stat().st_mode) == 0o600
    assert done.stderr.count(b": left out\n") == 3
    assert b"3 records written to bad, not to the output" in done.stderr
    if name == "a.csv":
        again = dpsan(*BASE, "--bad-records", "bad", name, cwd=folder)
        assert (again.returncode, again.stdout) == (1, b"")
        assert b"bad: exists (name another; --force replaces it, and it is lost)" in again.stderr
        two = dpsan(*BASE, "-j", "2", "--bad-records", "more", name, cwd=folder)
        assert (two.returncode, two.stdout) == (0, done.stdout)
        assert (folder / "more").read_bytes() == bad
    assert dpsan(*BASE, name, cwd=folder).returncode == 1


def test_invalid_bytes_are_bad_records_too(folder, dpsan):
    (folder / "a.csv").write_bytes(b"text\nhere\n\xff\nthere\n")
    base = [*BASE, "-q", "--invalid", "error", "--bad-records", "bad"]
    done = dpsan(*base, "a.csv", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"text\nhere\nthere\n")
    assert done.stderr == b"dpsan: 1 record written to bad, not to the output\n"
    assert (folder / "bad").read_bytes() == b"\xff\n"
