"""CONTRIBUTING, "A new container": one that only this test knows, made at run time."""

import ast
from pathlib import Path

import pytest
from support import ROOT, launched
from test_docs import format_man, format_names
from toy_container import archive_of

from dpsan.formats.registry import FORMATS, REFUSED, Home

HOME = Home("toy_container", "OdtFormat", (".odt",))
CHANGE = f"""
sys.path.append({str(Path(__file__).parent)!r})
from dpsan.formats.registry import FORMATS, Home
FORMATS["odt"] = Home{tuple(HOME)!r}
"""
TEXT = "<office:text><text:p>Here there</text:p><text:p>there</text:p></office:text>"


@pytest.fixture
def run(folder, cache):
    """Run commands of a dpsan that has the container: what they say and their statuses."""
    (folder / "a.odt").write_bytes(archive_of({"content.xml": TEXT}))
    (folder / "b.odt").write_bytes(archive_of({"content.xml": TEXT, "Pictures/1.png": "x"}))

    def call(*commands):
        return launched(folder, CHANGE, *commands, DPSAN_CACHE_DIR=str(cache), COLUMNS="100")

    return call


REWRITE = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt")


def test_it_is_rewritten_without_what_it_cannot_rewrite(run, folder, monkeypatch):
    """Although its suffix is on the list of refused files; help, man page and README name it."""
    assert ".odt" in REFUSED
    done = run(
        [*REWRITE, "a.odt", "-o", "out.odt"],
        [*REWRITE, "--strict", "b.odt", "-o", "none.odt"],
        [*REWRITE, "b.odt", "-o", "stripped.odt"],
        ["rewrite", "--help"],
    )
    assert [(status, told) for status, _, told in done] == [
        (0, ""),
        (1, "dpsan: b.odt: holds pictures (without --strict or -i they are left out)\n"),
        (0, "dpsan: left out: 1 picture (man dpsan, CONTAINERS)\n"),
        (0, ""),
    ]
    for name in ("out.odt", "stripped.odt"):
        assert (folder / name).read_bytes() == (folder / "a.odt").read_bytes()
    assert not (folder / "none.odt").exists()
    assert "|odt" in "".join(done[3][1].split())
    monkeypatch.setitem(FORMATS, "odt", HOME)
    assert ".B odt\n\\&.odt. Takes " in format_man()
    assert format_names().endswith(", odt")


REFUSALS = {
    "--copies 2": "--copies is not for odt (run it several times)",
    "--budget 9": "--budget is not for odt: it cannot write a part of a document",
    "--spans a.odt": "--spans is not for odt: its records have no numbers",
    "-k text": "odt has no --field (with -f: jsonl, json, ",
    "--encoding cp1252": "odt says its encoding itself (leave out --encoding)",
    "b.odt": "odt files cannot be joined (-O DIR writes one output for each)",
    "-f csv -k 1 --strict": "--strict is for eml, docx and odt",
}


def test_options_that_it_does_not_declare_are_refused(run, folder):
    done = run(*([*REWRITE, *each.split(), "a.odt", "-o", "out.odt"] for each in REFUSALS))
    for (status, _, told), message in zip(done, REFUSALS.values(), strict=True):
        assert status == 2
        assert told.startswith(f"dpsan: {message}")
    assert not (folder / "out.odt").exists()


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
