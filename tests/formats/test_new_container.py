"""CONTRIBUTING, "A new container: three places": one that only this test knows, made at run time.

Nothing outside its module and the line of the registry names it.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from test_docs import format_man, format_names
from toy_container import archive_of

from dpsan.formats.refused_files import REFUSED
from dpsan.formats.registry import FORMATS, Home

HOME = Home("toy_container", "OdtFormat", (".odt",))
LAUNCHER = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
from dpsan.formats.registry import FORMATS, Home
FORMATS["odt"] = Home{tuple(HOME)!r}
from dpsan.cli.guard import main
main()
"""
TEXT = "<office:text><text:p>Here there</text:p><text:p>there</text:p></office:text>"


@pytest.fixture
def run(tmp_path, cache):
    """Run a command of a dpsan that has the container."""
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / "a.odt").write_bytes(archive_of({"content.xml": TEXT}))
    (tmp_path / "b.odt").write_bytes(archive_of({"content.xml": TEXT, "Pictures/1.png": "x"}))

    def call(*arguments):
        return subprocess.run(
            [sys.executable, "-c", LAUNCHER, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "DPSAN_CACHE_DIR": str(cache), "COLUMNS": "100"},
        )

    return call


REWRITE = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt")


def test_it_is_rewritten_although_its_suffix_is_on_the_refused_list(run, tmp_path):
    assert ".odt" in REFUSED
    done = run(*REWRITE, "a.odt", "-o", "out.odt")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.odt").read_bytes() == (tmp_path / "a.odt").read_bytes()


def test_strip_leaves_out_what_it_cannot_rewrite(run, tmp_path):
    done = run(*REWRITE, "b.odt", "-o", "out.odt")
    assert done.returncode == 1
    assert done.stderr == "dpsan: b.odt: holds pictures (--strip leaves them out)\n"
    done = run(*REWRITE, "--strip", "b.odt", "-o", "out.odt")
    assert done.returncode == 0
    assert done.stderr == "dpsan: left out: 1 picture (man dpsan, CONTAINERS)\n"
    assert (tmp_path / "out.odt").read_bytes() == (tmp_path / "a.odt").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--copies 2", "--copies is not for odt (run it several times)"),
        ("--budget 9", "--budget is not for odt: it cannot write a part of a document"),
        ("--spans a.odt", "--spans is not for odt: its records have no numbers"),
        ("-k text", "odt has no --field (with -f: jsonl, json, "),
        ("--encoding cp1252", "odt says its encoding itself (leave out --encoding)"),
        ("-z", "-z is for text and jsonl"),
        ("b.odt", "odt files cannot be joined (-O DIR writes one output for each)"),
        ("-f csv -k 1 --strip", "--strip is for eml, docx and odt"),
    ],
)
def test_options_that_it_does_not_declare_are_refused(run, tmp_path, options, message):
    done = run(*REWRITE, *options.split(), "a.odt", "-o", "out.odt")
    assert done.returncode == 2
    assert done.stderr.startswith(f"dpsan: {message}")
    assert not (tmp_path / "out.odt").exists()


def test_help_man_page_and_readme_name_it(run, monkeypatch):
    assert "|odt" in "".join(run("rewrite", "--help").stdout.split())
    monkeypatch.setitem(FORMATS, "odt", HOME)
    assert ".B odt\n\\&.odt. Takes " in format_man()
    assert format_names().endswith(", odt")


def test_no_module_outside_of_formats_names_a_format():
    package = ROOT / "dpsan"
    others = {*package.rglob("*.py")} - {*(package / "formats").rglob("*.py")}
    named = [
        f"{path}:{node.lineno}"
        for path in others
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in {*FORMATS} - {"text"}
    ]
    assert named == []
