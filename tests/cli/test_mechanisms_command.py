import io
import json
import re
import sys

import pytest

from dpsan.cli.decide import Mechanisms
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.registry import list_mechanisms

KEYS = {"name", "status", "family", "epsilon_unit", "source", "parameters"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_list(dpsan):
    rows = json.loads(dpsan("mechanisms", "--json").stdout)
    assert [row["name"] for row in rows] == list(MECHANISMS)
    assert all({"name", "status", "family", "summary"} <= set(row) for row in rows)
    lines = dpsan("mechanisms").stdout.decode().splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(MECHANISMS)  # one line each into a pipe
    for line, row in zip(lines, rows, strict=True):
        assert line.endswith(row["summary"])


@pytest.mark.parametrize("width", [80, 120, 200])
def test_table_fits_a_terminal(monkeypatch, width):
    """A narrow terminal gets each summary in several lines of its column, whole."""
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    Mechanisms().run()
    text = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())
    assert max(map(len, text.splitlines())) <= width
    start = text.splitlines()[0].index("what it is")
    summaries = " ".join(line[start:].strip() for line in text.splitlines())
    for row in list_mechanisms():
        assert row["name"] in text
        assert row["summary"] in summaries


HEADINGS = ("Definition", "Guarantee", "Source", "Cost", "Parameters")


@pytest.mark.parametrize("name", MECHANISMS)
def test_prose_fits_a_terminal(monkeypatch, name):
    """All of it, without the marks of its source; BibTeX is to be copied, and stays as it is."""
    printed = {}
    for width in (80, 200):
        monkeypatch.setattr(sys, "stdout", terminal := Terminal())
        monkeypatch.setenv("COLUMNS", str(width))
        Mechanisms(names=[name]).run()
        printed[width], bibtex, _ = terminal.getvalue().partition("\n@")
        assert bibtex
        assert max(map(len, printed[width].splitlines())) <= width
        assert "``" not in printed[width]
    assert printed[80].split() == printed[200].split()
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed[80])
    assert all(f"\n{heading}\n" in plain for heading in HEADINGS)


def test_statuses_are_those_of_the_specification():
    """Issue 4, part 1; what nobody here has read is not refuted."""
    refuted = "gaussian-paper tgumbel-paper tldp-paper-g tldp-paper-g-weighted tldp-paper-l"
    wanted = {
        "REFUTED": {*refuted.split(), "tldp-paper-l-weighted", "trlaplace-paper"},
        "NONE": {"santext-plus", "custext", "diffractor-paper", "rantext-paper"},
    }
    found = {name: {n for n, each in MECHANISMS.items() if each.status == name} for name in wanted}
    assert found == wanted
    assert {each.status for each in MECHANISMS.values()} == {"PROVED", *wanted}


@pytest.mark.parametrize("name", MECHANISMS)
def test_one(name, monkeypatch):
    monkeypatch.setattr(sys, "stdout", written := io.StringIO())
    Mechanisms(names=[name], as_json=True).run()
    found = json.loads(written.getvalue())
    assert {*found} == KEYS
    assert (found["name"], found["status"]) == (name, MECHANISMS[name].status)


def test_several_mechanisms_and_their_bibliography(dpsan):
    rows = json.loads(dpsan("mechanisms", "laplace", "krr", "--json").stdout)
    assert [row["name"] for row in rows] == ["laplace", "krr"]
    text = dpsan("mechanisms", "laplace", "krr").stdout.decode()
    assert re.findall(r"^(laplace|krr) \(", text, re.M) == ["laplace", "krr"]
    keys = re.findall(r"^@\w+\{(\w+),", dpsan("mechanisms", "--bibtex").stdout.decode(), re.M)
    assert len(keys) == len({*keys}) > 15  # each once
    shown = dpsan("mechanisms", "--bibtex", "krr", "krr").stdout.decode()
    some = re.findall(r"^@\w+\{(\w+),", shown, re.M)
    assert some == ["KRR"]
    done = dpsan("mechanisms", "krr", "laplce")
    assert (done.returncode, done.stdout) == (2, b"")
