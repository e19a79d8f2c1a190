"""Refuted claims of [TrLap], [TLDP] and [TGumbel]: golden numbers of docs/proofs.md 3."""

import itertools
import math

import numpy as np
import own
import pytest
import tgumbel
import tldp
import trlaplace
from scipy import integrate, stats
from scipy.special import lambertw
from support import make_embeddings, need_extra, streams

from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.tldp_paper import LAPLACE, keep_probability
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))


def test_gaussian_baseline_of_trlap():
    """Theorem 2 holds up to epsilon 1; its formula is false from 16.9 on, at delta 4^-300."""
    mp = pytest.importorskip("mpmath").mp
    wanted = mp.mpf(4) ** -300

    def true_over_claimed(epsilon):
        mu = epsilon / mp.sqrt(2 * mp.log(mp.mpf("1.25") / wanted))
        tail = mp.erfc((epsilon / mu - mu / 2) / mp.sqrt(2)) / 2
        other = mp.erfc((epsilon / mu + mu / 2) / mp.sqrt(2)) / 2
        return (tail - mp.exp(epsilon) * other) / wanted

    with mp.workdps(60):
        for row in trlaplace.STUDIES["theorem-2"].make().rows:
            exact = true_over_claimed(mp.mpf(row["epsilon"]))
            assert row["ratio"] == pytest.approx(float(exact), rel=1e-6)
            assert (row["ratio"] > 1) == (row["epsilon"] > 16.9)
        assert true_over_claimed(mp.mpf("16.8")) < 1 < true_over_claimed(mp.mpf("17.0"))


def test_theorem_4_of_trlap_holds():
    """Standard deviations by the paper's formulas alone, at every epsilon of its tables."""
    for epsilon, d in ((0.05, 300), (0.5, 300), (1, 300), (5, 300), (10, 500), (20, 1700)):
        alpha, root = epsilon / (2 * math.sqrt(d)), 1 / 4
        reach = -math.log1p(-epsilon / (2 * root * math.sqrt(d))) / alpha
        x = np.linspace(0, reach, 400_001)
        density = np.exp(-alpha * x)
        truncated = math.sqrt(np.trapezoid(x**2 * density, x) / np.trapezoid(density, x))
        laplace = math.sqrt(2) * 2 * math.sqrt(d) / epsilon
        gaussian = 2 * math.sqrt(2 * (math.log(1.25) + d * math.log(4))) / epsilon
        assert truncated < laplace < gaussian
        asked = {"epsilons": (epsilon,), "parameters": {"d": str(d)}}
        shown = [row["std"] for row in trlaplace.STUDIES["theorem-4"].make(**asked).rows]
        assert shown == pytest.approx([truncated, laplace, gaussian], rel=1e-6)
    # What the tables compare at epsilon 20: baselines in 300 dimensions.
    assert truncated > 2 * math.sqrt(2 * (math.log(1.25) + 300 * math.log(4))) / 20
    assert truncated > math.sqrt(2) * 2 * math.sqrt(300) / 20


def staying_by_quadrature(epsilon, n, side, diameter):
    """N_w by the paper's definitions alone: b, truncated noise, a Poisson number of candidates."""
    alpha = (epsilon - 2 * (1 + math.log(n)) / side) / 3
    b = 2 * diameter / min(lambertw(2 * alpha * diameter).real, math.log(alpha * side))
    ends = [math.exp(-math.exp(-x / b)) for x in (-diameter, diameter)]

    def above(x):
        """P(noise >= x)."""
        middle = math.exp(-math.exp(-min(max(x, -diameter), diameter) / b))
        return (ends[1] - middle) / (ends[1] - ends[0])

    sizes = stats.poisson.pmf(np.arange(1, 200), math.log(n))  # K = 0 means n, which is rare

    def integrand(x):
        density = math.exp(-x / b - math.exp(-x / b)) / b / (ends[1] - ends[0])
        return density * float(sizes @ above(x - side) ** np.arange(len(sizes)))

    stays = integrate.quad(integrand, -diameter, diameter, points=[side - diameter], limit=200)[0]
    several = 1 - stats.poisson.pmf(1, math.log(n))
    return stays, math.exp(-math.exp(-side / b)) * several


def test_appendix_c():
    """Both claims on N_w are false somewhere, and neither everywhere."""
    rows = tgumbel.STUDIES["appendix-c"].make().rows
    found, sides = {}, set()
    for row in rows:
        kind, _, placed = row["quantity"].partition(", ")
        if kind == "two candidates":
            sides.add(row["true"] > row["claimed"])
            continue
        far = {"equal distances": 1, "one far word": 2}[placed]
        stays, bound = staying_by_quadrature(row["epsilon"], row["n"], 2**0.5, far * 2**0.5)
        assert row["true"] == pytest.approx(stays, abs=2 / row["n"] + 1e-6)
        assert row["claimed"] == pytest.approx(0.367 if kind == "N_w" else bound, rel=1e-6)
        found.setdefault((kind, placed, row["n"]), []).append((row["true"], row["claimed"]))
    assert sides == {True, False}  # neither a lower nor an upper bound of truncated noise
    assert [round(true, 3) for true, _ in found["N_w", "one far word", 100_000]] == [0.346, 0.340]
    assert all(true > 0.59 for true, _ in found["N_w", "equal distances", 100_000])
    for placed, n in (("one far word", 1000), ("equal distances", 100_000)):
        (holds, below), (fails, above) = found["inequality", placed, n]
        assert holds - below > 0 > 0.04 + fails - above


def test_lemma_1_of_tgumbel(space):
    """False near the edge of the domain, at equal distances; what is shown is below the truth."""
    rows = tgumbel.STUDIES["lemma-1"].make().rows
    for row in rows:
        stays, _ = staying_by_quadrature(row["epsilon"], row["n"], 2**0.5, 2**0.5)
        assert row["least"] <= stays + 1e-6 <= row["true"] + 2e-6
    edge = [(row["least"] > row["claimed"]) for row in rows]
    assert edge == [True, False] * 3
    assert [round(row["claimed"], 3) for row in rows[2::2]] == [0.390, 0.401]
    lonely, mean = tgumbel.STUDIES["lemma-1"].make(space).rows
    assert lonely["true"] > mean["true"]
    apart = np.sort(np.linalg.norm(space.vectors[:, None] - space.vectors, axis=2))[:, 1]
    law = Draft(MECHANISMS["tgumbel-paper"]).at(lonely["epsilon"]).prepare(space)
    exact = np.diag(law.probabilities(np.arange(space.n)))[apart.argmax()]
    assert lonely["least"] - 1e-6 <= exact <= lonely["true"] + 1e-6


def test_laplace_noise_of_appendix_c(space):
    """The formula is for one dimension: the mechanism keeps far less."""
    rows = tgumbel.STUDIES["appendix-c-laplace"].make(space, draws=500, epsilons=(1.0, 4.0)).rows
    near = space.nearest_distances()
    assert len(near)
    for row in rows:
        assert row["drawn_high"] < row["claimed"] < 1


def test_rejection_of_trlap():
    """The inverse distribution function needs one number, rejection many at small epsilon."""
    rows = trlaplace.STUDIES["table-5"].make(epsilons=(0.5, 8.0)).rows
    for row in rows:
        laplace = np.random.default_rng(1).laplace(size=400_000)
        reach = -math.log1p(-row["epsilon"] / (0.5 * math.sqrt(300)))
        inside = (abs(laplace) <= reach).mean()
        assert row["rejection"] == pytest.approx(1 / inside, rel=0.02)
        assert row["rejection"] == pytest.approx(2 * math.sqrt(300) / 4 / row["epsilon"])


def test_on_a_vocabulary(space):
    """Dimension and range are its own; a figure is that of the exact distribution, to 2/n."""
    _, row = tldp.STUDIES["algorithm-1"].make(space, epsilons=(0.5,)).rows
    assert row["d"] == space.d
    assert row["true"] == pytest.approx(MECHANISMS["tldp-paper-g"](0.5).guarantee(space).delta)
    draft = Draft(MECHANISMS["tgumbel-paper"])
    for row in tgumbel.STUDIES["appendix-c"].make(space).rows:
        law = draft.at(row["epsilon"]).prepare(space).probabilities(np.arange(space.n))
        exact = float(np.diag(law).mean())
        assert exact - 1e-6 <= row["true"] <= exact + 2 / space.n
        assert abs(1.3 * exact - row["true"]) > 2 / space.n


def test_all_together_are_the_papers():
    asked = {"epsilons": (1.0,), "parameters": {"d": "50"}}
    every = own.STUDIES["theorems"].make(words=20, **asked)
    assert [panel.title for panel in every.panels] == list(every.summary["worst"])
    parts = [
        *trlaplace.STUDIES["theorem-3"].make(**asked).rows,
        *tldp.STUDIES["algorithm-1"].make(**asked).rows,
        *tldp.STUDIES["theorem-3"].make(**asked).rows,
        *tgumbel.STUDIES["algorithm-2"].make(words=20).rows,
        *tgumbel.STUDIES["appendix-c"].make(epsilons=(1.0,)).rows,
    ]
    assert [row["true"] for row in every.rows] == [row["true"] for row in parts]


def test_theorem_2_of_tldp():
    """Less noise is the same noise at I times the epsilon."""
    rows = tldp.STUDIES["theorem-2"].make(epsilons=(0.1, 1.0)).rows
    for row in rows:
        times = 784 if row["noise"] == "L" else 28
        assert row["scale_on_each"] == pytest.approx(times * row["scale"])
    assert [row["true_epsilon"] for row in rows if row["noise"] == "L"] == pytest.approx(
        [78.4, 784]
    )
    assert rows[0]["delta"] == pytest.approx(0.8231, abs=5e-5)
    (small, *_) = tldp.STUDIES["theorem-2"].make(epsilons=(0.5,), parameters={"d": "3"}).rows
    assert small["delta"] == pytest.approx(
        1 - (1 - small["kept"]) ** 3 * (1 - tldp.LAPLACE.delta(0.5, 3))
    )


def test_table_v_in_full():
    """The printed formulas at the paper's scale, and lengths of noise that the algorithms draw."""
    rows = tldp.STUDIES["table-5"].make(epsilons=(1.0,)).rows
    found = {row["method"]: row for row in rows}
    printed = {"Laplace": 7.947e6, "Gaussian": 2.81e6, "MVG, estimate": 1.262e9, "TLDP-G": 3584}
    printed |= {"IDN, estimate": 3.974e6, "TLDP-L": 10_140}
    for name, value in printed.items():
        assert found[name]["printed"] == pytest.approx(value, rel=5e-4)
    assert found["Gaussian"]["drawn"] == pytest.approx(1.419e5, rel=5e-4)
    assert found["TLDP-G"]["drawn"] == pytest.approx(5069, rel=1e-4)
    asked = {"epsilons": (2.0,), "parameters": {"d": "50", "range": "1"}}
    small = {row["method"]: row for row in tldp.STUDIES["table-5"].make(**asked).rows}
    for name, column in (("Laplace", "drawn"), ("Gaussian", "mean"), ("TLDP-L", "drawn")):
        noise = tldp.tensor_noise(name, np.zeros((4000, 50)), 2.0, 1.0, streams(4000), np.zeros(50))
        lengths = np.linalg.norm(noise, axis=1)
        drawn = lengths.mean() if column == "mean" else np.sqrt((lengths**2).mean())
        assert small[name][column] == pytest.approx(drawn, rel=0.02)
    assert small["Gaussian"]["mean"] < small["Gaussian"]["drawn"]


def test_weights_are_of_positions():
    """Algorithm 2 keeps a position with (1-w)p; noise on each number does not see weights."""
    weights, m = np.array([0.0, 0.5, 1.0]), 20_000
    p = keep_probability(LAPLACE, 0.5, 1.0, 3)
    out = tldp.tensor_noise("TLDP-L-w", np.zeros((m, 3)), 0.5, 1.0, streams(m), weights)
    kept = (out == 0).mean(axis=0)
    assert kept == pytest.approx([p, p / 2, 0], abs=5 * math.sqrt(p / m))
    plain = tldp.tensor_noise("TLDP-L", np.zeros((m, 3)), 0.5, 1.0, streams(m), weights)
    assert (plain == 0).mean(axis=0) == pytest.approx([p] * 3, abs=5 * math.sqrt(p / m))


def test_experiments_of_tldp():
    """[TLDP] Figure 1's shape on digits: TLDP above noise on each number, which is chance."""
    need_extra("evaluate")
    result = tldp.STUDIES["figures-1-2"].make(epsilons=(1.0,))
    (one,) = (row for row in result.rows if row["data"] == "images")
    assert one["TLDP-G"] > one["TLDP-L"] > 0.7 > 0.1 > one["Gaussian"] > one["Laplace"]
    assert result.summary["clean"]["images"] > 0.85


@pytest.mark.slow
def test_noise_of_epsilon_100_is_small():
    need_extra("evaluate")
    result = tldp.STUDIES["figures-1-2"].make(epsilons=(100.0,))
    assert result.rows[0]["data"] == "images"
    assert result.rows[0]["Laplace"] > 0.8


def deniability(*names, **more):
    drafts = [Draft(MECHANISMS[name]) for name in names]
    return tgumbel.STUDIES["figures-1-2"].make(SPACE, mechanisms=drafts, **{"seed": "t", **more})


def test_expected_distinct_outputs_are_those_of_draws(monkeypatch):
    """S_w and N_w from the law lie within the limits of counts; those of another epsilon do not."""
    asked = {"epsilons": (1.5, 3.0), "words": 0, "draws": 200}
    exact = deniability("exponential", **asked).rows
    monkeypatch.setattr("common.sweeps.has_distribution", lambda sampler: False)
    drawn = deniability("exponential", **asked).rows
    for law, counts, other in zip(exact, drawn, exact[::-1], strict=True):
        assert (law["exact"], counts["exact"]) == (True, False)
        for column in ("unchanged", "distinct"):
            assert law[f"{column}_low"] == law[column] == law[f"{column}_high"]
            assert counts[f"{column}_low"] < law[column] < counts[f"{column}_high"]
            assert not counts[f"{column}_low"] < other[column] < counts[f"{column}_high"]
        # Counts without chance: 300 words, sd of a mean count below 0.1.
        assert counts["distinct"] == pytest.approx(law["distinct"], abs=1)
        assert counts["unchanged"] == pytest.approx(law["unchanged"], abs=0.01)


def test_krr_by_hand():
    (row,) = deniability("krr", epsilons=(5.0,), words=0).rows
    n, total = SPACE.n, math.exp(5) + SPACE.n - 1
    stays, other = math.exp(5) / total, 1 / total
    distinct = 1 - (1 - stays) ** 1000 + (n - 1) * (1 - (1 - other) ** 1000)
    for name, wanted in (("unchanged", stays), ("distinct", distinct)):
        assert row[name] == pytest.approx(wanted, rel=1e-4)
        assert row[f"{name}_p5"] == pytest.approx(row[f"{name}_p95"]) == pytest.approx(row[name])


def test_deniability_falls():
    """N_w rises and S_w falls with epsilon, but for the few words on the edge of laplace."""
    result = deniability("laplace", "exponential", draws=200, words=30)
    for name in ("laplace", "exponential"):
        stays = [row["unchanged"] for row in result.rows if row["mechanism"] == name]
        assert stays == sorted(stays)
    distinct = [row["distinct"] for row in result.rows if row["mechanism"] == "exponential"]
    assert distinct == sorted(distinct, reverse=True)
    for row, name in itertools.product(result.rows, ("unchanged", "distinct")):
        assert row[f"{name}_p5"] <= row[f"{name}_p50"] <= row[f"{name}_p95"]
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    # No draw of 20 x 20 is unchanged: the upper limit is not 0.
    (row,) = deniability("laplace", epsilons=(1e-3,), words=4, draws=20).rows
    assert (row["unchanged"], row["unchanged_high"] > 0.02) == (0, True)
