"""Every registered mechanism keeps one contract, also one of somebody else."""

import dataclasses
import pickle
import re
import runpy
from contextlib import contextmanager

import numpy as np
import pytest
from line_laws import counts, losses, off
from support import ROOT, at_first_epsilon, cases, fits, make_embeddings, marked, streams

from dpsan import Sanitizer, list_mechanisms, register
from dpsan.analysis.compare import Request, compare
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.store import Store
from dpsan.embeddings.words import WATCH
from dpsan.errors import UnprovedError, UsageError
from dpsan.mechanisms import DEFAULT_MECHANISM, MECHANISMS, registry
from dpsan.mechanisms.exponential import BucketExponential
from dpsan.mechanisms.mechanism import Mechanism, certify
from dpsan.mechanisms.published import CluSanT
from dpsan.mechanisms.randomized_response import KRR
from dpsan.outcomes.calibrate import Draft, Target, calibrate
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.sanitize import settings
from dpsan.space.cached_index import space_of
from dpsan.space.diameters import smallest_distance
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=40, d=4))


@pytest.fixture(params=list(MECHANISMS))
def mechanism(request):
    """With the examples of its required parameters, at an epsilon in its domain."""

    def built(name, epsilon, parameters):
        made = MECHANISMS[name].build(epsilon, parameters)
        made.guarantee(SPACE)
        return made

    return at_first_epsilon(request.param, built)


def test_registry(mechanism):
    assert settings.DEFAULT_MECHANISM == DEFAULT_MECHANISM in MECHANISMS
    assert MECHANISMS[mechanism.name] is type(mechanism)
    assert mechanism.family in ("point", "table", "tensor")
    assert mechanism.epsilon_unit in ("1/distance", "nats")
    assert all((mechanism.summary, mechanism.source, isinstance(mechanism.status, Status)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 3.0


def test_parameters_are_documented_and_have_a_domain(mechanism):
    for name, about in mechanism.parameters().items():
        assert all((about.help, about.domain())), name
        step = 1 if about.convert is int else 0.001
        limits = [about.low - step, about.high + step, about.above]
        for bad in (*(each for each in limits if np.isfinite(each)), float("nan"), True):
            with pytest.raises(UsageError, match=f"{name} must be"):
                dataclasses.replace(mechanism, **{name: bad})
        with pytest.raises(UsageError, match=name):
            dataclasses.replace(mechanism, **{name: "no such word"}).prepare(SPACE)
    with pytest.raises(UsageError):
        type(mechanism).build(1.0, {"no_such_parameter": "1"})


def test_bad_epsilon(mechanism):
    """Only uniform, whose true epsilon is 0, takes 0."""
    for bad in (*[0] * (mechanism.name != "uniform"), -1, float("nan"), float("inf"), True, "3"):
        with pytest.raises(UsageError, match="epsilon must be"):
            dataclasses.replace(mechanism, epsilon=bad)


def test_guarantee(mechanism):
    guarantee = mechanism.guarantee(SPACE)
    assert isinstance(guarantee, Guarantee)
    assert guarantee.status == mechanism.status
    assert all((guarantee.why, guarantee.source))
    values = [guarantee.epsilon(distance) for distance in (0, 0.0, 0.1, 1.0, 2.0, 10.0, np.inf)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, guarantee.epsilon_ldp)
    assert 0 <= guarantee.delta <= 1
    assert 0 <= guarantee.infinite_loss_mass <= 1
    if guarantee.status is Status.PROVED:
        assert np.isfinite(guarantee.epsilon_ldp)
        assert guarantee.infinite_loss_mass <= guarantee.delta
        assert guarantee.metric or guarantee.epsilon_metric is None


def test_shapes_and_range(mechanism):
    sampler = mechanism.prepare(SPACE)
    ids = np.arange(SPACE.n + 1)  # every word and ⊥
    out = sampler.sample(ids, streams(len(ids)))
    assert (out.shape, out.dtype) == (ids.shape, np.int64)
    assert ((out >= 0) & (out < SPACE.n)).all()
    assert sampler.sample(ids[:0], streams(0)).shape == (0,)


def test_same_streams_same_output(mechanism):
    """From a new sampler, from a pickled one, and for each record of ten words alone."""
    ids = np.tile(np.arange(SPACE.n + 1), 5)[:200]
    sampler = mechanism.prepare(SPACE)
    first = sampler.sample(ids, streams(200))
    again, copy = pickle.loads(pickle.dumps((mechanism, sampler)))
    assert again == mechanism
    assert (first == again.prepare(SPACE).sample(ids, streams(200))).all()
    assert (first == copy.sample(ids, streams(200))).all()
    parts = [(ids[at : at + 10], streams(10, first=at // 10)) for at in range(0, 200, 10)]
    assert (first == np.concatenate([sampler.sample(*part) for part in parts])).all()
    if mechanism.name not in ("custext", "santext-plus"):  # small sets: may agree
        assert (first != sampler.sample(ids, streams(200, key=b"j" * 32))).any()


def test_samples_follow_the_law(mechanism):
    """And not one that is 30 % off: test files of single mechanisms have those without a law."""
    words = np.array([0, 7, SPACE.n])
    law = mechanism.prepare(SPACE).probabilities(words)
    if law is None:
        pytest.skip(f"{mechanism.name} has no exact law here")
    assert law.shape == (3, SPACE.n)
    assert law.sum(axis=1) == pytest.approx(1, abs=1e-9)
    for word, row in zip(words.tolist(), law, strict=True):
        observed = counts(mechanism, SPACE, word)
        assert fits(observed, row)
        if (row > 0).sum() > 1 and row.max() < 0.9:
            assert not fits(observed, off(row))


def test_law_keeps_the_guarantee(mechanism):
    """Every pair of inputs, ⊥ included, on the exact law."""
    guarantee = mechanism.guarantee(SPACE)
    law = mechanism.prepare(SPACE).probabilities(np.arange(SPACE.n + 1))
    if law is None or guarantee.status is not Status.PROVED or guarantee.delta > 0:
        pytest.skip(f"{mechanism.name} has no exact law or no pure guarantee")
    positive = law[:, (law > 0).any(axis=0)]
    assert (positive > 0).all(), "supports differ"
    loss = losses(law)
    assert loss.max() <= guarantee.epsilon_ldp + 1e-9
    if guarantee.metric == "euclidean":
        points = SPACE.points(np.arange(SPACE.n))
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        bound = guarantee.epsilon_metric * distances + guarantee.slack
        assert (loss[:-1, :-1] <= bound + 1e-9).all()


# What is made once for a vocabulary shows how much of it is done.


@pytest.fixture
def watched():
    """A space, and what was shown with the shares that were told of each."""
    shown = []

    @contextmanager
    def watch(what):
        shown.append((what, []))
        yield shown[-1][1].append

    before = WATCH.set(watch)
    yield MetricSpace(make_embeddings(n=1100)), shown
    WATCH.reset(before)


@cases(
    "name parameters expected",
    ("knn-response", {}, {"comparing numbers of outputs", "finding near words"}),
    ("custext", {}, {"grouping similar words"}),
    ("clusant", {}, {"grouping similar words"}),
    ("geodesic", {"k": 1}, {"finding near words", "joining near words"}),
    ("diffractor", {}, {"finding near words", "putting words in order"}),
    ("exponential", {}, {"comparing words far out"}),
    ("clipped-laplace", {}, {"comparing words far out"}),
    ("mahalanobis", {}, {"comparing words far out", "moving words"}),
    ("tldp", {}, {"finding directions of variance", "moving words"}),
    ("pte", {"dimensions": 2}, {"comparing distances of all words"}),
)
def test_tables_show_how_much_is_done(name, parameters, expected, watched):
    space, shown = watched
    mechanism = MECHANISMS[name].build(8.0, parameters).resolved(space)
    mechanism.guarantee(space)
    mechanism.prepare(space)
    assert expected <= {name for name, _ in shown}
    for _, told in shown:
        assert told == sorted(told)
        assert told[0] >= 0
        assert 0.8 < told[-1] <= 1


def test_near_words_of_an_index_show_how_much_is_done(watched):
    space, shown = watched
    space.nearest_distances()
    smallest_distance(space)
    names = ["finding the nearest word of each", "looking for the nearest two words"]
    assert [(name, told[-1]) for name, told in shown] == [(name, 1.0) for name in names]


# register: mechanisms of others run as those of dpsan do.


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
    assert sum(len(named.findall(source)) for source in found) >= 3
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


@pytest.mark.parametrize("kind", marked("slow", [CluSanT, BucketExponential], CluSanT))
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
