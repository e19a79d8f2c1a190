"""The machine-checked core: its numbers and functions are the program's, and weaker ones fail."""

import json
import random
import re
import shutil
import subprocess

import numpy as np
import pytest
from analysis.test_certificate_file import checked, lines_of, made, sealed, written
from support import ROOT, cases, make_embeddings, tables

from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

COQ = ROOT / "docs" / "coq"
FILES = ["Sampler", "Checker", "Series", "Integers", "Private", "Certificate", "Sparse"]


@pytest.mark.parametrize("epsilon", [4, 8, 12])
def test_the_integers_are_those_of_the_program(epsilon):
    text = (COQ / "Integers.v").read_text()
    proved = re.search(rf"by_integers {epsilon}%Z (\d+)%Z (\d+)%Z", text)
    sampler = Sanitizer(epsilon=float(epsilon)).sampler
    assert [int(each) for each in proved.groups()] == [sampler.scale, sampler.increment]


def draw(b, x, scale, increment, number):
    """``draw`` of Sampler.v, for lists of weights over all outputs."""

    def pick(weights, at):
        return int(np.searchsorted(np.cumsum(weights), at, side="right"))

    more = increment * sum(x)
    return pick(x, number // increment) if number < more else pick(b, (number - more) // scale)


def test_the_draw_is_that_of_the_program():
    """All words, and numbers at every edge of an output; near sets are dense in Sampler.v.

    A near set is stored in the order of nearness: outputs within a branch may come in another
    order than in Sampler.v, and are then the same numbers of numbers.
    """
    space = MetricSpace(make_embeddings(n=12, d=3))
    sampler = OptimalResponse(2.0).prepare(space)
    b = np.zeros(12, dtype=np.int64)
    b[sampler.base.words] = sampler.base.weights
    for word in range(12):
        x = np.zeros(12, dtype=np.int64)
        outputs, masses = sampler.near.row(word)
        x[outputs] = masses
        total = int(sampler.totals(np.array([word]))[0])
        assert total == sampler.scale * int(b.sum()) + sampler.increment * int(x.sum())
        more = sampler.increment * int(x.sum())
        for first, end in ((0, more), (more, total)):
            numbers = np.linspace(first, end - 1, 2000).astype(np.int64)
            ours = sampler.outputs(np.full(len(numbers), word), numbers)
            theirs = [draw(b, x, sampler.scale, sampler.increment, int(n)) for n in numbers]
            if first:  # the base: in the same order
                assert ours.tolist() == theirs
            counts = [np.bincount(each, minlength=12) for each in (ours, theirs)]
            assert np.abs(counts[0] - counts[1]).max() <= 2


def test_every_theorem_is_paired_with_a_line_of_python():
    """proofs.md names each theorem of docs/coq, and what it says exists."""
    page = (ROOT / "docs" / "proofs.md").read_text().split("## 5.")[1]
    named = set(re.findall(r"`(\w+)` \(\w+\.v\)", page))
    source = {name: (COQ / f"{name}.v").read_text() for name in FILES}
    found = re.findall(r"^\s*(?:Theorem|Corollary) (\w+)", "\n".join(source.values()), re.M)
    assert named == {*found}
    assert not [name for name, text in source.items() if "Admitted" in text or "Axiom " in text]
    for path, name in re.findall(r"`(\w[\w/]*\.py)`: `([\w.]+)`", page):
        assert re.search(rf"\b(def|class) {name.split('.')[-1]}\b", (ROOT / path).read_text()), name


def make(*arguments):
    return subprocess.run(["make", *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A copy of the folder, after ``make``; and what that printed."""
    if not shutil.which("coqc"):
        pytest.skip("coqc is not installed")
    folder = shutil.copytree(COQ, tmp_path_factory.mktemp("compiled") / "coq")
    done = make("-C", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.mark.coq
def test_no_axiom_is_in_the_integers(compiled):
    assert compiled[1].count("Closed under the global context") >= 5


@pytest.mark.coq
@cases("file before after", *tables("cases")["weaker"])
def test_a_weaker_checker_no_longer_compiles(file, before, after, compiled, tmp_path):
    folder = shutil.copytree(compiled[0], tmp_path / "coq")
    text = (folder / file).read_text()
    assert before in text
    (folder / file).write_text(text.replace(before, after, 1))
    done = make("-C", folder, f"{file}o")
    assert done.returncode != 0
    line = int(re.search(rf'"./{file}", line (\d+)', done.stderr)[1])
    assert line > 1 + text[: text.index(before)].count("\n")  # a proof fails, not the definition


# -- the checker as a program of OCaml ------------------------------------------------------------


@pytest.fixture(scope="module")
def reader(compiled):
    """The compiled reader."""
    if not shutil.which("ocamlopt"):
        pytest.skip("LOUD: ocamlopt is not installed, the third reader was NOT tested")
    folder, _ = compiled
    assert make("-C", folder, "reader").returncode == 0

    def read(path):
        done = subprocess.run([folder / "reader", path], capture_output=True, text=True)
        assert (done.returncode == 0) == done.stdout.startswith("PROVED: epsilon ")
        assert (done.returncode == 1) == done.stderr.startswith("REJECTED: ")
        return done.returncode == 0, done.stderr

    return read


@pytest.mark.coq
@pytest.mark.parametrize("name", ["krr", "knn-response", "optimal-response"])
def test_the_third_reader_accepts_what_is_true_and_little_more(name, reader, tmp_path):
    """A number that is changed: never accepted where the second reader, which is exact, refuses."""
    path = written(tmp_path / "c.json", made(name))
    assert reader(path) == (True, "")
    lines = lines_of(path)
    chance, refused = random.Random(7), 0
    forged = tmp_path / "forged.json"
    for _ in range(60):
        changed = json.loads(json.dumps(lines))
        numbers = chance.choice([changed[0]["common"], *changed[1:]])
        numbers[chance.randrange(len(numbers))] += chance.choice([-1, 1, 1000, 10**9])
        if chance.random() < 0.3:
            changed[0]["increment"] += chance.choice([1, -1])
        if min(map(min, [changed[0]["common"], *changed[1:]])) < 0:
            continue
        forged.write_bytes(sealed(changed))
        accepted, _ = reader(forged)
        refused += not accepted
        assert not (accepted and checked(forged)[1])
    assert refused > 30


@pytest.mark.coq
def test_the_third_reader_names_what_is_wrong(reader, tmp_path):
    path = written(tmp_path / "c.json", made("optimal-response"))
    first, *rows = lines_of(path)
    forged = tmp_path / "forged.json"
    less = str(float(first["epsilon"]) - 1e-6)
    for claim, others, why in (
        ({"epsilon": less}, rows, "the loss is more than"),
        ({"increment": first["increment"] + 10**6}, rows, "the loss is more than"),
        ({"public": [1]}, rows, "not the form"),
        ({"weights": "rows"}, rows, "not the form"),
        ({"delta": "0.1"}, rows, "no claim known"),
        ({"mechanism": "x\nPROVED"}, rows, "a line is written otherwise"),
        ({"words": first["words"] + 1}, rows, "not a row for every word"),
        ({}, rows[:-1], "not a row for every word"),
        ({}, [[*rows[0], *rows[0]], *rows[1:]], "the rows differ"),
        ({}, [rows[0][:-1], *rows[1:]], "a row without a mass"),
        ({"increment": 10**20}, rows, "an integer out of range"),
    ):
        forged.write_bytes(sealed([{**first, **claim}, *others]))
        accepted, reason = reader(forged)
        assert not accepted
        assert why in reason
    forged.write_bytes(path.read_bytes().replace(b'"public"', b'"words":1,"public"', 1))
    assert "a key stands there twice" in reader(forged)[1]
    forged.write_bytes(path.read_bytes()[:-80])
    assert not reader(forged)[0]
