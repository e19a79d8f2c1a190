"""The machine-checked core: its numbers and functions are the program's, and weaker ones fail."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from support import ROOT, make_embeddings

from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

COQ = ROOT / "docs" / "coq"
FILES = ["Sampler", "Checker", "Series", "Integers", "Private", "Certificate"]


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
    theorems = {
        theorem
        for text in source.values()
        for theorem in re.findall(r"^\s*(?:Theorem|Corollary) (\w+)", text, re.M)
    }
    assert named == theorems
    assert not [name for name, text in source.items() if "Admitted" in text or "Axiom " in text]
    for path, name in re.findall(r"`(\w[\w/]*\.py)`: `([\w.]+)`", page):
        assert re.search(rf"\b(def|class) {name.split('.')[-1]}\b", (ROOT / path).read_text()), name


needs_coq = pytest.mark.skipif(not shutil.which("coqc"), reason="coqc is not installed")


@needs_coq
def test_the_proofs_compile(tmp_path):
    folder = shutil.copytree(COQ, tmp_path / "coq")
    done = subprocess.run(["make", "-C", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Closed under the global context") >= 5  # no axiom in the integers


WEAKER = {
    "Checker.v": [
        ("(v <=? w) && below", "true && below"),
        ("(v <=? w) && below", "(v <=? S w) && below"),
        ("(C <=? total b) &&", "true &&"),
        ("(total x =? C)) rows", "(total x <=? C)) rows"),
        ("(total x =? C)) rows", "(total x =? C)) (tl rows)"),
    ],
    "Sampler.v": [
        ("r <? a * total x then", "r <=? a * total x then"),
        ("if r <? w then 0", "if r <=? w then 0"),
        ("nat := N - N mod bound", "nat := N"),
    ],
}


@needs_coq
@pytest.mark.parametrize(
    ("file", "before", "after"), [(file, *each) for file, some in WEAKER.items() for each in some]
)
def test_a_weaker_checker_no_longer_compiles(file, before, after, tmp_path):
    folder = shutil.copytree(COQ, tmp_path / "coq")
    text = (folder / file).read_text()
    assert before in text
    (folder / file).write_text(text.replace(before, after, 1))
    done = subprocess.run(["make", "-C", folder, "Certificate.vo"], capture_output=True, text=True)
    assert done.returncode != 0
    line = int(re.search(rf'"./{file}", line (\d+)', done.stderr)[1])
    assert line > 1 + text[: text.index(before)].count("\n")  # a proof fails, not the definition
