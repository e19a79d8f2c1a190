"""docs/json.schema.json: what each command writes with --json; run as a script, it is written."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from json_schema import learned, wrong
from support import ROOT, cases, needs_gensim, tables

PATH = ROOT / "docs/json.schema.json"
WORDS = re.findall(
    r"\w+",
    """
    the a is in of and maria john paris rome london anna tom met saw lives works doctor nurse house
    car red blue green one two three four five six seven eight nine ten cat dog bird fish tree road
    river city town""",
)
WORDS += [f"{first}{last}" for first in ("sun", "moon", "star") for last in WORDS[:25]]
MAPS = ("parameters", "dropped", "figures", "groups", "misfit", "only", "noted", "by_name")
"""Objects whose keys are data."""

V = "-E v.txt"
SAMPLES: dict[str, list[str]] = {}
for _name, _options in tables("cli/cases/json")["samples"]:
    SAMPLES.setdefault(_name, []).append("" if _options == "-" else _options)


def make_files(folder, run):
    """Write vectors, texts, sanitized texts and audits."""
    random = np.random.default_rng(1)
    rows = [f"{word} {' '.join(f'{x:.3f}' for x in random.normal(size=5))}" for word in WORDS]
    (folder / "v.txt").write_text("\n".join(rows) + "\n")
    texts = [" ".join(random.choice(WORDS, 12)) + "." for _ in range(900)]
    (folder / "a.txt").write_text("\n".join(texts) + "\n")
    (folder / "b.txt").write_text("\n".join(texts[:40]) + "\n")
    rows = [f"{at % 2}\t{text}" for at, text in enumerate(texts[:40])]
    (folder / "a.tsv").write_text("\n".join(["label\ttext", *rows]) + "\n")
    for name in ("s", "t"):
        more = "-a audit.jsonl" if name == "s" else ""
        run("rewrite", f"-q -e 3 {V} a.txt -o {name}.txt {more}")
    for source, name in (("a", "c"), ("s", "d")):
        lines = (folder / f"{source}.txt").read_text().splitlines(keepends=True)
        (folder / f"{name}.txt").write_text("".join(lines[:200]))
    spans = [{"start": 0, "end": len(text.split()[0]), "type": "NAME"} for text in texts[:40]]
    lines = [json.dumps({"spans": [each]}) + "\n" for each in spans]
    (folder / "spans.jsonl").write_text("".join(lines))
    (folder / "p.toml").write_text('epsilon = 12\nclass = ["sensitive"]\nnumbers = "value"\n')
    run("rewrite", "-q --policy p.toml -k text a.tsv -a class.jsonl -o class.tsv")
    run("rewrite", "-q --only people a.txt -a only.jsonl -o only.txt")


def answers(name, run):
    return [json.loads(run(name.split()[0], f"--json {each}")) for each in SAMPLES[name]]


@pytest.fixture(scope="module")
def run(dpsan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")

    def output(command, options):
        done = dpsan(command, *shlex.split(options), cwd=folder)
        assert done.returncode in (0, 1), done.stderr.decode()
        return done.stdout

    make_files(folder, output)
    return output


@pytest.mark.slow
@cases("name", *(pytest.param(it, marks=[needs_gensim] * (it == "train")) for it in SAMPLES))
def test_answers_are_as_the_schema_says(run, name):
    rule = json.loads(PATH.read_text())["$defs"][name]
    found = answers(name, run)
    for answer in found:
        assert [*wrong(answer, rule)] == []
    seen, stored = ([*_keys(each)] for each in (learned(found, MAPS), rule))
    assert set(seen) == set(stored)  # nothing that no command writes any more
    for row in (each[0] if isinstance(each, list) and each else each for each in found):
        if isinstance(row, dict):
            inner = rule.get("items", rule)
            assert [*wrong(row | {"other": 1}, inner)]
            assert [*wrong({key: row[key] for key in [*row][1:]}, inner)]


def test_every_command_with_json_has_a_schema():
    from dpsan.cli.app import COMMANDS

    named = {name.split()[0] for name in SAMPLES}
    options = {name: [it.opts for it in command.params] for name, command in COMMANDS.items()}
    having = {name for name, names in options.items() if any("--json" in it for it in names)}
    assert having == named
    assert [*json.loads(PATH.read_text())["$defs"]] == [*SAMPLES]


def _keys(rule, path=""):
    """Yield the paths of all properties of a schema."""
    for each in rule.get("anyOf", ()):
        yield from _keys(each, path)
    for name, each in rule.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _keys(each, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(rule.get(name), dict):
            yield from _keys(rule[name], f"{path}[]")


def write():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = {**os.environ, "DPSAN_CACHE_DIR": str(folder / "cache")}

        def run(command, options):
            words = [sys.executable, "-m", "dpsan", command, *shlex.split(options)]
            done = subprocess.run(words, cwd=folder, env=env, capture_output=True)
            assert done.returncode in (0, 1), done.stderr.decode()
            return done.stdout

        make_files(folder, run)
        rules = {each: learned(answers(each, run), MAPS) for each in SAMPLES}
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of dpsan write with --json, by command and option",
        "description": "Made of the answers of tests/cli/test_json_schema.py; {} is any value.",
        "$defs": rules,
    }
    PATH.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    write()
    print(PATH)
