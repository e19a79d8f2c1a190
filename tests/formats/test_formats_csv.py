import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity import Collected, identity, marker, through
from support import cases

from dpsan.errors import InputError
from dpsan.formats.base import ReadOptions

SAME, MASK = identity(), marker()


@given(data=st.binary(max_size=60) | st.text('a,"\n\r\t', max_size=40).map(str.encode))
def test_any_bytes(data):
    try:
        out, _ = through(SAME, data, "csv", fields=("1",), header=False, size=3, force_text=True)
    except InputError as error:
        assert str(error).startswith("test:")  # noqa: PT017
        return
    before, after = (each.decode("utf-8", "replace") for each in (data, out))
    assert after.replace('"', "") == before.replace('"', "")
    assert through(SAME, out, "csv", fields=("1",), header=False, force_text=True)[0] == out


def run(data, *fields, sanitizer=MASK, kind="csv", **options):
    return through(sanitizer, data, kind, fields=fields, **options)[0]


WHOLE = b'\xef\xbb\xbf"id","text",n\r\n1,"a ""b""\r\nc",""\r\n2,d,5" x\r\n3,"",\r\n\r\n4,"e",x'


@cases(
    "data field header out",
    (
        WHOLE,
        "text",
        True,
        WHOLE.replace(b'a ""b""\r\nc', b'<unk> ""<unk>""\r\n<unk>')
        .replace(b",d,", b',"<unk>",')
        .replace(b'"e"', b'"<unk>"'),
    ),
    # A cell that needs no quotes has none; one whose new text needs them gets them.
    (b'a"b,c\n', "1", False, b'"<unk>""<unk>",c\n'),
    # Quotes because of a comma within a word would tell of it; those of a column do not.
    (b't,n\n"1,234",x\nfive,x\n', "t", True, b"t,n\n<unk>,x\n<unk>,x\n"),
    (b'"t",n\n"1,234",x\nfive,x\n', "t", True, b'"t",n\n"<unk>",x\n"<unk>",x\n'),
    (b'"1,234","x"\n', "1", False, b'"<unk>","x"\n'),
    (b'"1,234",x\n', "1", False, b"<unk>,x\n"),
    # Excel's first line passes and names the delimiter, also behind a byte order mark.
    (b"sep=;\r\nid;text\r\na;b\r\n", "text", True, b"sep=;\r\nid;text\r\na;<unk>\r\n"),
    (b"\xef\xbb\xbfsep=|\na|b\n", "2", False, b"\xef\xbb\xbfsep=|\na|<unk>\n"),
    (b"sep=x\na\n", "1", False, b"<unk>=<unk>\n<unk>\n"),
    # The name comes before the number.
    (b"id,text,2\na,b,c\n", "2", True, b"id,text,2\na,b,<unk>\n"),
    (b"id,text,2\na,b,c\n", "3", False, b"id,text,<unk>\na,b,<unk>\n"),
)
def test_quotes_and_columns(data, field, header, out):
    assert run(data, field, header=header) == out


def test_several_columns_and_tabs():
    assert run(b"id,text,2\na,b,c\n", "1", "text") == b"id,text,2\n<unk>,<unk>,c\n"
    assert run(b"a\tb,c\n", "2", header=False, kind="tsv") == b"a\t<unk>,<unk>\n"


THERE = (
    "2 columns; -k NAME or a number; dpsan headers FILE lists the names, --no-header is for a "
    "first row that is data"
)
WIDTH = "columns, expected 2 (check quotes and --format)"


@cases(
    "data fields message",
    (b"id,text\n", ("body",), "test: no column 'body' (columns: id, text)"),
    (b"id,text\n", (), "test: csv needs --field (columns: id, text)"),
    (b"Uma,Thorne\n", ("0",), f"test: no column '0' ({THERE})"),
    (b"t,t\n", ("t",), "test: 2 columns are named 't' (choose by number, such as --field 1)"),
    (b"a,b\n1,2\n\n1,2,3\n", ("a",), f"test:4: 3 {WIDTH}"),
    (b'a,b\n1,"2\n3"\n4\n', ("a",), f"test:4: 1 {WIDTH}"),
    (b'a,b\n1,"2\n3', ("a",), "test:2: a quoted cell does not end"),
    (b'a,b\n1,"2"x\n', ("a",), "test:2: column 2: text behind a closing quote"),
)
def test_messages(data, fields, message):
    with pytest.raises(InputError) as caught:
        run(data, *fields)
    assert str(caught.value) == message


@pytest.mark.parametrize("fields", [(), ("text",), ("3",)])
@pytest.mark.parametrize("header", [True, False])
def test_issue_13_no_cell_of_the_first_row_is_in_a_message(fields, header):
    """It is data where somebody forgot --no-header."""
    with pytest.raises(InputError) as caught:
        run(b"Maria,secret\n", *fields, header=header)
    assert "2 columns" in str(caught.value)
    assert not re.search("Maria|secret", repr(caught.value.__dict__) + str(caught.value))


def test_big_cells(monkeypatch):
    big = b'id,text\n1,"' + b'x ""y""\n' * 20_000 + b'"\n'
    assert run(big, "text", sanitizer=SAME) == big
    monkeypatch.setattr(ReadOptions, "max_record", 1000)
    with pytest.raises(InputError, match="test:2: record longer than 1000 bytes"):
        run(big, "text")


def test_joined_files_have_one_header():
    sink = Collected()
    for data in (b"\xef\xbb\xbfid,text\n1,a", b"\xef\xbb\xbfid,text\n2,b\n"):
        through(SAME, data, "csv", fields=("text",), sink=sink)
    assert sink.data == b"\xef\xbb\xbfid,text\n1,a\n2,b\n"
    with pytest.raises(InputError, match="other columns than the first file"):
        through(SAME, b"text,id\n2,b\n", "csv", fields=("text",), sink=sink)
    assert sink.data == b"\xef\xbb\xbfid,text\n1,a\n2,b\n"


def test_copies_and_encodings():
    assert through(SAME, b"h\na\nb", "csv", fields=("h",), copies=2)[0] == b"h\na\na\nb\nb"
    data = "h,é\nà,ü\n".encode("latin-1")
    assert run(data, "é", sanitizer=SAME, encoding="latin-1") == data
    assert run(data, "é", encoding="latin-1") == "h,é\nà,<unk>\n".encode("latin-1")
