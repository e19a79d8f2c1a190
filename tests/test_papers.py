"""docs/papers.md against the program.  ``python tests/test_papers.py`` draws its figures again."""

import importlib
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import papers
import pytest
from common.command import parser, run
from support import ROOT, marked, need_extra
from typer.testing import CliRunner

from dpsan.cli.app import app

PAGE = ROOT / "docs" / "papers.md"
COMMANDS = [cells for cells in papers.items() if cells[1] != "-"]
RUN = [cells for cells in COMMANDS if cells[2] == "test"]
LONGEST = [cells for cells in RUN if re.search("figures-1-2|theorem-6-1", cells[1])]
"""Of studies that tests of these run on less data."""
STUDY = r"`(python docs/studies/(?!papers|speed|bilstm)[^`]+ [^`]+)`( \(\d+ min\)|, \d+ s)?"


def test_every_command_is_run_or_has_its_minutes():
    text = PAGE.read_text()
    assert len(RUN) > 15
    for cells in papers.items():
        assert cells[1] == "-" or re.fullmatch(r"`(dpsan|python docs/studies)[ /][^`]+`", cells[1])
        assert cells[2] in ("test", "-") or re.fullmatch(r"\d+ (s|min)", cells[2]), cells[0]
        assert (cells[1] == "-") == (cells[2] == "-"), cells[0]
        assert cells[5], cells[0]
        assert cells[1] == "-" or "**" in cells[4], cells[0]  # a figure to compare
    for command, minutes in re.findall(STUDY, text):
        assert minutes or any(f"`{command}`" == cells[1] for cells in COMMANDS), command
        script, *words = shlex.split(command)[1:]  # its options and studies exist
        parser(importlib.import_module(Path(script).stem).STUDIES, script).parse_args(words)
    for paper in ("TrLap", "Curse", "TLDP", "TGumbel"):
        assert f"## [{paper}]" in text


@pytest.mark.parametrize("cells", marked("slow", RUN, *LONGEST), ids=lambda cells: cells[0][:40])
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
    assert bold
    assert set(bold) <= papers.figures_in(shown)


def test_every_numbered_item_has_a_verdict():
    """72: 19, 28, 15 and 10; none is left unread."""
    wanted = set()
    for paper, kinds in papers.NUMBERED.items():
        for name, *numbers in map(str.split, kinds.split(",")):
            wanted |= {(paper, name, number) for number in numbers}
    counts = [sum(each[0] == paper for each in wanted) for paper in papers.NUMBERED]
    assert counts == [19, 28, 15, 10]
    found = [*papers.numbered()]
    assert {each[:3] for each in found} == wanted
    assert all(verdict for *_, verdict in found)
    assert "not read" not in PAGE.read_text()


@pytest.fixture
def data(shared, cache, monkeypatch):
    """The variables that name the real data."""
    need_extra("evaluate")
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    vectors = shared / "embeddings"
    for variable, path in (
        ("AG", shared / "eval" / "ag_news"),
        ("SST2", shared / "eval" / "sst2"),
        ("GLOVE", vectors / "glove840B_300d_10k_int8.w2v.txt.gz"),
        ("GLOVE50", vectors / "glove6B_50d_merged.w2v.txt.gz"),
    ):
        monkeypatch.setenv(variable, str(path))


DATA = [cells for cells in COMMANDS if cells[2] != "test"]


@pytest.mark.long
@pytest.mark.parametrize("cells", DATA, ids=lambda cells: cells[0][:40])
def test_what_a_command_prints_of_real_data(cells, data):
    command, unset = papers.command_of(cells[1])
    assert not unset
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    assert set(re.findall(r"\*\*([^*]+)\*\*", cells[4])) <= papers.figures_in(done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("name", list(papers.COMMANDS))
def test_a_table_is_what_the_command_prints(name, data):
    assert papers.same(papers.part(name), papers.table(name)), "docs/studies/papers.py --write"


def test_a_wrong_figure_on_the_page_is_found(tmp_path, monkeypatch, capsys):
    """What a command does not print fails the run; data that are not there do not."""
    row = "| {} | `dpsan mechanisms{}` | test | - | **{}** | holds |\n"
    page = tmp_path / "papers.md"
    head = "| item | command | time | the paper | here | verdict |\n|---|---|---|---|---|---|\n"
    rows = (("right", "", "krr"), ("no data", " -E $NONE", 1), *[("wrong", "", "krrr")] * 2)
    page.write_text(head + "".join(row.format(*each) for each in rows))
    monkeypatch.setattr(papers, "PAGE", page)
    assert papers.run_all() == 2
    right, none, *wrong = capsys.readouterr().out.splitlines()
    assert "as the page says" in right
    assert "NONE is not set" in none
    assert all("WRONG" in line for line in wrong)
    assert papers.same("x, 10 s.\n", "x, 99 s.")
    assert not papers.same("x .1, 10 s.", "x .2, 10 s.")


def draw(name, path):
    words = [name, "-q", "--plot", str(path), "--force"]
    run(importlib.import_module("own").STUDIES, words, "own.py")


FIGURES = [pytest.param("theorems", marks=pytest.mark.long)]
FIGURES += [pytest.param("variance", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", FIGURES)
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
    for figure in ("theorems", "variance"):
        draw(figure, ROOT / "docs" / f"{figure}.svg")
