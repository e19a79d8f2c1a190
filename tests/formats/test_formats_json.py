"""``json``: arrays and pretty-printed values, in which only the chosen strings change."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from identity import identity, marker, through

from dpsan.errors import InputError
from dpsan.formats.base import ReadOptions

IDENTITY, MARKER = identity(), marker()


def run(data, *fields, sanitizer=IDENTITY, size=7, **more):
    return through(sanitizer, data, "json", size=size, fields=fields, **more)[0]


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
    for field in ("text", "[].text"):
        written = b'[{"text": "<unk> <unk>", "c": ["x"]}, {"text": "<unk>"}]'
        assert run(data, field, sanitizer=MARKER) == written
    assert run(b'["a", null ,"b"]\n', "[]", sanitizer=MARKER) == b'["<unk>", null ,"<unk>"]\n'
    assert run(b'{"a": {"b": ["x"]}}', "a.b[]", sanitizer=MARKER) == b'{"a": {"b": ["<unk>"]}}'
    spaced = b'\xef\xbb\xbf \n[\n\t{"n": 1e2, "text": "\\u00e9 \\/"},\r\n {"text":null} ] \n'
    assert run(spaced, "text") == spaced.replace(b"\\u00e9 \\/", b"\xc3\xa9 /")
    alone = b'{"text": "a",\n"b": 1}\n{"text": " "}\r\n\r\n'
    assert run(alone, "text", sanitizer=MARKER) == alone.replace(b'"a"', b'"<unk>"')
    assert run(b"[]", "text") == b"[]"
    assert run(b"", "text") == b""


def test_messages_name_the_line_and_no_text(monkeypatch):
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
    monkeypatch.setattr(ReadOptions, "max_record", 10)
    with pytest.raises(InputError, match="longer than 10 bytes"):
        run(b'["aaaaaaaaaaaa"]', "[]")
