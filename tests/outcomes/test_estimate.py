"""Estimates of words from sanitized text: the maths against brute force, calls against plants."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from support import cases, embed, make_embeddings, tables, write_vectors

from dpsan import Estimate, Sanitizer
from dpsan.errors import UsageError
from dpsan.outcomes import estimate
from dpsan.outcomes.distributions import check_outputs
from dpsan.outcomes.estimate import Channel, as_lists

CASES = tables("outcomes/cases")

N = 200
EMBEDDINGS = make_embeddings(N, 8)
WORDS = EMBEDDINGS.index_to_key
LIST = [170, 180, 185, 190]
"""Words that group A uses four times as often as B."""


def sanitizer(epsilon=8.0, **more):
    return Sanitizer(epsilon=epsilon, embeddings=EMBEDDINGS, seed="estimate", **more)


def texts_of(words=12_000, times=4, seed=5):
    """Texts of two groups, and the true counts of the words of each, (2, n)."""
    generator, texts, by, true = np.random.default_rng(seed), [], [], []
    rows = np.arange(N)
    for label, factor in ("A", times), ("B", 1):
        shares = 1 / (np.arange(N) + 10)
        shares[LIST] *= factor
        words *= 2 if times > 1 and label == "B" else 1
        drawn = generator.choice(N, words, p=shares / shares.sum())
        # Without a difference: the same words in another order.
        rows = generator.permutation(rows) if times == 1 and label == "B" else drawn
        true.append(np.bincount(rows, minlength=N))
        lines = [" ".join(WORDS[row] for row in part) for part in np.split(rows, words // 20)]
        texts, by = texts + lines, by + [label] * len(lines)
    return texts, by, np.array(true)


@pytest.fixture(scope="module")
def written():
    texts, by, true = texts_of()
    return sanitizer().rewrite(texts), by, true


@pytest.fixture(scope="module")
def found(written):
    return Estimate(written[0], written[1], sanitizer())


@pytest.fixture(scope="module")
def channel():
    made = sanitizer()
    return Channel.of(made.sampler, made.space, [np.array([row]) for row in range(N)])


def matrix(channel):
    """P(u|x) of all inputs, written out."""
    cells = channel.cells.toarray()
    return cells[:, :-1] + cells[:, -1:] * channel.base


def test_the_channel_is_what_is_drawn(channel):
    drawn = sanitizer().sampler.probabilities(np.arange(N + 1))
    np.testing.assert_allclose(matrix(channel), drawn[:, channel.outputs], atol=1e-15)
    assert drawn.sum() == pytest.approx(matrix(channel).sum())
    rates, scores = np.random.default_rng(1).random((2, N + 1))
    scores = scores[: len(channel.outputs)]
    np.testing.assert_allclose(channel.forward(rates), rates @ matrix(channel))
    np.testing.assert_allclose(channel.backward(scores), matrix(channel) @ scores)
    rates += 1  # lower ones count for nothing in what words share
    slopes = matrix(channel).T @ (rates[:, None] * np.hstack([np.eye(N + 1), channel.features]))
    information = slopes.T @ (slopes / channel.forward(rates)[:, None])
    alone, shared = channel.covariances(rates, (0.5, 0.1, 0.0))
    np.testing.assert_allclose(1 / alone, np.diag(information)[: N + 1] + 4)
    rest = information[N + 1 :, N + 1 :] + 100 * np.eye(channel.features.shape[1])
    np.testing.assert_allclose(shared, np.linalg.inv(rest))


def test_what_a_reader_merges_is_merged(channel):
    """Output 1 is read as word 0: its probability goes there."""
    made = sanitizer()
    read = [np.array([row if row != 1 else 0]) for row in range(N)]
    merged = Channel.of(made.sampler, made.space, read)
    first, second = (matrix(channel)[:, np.searchsorted(channel.outputs, row)] for row in (0, 1))
    np.testing.assert_allclose(matrix(merged)[:, 0], first + second)


def test_mode_evidence_and_deviations_are_those_of_the_formulas(channel):
    counts = np.random.default_rng(2).poisson(60.0, len(channel.outputs)).astype(float)
    fit = estimate.fit(channel, counts, (1.0, 0.1, 0.0))
    table, size = matrix(channel), N + 1
    slopes = fit.rates[:, None] * np.hstack([np.eye(size), 0.1 * channel.features])
    # At the mode, the gradient of likelihood and prior vanishes.
    scale = np.repeat([1.0, 0.1], [size, channel.features.shape[1]])
    derivative = fit.rates[:, None] * np.hstack([np.eye(size), channel.features])
    slope = derivative.T @ table @ (counts / fit.mean - 1) - fit.mode / scale**2
    assert np.abs(slope * scale).max() < 0.5 < np.abs(derivative.T @ table @ counts).max()
    prior = slopes @ slopes.T + np.diag(fit.rates)
    predicted = np.diag(fit.mean) + table.T @ slopes @ slopes.T @ table
    gain = prior @ table @ np.linalg.inv(predicted) @ table.T @ prior
    rows = [np.array(LIST), np.array([3])]
    lists = as_lists(rows, size).toarray()
    count, deviation = fit.of_lists(as_lists(rows, size), fit.factor())
    np.testing.assert_allclose(deviation**2, np.diag(lists.T @ (prior - gain) @ lists), rtol=1e-6)
    given = fit.rates * (table @ (counts / fit.mean))
    np.testing.assert_allclose(count, lists.T @ given)
    fitted = counts @ np.log(fit.mean) - fit.mean.sum() - np.sum((fit.mode / scale) ** 2) / 2
    half = (np.linalg.slogdet(predicted)[1] - np.log(fit.mean).sum()) / 2
    assert fit.evidence() == pytest.approx(fitted - half)


def test_a_list_may_change_as_a_whole(channel):
    """Its own deviation is one more normal variable, whose mode is one step of Newton away."""
    counts = np.random.default_rng(2).poisson(60.0, len(channel.outputs)).astype(float)
    fit = estimate.fit(channel, counts, (0.5, 0.05, 0.0))
    table, own = matrix(channel), np.zeros(N + 1)
    own[LIST] = fit.rates[LIST]
    shared = np.hstack([0.5 * np.eye(N + 1), 0.05 * channel.features])
    slopes = np.column_stack([fit.rates[:, None] * shared, 0.2 * own])
    prior = slopes @ slopes.T + np.diag(fit.rates)
    inverse = np.linalg.inv(np.diag(fit.mean) + table.T @ slopes @ slopes.T @ table)
    gain = prior @ table @ inverse @ table.T @ prior
    lists = as_lists([np.array(LIST)], N + 1)
    fits = fit, replace(fit, scales=SHARED)
    alone, (count, deviation) = (each.of_lists(lists, each.factor()) for each in fits)
    assert deviation[0] ** 2 == pytest.approx((prior - gain)[np.ix_(LIST, LIST)].sum())
    assert deviation > alone[1]
    # The score of the deviation, and how far all rates follow it: without it in the prior.
    other = slopes[:, :-1] @ slopes[:, :-1].T + np.diag(fit.rates)
    inverse = np.linalg.inv(np.diag(fit.mean) + table.T @ (other - np.diag(fit.rates)) @ table)
    seen = own @ table
    step = seen @ (counts / fit.mean - 1) / (seen @ inverse @ seen + 1 / 0.2**2)
    followed = own - other @ table @ inverse @ seen
    assert count - alone[0] == pytest.approx(step * followed[LIST].sum())
    assert abs(count - alone[0]) > 1e-3


SHARED = (0.5, 0.05, 0.2)


def test_scales_are_those_of_largest_evidence(channel, written):
    rows = [WORDS.index(word) for text in written[0] for word in text.lower().split()]
    counts = np.bincount(rows, minlength=N)[channel.outputs].astype(float)
    best = estimate.best_fit(estimate.fit(channel, counts))
    made = [estimate.fit(channel, counts, (*of, 0.0)) for of in ((0.5, 0.025), (1.4, 0.1))]
    assert best.evidence() > max(each.evidence() for each in made) - 1


@pytest.mark.parametrize(("spread", "deviation"), [(0.0, 0.25), (1.0, 0.5)])
def test_comparisons_have_the_scales_of_largest_evidence(channel, spread, deviation):
    """Groups whose words differ little from those of all groups, and much."""
    generator = np.random.default_rng(4)
    change = spread * generator.standard_normal(N + 1)
    rates = [40_000 * channel.prior * np.exp(change * sign) for sign in (-0.5, 0.5)]
    groups = [generator.poisson(row @ matrix(channel)).astype(float) for row in rates]
    whole = estimate.fit(channel, sum(groups))
    assert [fit.scales[0] for fit in estimate.beside(whole, groups)] == [deviation] * 2


def test_golden_numbers(found):
    """Fixed draws: any change of the formulas changes these."""
    assert found.groups == {"A": 12_000, "B": 24_000}
    (row,) = found.comparisons({"list": [WORDS[at] for at in LIST]})
    assert (found.misfit, row["times"]) == pytest.approx((0.02270, 2.82830), rel=3e-3)
    counts = found.counts({"list": [WORDS[at] for at in LIST]})
    ends = [each[name] for each in counts for name in ("low", "high")]
    assert ends == pytest.approx([139, 450, 53, 196], abs=1)


def test_a_planted_list_is_called_and_counted(found, written):
    lists = {"planted": [WORDS[at] for at in LIST], "other": WORDS[20:24]}
    (row,) = found.comparisons(lists)
    assert (row["list"], row["more"], row["less"]) == ("planted", "A", "B")
    true = written[2][:, LIST].sum(axis=1)
    assert 1.5 < row["times"] <= 2 * true[0] / true[1]
    for each in found.counts(lists):
        rows = [WORDS.index(word) for word in lists[each["list"]]]
        count = written[2]["AB".index(each["group"]), rows].sum()
        assert (each["low"] or 0) <= count <= each["high"]
    words = {each["word"] for each in found.top() if each["group"] == "A"}
    assert words == {WORDS[at] for at in LIST}


def test_equal_groups_are_not_called():
    """The twin: without a plant nothing is called, of 100 lists and all words."""
    texts, by, _ = texts_of(times=1)
    found = Estimate(sanitizer().rewrite(texts), by, sanitizer())
    lists = {str(at): [WORDS[at], WORDS[at + 50]] for at in range(100)}
    assert found.comparisons(lists) == []
    assert found.top() == []


def test_an_upper_bound_holds_whatever_the_text():
    """With distributions that are nearly the identity it is the count and its deviation."""
    made = sanitizer(60.0, mechanism="krr")
    channel = Channel.of(made.sampler, made.space, [np.array([row]) for row in range(N)])
    counts = np.full(N, 100.0)
    fit = estimate.fit(channel, counts, (1.0, 0.1, 0.0))
    bounds = [estimate.at_most(fit, as_lists([rows], N + 1)) for rows in ([7], [7, 9])]
    assert bounds == pytest.approx([100 + 1.96 * 10, 200 + 1.96 * np.sqrt(200)], rel=1e-4)


def test_words_that_no_output_shows_may_have_occurred():
    """Never "at most 0": with 3.69 expected outputs, one text in forty has none of them."""
    made = sanitizer(60.0, mechanism="krr")
    channel = Channel.of(made.sampler, made.space, [np.array([row]) for row in range(N)])
    counts = np.full(N, 100.0)
    counts[[7, 9]] = 0, 1
    fit = estimate.fit(channel, counts, (1.0, 0.1, 0.0))
    bounds = [estimate.at_most(fit, as_lists([rows], N + 1)) for rows in ([7], [9])]
    assert bounds == pytest.approx([-math.log(0.025)] * 2, rel=1e-3)
    assert estimate.bounds(fit, counts, as_lists([np.array([7])], N + 1)) == [(None, 4)]


@pytest.mark.parametrize("other", [{"epsilon": 6.0}, {"mechanism": "knn-response"}])
def test_texts_of_other_settings_are_refused(written, other):
    with pytest.raises(UsageError, match="not written by these settings"):
        Estimate(written[0], written[1], sanitizer(**other))
    with pytest.raises(UsageError, match="not written by these settings"):
        Estimate(texts_of()[0], written[1], sanitizer())


def test_words_that_are_no_outputs_are_refused_before_any_fit(monkeypatch):
    made = sanitizer(mechanism="knn-response", parameters={"k": 2, "outputs": 6})
    monkeypatch.setattr(estimate, "fit", None)
    texts, by, _ = texts_of()
    with pytest.raises(UsageError, match="not written by these settings") as told:
        Estimate(texts, by, made)
    assert re.fullmatch(r"\d\d,\d{3} of 36,000 words cannot be .*", told.value.hint)
    words = 10_000 * np.eye(N, dtype=int)[0]
    words[150] = 500
    check_outputs(made.sampler, words)  # fewer than a word of twenty
    words[150] = 600
    with pytest.raises(UsageError, match="not written by these settings"):
        check_outputs(made.sampler, words)
    check_outputs(made.sampler, np.eye(N, dtype=int)[150] * 5)  # too short to judge


def test_a_wrong_epsilon_is_noticed_in_thirty_thousand_words(monkeypatch):
    """Read as 9, what was written at 8 has a misfit of 1.54; read as 8, it has .75."""
    size, generator = 1500, np.random.default_rng(5)
    embeddings = make_embeddings(size, 8)
    shares = np.exp(0.7 * generator.standard_normal(size)) / (np.arange(size) + 10)
    rows = generator.choice(size, 30_000, p=shares / shares.sum())
    words = np.array(embeddings.index_to_key)[rows]
    lines = [" ".join(part) for part in np.split(words, 1500)]
    given = {"embeddings": embeddings, "seed": "estimate"}
    made = {epsilon: Sanitizer(epsilon=epsilon, **given) for epsilon in (7.0, 8.0, 9.0)}
    written, by = made[8.0].rewrite(lines), ["A"] * len(lines)
    for wrong in 7.0, 9.0:
        with pytest.raises(UsageError, match="not written by these settings"):
            Estimate(written, by, made[wrong])
    monkeypatch.setattr(estimate, "best_fit", lambda first, progress: first)
    assert Estimate(written, by, made[8.0]).misfit < 0.85


def test_one_rare_output_is_no_misfit(monkeypatch):
    """Its squared residual is 151 here, and the mean of 128 was 2.2; as many as 12 of 60 were."""
    embeddings, generator = make_embeddings(128, 5), np.random.default_rng(1)
    lines = [" ".join(generator.choice(embeddings.index_to_key, 12)) for _ in range(900)]
    made = Sanitizer(epsilon=3.0, embeddings=embeddings, seed="estimate 14")
    monkeypatch.setattr(estimate, "best_fit", lambda first, progress: first)
    assert Estimate(made.rewrite(lines), ["A"] * 900, made).misfit < 0.85


def test_what_cannot_be_estimated_is_refused(written, found):
    texts, by, _ = written
    with pytest.raises(UsageError, match="1 of 2 groups have fewer than 3,000 words"):
        Estimate(texts[:620], by[:620], sanitizer())
    with pytest.raises(UsageError, match="there are no texts"):
        Estimate([None], ["A"], sanitizer())
    with pytest.raises(UsageError, match="several times"):
        Estimate(texts + texts[:40] * 5, by + by[:40] * 5, sanitizer())
    assert Estimate(texts + texts[:2], by + by[:2], sanitizer()).groups  # some are chance
    with pytest.raises(UsageError, match="fewer than 10,000 words"):
        Estimate(texts[:800], by[:800], sanitizer()).top()
    with pytest.raises(UsageError, match="a mechanism without a table"):
        Estimate(texts, by, sanitizer(mechanism="exponential", epsilon=2.0))
    many = embed([f"w{at}" for at in range(6001)], d=2)
    with pytest.raises(UsageError, match="at most 6,000 outputs"):
        Estimate(texts, by, Sanitizer("krr", epsilon=2, embeddings=many))
    with pytest.raises(UsageError, match="not in the vocabulary: nowhere"):
        found.counts({"list": ["word1", "nowhere"]})


def test_articles_are_read_as_one_word():
    """The word that follows chooses *a* or *an*: both outputs count as one."""
    words = ["a", "an", *WORDS[2:]]
    english = replace(EMBEDDINGS, index_to_key=words, english=True, digest="english")
    made = Sanitizer(epsilon=6, embeddings=english, seed=1)
    texts, by, true = texts_of()
    texts = [text.replace("word0 ", "a ").replace("word1 ", "an ") for text in texts]
    found = Estimate(made.rewrite(texts), by, made)
    for row in found.counts({"a": ["a"], "an": ["an"]}):
        count = true["AB".index(row["group"]), int(row["list"] == "an")]
        assert (row["low"] or 0) <= count <= row["high"]


# The command.


@pytest.fixture(scope="module")
def folder_of_run(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("estimate")
    write_vectors(folder / "v.txt", EMBEDDINGS)
    texts, by, _ = texts_of()
    rows = [f"{label},{text}" for label, text in zip(by, texts, strict=True)]
    (folder / "texts.csv").write_text("\n".join(["group,text", *rows]) + "\n")
    for label in "AB":
        chosen = [text for text, group in zip(texts, by, strict=True) if group == label]
        (folder / f"{label}.txt").write_text("\n".join(chosen) + "\n")
    (folder / "spans.jsonl").write_text('{"spans": [{"start": 0, "end": 3}]}\n' * 600)
    (folder / "lists.txt").write_text("# of words\nplanted=" + ",".join(WORDS[at] for at in LIST))
    return folder


@pytest.fixture
def run(dpsan, folder_of_run):
    def run(command, status=0):
        done = dpsan(*command.split(), cwd=folder_of_run, status=status)
        return (done.stdout if status == 0 else done.stderr).decode()

    return run


REWRITE = "rewrite -q -E v.txt -e 8 --force --seed estimate"


def test_the_command_takes_the_settings_of_an_audit(run, folder_of_run):
    run(f"{REWRITE} -k text texts.csv -a audit.jsonl -O safe")
    given = "estimate -q -E v.txt -k text --by group --list @lists.txt --top 4 safe/texts.csv"
    shown = run(f"{given} --audit audit.jsonl")
    assert re.search(r"planted +A +B +\d\.\d times", shown)
    assert "no evidence of equality" in " ".join(shown.split())
    found = json.loads(run(f"{given} -e 8 --json --html page.html --force"))
    (row,) = found["comparisons"]
    assert (row["more"], row["less"]) == ("A", "B")
    assert f"{math.floor(10 * row['times']) / 10:.1f} times" in shown
    line = next(line for line in shown.splitlines() if line.startswith("A ") and "," in line)
    words = [each["word"] for each in found["top"] if each["group"] == "A"]
    assert words == line.split(maxsplit=1)[1].split(", ")
    assert "no evidence of equality" in found["no_call"]
    page = (folder_of_run / "page.html").read_text()
    low, high = found["counts"][0]["low"], found["counts"][0]["high"]
    assert f"--share:{100 * (high - low) / high:.1f}%;--from:100.0%" in page


def test_evaluate_refuses_words_that_are_no_outputs(run):
    """Before it reads a model; the twin has spans, between which words may pass."""
    given = "evaluate -q -e 8 -m knn-response -p k=2 -p outputs=6 -E v.txt A.txt A.txt"
    told = run(given, 2)
    assert told.startswith("dpsan: these texts were not written by these settings (")
    assert told.count("\n") == 1
    assert json.loads(run(f"{given} --spans spans.jsonl --json"))["words"] == 12_000


def test_each_file_is_a_group_where_nothing_else_is_said(run):
    run(f"{REWRITE} A.txt B.txt -O safe")
    found = run("estimate -q -e 8 -E v.txt --list @lists.txt --json safe/A.txt safe/B.txt")
    assert json.loads(found)["groups"] == {"A.txt": 12_000, "B.txt": 24_000}


@cases(
    "setting what",
    ("--consistent record", "equal words that share a draw (--consistent)"),
    ("--numbers value", "numbers of the same form (--numbers)"),
    ("--public word.txt", "public words, which mostly stay (--public)"),
    ("--keep word.txt", "kept words, which look drawn (--keep)"),
    ("--spans spans.jsonl", "words outside spans (--spans)"),
    ("--copies 2", "each text was written several times (--copies)"),
)
def test_settings_are_read_from_the_audit_and_refused(run, folder_of_run, setting, what):
    (folder_of_run / "word.txt").write_text("word7\n")
    run(f"{REWRITE} {setting} A.txt -a audit.jsonl -O safe")
    told = run("estimate --audit audit.jsonl -E v.txt --list a=word1 safe/A.txt", 2)
    assert told.startswith("dpsan: cannot estimate: ")
    assert what in told
    assert told.count("\n") == 1
    if "spans" not in setting and "copies" not in setting:
        other = run(f"estimate -e 8 {setting} -E v.txt --list a=word1 safe/A.txt", 2)
        assert other == told


def test_another_vocabulary_than_the_runs_is_refused(run, folder_of_run):
    """The digest of its header tells; without an audit the misfit does."""
    other = replace(EMBEDDINGS, vectors=EMBEDDINGS.vectors[::-1].copy())
    write_vectors(folder_of_run / "other.txt", other)
    run(f"{REWRITE} A.txt -a audit.jsonl -O safe")
    told = run("estimate --audit audit.jsonl -E other.txt --list a=word1 safe/A.txt", 2)
    assert told.startswith("dpsan: the audit was made with other embeddings (")
    assert told.count("\n") == 1
    told = run("estimate -q -e 8 -E other.txt --list a=word1 safe/A.txt", 2)
    assert "these texts were not written by these settings" in told


@cases("options told", *CASES["requests"])
def test_wrong_requests_are_one_line(run, options, told):
    shown = run(f"estimate -q -E v.txt {options}", 2)
    assert told in shown
    assert shown.count("\n") == 1
