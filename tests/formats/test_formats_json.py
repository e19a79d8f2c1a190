"""``json``: arrays and pretty-printed values, in which only the chosen strings change."""

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from identity import identity, marker, through

from dpsan.errors import InputError, UsageError

IDENTITY, MARKER = identity(), marker()
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
RECORDS = st.fixed_dictionaries(
    {"text": st.none() | st.text(max_size=20)}, optional={"id": SCALARS, "more": ANY}
)
LAYOUTS = st.sampled_from([None, 0, 2, "\t"])


def run(data, *fields, sanitizer=IDENTITY, size=7, **more):
    return through(sanitizer, data, "json", size=size, fields=fields, **more)[0]


def laid_out(values, layout, ascii_only, alone):
    if alone:
        return "\n".join(json.dumps(v, indent=layout, ensure_ascii=ascii_only) for v in values)
    return json.dumps(values, indent=layout, ensure_ascii=ascii_only)


@given(
    values=st.lists(RECORDS, max_size=4),
    layout=LAYOUTS,
    ascii_only=st.booleans(),
    alone=st.booleans(),
    around=st.sampled_from([("", ""), ("\ufeff", "\n"), (" \n", "\r\n\r\n")]),
)
def test_only_the_chosen_strings_change(values, layout, ascii_only, alone, around):
    """All bytes around the texts stay, and nothing but the texts is another value."""
    texts = [each["text"] or "" for each in values]
    marked = [{**each, "text": f"<{at}>"} if texts[at] else each for at, each in enumerate(values)]
    text = again = laid_out(marked, layout, ascii_only, alone)
    for at, said in enumerate(texts):
        old = json.dumps(said, ensure_ascii=ascii_only)
        text = text.replace(f'"<{at}>"', old)
        new = json.dumps(said, ensure_ascii=False) if said.strip() else old
        again = again.replace(f'"<{at}>"', new)
    data = (around[0] + text + around[1]).encode()
    assert run(data, "text?") == (around[0] + again + around[1]).encode()
    out = run(data, "text?", sanitizer=MARKER).decode()
    assert out.startswith(around[0])
    assert out.endswith(around[1])
    decoder, at, found = json.JSONDecoder(), 0, []
    body = out.removeprefix("\ufeff").strip()
    while at < len(body):
        value, end = decoder.raw_decode(body, at)
        found += value if isinstance(value, list) else [value]
        at = end + (len(body[end:]) - len(body[end:].lstrip()))
    given_ = (
        json.loads(data.decode().removeprefix("\ufeff"))
        if not alone
        else [json.loads(json.dumps(each).encode("utf-8", "replace")) for each in values]
    )
    assert len(found) == len(given_)
    for old, new in zip(given_, found, strict=True):
        assert list(new) == list(old)
        assert {**new, "text": 0} == {**old, "text": 0} or ascii_only is False
        if old["text"] is None:
            assert new["text"] is None


@given(data=st.text(st.sampled_from('[]{},: \n"atrue1e-.\\'), max_size=30).map(str.encode))
@example(b"[1,]")
@example(b'[{"text": "a"}')
@example(b'{"text": "a"}}')
@example(b'[{"text": "a"} {"text": "b"}]')
def test_what_is_no_json_is_an_error(data):
    """And what is passes; never another exception."""
    out = None
    with suppress(InputError):
        out = run(data, "text?", "[]?")
    assert out in (None, data)


def test_paths():
    data = b'[{"text": "a b", "c": ["x"]}, {"text": "d"}]'
    for fields in (("text",), ("[].text",)):
        assert run(data, *fields, sanitizer=MARKER) == (
            b'[{"text": "<unk> <unk>", "c": ["x"]}, {"text": "<unk>"}]'
        )
    assert run(b'["a", null ,"b"]\n', "[]", sanitizer=MARKER) == b'["<unk>", null ,"<unk>"]\n'
    assert run(b'{"a": {"b": ["x"]}}', "a.b[]", sanitizer=MARKER) == b'{"a": {"b": ["<unk>"]}}'
    assert run(b"[]", "text") == b"[]"
    assert run(b"", "text") == b""


def test_messages_name_the_line_and_no_text():
    for data, told in (
        (b'[\n{"text": "secret"},\nsecret]', "test:3: invalid JSON at byte 1"),
        (b'[{"text": "secret"},\n{"text": {"secret": 1}}]', "test:2: field 'text' is an object"),
        (b'[{"text": "secret"}', "test:1: invalid JSON at byte 20"),
        (b'[{"other": "secret"}]', "test: no record up to line 1 has the field 'text'"),
        (b'[\n]\n{"text": 1}', "test:3: field 'text' is a number, not a string"),
    ):
        with pytest.raises(InputError) as caught:
            run(data, "text")
        assert str(caught.value).startswith(told)
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="longer than 10 bytes"):
        run(b'["aaaaaaaaaaaa"]', "[]", max_record=10)
    with pytest.raises(UsageError, match="NUL"):
        run(b"[]", "[]", null_data=True)


def test_the_command(tmp_path, dpsan):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    data = b'[\n  {"text": "here there", "n": 1.10},\n  {"text": "There"}\n]\n'
    (tmp_path / "a.json").write_bytes(data)
    base = ["rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-k", "text"]
    expected = data.replace(b"here there", b"Here there").replace(b'"There"', b'"there"')
    for jobs in ("1", "2"):
        done = dpsan(*base, "-j", jobs, "a.json", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, expected)
        assert done.stderr == b"dpsan: 1 of 2 fields passes unchanged: n\n"
    for wrong in (["--copies", "2", "a.json"], ["-z", "a.json"], ["a.json", "a.json"]):
        done = dpsan(*base, *wrong, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
    done = dpsan(*base[:-2], "a.json", cwd=tmp_path)
    assert b"json needs --field" in done.stderr
