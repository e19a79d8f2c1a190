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

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.tldp_paper import LAPLACE, atoms, keep_probability
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))
TRUE = {
    50: {0.05: 0.8305, 0.1: 0.8262, 0.5: 0.7876, 1.0: 0.7267},
    100: {0.05: 0.9185, 0.1: 0.9164, 0.5: 0.8979, 1.0: 0.8687},
    300: {0.05: 0.9869, 1.0: 0.9790, 5.0: 0.8429, 10.0: 0.3709, 20.0: 0.1229},
}


def test_truncated_laplace():
    result = trlaplace.STUDIES["theorem-3"].make()
    found = {(row["d"], row["epsilon"]): row for row in result.rows}
    for d, values in TRUE.items():
        shown = {epsilon: found[d, epsilon]["true"] for epsilon in values}
        assert shown == pytest.approx(values, abs=5.1e-5)
    assert found[50, 1.0]["claimed"] == pytest.approx(4.0**-50)
    assert result.summary["worst"] == {"trlaplace-paper": pytest.approx(0.98724, abs=1e-5)}
    (panel,) = result.panels
    # Lines end where dummy dimensions begin, epsilon = sqrt(d)/2; beyond there are points.
    drawn = {(each.style, each.label): each.x for each in panel.series}
    assert max(drawn["line", "d = 100"]) <= 5 < max(drawn["line", "d = 300"]) < math.sqrt(300) / 2
    assert drawn["points", "d = 300, padded"] == (10.0, 20.0)


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


def tensor(study, letter, **more):
    rows = tldp.STUDIES[study].make(**more).rows
    rows = [row for row in rows if row["mechanism"] == f"tldp-paper-{letter}"]
    return {(row["d"], row["range"], row["epsilon"]): row["true"] for row in rows}


@pytest.mark.slow
def test_tensor():
    cells = [(10, 1.0, 0.1), (300, 1.0, 0.01), (300, 1.0, 0.1), (300, 1.0, 1.0)]
    found = tensor("algorithm-1", "l", parameters={"d": "10,300"})
    assert [found[cell] for cell in cells] == pytest.approx([0.253, 0.132, 0.586, 1.0], abs=5e-4)
    assert min(tensor("algorithm-1", "g", parameters={"d": "10"}).values()) > 0.2
    # The unit of the data changes the truth.
    wide = tensor("algorithm-1", "l", parameters={"d": "300", "range": "10"}, epsilons=(0.01,))
    assert wide[300, 10.0, 0.01] < 0.1
    # Theorem 3: the lightest word counts, so that weights change nothing at the worst pair.
    asked = {"epsilons": (0.05,), "parameters": {"d": "50"}}
    assert tensor("algorithm-1", "l", **asked) == tensor("theorem-3", "l-weighted", **asked)


def test_one_element_that_differs():
    """[TLDP] with inputs that differ in one element: by the density of the noise alone."""
    epsilon, coordinates = 0.1, 300
    kept = 1 / (1 + 2 / epsilon * math.exp(epsilon * (coordinates - 1)))
    scale = 1 / epsilon
    # The atom of one input is impossible for the other; the rest is Laplace noise of scale Delta/e.
    x = np.linspace(-400, 400, 2_000_001)
    one, other = ((1 - kept) * np.exp(-abs(x - at) / scale) / (2 * scale) for at in (0.0, 1.0))
    excess = np.trapezoid(np.maximum(one - math.exp(epsilon) * other, 0), x)
    assert excess < 1e-15
    assert kept == pytest.approx(5e-15, rel=0.05)
    assert keep_probability(LAPLACE, epsilon, 1.0, coordinates) == pytest.approx(kept, rel=1e-9)


def test_words_kept_by_a_decoder_that_reads_all_words():
    """[TrLap]: p + sqrt(n·epsilon·tanh(epsilon/2)/2) holds where e^epsilon·p does not."""

    def bound(n, epsilon, p):
        return p + math.sqrt(n * epsilon * math.tanh(epsilon / 2) / 2)

    found = [bound(n, 0.05, 0.051) for n in (19, 181)]
    assert found == pytest.approx([0.16, 0.39], abs=0.005)
    # Two texts of n equal words, a coin for each word: the decoder takes the majority.
    kept = {}
    for epsilon, n in itertools.product((0.05, 0.2, 1.0), (1, 3, 19, 181)):
        right = math.exp(epsilon) / (1 + math.exp(epsilon))
        kept[epsilon, n] = stats.binom.sf(n // 2, n, right)
        assert kept[epsilon, n] <= bound(n, epsilon, 0.5)
    assert any(share > math.exp(epsilon) * 0.5 for (epsilon, _), share in kept.items())


def test_the_scale_of_the_paper():
    """Delta = 256 and I = 784: nothing is kept, and the 784 noises make the claim as false."""
    found = tensor("algorithm-1", "l", epsilons=(0.1,))
    assert found[784, 256.0, 0.1] == pytest.approx(0.8231, abs=1e-3)
    kept = keep_probability(LAPLACE, 0.1, 256.0, 784)
    assert math.log(kept) == pytest.approx(0.1 * -783 - math.log(2 * 2560), abs=1e-6)
    assert atoms(kept, 784) < 1e-30


@pytest.mark.slow
def test_gumbel():
    result = tgumbel.STUDIES["algorithm-2"].make(words=100)
    ratios = [(row["n"], row["true"] / row["claimed"]) for row in result.rows]
    edge, far = dict(ratios[:3]), dict(ratios[3:6])
    golden = [edge[60], edge[100], result.summary["worst"]["tgumbel-paper"]]
    assert golden == pytest.approx([0.96, 1.33, 1.33], abs=6e-3)
    assert far[100] < 1  # far above the edge the claim is loose
    with pytest.raises(UsageError, match="--words"):
        tgumbel.STUDIES["algorithm-2"].make(words=2)


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


def test_symmetry_is_lost_in_tldp_as_in_other_noise():
    """[TLDP] §I holds it against noise that it destroys symmetric tensors."""
    symmetric = np.ones((500, 100))
    for name in ("TLDP-L", "TLDP-G", "Laplace"):
        out = tldp.tensor_noise(name, symmetric, 1.0, 1.0, streams(500), np.zeros(100))
        matrices = out.reshape(-1, 10, 10)
        assert not (matrices == matrices.transpose(0, 2, 1)).all(axis=(1, 2)).any()


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
