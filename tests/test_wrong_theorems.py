"""docs/wrong_theorems.md: its rows are those that docs/papers.md refutes, with the same figures."""

import re
import shlex

import papers
import pytest
from support import ROOT
from typer.testing import CliRunner

from dpsan.cli.app import app

PAGE = (ROOT / "docs" / "wrong_theorems.md").read_text()
TABLES = PAGE.split("\n## ")


def rows(text):
    """Yield the cells of each row of a table."""
    for line in text.splitlines():
        if line.startswith("| ") and "---" not in line:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if "`" in cells[-1]:
                yield cells


WRONG, NONE = ([*rows(table)] for table in TABLES)


def bold(text):
    return {*re.findall(r"\*\*([^*]+)\*\*", text)}


def test_what_is_refuted_is_on_the_page_and_nothing_else():
    """test_papers.py runs the command of each row of docs/papers.md and looks for its figures."""
    items = {cells[1]: cells for cells in papers.items() if cells[1] != "-"}
    refuted = {command for command, cells in items.items() if cells[5].startswith("refuted")}
    # It holds where it is stated, and was used where it does not.
    refuted |= {command for command, cells in items.items() if "false from" in cells[5]}
    assert {cells[-1] for cells in WRONG} == refuted
    assert len(WRONG) == len(refuted) > 10
    for cells in WRONG:
        item = items[cells[-1]]
        figures = bold(cells[3]) | bold(cells[4])
        assert figures
        assert figures <= bold(item[3]) | bold(item[4]), cells[0]
        assert bold(cells[4]), cells[0]  # the true figure


@pytest.mark.parametrize("cells", NONE, ids=lambda cells: cells[0])
def test_a_mechanism_without_a_guarantee_says_so(cells):
    shown = CliRunner().invoke(app, shlex.split(cells[-1].strip("`"))[1:])
    told = " ".join(shown.stdout.split())
    assert f"{cells[0].strip('`')} (NONE)" in told
    assert bold(cells[2])
    for words in bold(cells[2]):
        assert words in told


def test_every_mechanism_without_a_proof_is_named_here_or_in_its_paper():
    from dpsan.mechanisms.registry import list_mechanisms

    none = {row["name"] for row in list_mechanisms() if row["status"] == "NONE"}
    assert {cells[0].strip("`") for cells in NONE} == none
    assert "(docs/wrong_theorems.md)" in (ROOT / "README.md").read_text()
