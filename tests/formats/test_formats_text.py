import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from identity import identity, marker, through
from support import cases

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.sanitize.statement import Statement

SAME, MASK = identity(), marker()


@given(data=st.binary(), size=st.integers(1, 9), batch=st.integers(1, 3))
@example(data=b"\xef\xbb\xbf", size=1, batch=1)
@example(data=b"\xef\xbb\xbfa", size=1, batch=1)
@example(data=b"\n\r\n\r", size=1, batch=1)
def test_any_bytes(data, size, batch):
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    out, outcome = through(SAME, data, "text", size=size, batch=batch, force_text=True)
    assert out.count(b"\n") == data.count(b"\n")
    body = data.removeprefix(codecs.BOM_UTF8)
    assert outcome.totals.records == body.count(b"\n") + bool(body and not body.endswith(b"\n"))
    assert out == data.decode("utf-8", "replace").encode()
    lines, kept = data.split(b"\n"), out.split(b"\n")
    assert [each.endswith(b"\r") for each in lines] == [each.endswith(b"\r") for each in kept]
    assert [not each for each in lines] == [not each for each in kept]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_lines_that_do_not_end_with_one_byte_are_refused(encoding):
    with pytest.raises(UsageError, match=rf"^encoding '{encoding}' is not supported \(convert"):
        through(SAME, "one\n".encode(encoding), "text", encoding=encoding)
    with pytest.raises(InputError, match=r"^test:1: looks like UTF-16 \(iconv -f UTF-16 -t UTF-8"):
        through(SAME, "one\n".encode("utf-16"), "text")
    with pytest.raises(InputError, match=r"^test:1: looks like UTF-32 \(iconv -f UTF-32 -t UTF-8"):
        through(SAME, "one\n".encode("utf-32"), "text")


def test_bytes_of_another_alphabet_are_refused_and_some_odd_bytes_are_not():
    strange = ("\u0438" * 20 + "\n").encode("cp1251")
    with pytest.raises(
        InputError, match=r"^test:1: most of this line is not utf-8 \(--encoding cp1251"
    ):
        through(SAME, strange, "text")
    assert through(SAME, strange, "text", force_text=True)[1].totals.invalid == 20
    assert through(SAME, b"ein " * 20 + b"\xfc" * 17 + b"\n", "text")[1].totals.invalid == 17
    assert through(SAME, b"\xfc" * 16 + b"\n", "text")[1].totals.invalid == 16


def test_limits(monkeypatch):
    monkeypatch.setattr(ReadOptions, "max_record", 4)
    with pytest.raises(InputError, match=r"^test:2: record longer than 4 bytes \(split it\)"):
        through(SAME, b"abc\nabcde\n", "text")


def test_invalid_bytes():
    with pytest.raises(InputError, match=r"^test:2: invalid utf-8 at byte 2"):
        through(SAME, b"a\nb\xff\n", "text", invalid="error")
    out, outcome = through(SAME, b"a\xff \xef\xbf\xbd\n", "text")
    assert out == "a\ufffd \ufffd\n".encode()
    assert outcome.totals.invalid == 1
    with pytest.raises(InputError, match="looks like UTF-16"):
        through(SAME, "a".encode("utf-16"), "text")
    for bad in ("rot13", "nope", "cp500", "undefined"):
        with pytest.raises(UsageError, match="encoding"):
            through(SAME, b"a\n", "text", encoding=bad)
    with pytest.raises(InputError, match="text has no fields"):
        through(SAME, b"a\n", "text", fields=("a",))


FIELD, NUMBER = {"fields": ("t",)}, {"fields": ("1",), "header": False}
LINES = "\ufeffa \u200b,\ufeff\x1b b\r\n\ufeffc\n"
ROW = '{"t":"%s","o":"\u200b"}\n'


@cases(
    "kind data expected dropped options",
    ("text", LINES, "\ufeff<unk> , <unk>\r\n<unk>\n", 4, {}),
    ("text", "a\n \u3164\x07\0", "<unk>\n ", 3, {"force_text": True}),
    ("csv", "\ufefft,o\na \u202e,\u200b\n", "\ufefft,o\n<unk> ,\u200b\n", 1, FIELD),
    ("csv", "\u200b\n", '""\n', 1, NUMBER),
    ("jsonl", ROW % "a \\u200b.\u2066", ROW % "<unk> .", 2, FIELD),
)
def test_what_is_invisible_is_dropped_and_counted(kind, data, expected, dropped, options):
    """Issue 13; a mark at the very start stays, fields that are not chosen too."""
    out, outcome = through(MASK, data.encode(), kind, **options)
    assert out.decode() == expected
    assert outcome.totals.invisible == dropped
    plural = "s" * (dropped > 1)
    said = Statement(outcome.totals, MASK.mechanism.name, 0.0).lines()
    assert f"{dropped} invisible character{plural} between words dropped" in said
