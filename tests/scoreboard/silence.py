"""Markers in every container with fields: each is drawn, passes under a name, or is left out."""

import csv
import io
import json
import random
import re
from collections import Counter
from pathlib import Path

from scoreboard.base import TWO, Row, Size, dpsan, environment, row

_NAMED = re.compile(r"dpsan: (?:\d+ of )?\d+ [a-z ]+? (passe?s?|are|is) [a-z]+ ?[a-z]*: (.*)")
_COUNTED = re.compile(r"dpsan: (passed unchanged|left out)[^:]*: (.*) \(man")


class _Case:
    """An input, and where its markers stand; markers and names are new ones each time."""

    def __init__(self, kind, seed):
        self.kind, self.random, self._next = kind, random.Random(seed), 0
        self.data, self.chosen = b"", []  # of these the values of --field, and other options
        self.sites: dict[str, str | None] = {}
        """Of each marker the name of its field, "" where it is only counted, None if drawn."""
        self.keys = []
        """Names of fields that hold a marker themselves."""

    def name(self) -> str:
        """A name of a field, with no marker."""
        self._next += 1
        letters = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
        return f"zq{self._next:08x}qz".translate(letters)

    def marker(self, site: str | None = "") -> str:
        marker = self.name()
        self.sites[marker] = site
        return marker

    def put(self, site: str | None) -> str:
        """A text with a marker that stands at a site."""
        return f"here {self.marker(site)} there"

    def field(self, path: str) -> str:
        """A text of a field, which may be chosen."""
        return self.put(None if path in self.chosen else path)


def _table(case, records):
    """Rows of up to 20 columns, quoted at times, some without a header."""
    width = case.random.randrange(2, 20)
    header = case.random.random() < 0.7
    odd = case.random.choice(["", ".", " ", "é", "?"])
    names = [f"c{odd}{at}" if header else str(at) for at in range(1, width + 1)]
    names[0] = f"k{case.name()}" if header else "1"
    chosen = case.random.sample(names, case.random.choice([1, 1, 2]))
    case.chosen = chosen if header else [*chosen, "--no-header"]
    case.keys = [names[0]] if header and names[0] not in chosen else []
    out = io.StringIO()
    quoting = case.random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(out, delimiter=",\t"[case.kind == "tsv"], quoting=quoting)
    writer.writerows([names] if header else [])
    writer.writerows([case.field(name) for name in names] for _ in range(records))
    case.data = out.getvalue().encode()


def _shape(case, paths, above="", depth=0):
    """An object of JSON whose texts are their paths, which are added to ``paths``."""
    out = {}
    for _ in range(case.random.randrange(1, 5 if depth else 6)):
        name = f"n{case.random.choice(['', '.', ' ', 'é', '[', '?'])}{case.name()[2:-2]}"
        kind = 0 if depth > 2 else case.random.choices(range(4), (10, 4, 3, 3))[0]
        path = above + re.sub(r"([.\\?\[\]])", r"\\\1", name) + "[]" * (kind % 2)
        inner = path if kind < 2 else _shape(case, paths, f"{path}.", depth + 1)
        paths += [path] * (kind < 2)
        out[name] = [inner] if kind % 2 else inner
    return out


def _value(case, shape, whole):
    """A value of a shape; members are absent at times, but for ``whole``."""
    if isinstance(shape, str):
        return case.field(shape)
    if isinstance(shape, list):
        return [_value(case, shape[0], whole) for _ in range(case.random.randrange(1, 3))]
    some = [name for name in shape if whole or case.random.random() < 0.8]
    return {name: _value(case, shape[name], whole) for name in some}


def _json(case, records):
    paths = []
    while not 2 <= len(paths) <= 20:
        paths = []
        shape = _shape(case, paths)
    case.chosen = case.random.sample(paths, 1)
    rows = [_value(case, shape, not at) for at in range(records)]
    ascii_ = case.random.random() < 0.5
    if case.kind == "jsonl":
        text = "".join(json.dumps(row, ensure_ascii=ascii_) + "\n" for row in rows)
    else:
        text = json.dumps(rows, indent=case.random.choice([None, 1]), ensure_ascii=ascii_)
    case.data = text.encode()


def _parquet(case, records):
    """Columns of strings, lists and structs, with metadata of the file and of a column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    case.chosen = case.random.choice([["t"], ["s.a"], ["l[]", "t"]])
    field, some = case.field, range(records)
    columns = {
        "t": pa.array([field("t") for _ in some]),
        "n a": pa.array([field("n a") for _ in some]).dictionary_encode(),
        "l": pa.array([[field("l[]") for _ in range(at % 3)] for at in some]),
        "s": pa.array([{"a": field("s.a"), "b": [field("s.b[]")]} for _ in some]),
    }
    fields = [pa.field(name, each.type) for name, each in columns.items()]
    fields[1] = fields[1].with_metadata({"about": case.put("n a: about")})
    schema = pa.schema(fields, {"maker": case.put("maker")})
    out = io.BytesIO()
    pq.write_table(pa.table([*columns.values()], schema=schema), out, row_group_size=records)
    case.data = out.getvalue()


_MAKERS = {"csv": _table, "tsv": _table, "json": _json, "jsonl": _json, "parquet": _parquet}


def _content(path: Path) -> str:
    """All text of an output, whatever it is packed in."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        told = [each.metadata for each in (*table.schema, table.schema, pq.read_metadata(path))]
        return repr((table.to_pylist(), told))
    return path.read_text()


@row(
    "silence",
    "records with markers in csv, tsv, json, jsonl and parquet / markers that "
    "pass or are left out, and are not named or counted",
    "≥ 10,000 / 0",
)
def unnamed_text(row: Row, size: Size, folder: Path) -> None:
    """Pages, mails and Word files have tests with a word in every place."""
    env = environment(folder)
    (folder / "two.txt").write_text(TWO)
    records = size.of(8, 40, 100)
    for number in range(size.of(1, 1, 9)):
        for kind, make in _MAKERS.items():
            for drop in (False, True):
                case = _Case(kind, f"{kind} {number} {drop}")
                make(case, records)
                _tried(row, case, folder, env, drop)
                row.tried += records


def _tried(row, case, folder, env, drop):
    for old in [*folder.glob("*a.*"), folder / "audit"]:
        old.unlink(missing_ok=True)
    name = f"a.{case.kind}"
    (folder / name).write_bytes(case.data)
    command = ["rewrite", "-q", "-e", "5", "-m", "krr", "-E", "two.txt"] + ["--drop-other"] * drop
    for each in case.chosen:
        command += [each] if each.startswith("--") else ["-k", each]
    command += [name, "-o", f"out-{name}", "-a", "audit"]
    done = dpsan(command, folder, env, text=True)
    row.count("the run failed", done.returncode != 0)
    if done.returncode:
        row.note = f"{name}: {done.stderr[-300:]}"
        return
    row.count("no message without a file", "Traceback" in done.stderr)
    named = {name for found in _NAMED.findall(done.stderr) for name in found[1].split(", ")}
    text = _content(folder / f"out-{name}")
    there = {marker for marker in case.sites if marker in text.lower()}
    drawn = {marker for marker, site in case.sites.items() if site is None}
    row.count("a chosen text passes", bool(there & drawn))
    with_name = {marker: site for marker, site in case.sites.items() if site}
    row.count("a field passes or is left out unnamed", bool({*with_name.values()} - named))
    row.count("a name is not in the message", bool({*case.keys} - named))
    others = named - {*case.sites.values(), *case.keys}
    row.count("a field is named that has none of the other texts", bool(others))
    passing = there & with_name.keys()
    row.count("--drop-other leaves a text in", drop and bool(passing))
    row.count("a text is lost", not drop and passing != with_name.keys())
    without = {marker for marker, site in case.sites.items() if site == ""}
    counted = Counter({what: _sum(kinds) for what, kinds in _COUNTED.findall(done.stderr)})
    passed, left = len(there & without), len(without - there)
    row.count("other text passes uncounted", passed > counted["passed unchanged"])
    row.count("other text is left out uncounted", left > counted["left out"])
    last = json.loads((folder / "audit").read_text().splitlines()[-1])
    told = {name for each in last["passing"]["fields"] for name in each["names"]}
    row.count("the audit has other names", told != named)
    noted = last["passing"]["noted"]
    row.count("the audit has other counts", sum(noted.values()) != counted.total())


def _sum(kinds: str) -> int:
    return sum(int(each.split()[0].replace(",", "")) for each in kinds.split(", "))
