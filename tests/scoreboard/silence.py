"""Markers in every container: each is drawn, or passes or is left out under a name or a count."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scoreboard.base import DPSAN, ROOT, TWO, Row, Size, environment
from scoreboard.patterns import mutants

sys.path.append(str(ROOT / "tests"))
from docx_files import OUTSIDE, document, paragraph

_MARKER: Final = re.compile(r"zq[a-p]{8}qz")
_NAMED: Final = re.compile(
    r"dpsan: (?:\d+ of )?\d+ [a-z ]+? (passe?s?|are|is) [a-z]+ ?[a-z]*: (.*)"
)
_COUNTED: Final = re.compile(r"dpsan: (passed unchanged|left out)[^:]*: (.*) \(man")


@dataclass
class _Case:
    """An input, and where its markers stand."""

    name: str
    data: bytes
    chosen: list[str]
    """Values of ``--field``."""
    sites: dict[str, str | None] = field(default_factory=dict)
    """Of each marker the name of its field as messages have it; None: it must be drawn; empty:
    text that is counted and has no name."""
    keys: list[str] = field(default_factory=list)
    """Names of fields that hold a marker themselves."""


class _Source:
    """Markers and names, new ones each time."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self._next = 0

    def marker(self) -> str:
        self._next += 1
        return f"zq{self._next:08x}qz".translate(
            str.maketrans("0123456789abcdef", "abcdefghijklmnop")
        )

    def put(self, case: _Case, site: str | None) -> str:
        """Return a text with a marker that stands at a site."""
        marker = self.marker()
        case.sites[marker] = site
        return f"here {marker} there"


def _table(source: _Source, records: int, kind: str) -> _Case:
    """Rows of up to 20 columns, quoted at times, some without a header."""
    width = source.random.randrange(2, 20)
    header = source.random.random() < 0.7
    odd = source.random.choice(["", ".", " ", "é", "?"])
    names = [f"c{odd}{at}" if header else str(at) for at in range(1, width + 1)]
    names[0] = f"k{source.marker()}" if header else "1"
    chosen = source.random.sample(names, source.random.choice([1, 1, 2]))
    case = _Case(f"a.{kind}", b"", chosen if header else [*chosen, "--no-header"])
    case.keys = [names[0]] if header and names[0] not in chosen else []
    out = io.StringIO()
    quoting = source.random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",", quoting=quoting)
    if header:
        writer.writerow(names)
    for _ in range(records):
        writer.writerow([source.put(case, None if n in chosen else n) for n in names])
    case.data = out.getvalue().encode()
    return case


def _shape(source: _Source, depth: int) -> Any:
    """What an object of JSON looks like: names, and ``text``, ``[shape]`` or an object of each."""
    out: dict[str, Any] = {}
    for _ in range(source.random.randrange(1, 5 if depth else 6)):
        name = f"n{source.random.choice(['', '.', ' ', 'é', '[', '?'])}{source.marker()[2:-2]}"
        kind = source.random.random()
        if depth > 2 or kind < 0.5:
            out[name] = "text"
        elif kind < 0.7:
            out[name] = ["text"]
        else:
            inner = _shape(source, depth + 1)
            out[name] = inner if kind < 0.85 else [inner]
    return out


def _paths(shape: Any, path: str = "") -> Iterator[str]:
    if shape == "text":
        yield path
    elif isinstance(shape, list):
        yield from _paths(shape[0], f"{path}[]")
    else:
        for name, inner in shape.items():
            step = re.sub(r"([.\\?\[\]])", r"\\\1", name)
            yield from _paths(inner, f"{path}.{step}" if path else step)


def _value(source: _Source, case: _Case, shape: Any, path: str = "", *, whole: bool) -> Any:
    """A value of a shape; members are absent at times, but for ``whole``."""
    if shape == "text":
        return source.put(case, None if path in case.chosen else path)
    if isinstance(shape, list):
        many = source.random.randrange(1, 3)
        return [_value(source, case, shape[0], f"{path}[]", whole=whole) for _ in range(many)]
    out = {}
    for name, inner in shape.items():
        step = re.sub(r"([.\\?\[\]])", r"\\\1", name)
        if whole or source.random.random() < 0.8:
            below = f"{path}.{step}" if path else step
            out[name] = _value(source, case, inner, below, whole=whole)
    return out


def _json(source: _Source, records: int, kind: str) -> _Case:
    shape = _shape(source, 0)
    paths = [*_paths(shape)]
    while not 2 <= len(paths) <= 20:
        shape = _shape(source, 0)
        paths = [*_paths(shape)]
    case = _Case(f"a.{kind}", b"", source.random.sample(paths, 1))
    rows = [_value(source, case, shape, whole=not at) for at in range(records)]
    ascii_ = source.random.random() < 0.5
    if kind == "jsonl":
        text = "".join(json.dumps(row, ensure_ascii=ascii_) + "\n" for row in rows)
    else:
        text = json.dumps(rows, indent=source.random.choice([None, 1]), ensure_ascii=ascii_)
    case.data = text.encode()
    return case


def _parquet(source: _Source, records: int, kind: str) -> _Case:
    """Columns of strings, lists and structs, with metadata of the file and of a column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    case = _Case("a.parquet", b"", source.random.choice([["t"], ["s.a"], ["l[]", "t"]]))

    def text(path: str) -> str:
        return source.put(case, None if path in case.chosen else path)

    columns = {
        "t": pa.array([text("t") for _ in range(records)]),
        "n a": pa.array([text("n a") for _ in range(records)]).dictionary_encode(),
        "l": pa.array([[text("l[]") for _ in range(at % 3)] for at in range(records)]),
        "s": pa.array([{"a": text("s.a"), "b": [text("s.b[]")]} for _ in range(records)]),
    }
    fields = [pa.field(name, each.type) for name, each in columns.items()]
    fields[1] = fields[1].with_metadata({"about": source.put(case, "n a: about")})
    schema = pa.schema(fields, {"maker": source.put(case, "maker")})
    out = io.BytesIO()
    pq.write_table(pa.table([*columns.values()], schema=schema), out, row_group_size=records)
    case.data = out.getvalue()
    return case


def _html(source: _Source, records: int, kind: str) -> _Case:
    case = _Case("a.html", b"", [])

    def drawn() -> str:
        return source.put(case, None)

    def word() -> str:
        marker = source.marker()
        case.sites[marker] = ""
        return marker

    out = [f"<title>{drawn()}</title><style>.{word()} {{color: red}}</style>"]
    for _ in range(records // 4):
        out.append(f'<p class="{word()}" title="{drawn()}">{drawn()}<!-- {drawn()} --></p>')
        out.append(f'<a href="/{word()}">{drawn()}</a><script>var {word()} = 1;</script>')
    case.data = "\n".join(out).encode()
    return case


def _eml(source: _Source, records: int, kind: str) -> _Case:
    """Headers, texts and attachments (``--strip``)."""
    case = _Case("a.eml", b"", ["--strip"])

    def out_of_it() -> str:
        return source.put(case, "")

    lines = [f"Subject: {source.put(case, None)}", f"From: {out_of_it()}", f"X-Of: {out_of_it()}"]
    lines += ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="b"', ""]
    for _ in range(records // 2):
        lines += ["--b", "Content-Type: text/plain", "", source.put(case, None)]
        lines += ["--b", "Content-Type: application/pdf", "", out_of_it()]
    case.data = "\r\n".join([*lines, "--b--", source.put(case, None), ""]).encode()
    return case


def _docx(source: _Source, records: int, kind: str) -> _Case:
    case = _Case("a.docx", b"", ["--strip"])
    rows = [
        ("hyperlink", f"https://{_counted(source, case)}.example", OUTSIDE)
        for _ in range(records // 4)
    ]
    body = "".join(paragraph(source.put(case, None)) for _ in range(records))
    layout = '<w:p><w:pPr><w:pStyle w:val="{}"/><w:jc w:val="{}"/></w:pPr></w:p>'
    for _ in range(records // 4):
        body += layout.format(_counted(source, case), _counted(source, case))
    case.data = document(
        body, rows=rows, **{"docProps/core.xml": f"<a>{_counted(source, case)}</a>"}
    )
    return case


def _counted(source: _Source, case: _Case) -> str:
    marker = source.marker()
    case.sites[marker] = ""
    return marker


_MAKERS: Final[dict[str, Callable[[_Source, int, str], _Case]]] = {
    "csv": _table,
    "tsv": _table,
    "json": _json,
    "jsonl": _json,
    "parquet": _parquet,
    "html": _html,
    "eml": _eml,
    "docx": _docx,
}
_FIELDS: Final = ("csv", "tsv", "json", "jsonl", "parquet")


def _content(path: Path) -> str:
    """All text of an output, whatever it is packed in."""
    if path.suffix == ".docx":
        with zipfile.ZipFile(path) as archive:
            return "".join(archive.read(name).decode() for name in archive.namelist())
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        told = [each.metadata for each in table.schema]
        return repr(
            (table.to_pylist(), table.schema.metadata, told, pq.read_metadata(path).metadata)
        )
    return path.read_text()


def unnamed_text(size: Size, folder: Path) -> Row:
    """Boundaries of mails are no sites: they are for the row of mails."""
    row = Row(
        "records with markers in csv, tsv, json, jsonl, parquet, html, eml and docx / markers that "
        "pass or are left out, and are not named or counted",
        "≥ 10,000 / 0",
    )
    env = environment(folder)
    (folder / "two.txt").write_text(TWO)
    records = size.of(8, 40, 100)
    for number in range(size.of(1, 1, 9)):
        for kind, make in _MAKERS.items():
            for drop in (False, True) if kind in _FIELDS else (False,):
                source = _Source(f"{kind} {number} {drop}")
                case = make(source, records, kind)
                _tried(row, case, folder, env, drop=drop)
                row.tried += records
    return row


def _tried(row: Row, case: _Case, folder: Path, env: dict[str, str], *, drop: bool) -> None:
    for old in folder.glob("*a.*"):
        old.unlink()
    (folder / case.name).write_bytes(case.data)
    options = [["-k", each] if each[:2] != "--" else [each] for each in case.chosen]
    more = [word for each in options for word in each] + ["--drop-other"] * drop
    command = [*DPSAN, "rewrite", "-q", "-e", "5", "-m", "krr", "-E", "two.txt", *more]
    target = folder / f"out-{case.name}"
    done = subprocess.run(
        [*command, case.name, "-o", target.name, "-a", f"audit-{case.name}"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )
    row.count("the run failed", done.returncode != 0)
    if done.returncode:
        row.note = f"{case.name}: {done.stderr[-300:]}"
        return
    row.count("no message without a file", "Traceback" in done.stderr)
    named = {name for found in _NAMED.findall(done.stderr) for name in found[1].split(", ")}
    text = _content(target)
    there = {marker for marker in case.sites if marker in text.lower()}
    drawn = {marker for marker, site in case.sites.items() if site is None}
    row.count("a chosen text passes", bool(there & drawn))
    with_name = {marker: site for marker, site in case.sites.items() if site}
    row.count("a field passes or is left out unnamed", bool({*with_name.values()} - named))
    row.count("a name is not in the message", bool({*case.keys} - named))
    row.count("a field is named that has none of the other texts", _more(case, named))
    passing = there & with_name.keys()
    row.count("--drop-other leaves a text in", drop and bool(passing))
    row.count("a text is lost", not drop and passing != with_name.keys())
    without = {marker for marker, site in case.sites.items() if site == ""}
    counted = {what: _sum(kinds) for what, kinds in _COUNTED.findall(done.stderr)}
    row.count(
        "other text passes uncounted", len(there & without) > counted.get("passed unchanged", 0)
    )
    row.count("other text is left out uncounted", len(without - there) > counted.get("left out", 0))
    last = json.loads((folder / f"audit-{case.name}").read_text().splitlines()[-1])
    told = {name for each in last["passing"]["fields"] for name in each["names"]}
    row.count("the audit has other names", told != named)
    sums = sum(last["passing"]["noted"].values())
    row.count("the audit has other counts", sums != sum(counted.values()))


def _more(case: _Case, named: set[str]) -> bool:
    return bool(named - {*filter(None, case.sites.values())} - {*case.keys})


def _sum(kinds: str) -> int:
    return sum(int(each.split()[0].replace(",", "")) for each in kinds.split(", "))


MUTANTS: Final = mutants(
    "silence",
    """
no field is named @ Fields.merge
= lambda original: lambda *given, **more: None
no value of JSON is noted @ Positions.passes
= lambda original: lambda *given, **more: None
metadata of Parquet pass in silence @ Columns.fields
= lambda original: lambda *given: original(*given)[:1]
--drop-other writes all of a JSON record @ pruned
= lambda original: lambda raw, node, at=0: raw.rstrip()
columns are named by their neighbours @ named
= lambda original: lambda names: (lambda all: original(all[1:] + all[:1]))([*names])
the audit has no fields @ Passing.row
= lambda original: lambda self: {**original(self), 'fields': []}
a mail keeps a header @ Entity.built
= lambda original: lambda self, name, boundary: original(self, name, boundary) or self[name]
any value of docx passes @ Reader._passes
= lambda original: lambda *given: True
what a page lets pass is not counted @ noted
= lambda original: lambda passing: {}
""",
)
