"""A mechanism from a user's file: ``-m own.py:ClassName`` runs, and nobody vouches for it."""

import hashlib
import json
import re

import pytest
from support import ROOT, cases, make_embeddings

from dpsan import Sanitizer
from dpsan.errors import UnprovedError, UsageError
from dpsan.mechanisms import MECHANISMS, registry
from dpsan.mechanisms.randomized_response import KRR
from dpsan.mechanisms.registry import mechanism_class, own_file
from dpsan.outcomes.calibrate import Draft, Target, calibrate
from dpsan.privacy.guarantee import Status
from dpsan.space.metric_space import MetricSpace

OWN = """
from dpsan.mechanisms.randomized_response import KRR
from dpsan.privacy.guarantee import Guarantee, Status

print("this is no sanitized text")

class Mine(KRR):
    name, status, summary, source = "mine", Status.CLAIMED, "as krr", "nowhere"

    def guarantee(self, space):
        return Guarantee(Status.PROVED, self.epsilon / 10)
"""
DIGEST = hashlib.sha256(OWN.encode()).hexdigest()
WORDS = "red 1 0 0\nblue 0 1 0\ngreen 1 1 0\nblack 0 0 2\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "words.txt").write_text(WORDS)
    (tmp_path / "in.txt").write_text("red blue\nblack green\n" * 20)
    return tmp_path


def test_a_class_is_found_by_its_file(folder, capsys):
    path = folder / "own.py"
    kind = mechanism_class(f"{path}:Mine")
    assert issubclass(kind, KRR)
    assert MECHANISMS["mine"] is kind is mechanism_class(f"{path}:Mine")
    assert own_file("mine").sha256 == DIGEST
    assert (own_file("krr"), mechanism_class("krr")) == (None, KRR)
    assert "no sanitized text" not in capsys.readouterr().out
    path.write_text(OWN.replace("as krr", "another"))
    assert mechanism_class(f"{path}:Mine").summary == "another"
    assert MECHANISMS["mine"] is not kind


def test_an_edited_file_does_not_get_the_tables_of_its_older_version(folder):
    """A table that the mechanism asks of the space is kept for the same file only."""
    table = "space.table('mine', lambda: {'x': np.array([1.0])})['x'][0]"
    code = OWN.replace("self.epsilon / 10", f"self.epsilon * {table}")
    code = f"import numpy as np\n{code}"

    def stated(code):
        (folder / "own.py").write_text(code)
        options = {"epsilon": 2, "embeddings": folder / "words.txt", "cache": folder / "cache"}
        made = Sanitizer(f"{folder / 'own.py'}:Mine", allow_unproved=True, **options)
        return made.guarantee.epsilon_ldp

    assert stated(code) == 2
    assert stated(code.replace("[1.0]", "[3.0]")) == 6
    assert stated(code) == 2


def test_it_is_not_proved_by_its_own_word_and_a_worker_refuses_another_file(folder):
    path = folder / "own.py"
    name, options = f"{path}:Mine", {"epsilon": 2, "embeddings": folder / "words.txt"}
    with pytest.raises(UnprovedError, match="mine is CLAIMED, third party, not reviewed: "):
        Sanitizer(name, **options)
    made = Sanitizer(name, allow_unproved=True, **options)
    assert (made.guarantee.status, made.guarantee.reviewed) == (Status.CLAIMED, False)
    assert "stated LDP epsilon" in made.guarantee.summary()
    assert (made.spec.mechanism, made.spec.kind().name) == (name, "mine")
    path.write_text(OWN.replace("Status.CLAIMED", "Status.PROVED"))
    with pytest.raises(UsageError, match=r"own.py: changed after the start"):
        made.spec.kind()
    with pytest.raises(UsageError, match="Mine cannot be PROVED"):
        Sanitizer(name, allow_unproved=True, **options)


def test_calibration_takes_its_word_only_where_that_is_asked_for():
    nothing = type("NoCertificate", (KRR,), {"certificate": lambda self, space: None})
    mine = type("Mine", (nothing,), {"name": "mine", "table": KRR.table})
    registry._OWN["mine"] = mine
    space = MetricSpace(make_embeddings(n=2100, d=2))  # more than are compared cell by cell
    with pytest.raises(UsageError, match="mine has no certified LDP epsilon"):
        calibrate(Draft(mine), space, Target.EPSILON_LDP, 2.0)
    found = calibrate(Draft(mine), space, Target.EPSILON_LDP, 2.0, claims=True)
    assert not found.exact
    with pytest.raises(UsageError, match="no certified LDP epsilon"):
        calibrate(Draft(MECHANISMS["custext"]), space, Target.EPSILON_LDP, 2.0, claims=True)


@cases(
    "text name told",
    (OWN, "absent.py:Mine", "absent.py: no such file"),
    (OWN, "own.py:Nope", "own.py: no class 'Nope' (classes: Mine)"),
    ("x = 1", "own.py:Nope", "own.py: no class 'Nope' (it defines no class)"),
    (OWN, "own.py:KRR", "KRR needs another name (dpsan has one of that name)"),
    (OWN, "own.py:Guarantee", "own.py: Guarantee is no subclass of Mechanism"),
    ("\nimport nope", "own.py:Mine", "own.py:2: cannot import: ModuleNotFoundError: No module..."),
    ("x = (", "own.py:Mine", "own.py:1: cannot import: SyntaxError: '(' was never closed..."),
    ("raise ValueError('secret')", "own.py:Mine", "own.py:1: cannot import: ValueError"),
    ("import sys\nsys.exit(3)", "own.py:Mine", "own.py:2: cannot import: SystemExit"),
)
def test_errors_are_one_line(dpsan, folder, text, name, told):
    (folder / "own.py").write_text(text)
    arguments = ("rewrite", "-q", "-e", "2", "-E", "words.txt", "--allow-unproved")
    done = dpsan(*arguments, "-m", name, stdin=b"red\n", cwd=folder, status=2)
    said = done.stderr.decode().removeprefix("this is no sanitized text\n")
    told = told.replace("...", " (own.py, line 1)" if "Syntax" in told else " named 'nope'")
    assert said == f"dpsan: {told}\n"
    assert b"secret" not in done.stderr + done.stdout


def test_an_error_in_a_file_of_ones_own_is_its_owners(dpsan, folder):
    """Its place is said without its message; the variable shows the rest, with a warning."""
    code = re.sub("return Guarantee.*", "raise KeyError('secret')", OWN)
    (folder / "own.py").write_text(code)
    arguments = ("rewrite", "-q", "-e", "2", "-E", "words.txt", "--allow-unproved")
    given = {"stdin": b"red\n", "cwd": folder}
    plain, shown = (
        dpsan(*arguments, "-m", "own.py:Mine", **given, env=env).stderr
        for env in ({}, {"DPSAN_TRACEBACK": "1"})
    )
    line = 1 + code[: code.index("raise KeyError")].count("\n")
    assert f"own.py:{line}: KeyError (your own, or a package's;".encode() in plain
    assert b"secret" not in plain
    assert b"report" not in plain
    assert b"may contain text" in shown
    assert b"KeyError: 'secret'" in shown


def run(dpsan, folder, *more):
    own = ("-m", "own.py:Mine", "-e", "2", "-E", "words.txt", "--allow-unproved")
    return dpsan("rewrite", *own, *more, cwd=folder)


def test_rewrite_says_whose_it_is(dpsan, folder):
    seeded = ("--seed", "1", "in.txt", "-a", "a.jsonl")
    first = run(dpsan, folder, *seeded)
    assert first.returncode == 0, first.stderr
    assert b"by mine, CLAIMED, third party, not reviewed: LDP epsilon" in first.stderr
    header = json.loads((folder / "a.jsonl").read_text().splitlines()[0])
    assert (header["mechanism"], header["guarantee"]["reviewed"]) == ("mine", False)
    assert header["own"] == {"file": "own.py", "class": "Mine", "sha256": DIGEST}
    workers = run(dpsan, folder, *seeded, "-j", "2", "--force")
    assert (workers.returncode, workers.stdout) == (0, first.stdout), workers.stderr
    told = dpsan("report", "a.jsonl", cwd=folder).stdout.decode()
    assert "the mechanism is third party, not reviewed" in told
    assert f"own sha256{DIGEST}" in "".join(told.split()).replace("ownsha256", "own sha256")
    assert run(dpsan, folder, "in.txt", "-o", "own.py", "--force").returncode == 2
    judged = ("evaluate", "--audit", "a.jsonl", "-E", "words.txt", "in.txt", "out")
    (folder / "out").write_bytes(first.stdout)
    assert dpsan(*judged, "-m", "own.py:Mine", cwd=folder).returncode == 0
    done = dpsan(*judged, cwd=folder)
    assert b"give -m own.py:Mine, the same file" in done.stderr
    assert done.returncode == 2


def test_resume_and_memo_know_the_file(dpsan, folder):
    tree = ("in.txt", "-O", "out", "--resume")
    for text, status in ((OWN, 0), (OWN, 0), (OWN + "\n", 2)):
        (folder / "own.py").write_text(text)
        done = run(dpsan, folder, *tree)
        assert done.returncode == status, done.stderr
    assert b"made with other options" in done.stderr
    (folder / "one.txt").write_text("red blue green black red blue green black\n" * 2)
    other = OWN + "\n"
    for text, told in ((other, b"1 message"), (other, b"0 messages"), (OWN, b"1 message")):
        (folder / "own.py").write_text(text)
        drawn = run(dpsan, folder, "--memo", "memo", "one.txt")
        assert told + b" drawn now" in drawn.stderr


@pytest.mark.slow
def test_other_commands_take_it(dpsan, folder):
    own = ("-m", "own.py:Mine", "-E", "words.txt")
    done = dpsan("explain", "red", *own, "-e", "2", cwd=folder)
    assert b"mine (CLAIMED)\n" in done.stdout
    assert b"third party, not reviewed" in done.stdout
    done = dpsan("verify", *own, "-e", "2", "--allow-unproved", "--draws", "10000", cwd=folder)
    assert b"third party, not reviewed" in done.stdout
    assert done.returncode == 1, done.stdout  # it claims a tenth of what is true
    done = dpsan("calibrate", *own, "--epsilon-ldp", "2", cwd=folder)
    assert b"dpsan rewrite -m own.py:Mine -e 2 " in done.stdout
    compared = ("compare", *own, "-m", "krr", "--epsilon-ldp", "2", "--seeds", "2")
    done = dpsan(*compared, cwd=folder, status=0)
    told = " ".join(done.stdout.decode().split())
    assert "mine: third party, not reviewed; its LDP epsilon is certified for the" in told
    rows = json.loads(dpsan(*compared, "--json", cwd=folder).stdout)["rows"]
    assert [row["status"] for row in rows] == ["third party, not reviewed", "PROVED"]
    assert rows[0]["cosine"] == rows[1]["cosine"]  # the same draws under the same seeds
    done = dpsan(*compared, "-m", f"{folder / 'own.py'}:Mine", cwd=folder)
    assert done.stderr.decode().splitlines()[-1] == "dpsan: --mechanism mine was given twice"


@pytest.mark.slow
def test_a_package_brings_mechanisms(dpsan, folder):
    """It is installed beside dpsan, and its module imports another of its own."""
    site = folder / "site"
    text = "from .scale import TENTH\n" + OWN.replace("self.epsilon / 10", "self.epsilon / TENTH")
    for name, content in {
        "mypack/__init__.py": "",
        "mypack/scale.py": "TENTH = 10\n",
        "mypack/drawn.py": text,
        "mypack-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mypack\nVersion: 1.0\n",
        "mypack-1.0.dist-info/entry_points.txt": "[dpsan.mechanisms]\nmine = mypack.drawn:Mine\n"
        "other = mypack.drawn:Mine\nlost = mypack.lost:X\nnumber = mypack.scale:TENTH\n"
        "krr = mypack.drawn:Mine\n",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(content)

    def run(*arguments):
        return dpsan(*arguments, cwd=folder, env={"PYTHONPATH": f"{site}:{ROOT}"})

    given = ("rewrite", "-e", "2", "-E", "words.txt", "--allow-unproved", "in.txt")
    first = run(*given, "-m", "mine", "--seed", "1", "-a", "a.jsonl")
    assert first.returncode == 0, first.stderr
    assert b"by mine, CLAIMED, third party, not reviewed: LDP epsilon" in first.stderr
    header = json.loads((folder / "a.jsonl").read_text().splitlines()[0])
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert header["own"] == {"file": "drawn.py", "class": "Mine", "sha256": digest}
    workers = run(*given, "-m", "mine", "--seed", "1", "-j", "2")
    assert workers.stdout == first.stdout, workers.stderr
    listed = run("mechanisms").stdout
    assert b"Of other packages, not reviewed: lost, mine, number, other\n" in listed
    explained = run("mechanisms", "mine", f"{site / 'mypack' / 'drawn.py'}:Mine")
    assert explained.returncode == 2  # its import of a neighbour works in a package alone
    explained = run("mechanisms", "mine", "krr")
    assert b"mine (CLAIMED): as krr\n" in explained.stdout, explained.stderr
    own = run("mechanisms", "--json", "own.py:Mine")
    assert json.loads(own.stdout)["name"] == "mine"
    assert run("mechanisms", "lost").stderr.endswith(b"ModuleNotFoundError\n")
    assert run(*given, "-m", "krr").returncode == 0
    for name, told in {
        "other": b"mypack: mypack.drawn:Mine has another name than other",
        "lost": b"mypack: cannot import mypack.lost:X: ModuleNotFoundError",
        "number": b"mypack: mypack.scale:TENTH is no subclass of Mechanism",
        "nobody": b"unknown mechanism 'nobody'",
    }.items():
        done = run(*given, "-m", name)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


BALL = OWN.replace('print("this is no sanitized text")\n', "").replace(
    "    def guarantee",
    '    radius: float = 1.0\n    k: int = 3\n    shape: str = parameter("round", "of it",'
    ' words=("round", "flat"))\n\n    def guarantee',
)


@cases(
    "given told",
    pytest.param([], "", marks=pytest.mark.slow),
    (["-p", "radius=2", "-p", "k=2", "-p", "shape=flat"], ""),
    (["-p", "raduis=2"], "unknown parameter of mine: 'raduis'; did you mean 'radius'?"),
    (["-p", "radius=x"], "radius must be a number (got x)"),
    (["-p", "k=2.5"], "k must be a whole number (got 2.5)"),
    (["-p", "shape=flt"], "shape must be 'round' or 'flat' (got flt)"),
)
def test_parameters_in_a_file_are_as_those_of_dpsan(dpsan, folder, given, told):
    """Issue 60: a plain field or one with a domain; each command takes it, and errors name it."""
    (folder / "own.py").write_text(
        "from dpsan.mechanisms.mechanism import parameter\n" + BALL.replace('"nowhere"', '"me"')
    )
    own = ("-m", "own.py:Mine", *given, "-E", "words.txt")
    epsilon = ("-e", "2")
    for command in (
        ("rewrite", *own, *epsilon, "--allow-unproved", "-q", "-a", "audit", "in.txt"),
        ("explain", *own, *epsilon, "red"),
        ("verify", *own, *epsilon, "--allow-unproved", "--draws", "10000"),
        ("calibrate", *own, "--epsilon-ldp", "2"),
        ("compare", *own, "--epsilon-ldp", "2", "--seeds", "1"),
    ):
        done = dpsan(*command, cwd=folder)
        assert done.stderr.decode() == (f"dpsan: {told}\n" if told else ""), command
        assert done.returncode == (2 if told else command[0] == "verify")
    if given and not told:
        header = json.loads((folder / "audit").read_text().splitlines()[0])
        assert header["parameters"] == {"radius": 2.0, "k": 2, "shape": "flat"}
        done = dpsan("calibrate", *own, "--epsilon-ldp", "2", cwd=folder)
        assert b"-p radius=2 -p k=2 -p shape=flat" in done.stdout
    about = dpsan("mechanisms", "own.py:Mine", cwd=folder, status=0).stdout
    assert b"radius: of its own; a number; default 1.0" in about
