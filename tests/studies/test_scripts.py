"""Every subcommand of docs/studies on a tiny vocabulary; what all scripts have in common."""

import ast
import csv
import importlib
import io
import json
import shlex
import subprocess
import sys

import pytest
from common.command import main, run
from common.values import dimensions, drafts, numbers, whole
from support import ROOT, cases, make_embeddings, marked, need_extra, tables, write_vectors

from dpsan.errors import DpsanError, ExtraMissingError, UsageError
from dpsan.space.metric_space import MetricSpace

CASES = tables("studies/cases")
MORE = {tuple(name.split()): options for name, options in CASES["small runs"]}

FOLDER = ROOT / "docs" / "studies"
FILES = sorted(FOLDER.rglob("*.py"))
SCRIPTS = ("curse", "own", "tgumbel", "tldp", "trlaplace")
STUDIES = {name: importlib.import_module(name).STUDIES for name in SCRIPTS}
ALL = [(script, name) for script, studies in STUDIES.items() for name in studies]


@pytest.fixture
def folder(tmp_path, monkeypatch, cache):
    """Sixty words and labelled texts of them."""
    write_vectors(tmp_path / "words.txt", make_embeddings())
    texts = (f"word{row % 50} word{row % 7}\t{row % 2}\n" for row in range(20))
    (tmp_path / "texts.tsv").write_text("text\tlabel\n" + "".join(texts))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    return tmp_path


def arguments(script, name):
    """The words of a small run."""
    study = STUDIES[script][name]
    options = MORE[script, name] if MORE[script, name] != "-" else ""
    vectors = "-E words.txt" if study.least_words else ""
    texts = "--train texts.tsv --text text --label label" if "train" in study.parameters else ""
    return f"{name} {options} {vectors} {texts}".split()


@pytest.mark.parametrize("study", marked("slow", ALL, ("tldp", "figures-1-2")), ids="-".join)
@pytest.mark.parametrize("rendered", marked("slow", [False, True], True))
def test_every_study_runs(study, rendered, folder, capsys, monkeypatch):
    """The command in the JSON makes a CSV of the same rows, and a picture.

    Its layout and letters take most of the time: they are made where the test is slow.
    """
    script, name = study
    need_extra("plot")
    if not rendered:
        made = lambda figure, kind, **_: b"<?xml" * bool(figure.axes[0].lines)  # noqa: E731
        monkeypatch.setattr("common.panels.render", made)
    if STUDIES[script][name].libraries:
        need_extra("evaluate")
    words = arguments(script, name)
    run(STUDIES[script], [*words, "--json"], f"{script}.py")
    record = json.loads(capsys.readouterr().out)
    assert (record["name"], len(record["rows"]) > 0) == (name, True)
    assert record["versions"].keys() == {"dpsan", "numpy", "faiss"}
    assert (record["embeddings"] is not None) == ("-E" in words)
    python, path, *again, last = shlex.split(record["command"])
    assert (python, path, last) == ("python", f"docs/studies/{script}.py", "--json")
    run(STUDIES[script], [*again, "--csv", "--plot", "a.svg"], f"{script}.py")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert (folder / "a.svg").read_bytes().startswith(b"<?xml")
    for row, other in zip(rows, record["rows"], strict=True):
        for column, text in row.items():
            value = other.get(column)
            assert text in ("inf", "") if value is None else str(value) == text


def test_small_runs_are_those_of_all_studies():
    assert set(MORE) == set(ALL)
    others = {"bilstm", "estimate", "fluent", "linkage", "papers", "perplexity", "speed"}
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SCRIPTS, *others}


def test_table_and_notes(folder, capsys):
    run(STUDIES["curse"], ["table-2", "-E", "words.txt"], "curse.py")
    out, err = capsys.readouterr()
    shown = [" ".join(out.splitlines()[at].split()) for at in (0, 3)]
    assert shown == ["quantity words mean standard_error p5 p50 p95", "gap_1_101 0 - - - - -"]
    assert "fewer than 102 words" in err
    run(STUDIES["curse"], ["table-2", "-E", "words.txt", "-q"], "curse.py")
    assert capsys.readouterr() == (out, "")


@cases("script words message", *CASES["errors"])
def test_an_error_comes_before_any_output(script, words, message, folder, capsys):
    (folder / "words.svg").write_text("already there")
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(DpsanError, match=message):
        run(STUDIES[script], words.split(), f"{script}.py")
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in folder.iterdir()) == before


@cases(
    "words message",
    ("variance -m laplce", "own.py: unknown mechanism 'laplce'; did you mean"),
    ("nothing", "invalid choice: 'nothing'"),
)
def test_a_mistake_is_one_line_and_status_2(words, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["own.py", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main(STUDIES["own"], "")
    out, told = capsys.readouterr()
    assert (ended.value.code, out, message in told.splitlines()[-1]) == (2, "", True)


def test_a_process_ends_with_one_line_and_a_status(folder):
    command = [sys.executable, FOLDER / "speed.py", "-m", "laplace", "-E", "absent.txt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "speed.py: absent.txt: no such file" in done.stderr.splitlines()[-1]


def test_an_interrupt_leaves_no_picture(folder, monkeypatch, capsys):
    """Whether it can be written is tried before the work; nothing of that is left."""
    need_extra("plot")

    def interrupted(*_, **__):
        assert sorted(folder.iterdir()) == before
        raise KeyboardInterrupt

    before = sorted(folder.iterdir())
    monkeypatch.setattr("common.study.Study.make", interrupted)
    monkeypatch.setattr(sys, "argv", ["own.py", "theorems", "--plot", "a.svg"])
    with pytest.raises(SystemExit) as ended:
        main(STUDIES["own"], "")
    assert ended.value.code == 130
    assert capsys.readouterr().out == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(("script", "name"), [e for e in ALL if STUDIES[e[0]][e[1]].libraries])
def test_a_missing_library_is_an_error_before_the_work(script, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr("common.study.find_spec", lambda _: None)
    study = STUDIES[script][name]
    assert "needs dpsan[evaluate]" in study.summary
    with pytest.raises(ExtraMissingError, match=rf"{name} needs an extra .*evaluate"):
        study.make(MetricSpace(make_embeddings()))


def test_numbers():
    assert numbers(["1,2.5", "0.5", "1"], "x") == (0.5, 1.0, 2.5)
    for wrong in ("0", "-1", "a", "1,,2", "inf", "nan"):
        with pytest.raises(UsageError, match="x must be > 0"):
            numbers([wrong], "x")
    assert (dimensions(None, (3,)), dimensions("50,7", ())) == ((3,), (7, 50))
    for wrong in ("1", "a", "2.5", ""):
        with pytest.raises(UsageError, match="whole numbers"):
            dimensions(wrong, ())
    for wrong in ("0", "6", "x", "1.5"):
        with pytest.raises(UsageError, match="--d must be a whole number from 1 to 5"):
            whole({"d": wrong}, "d", 1, 1, 5)


def test_parameters_go_where_they_belong():
    found = drafts(["knn-response", "gaussian"], {"k": "5", "delta": "1e-3"})
    shown = [(draft.kind.name, dict(draft.values)) for draft in found]
    assert shown == [("knn-response", {"k": "5"}), ("gaussian", {"delta": "1e-3"})]


def test_the_folder_stays_small_and_shadows_nothing():
    # 6,500, and linkage and perplexity, which were parts of dpsan/analysis/evaluate.
    assert sum(len(path.read_text().splitlines()) for path in FILES) <= 7011
    assert len((FOLDER / "speed.py").read_text().splitlines()) <= 250
    names = {path.stem for path in FOLDER.glob("*.py")} | {"common"}
    assert not names & {"dpsan", *sys.stdlib_module_names}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_public_names_of_dpsan_are_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "dpsan":
            parts = {*node.module.split("."), *(each.name for each in node.names)}
            assert not [part for part in parts - {"__version__"} if part.startswith("_")]
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            assert ast.unparse(node.value) == "self" or node.attr.endswith("__"), node.attr
