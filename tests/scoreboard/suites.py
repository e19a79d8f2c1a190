"""Tables in the manner of public test suites: JSON, CSV, compression, every code point."""

# ruff: noqa: E501

import contextlib
import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import regex
from identity import marker, through, through_file

from dpsan.errors import InputError
from scoreboard.base import Row, Size, row
from scoreboard.shift import shifting

# In the manner of JSONTestSuite: what a parser must accept, and must refuse.
_ACCEPTED = [
    rb'{"t":"here"}', rb'{"t":"\u0068ere"}', rb' { "t" : "here" } ', b'\t{"t":"here"}\r',
    rb'{"t":"","a":[]}', rb'{"t":null}', rb'{"t":"here","t":"there"}', rb'{"a":1e5,"t":"here"}',
    rb'{"a":-0,"b":-0.0,"c":0e1,"d":1E+2,"e":123456789012345678901234567890,"t":"x"}',
    rb'{"a":[[[[[[]]]]]],"t":"here"}', rb'{"a":{"":{"":0}},"t":"here"}', rb'{"\u0074":"here"}',
    rb'{"t":"\"\\\/\b\f\n\r\t"}', rb'{"t":"\ud83d\ude00"}', rb'{"t":"\ud800"}', rb'{"t":"\udc00\ud800"}',
    rb'{"t":"\u00e9"}', '{"t":"é😀"}'.encode(), rb'{"t":"here","a":true,"b":false,"c":null}',
    rb'{"a":"\u0022]}{[,:","t":"here"}', b'{"t":"' + b"here " * 9999 + b'"}', b"", b" ",
    b'{"a":' + b"[" * 9999 + b"]" * 9999 + b',"t":"here"}', rb'{"":"here","t":"x"}',
    rb'{"a":[{"t":"here"}],"t":"there"}', '{"t":"\u2028\u2029"}'.encode(), rb'{"a":0.1e-7,"t":"here"}',
]  # fmt: skip
_REFUSED = [
    b"[1,]", b'{"t":"here",}', b'{"t":"here"', b'{"t" "here"}', b'{"t":}', b"{t:1}", b"{'t':'here'}",
    b'{"t":"here"}}', b'{"t":"here"} x', b'{"t":"here"}{"t":"here"}', b'{"t":"\\x"}', b'{"t":"\\u12"}',
    b'{"t":"a\tb"}', b'{"a":01,"t":"x"}', b'{"a":+1,"t":"x"}', b'{"a":.1,"t":"x"}', b'{"a":1.,"t":"x"}',
    b'{"a":1e,"t":"x"}', b'{"a":0x1,"t":"x"}', b'{"a":nul,"t":"x"}', b'{"a":True,"t":"x"}',
    b'{"a":[1 2],"t":"x"}', b'{"a":[,1],"t":"x"}', b'{"a":[1,,2],"t":"x"}', b'{"a":[1}],"t":"x"}',
    b'{"a":{]},"t":"x"}', b'{,"t":"x"}', b'{"t":"x",,"a":1}', b'{"t"::"x"}', b'{"t":"x" "a":1}', b'"',
    b'{"t":"\\', b'{"t":"\\"}', b"\xff", b'{"t":"x"}/**/', b'{"t":"x"}#', b"[", b"]", b"{", b"*",
    b'{"t":"x"]', b'{"a":[[1]},"t":"x"}', b'{"a":- 1,"t":"x"}', b'{"a":1_0,"t":"x"}', b'{"a":[' + b"[" * 9999 + b',"t":"x"}',
]  # fmt: skip

# In the manner of csv-spectrum: the file and what must come out; here -> o"clock, there -> a,b.
_CSV: list[tuple[bytes, bytes]] = [
    (b"t,n\nhere,1\n", b't,n\n"o""clock",1\n'),
    (b't,n\n"here",1\n', b't,n\n"o""clock",1\n'),
    (b't,n\n"here, there",1\n', b't,n\n"o""clock, a,b",1\n'),
    (b't,n\n"here ""x"" there",1\n', b't,n\n"o""clock ""x"" a,b",1\n'),
    (b't,n\n"here\nthere",1\n', b't,n\n"o""clock\na,b",1\n'),
    (b't,n\r\n"here\r\nthere",1\r\n', b't,n\r\n"o""clock\r\na,b",1\r\n'),
    (b"t,n\n,1\n", b"t,n\n,1\n"),
    (b't,n\n"",1\n', b't,n\n"",1\n'),
    (b"n,t\n1,there", b'n,t\n1,"a,b"'),
    (b"n,t\r1,there\n", b""),
    (b't,n\n" here ",1\n', b't,n\n" o""clock ",1\n'),
    (b't,n\nx "here",1\n', b't,n\n"x ""o""clock""",1\n'),
    (b"t,n\n\nhere,1\n\n", b't,n\n\n"o""clock",1\n\n'),
    (b'"t","n"\nhere,"{""a"": ""b""}"\n', b'"t","n"\n"o""clock","{""a"": ""b""}"\n'),
    (b"\xef\xbb\xbft,n\nhere,1\n", b'\xef\xbb\xbft,n\n"o""clock",1\n'),
    (b"\xef\xbb\xbf\"t\",n\nhere,1\n", b'\xef\xbb\xbf"t",n\n"o""clock",1\n'),
    ("t,ñ\nhere,日本\n".encode(), 't,ñ\n"o""clock",日本\n'.encode()),
    (b"t,n\nhere\n", b""),
    (b"t,n\nhere,1,2\n", b""),
    (b't,n\n"here"x,1\n', b""),
    (b'n,t\n1,"here"x\n', b""),
    (b't,n\n"here,1\n', b""),
    (b"t\nhere\nthere\n", b't\n"o""clock"\n"a,b"\n'),
    (b"t,n\n" + b'"' + b"\n" * 999 + b'",1\n', b"t,n\n" + b'"' + b"\n" * 999 + b'",1\n'),
]  # fmt: skip


@row(
    "suites",
    "cases in the manner of public suites (JSON, CSV, gzip members) and all code points / lost,"
    " passed or wrongly accepted",
    "≥ 1,112,064 / 0",
)
def public_suites(row: Row, size: Size, folder: Path) -> None:
    """What other people's parsers are tried with; and each code point alone and between words."""
    same = shifting()
    _json(row, same)
    for data, expected in _CSV:
        out = _through(through, same, data, "csv", fields=("t",))
        row.tried += 1
        row.count("CSV: wrong, or accepted and refused", out != (expected or None))
    _gzip(row, folder, same)
    _code_points(row, size)


def _through(how: Any, *given: Any, **options: Any) -> Any:
    """What comes out; None for an error of the input."""
    with contextlib.suppress(InputError):
        return how(*given, **options)[0]


def _json(row: Row, same: Any) -> None:
    for line in _ACCEPTED:
        out = _through(through, same, line + b"\n", "jsonl", fields=("t?",))
        row.tried += 1
        row.count("JSON: refused though right", out is None)
        if out is None:
            continue
        if len(line) > 9999 or not line.strip():  # too deep for the parser of the reference
            row.count("JSON: changed", out.replace(b'o\\"clock', b"here") != line + b"\n")
            continue
        was, now = json.loads(line), json.loads(out)
        before, after = str(was.pop("t")), str(now.pop("t"))
        row.count("JSON: changed", was != now)
        known = "here" in before  # or there
        row.count("JSON: not rewritten", (_words(before) == _words(after)) == known)
    for line in _REFUSED:
        out = _through(through, same, b'{"t":"here"}\n' + line + b"\n", "jsonl", fields=("t?",))
        row.tried += 1
        row.count("JSON: accepted though wrong", out is not None)


def _words(value: object) -> str:
    """What is left of a text when spaces and control characters do not count."""
    return "".join(each for each in str(value) if each.isprintable() and each != " ")


def _gzip(row: Row, folder: Path, same: Any) -> None:
    """Several members, an empty one, padding, and damage, as gzip's own suite has them."""
    one, two = gzip.compress(b"here\n"), gzip.compress(b"there")
    wanted = b'o"clock\na,b'
    good = {
        "members": one + two,
        "an empty member": one + gzip.compress(b"") + two,
        "padding": one + two + bytes(99),
    }
    damaged = {
        "cut": (one + two)[:-3],
        "a wrong sum": one + two[:-8] + bytes(8),
        "rubbish behind": one + two + b"rubbish",
        "no gzip": b"here\n",
    }
    path = folder / "a.txt.gz"
    for name, data in {**good, **damaged}.items():
        path.write_bytes(data)
        out = _through(through_file, same, path)
        row.tried += 1
        row.count(f"gzip: {name}", out != (wanted if name in good else None))


def _code_points(row: Row, size: Size) -> None:
    """Letters, marks, digits, emoji, private and unassigned ones never pass; nothing vanishes."""
    points = [*range(0x20, 0x3000), *range(0x3000, 0x110000, size.of(16, 8, 1))]
    points = [each for each in points if not 0xD800 <= each < 0xE000]
    lines = [f"( {chr(each)} )" for each in points]
    out = through(marker(), ("\n".join(lines) + "\n").encode(), "text")[0].decode()
    found = out.split("\n")[:-1]
    row.count("code points: lines lost or added", len(found) != len(lines))
    row.tried += len(points)
    for each, line in zip(points, found, strict=False):
        kind = unicodedata.category(chr(each))
        inside = line[2:-2] if line[:2] == "( " and line[-2:] == " )" else "?"
        if kind == "Cn" and not regex.match(r"\p{Cn}", chr(each)):
            continue  # assigned since this Python was made
        unseen = kind == "Cf" or regex.match(r"\p{Default_Ignorable_Code_Point}", chr(each))
        if unseen or (kind == "Cc" and not chr(each).isspace()):
            # Dropped, or the word that it would spell (tags).
            row.count("code points: an invisible one passed", inside not in ("", "<unk>"))
        elif kind[0] in "LMN" or kind in ("Co", "Cn"):
            row.count("code points: a letter, mark, digit or private one passed", inside != "<unk>")
        elif regex.match(r"\p{Extended_Pictographic}", chr(each)):
            row.count("code points: an emoji passed", inside != "<unk>")
        elif kind[0] in "PZ":
            row.count("code points: punctuation or space changed", inside != chr(each))
        elif kind[0] == "S":
            row.count("code points: a symbol vanished", inside not in (chr(each), "<unk>"))
