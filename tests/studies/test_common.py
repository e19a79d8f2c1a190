"""Studies share figures, random words, grids of epsilon, noise at one guarantee, and pictures."""

import math
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from common import outcomes, sweeps, words
from common.draws import Draws, from_draws
from common.noise import opposite
from common.outcomes import from_pmfs
from common.panels import Panel, Series, draw, kind_of, styles_of
from own import STUDIES
from support import make_embeddings, need_extra

from dpsan.errors import ExtraMissingError, UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.privacy import randomness
from dpsan.space.diameters import clipped, l1_diameter, l2_diameter
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))
KEY = randomness.seeded_key("study tests")
TABLES = ["exponential", "krr", "knn-response", "zipf-response", "geodesic", "tem", "custext"]


def at(name, epsilon=3.0, space=SPACE, **values):
    return MECHANISMS[name].build(epsilon, values).prepare(space)


def test_draws_agree_with_laws():
    """The limits hold what the law says, and not a share of another epsilon."""
    uniform = Draws(SPACE, 20_000, KEY, similar=True)
    for name in ("exponential", "knn-response"):
        drawn, unchanged, close, distant = from_draws(uniform, at(name))
        law, other = from_pmfs(SPACE, np.arange(SPACE.n), [at(name), at(name, 4.5)], similar=True)
        assert unchanged.low < law.unchanged.mean() < unchanged.high
        assert close.low < law.close.mean() < close.high
        assert unchanged.value + close.value + distant.value == pytest.approx(1)
        mean = words.mean_of_words(uniform.cosines(drawn), math.inf, (-1.0, 1.0))
        assert mean.low < law.cosine.mean() < mean.high
        assert not close.low < other.close.mean() < close.high
        assert not mean.low < other.cosine.mean() < mean.high


def test_mean_of_random_words_holds():
    """95 % limits hold the mean of all words about that often; of half the width they do not."""
    values = from_pmfs(SPACE, np.arange(SPACE.n), [at("exponential")])[0].unchanged
    inside = half = 0
    for seed in range(400):
        ids = words.random_words(SPACE.n, 60, randomness.seeded_key(f"words {seed}"))
        assert len(np.unique(ids)) == 60
        found = words.mean_of_words(values[ids], SPACE.n)
        inside += found.low <= values.mean() <= found.high
        half += abs(found.value - values.mean()) <= (found.high - found.low) / 4
    # Binomial(400, .95) is below 350 with probability 2e-9; half the width holds about .68.
    assert inside >= 350
    assert half < 350


def test_all_words_are_without_chance():
    found = words.mean_of_words(np.array([0.1, 0.5, 0.9]), 3)
    assert found.low == found.value == found.high == pytest.approx(0.5)
    assert words.mean_of_words(np.array([0.1]), 3).high == 1
    for count in (0, 9):
        assert (words.random_words(7, count, KEY) == np.arange(7)).all()


def unchanged(name, epsilon, **values):
    return from_draws(Draws(SPACE, 2000, KEY), at(name, epsilon, **values))[1].value


@pytest.mark.parametrize("name", ["laplace", "exponential", "geodesic"])
def test_grids_go_from_changed_to_unchanged(name):
    grid = sweeps.telling_epsilons(Draft(MECHANISMS[name]), SPACE)
    assert list(grid) == sorted(set(grid))
    first, last = (unchanged(name, epsilon) for epsilon in (grid[0], grid[-1]))
    assert first < 0.05 < 0.85 < last


def test_a_grid_ends_where_nothing_changes_any_more():
    """A grid of 16 points has room for few of 300 words, whatever epsilon is."""
    values = {"dimensions": 2, "levels": 4}
    grid = sweeps.telling_epsilons(Draft(MECHANISMS["tldp"], values), SPACE)
    end, beyond = (unchanged("tldp", epsilon, **values) for epsilon in (grid[-1], 8 * grid[-1]))
    assert beyond < 0.2
    assert end > 0.8 * beyond
    assert grid[-1] < 200


def test_epsilons_outside_the_domain_are_noted():
    draft = Draft(MECHANISMS["gaussian-classical"], {"delta": 1e-6})
    (found,), (note,) = sweeps.defined(draft, SPACE, (0.5, 3.0))
    assert (found.epsilon, "epsilon 3" in note) == (0.5, True)
    with pytest.raises(UsageError):
        sweeps.defined(draft, SPACE, (3.0, 4.0))


def test_a_grid_leaves_the_flat_part(monkeypatch):
    """Shares as those of tgumbel-paper, flat up to far out: the search ended there."""

    asked, real = [], Draft.at

    def at(draft, epsilon):
        asked.append(epsilon)
        return real(draft, epsilon)

    def draw(_sampler, ids, _key):
        share = float(np.interp(math.log10(asked[-1]), [4, 6], [0.26, 0.97]))
        return np.where(np.arange(len(ids)) < share * len(ids), ids, -1)

    monkeypatch.setattr(Draft, "at", at)
    monkeypatch.setattr(sweeps, "draw", draw)
    grid = sweeps.telling_epsilons(Draft(MECHANISMS["laplace"]), SPACE, 8)
    assert 9e3 < grid[0] < 2e4
    assert 6e5 < grid[-1] < 1e6


@pytest.mark.parametrize("threads", [1, 3])
def test_all_figures_from_whole_matrices(monkeypatch, threads):
    """Blocks of 32 words and 1 or 3 threads against one matrix, ranks by a sort of distances."""
    monkeypatch.setattr(outcomes, "_CELLS", 32 * SPACE.n)
    monkeypatch.setattr(outcomes, "THREADS", threads)
    samplers = [at(name, 2.0 + i) for i, name in enumerate([*TABLES, "zipf-response"])]
    every = np.arange(SPACE.n)
    found = from_pmfs(SPACE, every, samplers, similar=True)
    vectors = SPACE.vectors.astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.fill_diagonal(apart, -1)
    ranks = np.argsort(np.argsort(apart, axis=1, kind="stable"), axis=1)
    for sampler, out in zip(samplers, found, strict=True):
        law = sampler.probabilities(every)
        assert np.allclose(out.unchanged, np.diag(law), rtol=1e-9)
        close = np.where((ranks >= 1) & (ranks <= 100), law, 0).sum(axis=1)
        assert np.allclose(out.close, close, rtol=1e-9, atol=1e-12)
        assert np.allclose(out.cosine, (law * (unit @ unit.T)).sum(axis=1), atol=1e-5)
        assert np.allclose(out.best, law.max(axis=0), rtol=1e-9)


# Noise at the same guarantee: golden figures, [TLDP] Table V, and the same mechanisms on words.


@pytest.fixture(scope="module")
def unit():
    return STUDIES["variance"].make(epsilons=(1.0, 10.0))


def test_every_point_mechanism_is_there_or_told(unit):
    """Noise that depends on the words has no value in units of C; nor has epsilon > 1 there."""
    found = {(row["mechanism"], row["epsilon_ldp"]) for row in unit.rows}
    names = {name for name, _ in found}
    assert not names & {"mahalanobis", "pte"}
    assert "gaussian-classical has no value at epsilon 10" in " ".join(unit.notes)
    assert ("gaussian-classical", 1.0) in found
    for name, kind in MECHANISMS.items():
        if kind.family != "table":
            assert name in names or any(note.startswith(name) for note in unit.notes)


def test_equal_noise_is_one_line(unit):
    (panel,) = unit.panels
    equal = {"laplace, rank-softmax, vickrey", "clipped-laplace, clipped-laplace-paper, trlaplace"}
    assert equal <= {each.label for each in panel.series}
    refuted = {each.style for each in panel.series if "no such guarantee" in each.label}
    assert refuted == {"dashed"}


@pytest.mark.parametrize("more", [False, True])
def test_fallback_sensitivities(more):
    space = opposite(300, more=more)
    moved, radius = clipped(space, "auto")
    assert (radius, l2_diameter(moved, radius)) == pytest.approx((1, 2), rel=0, abs=1e-6)
    assert l1_diameter(moved, radius) == pytest.approx(2 * 300**0.5, rel=1e-6)


def test_on_a_vocabulary(space):
    """Every row's own mechanism has, on the clipped words, the noise that the row says."""
    result = STUDIES["variance"].make(space, epsilons=(1.0, 8.0), parameters={"clip": "2"})
    names = {row["mechanism"] for row in result.rows}
    assert {"laplace", "mahalanobis", "pte", "gaussian", "clipped-laplace"} <= names
    chosen = {each["name"]: each["parameters"] for each in result.parameters["mechanisms"]}
    moved, _ = clipped(space, 2.0)
    assert moved.diameter < space.diameter
    for row in result.rows:
        mechanism = Draft(MECHANISMS[row["mechanism"]], chosen[row["mechanism"]]).at(row["epsilon"])
        assert mechanism.noise_scale(moved) == row["std"]
        guarantee = mechanism.guarantee(moved)
        if row["status"] == "PROVED":
            assert 0.99 * row["epsilon_ldp"] <= guarantee.epsilon_ldp <= row["epsilon_ldp"] + 1e-9
            assert guarantee.delta <= 1e-6
    assert {each["clip"] for each in chosen.values() if "clip" in each} == {2.0}
    assert "clipped at 2" in result.caption


def test_parameters(space):
    result = STUDIES["variance"].make(epsilons=(1.0,), parameters={"d": "50,100", "delta": "1e-9"})
    assert {row["d"] for row in result.rows} == {50, 100}
    assert len(result.panels) == 2
    assert {row["delta"] for row in result.rows if row["mechanism"] == "gaussian"} == {1e-9}
    for told, given in (
        ("vocabulary's own", {"space": space, "parameters": {"d": "5"}}),
        ("needs a vocabulary", {"parameters": {"clip": "1"}}),
        ("noise scale", {"mechanisms": [Draft(MECHANISMS["krr"])], "epsilons": (1.0,)}),
    ):
        with pytest.raises(UsageError, match=told):
            STUDIES["variance"].make(**given)


@pytest.mark.parametrize("name", [n for n, k in MECHANISMS.items() if k.family == "tensor"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_a_row_has_the_figures_of_one_guarantee(name, epsilon, space):
    """It said epsilon 1 with the delta 3.98e-129 that belongs to epsilon 300."""
    draft = Draft(MECHANISMS[name])
    (row,) = STUDIES["variance"].make(space, mechanisms=[draft], epsilons=(epsilon,)).rows
    guarantee = draft.at(row["epsilon"]).guarantee(space)
    pairs = [(guarantee.epsilon_ldp, guarantee.delta)]
    if name.startswith("tldp-paper"):
        pairs.append((guarantee.at_claim.epsilon, guarantee.at_claim.delta))
        assert row["delta"] == guarantee.at_claim.delta > guarantee.delta * (1 - 1e-9)
    assert row["epsilon_ldp"] == epsilon
    assert any(e <= epsilon and d == row["delta"] for e, d in pairs)


def test_table_v_of_tldp():
    """Expected noise has the factor 1-p; by sigma² = Delta²/(2 epsilon), -g is worse above 4."""
    forms = [Draft(MECHANISMS[f"tldp-paper-{letter}"], {"range": "1"}) for letter in "lg"]
    result = STUDIES["variance"].make(mechanisms=forms, epsilons=(0.01, 1, 3.9, 4.1, 20))
    found = {(row["mechanism"][-1], row["epsilon_ldp"]): row["std"] ** 2 for row in result.rows}
    p = 1 / (1 + 200 * math.exp(0.01 * 299))
    assert p > 2e-4
    assert found["l", 0.01] == pytest.approx((1 - p) * 2 / 0.01**2, rel=1e-9)
    for epsilon in (1, 3.9, 4.1, 20):
        assert found["l", epsilon] == pytest.approx(2 / epsilon**2, rel=1e-9)
        assert found["g", epsilon] == pytest.approx(1 / (2 * epsilon), rel=1e-9)
        assert (found["g", epsilon] > found["l", epsilon]) == (epsilon > 4)


# Pictures: what they hold, that they repeat, what is refused.


LINE = Series("one", (1.0, 2.0, 4.0), (0.1, 0.5, 0.7), (0.05, 0.4, 0.6), (0.2, 0.6, 0.8))
LINES = (
    LINE,
    Series("one, drawn", (1.0, 2.0), (0.1, 0.4), (0.0, 0.3), (0.2, 0.5), style="points"),
    Series("one, bound", (1.0, 4.0), (0.2, 0.9), style="dashed"),
    Series("claimed", (1.0, 4.0), (0.0, 0.0), style="dashed"),
    Series("two", (1.0, 2.0, 4.0), (0.3, float("nan"), float("inf"))),
)
PANEL = Panel("title of the panel", "length (m)", "share", LINES, log_x=True)
PARTS = tuple(Series(f"part {i}", (0.0, 1.0), (0.5, 0.5)) for i in "ab")
OTHER = Panel("parts", "x", "y", PARTS)


def picture(panels=(PANEL, OTHER), kind="svg"):
    return draw(panels, title="a title", caption="a caption of words " * 20, kind=kind)


@pytest.mark.slow
def test_pictures_repeat_and_are_plain():
    """Whatever the user's settings are."""
    need_extra("plot")
    import matplotlib as mpl

    svg, png = picture(), picture(kind="png")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 20, "svg.hashsalt": "other"}):
        assert picture() == svg
        assert picture(kind="png") == png
        assert mpl.rcParams["font.size"] == 20
    text = svg.decode()
    assert "a caption of words" in text  # in the description: what is drawn are paths
    assert not re.search("<dc:date>|<text|<script", text)
    assert re.search(r'<path d="M 0 [\d.]+ \nL [\d.]+ [\d.]+ .*?style="fill: #ffffff"', text, re.S)
    width, height = struct.unpack(">II", png[16:24])
    assert 1200 < width < 2400
    assert 600 < height < 2400


def test_a_series_of_a_line_has_its_colour():
    styles = styles_of((PANEL, OTHER))
    colours = {label: style["color"] for label, style in styles.items()}
    assert colours["one"] == colours["one, drawn"] == colours["one, bound"]
    assert len({colours[name] for name in ("one", "two", "part a", "part b", "claimed")}) == 5
    # Colour, marker and dashes together: also without colours, and for more than seven.
    panel = Panel("", "", "", tuple(Series(f"m{i}", (0.0, 1.0), (0.0, 1.0)) for i in range(20)))
    looks = [(s["color"], s["marker"], str(s["linestyle"])) for s in styles_of((panel,)).values()]
    assert (len(set(looks)), len({look[1:] for look in looks})) == (20, 20)


def test_what_is_refused(monkeypatch):
    need_extra("plot")
    assert kind_of(Path("a.SVG")) == "svg"
    with pytest.raises(UsageError, match="nothing to draw"):
        picture((Panel("", "", "", ()),))
    with pytest.raises(UsageError, match=r"a\.gif: pictures end in"):
        kind_of(Path("a.gif"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraMissingError, match=r"dpsan\[plot\]"):
        kind_of(Path("a.png"))
