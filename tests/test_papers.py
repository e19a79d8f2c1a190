"""docs/papers.md against the program.  ``python tests/test_papers.py`` draws its figures again."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import papers
import pytest
from common.command import parser, run
from support import need_extra
from typer.testing import CliRunner

from dpsan.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "papers.md"
FIGURES = ("theorems", "variance")


def rows():
    """Cells of every row of the tables of items."""
    for table in re.findall(r"^\| item \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text(), re.M):
        for line in table.splitlines():
            yield [each.strip() for each in line.strip("|").split(" | ")]


COMMANDS = [cells for cells in rows() if cells[1] != "-"]
RUN = [cells for cells in COMMANDS if cells[2] == "test"]
STUDY = r"`(python docs/studies/[^`]+ [^`]+)`( \(\d+ min\)|, \d+ s)?"


def test_every_command_is_run_or_has_its_minutes():
    text = PAGE.read_text()
    assert len(RUN) > 15
    for cells in rows():
        assert cells[1] == "-" or re.fullmatch(r"`(dpsan|python docs/studies)[ /][^`]+`", cells[1])
        assert cells[2] in ("test", "-") or re.fullmatch(r"\d+ (s|min)", cells[2]), cells[0]
        assert (cells[1] == "-") == (cells[2] == "-"), cells[0]
        assert cells[5], cells[0]
    for command, minutes in re.findall(STUDY, text):
        assert minutes or any(f"`{command}`" == cells[1] for cells in COMMANDS), command
    for paper in ("TrLap", "Curse", "TLDP", "TGumbel"):
        assert f"## [{paper}]" in text


@pytest.mark.parametrize("cells", RUN, ids=lambda cells: cells[0][:40])
def test_what_a_command_prints(cells, cache, monkeypatch, capsys):
    """The bold figures are in what it prints."""
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    program, *words = shlex.split(cells[1].strip("`"))
    if program == "dpsan":
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        shown = done.stdout
    else:
        script = Path(words[0]).stem
        run(importlib.import_module(script).STUDIES, words[1:], f"{script}.py")
        shown = capsys.readouterr().out
    bold = re.findall(r"\*\*([^*]+)\*\*", cells[4])
    assert bold or cells[5] == "refuted"
    assert set(bold) <= set(re.findall(r"[\w.]+", shown))


@pytest.mark.parametrize("command", [command for command, _ in re.findall(STUDY, PAGE.read_text())])
def test_commands_are_understood(command):
    """Their options and studies exist; slow ones are not run."""
    script, *words = shlex.split(command)[1:]
    parser(importlib.import_module(Path(script).stem).STUDIES, script).parse_args(words)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ag", "robustness"])
def test_a_table_is_what_the_command_prints(name, shared, cache, monkeypatch):
    need_extra("evaluate")
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    monkeypatch.setenv("AG", str(shared / "eval" / "ag_news"))
    monkeypatch.setenv("GLOVE", str(shared / "embeddings" / "glove840B_300d_10k_int8.w2v.txt.gz"))
    written, new = (
        re.sub(r", \d+ s\.", "", each) for each in (papers.part(name), papers.table(name))
    )
    assert new.strip() == written.strip(), f"run python docs/studies/papers.py {name}"


def draw(name, path):
    script = ROOT / "docs" / "studies" / "own.py"
    command = [sys.executable, script, name, "-q", "--plot", str(path), "--force"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("name", [pytest.param("theorems", marks=pytest.mark.slow), "variance"])
def test_a_figure_is_what_the_program_draws(name, tmp_path):
    need_extra("plot")
    draw(name, tmp_path / "new.svg")
    old, new = (path.read_text() for path in (ROOT / f"docs/{name}.svg", tmp_path / "new.svg"))
    caption = r"<dc:description>(.*?)</dc:description>"
    assert re.findall(caption, old, re.S) == re.findall(caption, new, re.S)
    numbers = [re.findall(r"(?<=[ML] )[\d.]+ [\d.]+", each) for each in (old, new)]
    if len(numbers[0]) != len(numbers[1]):
        pytest.skip("LOUD: another version of matplotlib drew the figure, points NOT compared")
    first, second = (np.array([each.split() for each in some], float) for some in numbers)
    assert abs(first - second).max() < 0.5


if __name__ == "__main__":
    for figure in FIGURES:
        draw(figure, ROOT / "docs" / f"{figure}.svg")
