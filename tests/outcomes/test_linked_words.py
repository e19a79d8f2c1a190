"""Words until a text is linked, from the vocabulary alone."""

import math

import numpy as np
from support import make_embeddings

from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.linked_words import HalfLinked, half_linked, linked_by_words
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(200, 4))
KEY = randomness.seeded_key("linked words")


def shares(epsilon, longest, **given):
    mechanism = MECHANISMS["krr"].build(epsilon, {})
    found = linked_by_words(mechanism, SPACE, longest=longest, key=KEY, **given)
    return [each.value for each in found]


def test_no_noise_links_all_and_noise_alone_links_nobody():
    assert shares(40.0, 8)[-1] > 0.95
    # 250 guesses among 1,000: more than 8 are right once in 10^9 runs; the key is fixed anyway.
    assert max(shares(1e-6, 4)) <= 8 / 250
    growing = shares(4.0, 40)
    assert growing[1] < 0.5 < growing[-1]


def test_success_is_that_of_the_sum_of_likelihoods():
    """Two candidates of one word, krr: the exact success, summed over all pairs of words."""
    epsilon = 2.0
    hits = total = 0
    mechanism = MECHANISMS["krr"].build(epsilon, {})
    for at in range(400):
        key = randomness.derive_key(KEY, at)
        found = linked_by_words(mechanism, SPACE, longest=1, key=key, candidates=2, texts=2)
        (share,) = found
        hits, total = hits + share.hits, total + share.total
    assert total == 800
    # Right if the words differ (nearly always here): e^2/(e^2+199) + (198/(e^2+199))/2.
    same = float((np.bincount(words())**2).sum()) / len(words()) ** 2  # fmt: skip
    keep, other = math.exp(2) / (math.exp(2) + 199), 1 / (math.exp(2) + 199)
    expected = same / 2 + (1 - same) * (keep + 198 * other / 2)
    # Two texts of one pair are independent given the words; 6.2 sigma is 1e-9.
    assert abs(hits / total - expected) < 6.2 * math.sqrt(0.25 / 400)


def words():
    places = (np.arange(1000) + 0.5) / 1000
    known = np.searchsorted(np.cumsum(SPACE.frequencies), places)
    return np.append(known, np.full(64, 200))


def test_half_of_the_texts():
    found = half_linked(MECHANISMS["krr"].build(6.0, {}), SPACE)
    grown = shares(6.0, 20)
    assert found is not None
    assert found == half_linked(
        MECHANISMS["krr"].build(6.0, {}), MetricSpace(make_embeddings(200, 4))
    )
    assert 2 <= found.words <= 8
    assert grown[found.words + 2] > 0.4
    assert half_linked(MECHANISMS["krr"].build(0.01, {}), SPACE) == HalfLinked(None)
    assert "by more than 64 words" in HalfLinked(None).sentence
    assert "by their first 1 word," in HalfLinked(1).sentence
    assert HalfLinked(1).of(1) == HalfLinked(1).sentence
    assert HalfLinked(1).of(2).endswith("from one of the copies alone")
    assert half_linked(MECHANISMS["laplace"].build(1.0, {}), SPACE) is None


def test_a_run_its_audit_and_report_say_it(dpsan, tmp_path):
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i % 7} {i // 7}\n" for i in range(60)))
    given = ("-m", "krr", "-e", "6", "-E", "v.txt")
    base = {"stdin": b"w1 w2\n", "cwd": tmp_path}
    said = dpsan("rewrite", "-v", *given, "-a", "a.jsonl", **base).stderr.decode()
    (line,) = (each for each in said.splitlines() if "whole texts: " in each)
    sentence = line.partition("whole texts: ")[2]
    assert sentence.startswith("a reader who holds 1,000 candidates links half of the texts")
    assert "whole texts" not in dpsan("rewrite", *given, **base).stderr.decode()
    told = dpsan("report", "a.jsonl", cwd=tmp_path).stdout.decode()
    assert sentence in " ".join(told.split())  # lines are wrapped
    found = dpsan("calibrate", "-q", "-m", "krr", "-E", "v.txt", "--epsilon-ldp", "6", cwd=tmp_path)
    assert sentence in found.stdout.decode()
