"""Issue 16: what runs is what was certified; each check can fail, and finds what it is for."""

import json
import math
from dataclasses import replace

import numpy as np
import power
import pytest
from broken_programs import MUTANTS, after, known_share, of_epsilon, other_epsilon
from checks.every import CHECKS
from checks.repeats import repeats
from checks.sharing import sharing
from planted import HIDDEN, Restarting, hidden, make, many_words, placed, response
from scipy import stats
from support import cases, embed, make_embeddings, marked, some_mutants

from dpsan import Sanitizer
from dpsan.analysis.verify.independence import independence
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.intervals import clopper_pearson, log_tail_of_cells, log_tail_of_share
from dpsan.privacy import randomness
from dpsan.privacy.randomness import streams_for
from dpsan.run import stream
from dpsan.run.workers import Inline
from dpsan.sanitize import rewriting

FEW = 10_000
PLANTED = ["a backdoor in one word", "one stream for all records", "a neighbour's draw"]
PLANTED += ["nine tenths of the noise", "nine tenths of it are added"]


def checks(sanitizer, draws=FEW, **more):
    return {each.name: each for each in verify(sanitizer, words=12, draws=draws, **more).checks}


@cases("defect", *marked("slow", some_mutants(HIDDEN, *PLANTED), "a backdoor in one word"))
def test_what_no_lower_bound_sees_is_violated(defect):
    sanitizer, name = hidden(defect)
    if name in CHECKS:  # a test in a clone
        assert CHECKS[name](sanitizer)
        return
    more = sanitizer.space.n > 100 or name == "noise"  # than FEW draws
    found = verify(sanitizer, words=12, draws=60_000 if more else FEW)
    assert found.verdict is Verdict.VIOLATED
    (check,) = (each for each in found.checks if each.name == name)
    assert check.held is False
    assert "probability below" in check.sentence


SOUND = {
    "many words": lambda: response(8.0, many_words()),
    "knn-response": response,
    "laplace": lambda: make("laplace", 0.8),
    "laplace in parts": lambda: Sanitizer("laplace", epsilon=0.8, embeddings=many_words()),
    "exponential": lambda: make("exponential", 0.7),
}


@pytest.mark.parametrize("name", marked("slow", SOUND, "many words", "laplace in parts"))
def test_the_same_programs_without_the_defect_are_kept(name):
    found = verify(SOUND[name](), words=12, draws=FEW)
    assert not CHECKS["projection"](SOUND[name]())
    assert found.verdict is Verdict.KEPT
    assert not found.empirical.violated
    assert all(each.held for each in found.checks)
    assert found.certified is not None
    assert (found.certified_pair is None) == name.startswith("laplace")  # no certificate


@pytest.mark.parametrize("makes_rows", marked("slow", [True, False], True))
def test_one_word_of_all_is_found_by_its_repeated_output(monkeypatch, makes_rows):
    given = {"embeddings": many_words(), "epsilon": 8.0}
    sanitizer = Sanitizer("exponential", **given) if makes_rows else response(8.0, many_words())
    assert repeats(sanitizer) == ""
    after(lambda _, out, ids, streams: np.where(ids == 1234, 77, out))(sanitizer)
    assert repeats(sanitizer) == "the word word1234 gives one output too often or seldom"
    monkeypatch.setattr("checks.repeats._CELLS", 20 * 2000)  # a share that does not have it
    assert (repeats(sanitizer) == "") is makes_rows


def both_ways(s):
    """Epsilon is 14 % larger for every second word and 14 % smaller for all others."""
    less = of_epsilon(s, 0.86 * s.mechanism.epsilon)
    other_epsilon(1.14)(s)
    after(lambda _, out, ids, streams: np.where(ids % 2 == 0, out, less.sample(ids, streams)))(s)


@pytest.mark.slow
def test_what_deviates_in_two_directions_is_judged_together():
    """Too little to see in one word, and it cancels in all of them."""
    sanitizer = make("exponential", 0.5)
    both_ways(sanitizer)
    fit = checks(sanitizer)["goodness of fit"]
    assert fit.held is False
    assert "suspicious words together" in fit.sentence


@pytest.mark.slow
def test_known_words_that_share_are_violated():
    """Unknown words have random numbers of their own, and were all that was compared."""
    sanitizer = response(2.0, many_words())
    known_share(sanitizer)
    failed = {name for name, each in checks(sanitizer).items() if not each.held}
    assert failed == {"independence"}


@pytest.mark.parametrize("key", marked("slow", [b"a", b"b", b"c"], b"b", b"c"))
def test_short_lines_whose_draws_often_agree_share_nothing(key):
    """Two draws of a word agree with .83: lines of 40 words, and 40 positions, are equal often."""
    sanitizer = Sanitizer("krr", epsilon=8.0, embeddings=make_embeddings(300, 8))
    stated = sanitizer.mechanism.prepare(sanitizer.space)
    check = independence(sanitizer, stated, key=key * 32)
    assert check.held, check.sentence
    assert 0.8 < check.figures["agreement_of_a_word"] < 0.85


def test_a_word_that_always_stays_is_not_compared():
    """Two draws of it agree whatever random numbers they have, and the sentence says so."""
    told = checks(make("krr", 20.0))["independence"]
    assert told.held
    assert "only OOV words were compared" in told.sentence
    assert told.figures["agreement_of_a_word"] > 0.999


@pytest.mark.parametrize("kind", [Restarting, Inline])
def test_workers_that_reuse_a_stream_are_violated(kind):
    sanitizer = response()
    found = checks(sanitizer, workers=kind(sanitizer))["independence"]
    assert found.held is (kind is Inline)
    assert "worker processes" in found.sentence
    assert found.figures["lines_of_workers"] > 0


@pytest.mark.parametrize("unit", marked("slow", ["record", "run"], "run"))
def test_equal_words_of_a_unit_share_their_draw_and_no_others_do(unit):
    sanitizer = response(consistent=unit)
    assert checks(sanitizer)["independence"].held
    sanitizer._rewriter._one_draw = None  # equal words are drawn anew
    found = checks(sanitizer)["independence"]
    assert found.held is False
    assert "have different draws" in found.sentence


ONE_STREAM = {
    "nothing": None,
    "lines of a file": lambda record, block, at: (3 if record == 5 else record, block << 32 | at),
    "positions of a line": lambda record, block, at: (record, block << 32 | (3 if at == 7 else at)),
}
"""Pairs that share random numbers, one pair of each kind."""


SOME_STREAMS = some_mutants(ONE_STREAM, "nothing", "positions of a line")


@pytest.mark.parametrize("shared", marked("slow", SOME_STREAMS, "nothing", "positions of a line"))
def test_issue_16_draws_that_nearly_always_agree_are_told_apart(shared):
    """Two draws of ⊥ agree with probability .93: 40 words in a line would not do, 800 do."""
    sanitizer = make("diffractor", 4.0)
    stream = ONE_STREAM[shared]
    if stream is not None:
        placed(lambda *place: (*stream(*place), 1))(sanitizer)
    told = checks(sanitizer)["independence"]
    assert 0.9 < told.figures["agreement_by_chance"] < 0.95
    assert told.figures["words"] > 700
    assert told.held is (stream is None), told.sentence
    assert (f"two {shared} share" in told.sentence) is (stream is not None), told.sentence


UNJUDGED: dict = {"independence": lambda: make("diffractor", 8.0)}
LARGE = {"embeddings": make_embeddings(n=40, d=3), "parameters": {"levels": 256}}
UNJUDGED |= {"goodness of fit": lambda: Sanitizer("tldp", epsilon=1.0, **LARGE)}


@pytest.mark.parametrize("name", marked("slow", UNJUDGED, "goodness of fit"))
def test_what_cannot_be_judged_is_never_kept(name):
    """Draws that agree with probability .999 tell nothing; a large grid has no probabilities."""
    found = verify(UNJUDGED[name](), words=12, draws=FEW)
    assert [each.name for each in found.checks if each.held is None] == [name]
    assert found.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", [n for n, kind in MECHANISMS.items() if kind.family == "point"])
def test_every_noise_has_the_distribution_it_states(name):
    """The formulas of both share nothing; the twin: scaled it has not."""
    parameters = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    parameters |= {"delta": 0.1} if name == "trlaplace-paper" else {}
    sanitizer = make(name, 0.9, parameters, allow_unproved=True)
    space, mechanism = sanitizer.space, sanitizer.mechanism
    sampler, stated = sanitizer.sampler, mechanism.noise_distribution(space)
    m, d = 1 << 14, sampler.space.d
    noise = sampler.noise(streams_for(randomness.seeded_key(name), range(m), [1] * m), d)
    for factor, fits in ((1.0, True), (0.8, False), (1.25, False)):
        worst = 1.0
        for values in stated.uniforms(stated.whitened(factor * noise)).values():
            for column in values.T:
                inside = np.isfinite(column).all()  # outside a bounded support there is nothing
                worst = min(worst, stats.kstest(column, "uniform").pvalue if inside else 0.0)
        assert bool(worst > 1e-9) is fits, (name, factor, worst)


def test_tail_bounds_are_never_too_small():
    """Against every outcome of 14 draws of three cells, and of 40 draws of one event."""
    p, draws = np.array([0.6, 0.3, 0.1]), 14
    cells = [(a, b, draws - a - b) for a in range(draws + 1) for b in range(draws + 1 - a)]
    outcomes = np.array(cells)
    exact = stats.multinomial.pmf(outcomes, draws, p)
    bounds = log_tail_of_cells(outcomes, np.tile(p, (len(outcomes), 1)))
    assert bounds.min() < math.log(1e-3)
    for bound in np.unique(bounds):
        assert exact[bounds <= bound].sum() <= math.exp(bound) * (1 + 1e-9)
    hits = np.arange(41)
    for each in (0.02, 0.3):
        exact = stats.binom.pmf(hits, 40, each)
        bounds = log_tail_of_share(hits, 40, np.full(41, each))
        for bound in np.unique(bounds):
            assert exact[bounds <= bound].sum() <= math.exp(bound) * (1 + 1e-9)
        for error in (1e-2, 1e-6):
            high = np.array([clopper_pearson(hit, 40, error)[1] for hit in hits.tolist()])
            assert exact[high < each].sum() <= error
    assert log_tail_of_cells(np.array([[1, 5]]), np.array([[0.0, 1.0]]))[0] == -math.inf


def test_verify_knows_the_words_it_sees():
    """Of natural case it sees words, not letters."""
    words = [f"w{n}" for n in range(6)]
    embeddings = embed(words, 3, 3, spellings=[w.upper() for w in words])
    found = verify(Sanitizer("krr", epsilon=3.0, embeddings=embeddings), draws=4000)
    assert found.verdict is Verdict.KEPT
    assert found.configuration == ()
    assert found.empirical.event
    assert set(found.empirical.event) <= {w.upper() for w in words}
    assert found.empirical.event_other == 0


# A small part of tests/power.py: mutants that draws alone cannot see at epsilon 8.
NUMBERS = [name for name, mutant in MUTANTS.items() if mutant.options == {"numbers": "value"}]
STATED = ["statement with half the epsilon", "public words not counted", "compounds counted once"]
WORDS = ["noise × .9", "copies of 50 %", "one seed for two lines", "rank off by one"]
WORDS += ["backdoor in one word"]
SOME = ["copies of 50 %", "outputs that never come", "far numbers never come"]
SOME += ["numbers of a line share", "years are a form"]
FOUND_BY = {name: {"statement"} for name in STATED}
FOUND_BY |= {name: {"numbers by value", "independence"} for name in NUMBERS}
FOUND_BY |= {"outputs that never come": {"integers"}}
SLOW = ["far numbers never come", "numbers of a line share", "years are a form"]
SLOW += STATED


@cases("name", *marked("slow", some_mutants([*WORDS, *FOUND_BY], *SOME, *STATED), *SLOW))
def test_a_mutant_is_violated_at_epsilon_8(name):
    """Each is found with probability above .99999 by these draws: docs/reliability.md."""
    names = CHECKS if name in NUMBERS else CHECKS.keys() & FOUND_BY.get(name, ())
    found = power.run(MUTANTS[name], 8.0, 40, 40_000 if name in NUMBERS else 20_000, names)
    assert found["verdict"] == "violated", found
    by = {*found["by"]}
    assert by & FOUND_BY.get(name, by)
    assert name not in NUMBERS or by <= FOUND_BY[name]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.slow
def test_what_shows_in_no_cell_is_violated():
    """Issue 16: epsilon times 1.1, nowhere more than 1 % of a probability; 38 nats on paper."""
    found = power.run(MUTANTS["epsilon × 1.1"], 2.0, 40, 60_000)
    assert found["expected"]
    assert 30 < found["nats on paper"] < 45
    assert found["by"] == ["goodness of fit"]
    assert "inputs together" in found["checks"]["goodness of fit"]


def test_what_nothing_could_see_is_not_expected():
    mutant = MUTANTS["copies of 2 %, optimal"]
    sanitizer = power.made(mutant.mechanism, 8.0, 40)
    mutant.change(sanitizer)
    nats, chance = power.on_paper(mutant, sanitizer, 100_000)
    assert nats < 1
    assert chance < 1e-6
    row: dict = {"mutant": "copies of 2 %, optimal", "setting": "epsilon 8, 40", "verdict": "kept"}
    row |= {"nats on paper": nats, "probability on paper": chance}
    assert "(optimal-response) |  | **kept** (0.745" in power.table([row])


# verify compares files and copies, a test in a clone blocks of a line.


KEY = b"k" * 32


def shared(sanitizer):
    return independence(sanitizer, sanitizer.mechanism.prepare(sanitizer.space), key=KEY)


def assert_refuted(check, told):
    assert check.held is False, check.sentence
    assert told in check.sentence, check.sentence


LATE = [f"{part} {first}" for part in ("file", "copy") for first in (2, 4)]


LATER = some_mutants([*LATE, "block 4", "block 62"], *LATE[1::2], "block 62")


@pytest.mark.parametrize("which", marked("slow", LATER, "file 4"))
def test_what_shares_late_is_violated(monkeypatch, which):
    """The first, second ... have keys or streams of their own, all others one together."""
    part, first = which.split()[0], int(which.split()[1])
    own, blocks = randomness.derive_key, randomness.streams_for

    def derived(key, *path):
        parts = zip((None, *path), path, strict=False)
        return own(key, *(min(each, first) if name == part else each for name, each in parts))

    def made(*given, **more):
        found = blocks(*given, **more)
        return replace(found, blocks=tuple((r, min(b, first), w) for r, b, w in found.blocks))

    sanitizer = response(8.0, many_words())
    if part == "block":
        monkeypatch.setattr(rewriting.randomness, "streams_for", made)
        assert sharing(sanitizer).startswith("two blocks of a line share")
        return
    monkeypatch.setattr(stream.randomness, "derive_key", derived)
    told = {"file": "two files", "copy": "two copies"}[part]
    assert_refuted(shared(sanitizer), told)


def test_no_word_of_an_input_is_in_a_sentence():
    one = response(8.0, many_words())
    found = shared(one)
    assert found.held
    told = found.sentence
    for what in ("64 lines of a file", "64 copies of a line"):
        assert what in told
    assert "10 files of up to 10,000 and 2 runs" in told
    assert not any(f" {word} " in told for word in one.embeddings.index_to_key)


@pytest.mark.slow
def test_numbers_by_value_are_kept():
    """They were always VIOLATED, mutant or not; what the guarantee leaves out is stated."""
    found = verify(response(8.0, many_words(), numbers="value"), words=12, draws=10_000)
    assert all(each.held for each in found.checks)
    assert found.configuration[0].stated
    assert found.verdict is Verdict.KEPT
