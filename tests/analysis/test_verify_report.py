"""Results of a verification: grade, tightest pair, delta at several epsilons."""

import json
import math

import numpy as np
import pytest
from planted import make

from dpsan.analysis.verify.grade import delta_curve, grade
from dpsan.analysis.verify.lower_bounds import Question, search
from dpsan.analysis.verify.verdict import Verdict, claim_of, verify
from dpsan.privacy.certificate import certify, hockey_stick
from dpsan.privacy.noise_formulas import gaussian_delta

GRADES = {
    "krr": "certified on the sampled integers",
    "knn-response": "certified on the sampled integers",
    "optimal-response": "certified on the sampled integers",
    "exponential": "certified on the sampled integers",
    "tldp": "proved; float64 gap at most 0",
    "laplace": "proved; float64 gap at most ",
    "rank-softmax": "proved; float64 gap at most ",
    "clipped-laplace": "proved; float64 gap at most ",
    "gaussian": "proved; float64 gap at most ",
    "vickrey": "proved for real numbers only",
    "mahalanobis": "proved for real numbers only",
    "trlaplace": "proved for real numbers only",
}
PARAMETERS = {
    "knn-response": {"k": 3, "outputs": "all"},
    # The default has one word that unknown words nearly always give: independence cannot be seen.
    "optimal-response": {"prior": "1", "similarity": "squared"},
    "gaussian": {"delta": 1e-6},
    "trlaplace": {"delta": 1e-6},
}


@pytest.mark.parametrize("name", GRADES)
def test_a_kept_guarantee_has_a_grade(name):
    sanitizer = make(name, 0.5, PARAMETERS.get(name))
    mechanism, space = sanitizer.mechanism, sanitizer.space
    claim = claim_of(sanitizer.guarantee)
    found = grade(mechanism, sanitizer.sampler, space, certify(mechanism, space), claim)
    assert found.name.startswith(GRADES[name])
    if GRADES[name].endswith("at most "):
        assert 0 < found.gap <= float(found.name.split()[-1]) < 1e-6
    if name == "gaussian":
        assert 1e-6 < found.delta < 1.1e-6


@pytest.mark.parametrize("name", ["optimal-response", "vickrey", "clipped-laplace"])
def test_the_verdict_has_that_grade(name):
    found = verify(make(name, 0.5, PARAMETERS.get(name)), words=4, draws=2000)
    assert found.verdict is Verdict.KEPT
    assert found.grade.name.startswith(GRADES[name])


def test_what_is_not_kept_has_no_grade():
    assert verify(make("krr", 1.0, unknown="mask"), words=4, draws=2000).grade is None


def test_equal_inputs_are_never_the_tightest_pair():
    """A word and its capitalized form have no loss: that pair was called the worst."""
    generator = np.random.default_rng(4)

    def draw(text, count, phase):
        return [str(each) for each in generator.integers(0, 2, count)]

    inputs = ["a", "A", "b", "c"]
    question = Question(
        inputs,
        lambda x, y: 0.0 if {x, y} == {0, 1} else 1.0,
        same=lambda x, y: {x, y} == {0, 1},
    )
    found = search(draw, question, draws=4000, confidence=0.999)
    assert set(found.pair) != {"a", "A"}
    assert 0 <= found.seen < 0.2
    # The twin: what tells equal inputs apart is still found.
    found = search(
        lambda text, count, phase: [text if text == "A" else "x"] * count,
        question,
        draws=4000,
        confidence=0.999,
    )
    assert found.violated
    assert set(found.pair) == {"a", "A"}


@pytest.mark.parametrize("name", ["krr", "exponential"])
def test_delta_at_several_epsilons(name):
    sanitizer = make(name, 0.5)
    epsilon = certify(sanitizer.mechanism, sanitizer.space).epsilon_ldp
    rows = np.array([11, 12, 0, 0, 7])  # 12 is ⊥
    curve = delta_curve(sanitizer.sampler, sanitizer.guarantee, rows, epsilon)
    law = sanitizer.sampler.probabilities(np.array([11, 12, 0, 7]))
    assert [each for each, _ in curve] == pytest.approx(
        [0.25 * epsilon, 0.5 * epsilon, 0.75 * epsilon, epsilon]
    )
    for each, delta in curve:
        assert delta == pytest.approx(hockey_stick(law, each)[0])
    assert curve[0][1] > curve[2][1] > 0
    assert curve[-1][1] < 1e-9  # a pure guarantee


def test_delta_of_gaussian_noise_is_exact_and_of_unknown_distributions_not_given():
    gaussian = make("gaussian", 2.0, {"delta": 1e-6})
    curve = delta_curve(gaussian.sampler, gaussian.guarantee, np.arange(3), 2.0)
    assert curve[0] == (0.5, gaussian_delta(0.5, gaussian.guarantee.gaussian_mu))
    assert curve[-1][1] == pytest.approx(1e-6, rel=1e-6)
    laplace = make("laplace", 2.0)
    assert delta_curve(laplace.sampler, laplace.guarantee, np.arange(3), 2.0) == ()
    assert delta_curve(gaussian.sampler, gaussian.guarantee, np.arange(3), math.inf) == ()


def test_the_command_says_so(dpsan, tmp_path):
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i} {i % 3}\n" for i in range(30)))
    arguments = ("verify", "-e", "2", "-m", "krr", "-E", "v.txt", "--draws", "10000")
    told = dpsan(*arguments, cwd=tmp_path).stdout.decode()
    assert told.startswith("krr: KEPT (certified on the sampled integers)\n")
    assert "worst-case pair: w" in told
    assert "tightest pair " in told  # which one, and in which case, is drawn
    assert " at epsilon 0.5, " in told
    found = json.loads(dpsan(*arguments, "--json", cwd=tmp_path).stdout)
    assert found["grade"] == "certified on the sampled integers"
    assert found["float64_gap"] == 0
    assert found["float64_delta"] is None
    assert len(found["curve"]) == 4
    assert set(found["certified_pair"]) < {"⊥", *(f"w{i}" for i in range(30))}
    assert 0 <= found["empirical"]["seen"] <= 1
