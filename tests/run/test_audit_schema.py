"""docs/audit.schema.json, a JSON Schema of the rows of an audit; run as a script, it is written."""

import json

from json_schema import TYPES, wrong
from support import ROOT, cases

from dpsan.run.audit import ROWS, SCHEMA

PATH = ROOT / "docs/audit.schema.json"
OPTIONAL = ("fluent", "classes", "only", "copies", "originals")
"""Fields that the rows of words have with some options."""


def value(kinds):
    """Return the schema of a value that is one of some kinds."""
    options = []
    for kind in kinds:
        if isinstance(kind, list):
            options.append({"type": "array", "items": fields(kind[0])})
        elif isinstance(kind, type):
            options.append({"type": TYPES[kind]})
        else:
            options.append(fields(kind))
    options = [each for each in options if each != {"type": "integer"} or float not in kinds]
    return options[0] if len(options) == 1 else {"anyOf": options}


def fields(row, optional=(), kind=None):
    properties = {name: value(kinds) for name, kinds in {**row, **dict(optional)}.items()}
    if kind:
        properties["type"] = {"const": kind}
    made = {"type": "object", "properties": properties, "required": [*row]}
    return made | {"additionalProperties": False}


def schema():
    more = [pair for name in OPTIONAL for pair in ROWS[name].items()]
    kinds = ("header", "word", "remembered", "file", "totals")
    rows = [fields(ROWS[kind], more if kind == "word" else (), kind) for kind in kinds]
    title = f"A line of an audit log of dpsan, schema {SCHEMA}"
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return made | {"anyOf": rows}


def written():
    return json.dumps(schema(), indent=1) + "\n"


def test_the_stored_schema_is_that_of_the_program():
    assert PATH.read_text() == written()


@cases(
    "options",
    ("-e", "8", "--audit-originals", "--copies", "2"),
    ("-e", "8", "--class", "sensitive", "--numbers", "value"),
    ("--only", "sensitive"),
    ids=["originals", "classes", "only"],
)
def test_rows_are_as_the_schema_says(dpsan, tmp_path, options):
    path = tmp_path / "audit"
    text = b"Maria met John in Paris on 3 May 2021.\n\nzzzq\n"
    assert dpsan("rewrite", "-q", *options, "-a", str(path), stdin=text).returncode == 0
    rule = json.loads(PATH.read_text())
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {row["type"] for row in rows} == {"header", "word", "file", "totals"}
    for row in rows:
        assert [*wrong(row, rule)] == []
        assert [*wrong(row | {"other": 1}, rule)]
        assert [*wrong(row | {"type": "none"}, rule)]
        assert [*wrong({key: row[key] for key in row if key != "type"}, rule)]


if __name__ == "__main__":
    PATH.write_text(written())
    print(PATH)
