"""register: mechanisms of others run as those of dpsan do."""

import dataclasses
import pickle
import re
import runpy

import pytest
from support import ROOT, make_embeddings

from dpsan import Sanitizer, list_mechanisms, register
from dpsan.analysis.compare.comparison import Request, compare
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.cache.store import Store
from dpsan.errors import UnprovedError, UsageError
from dpsan.mechanisms import MECHANISMS, registry
from dpsan.mechanisms.bucket_exponential import BucketExponential
from dpsan.mechanisms.clusant import CluSanT
from dpsan.mechanisms.krr import KRR
from dpsan.mechanisms.samplers.cluster_response import ClusterResponseSampler
from dpsan.outcomes.calibrate import Draft, Target, calibrate
from dpsan.privacy.certificate import certify
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.space.cached_index import space_of
from dpsan.space.metric_space import _MECHANISM_TABLES

_SHOWN = {"verify": (2.0, 8.0), "explain": (0.005, 0.1), "compare": (0.05, 0.3)}
"""What the example prints lies between these, whatever the 500 most frequent words are."""


@pytest.fixture(autouse=True)
def _as_before():
    before = dict(registry._OWN)
    yield
    registry._OWN.clear()
    registry._OWN.update(before)


@dataclasses.dataclass(frozen=True)
class Toy(KRR):
    name = "toy"
    status = Status.CLAIMED


def test_registered_runs_under_its_name():
    assert "toy" not in MECHANISMS
    assert register(Toy) is Toy
    assert MECHANISMS["toy"] is Toy
    assert list(MECHANISMS)[-1] == "toy"
    assert len(MECHANISMS) == len(list(MECHANISMS)) == len(registry.TABLE) + 1
    assert list_mechanisms()[-1]["status"] == "CLAIMED"
    options = {"epsilon": 2, "embeddings": make_embeddings()}
    words = options["embeddings"].index_to_key
    with pytest.raises(UnprovedError, match="toy is CLAIMED"):
        Sanitizer("toy", **options)
    sanitizer = Sanitizer("toy", allow_unproved=True, **options)
    assert pickle.loads(pickle.dumps(sanitizer)).rewrite(["word3"])[0].lower() in words
    assert verify(sanitizer, words=10, draws=2000).verdict is Verdict.KEPT


def test_a_guarantee_cannot_be_proved_by_saying_so():
    @register
    @dataclasses.dataclass(frozen=True)
    class Bold(Toy):
        name = "bold"

        def guarantee(self, space):
            return Guarantee(Status.PROVED, 1e-3)

        def certificate(self, space):
            return None

    options = {"epsilon": 2, "embeddings": make_embeddings()}
    with pytest.raises(UnprovedError, match="bold is CLAIMED"):
        Sanitizer("bold", **options)
    sanitizer = Sanitizer("bold", allow_unproved=True, **options)
    assert sanitizer.guarantee.status is Status.CLAIMED
    assert verify(sanitizer, words=10, draws=2000).verdict is not Verdict.KEPT


def test_no_certificate_is_that_of_yesterdays_code(tmp_path):
    """Registered again with more noise or less: nothing is taken from the cache of the other."""
    made = []
    for factor in (1.0, 3.0):

        @register
        @dataclasses.dataclass(frozen=True)
        class Mine(CluSanT):
            name = "mine"
            status = Status.CLAIMED

            def prepare(self, space, factor=factor):
                clusters = self.clusters(space)
                return ClusterResponseSampler(space, clusters, 0.5 * self.epsilon * factor)

        made.append(
            Sanitizer(
                "mine",
                epsilon_ldp=2.0,
                parameters={"k": 4},
                embeddings=make_embeddings(n=60, d=4),
                allow_unproved=True,
                cache=tmp_path,
            )
        )
        certificate = certify(made[-1].mechanism, made[-1].space)
        assert certificate.epsilon_ldp <= 2.0
    assert made[1].mechanism.epsilon < made[0].mechanism.epsilon / 1.5


@pytest.mark.parametrize("how", ["calibrate", "compare"])
def test_nothing_else_takes_tables_of_yesterdays_code(tmp_path, how):
    """Without a sanitizer, on a space with a cache: each run is of the code that is there."""
    embeddings = make_embeddings(n=60, d=4)
    found = []
    for factor in (1.0, 3.0):

        @register
        @dataclasses.dataclass(frozen=True)
        class Mine(CluSanT):
            name = "mine"
            status = Status.CLAIMED

            def prepare(self, space, factor=factor):
                clusters = self.clusters(space)
                return ClusterResponseSampler(space, clusters, 0.5 * self.epsilon * factor)

        space = space_of(embeddings, Store(tmp_path / "cache"))
        draft = Draft(Mine, {"k": 4})
        if how == "calibrate":
            found.append(calibrate(draft, space, Target.EPSILON_LDP, 2.0).mechanism.epsilon)
        else:
            made = compare(Request([draft], [2.0], seeds=2), embeddings, space)
            found.append([row.epsilon for row in made.rows])
    kept = [each.name for each in (tmp_path / "cache").rglob("*") if "mine" in each.name.lower()]
    assert kept == []
    assert found[0] != found[1]


def test_every_table_about_a_mechanism_is_known_as_one():
    """Tables are named in the code: one with a mechanism's name or key in it begins like this."""
    sources = "\n".join(path.read_text() for path in (ROOT / "dpsan").rglob("*.py"))
    names = re.findall(
        r'f"([a-z-]+-)(?:[0-9]-)?(?:\{target\}-)?\{(?:mechanism|draft\.kind)\.name', sources
    )
    names += re.findall(r'table\(f"([a-z-]+-)[^"]*\{self!r\}', sources)
    assert {"observer-", "extremes-", "calibrated-", "half-linked-"} <= set(names)
    for name in names:
        if name != "rows-":
            assert name.startswith(_MECHANISM_TABLES), name


def test_registered_again_is_replaced():
    register(Toy)
    other = dataclasses.dataclass(frozen=True)(type("Other", (Toy,), {"summary": "another"}))
    assert register(other) is MECHANISMS["toy"] is other


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"name": "krr"}, "needs another name"),
        ({"name": "My Own"}, "needs another name"),
        ({"name": ""}, "needs the class attribute name"),
        ({"summary": ""}, "needs the class attribute summary"),
        ({"family": "tables"}, "family is one of point, table, tensor"),
        ({"epsilon_unit": "bits"}, "epsilon_unit is 1/distance or nats"),
        ({"status": Status.PROVED}, "cannot be PROVED"),
        ({"status": "claimed"}, "cannot be claimed"),
    ],
)
def test_wrong_attributes(attributes, message):
    kind = dataclasses.dataclass(frozen=True)(type("Wrong", (Toy,), attributes))
    with pytest.raises(UsageError, match=message):
        register(kind)
    assert "toy" not in MECHANISMS


def test_wrong_classes():
    from dpsan.mechanisms.base import Mechanism

    with pytest.raises(UsageError, match="takes a subclass of Mechanism"):
        register(dict)
    with pytest.raises(UsageError, match="takes a subclass of Mechanism"):
        register(Toy(1.0))
    with pytest.raises(UsageError, match="has no guarantee and no prepare"):
        register(type("Empty", (Mechanism,), {"name": "empty"}))
    with pytest.raises(UsageError, match="must be a frozen dataclass"):
        register(type("Plain", (Toy,), {"name": "plain"}))


@pytest.mark.parametrize("kind", [CluSanT, BucketExponential])
def test_verify_refutes_what_was_published(kind):
    """The same distributions with epsilon as their guarantee, as the papers claim it."""

    @register
    @dataclasses.dataclass(frozen=True)
    class Published(kind):
        name = f"{kind.name}-published"
        status = Status.CLAIMED

        def guarantee(self, space):
            claimed = super().guarantee(space).claimed
            return Guarantee(self.status, self.epsilon, claimed=claimed, why="the paper's claim")

    options = {"epsilon": 1.0, "embeddings": make_embeddings(n=60, d=4), "parameters": {}}
    if kind is CluSanT:
        options["parameters"] = {"k": 4}
    found = verify(Sanitizer(kind.name, **options), words=20, draws=2000)
    assert found.verdict is Verdict.KEPT
    assert found.certified > 1.1
    published = Sanitizer(Published.name, allow_unproved=True, **options)
    found = verify(published, words=20, draws=2000)
    assert (found.verdict, found.claimed.epsilon) == (Verdict.VIOLATED, 1.0)


def test_the_example_runs(cache, capsys, monkeypatch):
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    runpy.run_path(str(ROOT / "docs" / "own_mechanism.py"), run_name="__main__")
    shown = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert list(shown) == ["rewrite", "verify", "explain", "evaluate", "compare"]
    figures = {name: float(line.split()[-1]) for name, line in shown.items() if name in _SHOWN}
    for name, (low, high) in _SHOWN.items():
        assert low < figures[name] < high, name
    assert shown["verify"].startswith("kept, exact epsilon ")
    text = (ROOT / "docs" / "own_mechanism.py").read_text()
    assert text.count("\n") <= 60
