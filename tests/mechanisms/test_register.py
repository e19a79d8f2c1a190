"""register: mechanisms of others run as those of dpsan do."""

import pickle
import re
import runpy

import numpy as np
import pytest
from support import ROOT, cases, make_embeddings

from dpsan import Sanitizer, list_mechanisms, register
from dpsan.analysis.compare.comparison import Request, compare
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.cache.store import Store
from dpsan.errors import UnprovedError, UsageError
from dpsan.mechanisms import MECHANISMS, registry
from dpsan.mechanisms.base import Mechanism, certify
from dpsan.mechanisms.bucket_exponential import BucketExponential
from dpsan.mechanisms.clusant import CluSanT
from dpsan.mechanisms.krr import KRR
from dpsan.outcomes.calibrate import Draft, Target, calibrate
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.space.cached_index import space_of


class Toy(KRR):
    name = "toy"
    status = Status.CLAIMED


def test_registered_runs_under_its_name():
    assert "toy" not in MECHANISMS
    assert register(Toy) is Toy is MECHANISMS["toy"]
    assert list(MECHANISMS)[-1] == "toy"
    assert len(MECHANISMS) == len(list(MECHANISMS)) == len(registry.NAMES) + 1
    assert list_mechanisms()[-1]["status"] == "CLAIMED"
    options = {"epsilon": 2, "embeddings": make_embeddings()}
    with pytest.raises(UnprovedError, match="toy is CLAIMED"):
        Sanitizer("toy", **options)
    sanitizer = Sanitizer("toy", allow_unproved=True, **options)
    (written,) = pickle.loads(pickle.dumps(sanitizer)).rewrite(["word3"])
    assert written.lower() in options["embeddings"].index_to_key
    assert verify(sanitizer, words=10, draws=2000).verdict is Verdict.KEPT


def registered(factor):
    """Under one name, with more noise or less."""

    @register
    class Mine(CluSanT):
        name = "mine"
        status = Status.CLAIMED

        def prepare(self, space):
            return CluSanT(self.epsilon * factor, k=self.k).prepare(space)

    return Draft(Mine, {"k": 4})


@pytest.mark.parametrize("how", ["sanitize", "calibrate", "compare"])
def test_nothing_takes_tables_of_yesterdays_code(tmp_path, how):
    """On a space with a cache: each run is of the code that is there."""
    embeddings, cache, found = make_embeddings(n=60, d=4), tmp_path / "cache", []
    for draft in map(registered, (1.0, 3.0)):
        space = space_of(embeddings, Store(cache))
        if how == "sanitize":
            options = {"parameters": {"k": 4}, "embeddings": embeddings, "allow_unproved": True}
            made = Sanitizer("mine", epsilon=2.0, cache=cache, **options)
            found.append(1 / certify(made.mechanism, made.space).epsilon_ldp)
        elif how == "calibrate":
            found.append(calibrate(draft, space, Target.EPSILON_LDP, 2.0).mechanism.epsilon)
        else:
            (row,) = compare(Request([draft], [2.0], seeds=2), embeddings, space).rows
            found.append(row["epsilon_nats"] or row["epsilon_per_distance"])
    assert not [each for each in cache.rglob("*") if "mine" in each.name.lower()]
    assert found[1] < found[0] / 1.5


@pytest.mark.parametrize(("file", "of_mechanism", "kept"), [
    ("", False, True), ("", True, True), ("ab", False, True), ("ab", True, False),
    (None, False, False), (None, True, False),
])  # fmt: skip
def test_which_tables_are_kept_for_whom(tmp_path, file, of_mechanism, kept):
    """Nothing for code that nobody knows; nothing about mechanisms for a file, which may import."""
    made = []

    def build():
        made.append(1)
        return {"a": np.zeros(1)}

    for _ in range(2):
        space = space_of(make_embeddings(n=60, d=4), Store(tmp_path))
        space = space.for_code_that_changes(file) if file != "" else space
        for part in (space, space.transformed("moved", space.vectors)):
            part.table("mine", build, of_mechanism=of_mechanism)
    assert len(made) == (2 if kept else 4)
    dpsans = space_of(make_embeddings(n=60, d=4), Store(tmp_path))
    before = len(made)
    dpsans.table("mine", build)
    assert (len(made) == before) == (file == "")


def test_every_table_about_a_mechanism_says_so():
    """A table with a mechanism's name in its own is kept for code of dpsan only."""
    named = re.compile(r'f"[a-z-]+-[0-9]-[^"]*\{(?:mechanism|draft\.kind)\.name')
    sources = [path.read_text() for path in (ROOT / "dpsan").rglob("*.py")]
    found = [source for source in sources if named.search(source)]
    assert len(found) >= 4
    for source in found:
        assert source.count("of_mechanism=True") >= len(named.findall(source))


def wrong(**attributes):
    return type("Wrong", (Toy,), attributes)


@cases(
    "kind message",
    (wrong(name="krr"), "needs another name"),
    (wrong(name="My Own"), "needs another name"),
    (wrong(name=""), "needs the class attribute name"),
    (wrong(summary=""), "needs the class attribute summary"),
    (wrong(family="tables"), "family is one of point, table, tensor"),
    (wrong(epsilon_unit="bits"), "epsilon_unit is 1/distance or nats"),
    (wrong(status=Status.PROVED), "cannot be PROVED"),
    (wrong(status="claimed"), "cannot be claimed"),
    (dict, "takes a subclass of Mechanism"),
    (Toy(1.0), "takes a subclass of Mechanism"),
    (type("Empty", (Mechanism,), {"name": "empty"}), "has no guarantee and no table"),
)
def test_wrong_classes(kind, message):
    with pytest.raises(UsageError, match=message):
        register(kind)
    assert len(MECHANISMS) == len(registry.NAMES)


@pytest.mark.parametrize("kind", [CluSanT, BucketExponential])
def test_verify_refutes_what_was_published(kind):
    """The same distributions with epsilon as their guarantee, as the papers claim it."""

    @register
    class Published(kind):
        name = f"{kind.name}-published"
        status = Status.CLAIMED

        def guarantee(self, space):
            claimed = super().guarantee(space).claimed
            return Guarantee(self.status, self.epsilon, claimed=claimed, why="the paper's claim")

    options = {"parameters": {"k": 4} if kind is CluSanT else {}, "allow_unproved": True}
    embeddings = make_embeddings(n=60, d=4)
    published = Sanitizer(Published.name, epsilon=1.0, embeddings=embeddings, **options)
    found = verify(published, words=20, draws=2000)
    assert (found.verdict, found.claimed.epsilon) == (Verdict.VIOLATED, 1.0)
    assert found.certified > 1.1


@pytest.mark.slow
def test_the_example_runs(cache, capsys, monkeypatch):
    """What it prints lies between these, whatever the 500 most frequent words are."""
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    example = ROOT / "docs" / "own_mechanism.py"
    runpy.run_path(str(example), run_name="__main__")
    shown = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert list(shown) == ["rewrite", "verify", "explain", "evaluate", "compare"]
    for name, low, high in (("verify", 2, 8), ("explain", 0.005, 0.1), ("compare", 0.05, 0.3)):
        assert low < float(shown[name].split()[-1]) < high, name
    assert shown["verify"].startswith("kept, exact epsilon ")
    assert example.read_text().count("\n") <= 60
