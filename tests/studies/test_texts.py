"""Studies of labelled texts: [TrLap] Tables 1-3, [TGumbel] Tables 2, 3, and the attackers."""

import itertools
import json
import math

import numpy as np
import pytest
import tgumbel
import trlaplace
from common.attackers import IntervalClassifier, genetic, greedy, near_words, random_rewrite
from common.noisy_vectors import Released, bleu, boxed, means, windows
from common.study import Asked
from common.texts import labelled
from support import extra_is_installed, need_extra

from dpsan.analysis.compare.measure import Corpus
from dpsan.analysis.evaluate.accuracy import Labelled
from dpsan.embeddings.words import Embeddings
from dpsan.errors import InputError, UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.text_likelihood import Texts
from dpsan.space.metric_space import MetricSpace

UTILITY = trlaplace.STUDIES["tables-1-3"]
ROBUSTNESS = tgumbel.STUDIES["tables-2-3"]
UP, DOWN, OTHER = ([f"{name}{i}" for i in range(8)] for name in ("good", "bad", "the"))
WORDS = [each for three in zip(UP, DOWN, OTHER, strict=True) for each in three]


@pytest.fixture(scope="module")
def made():
    """Words in threes: good, bad and neutral ones of one number are near each other."""
    places = [[10 * (row // 3), row % 3, 0.1 * row] for row in range(len(WORDS))]
    embeddings = Embeddings(WORDS, np.array(places, dtype=np.float32), "made-up", "threes")
    return embeddings, MetricSpace(embeddings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """100 texts of eight words: two of their label's, five neutral ones and an unknown one."""
    folder = tmp_path_factory.mktemp("texts")
    lines = ["label\tcontent"]
    for row in range(100):
        own = (UP, DOWN)[row % 2]
        text = [own[(row // 2) % 8], own[(row // 3) % 8]]
        text += [OTHER[(row + at) % 8] for at in range(5)]
        lines.append(f"{'ud'[row % 2]}\t{' '.join(text)}, Zzyzx!")
    (folder / "t.tsv").write_text("\n".join(lines) + "\n")
    (folder / "test.tsv").write_text("\n".join([lines[0], *lines[60:]]) + "\n")
    return folder


def fields(folder, **more):
    return {"train": str(folder / "t.tsv"), "text": "content", "label": "label", **more}


def test_hints_name_what_a_study_has(made, folder):
    embeddings, space = made
    lines = (folder / "t.tsv").read_text().replace(",", "").replace("\t", ";")
    (folder / "t.csv").write_text(lines)
    asked = {"embeddings": embeddings, "mechanisms": (draft("krr"),), "epsilons": (9.0,)}
    values = fields(folder, train=str(folder / "t.csv"))
    with pytest.raises(InputError, match=r"t.csv: no column 'tent' \(") as told:
        UTILITY.make(space, parameters={**values, "text": "tent"}, **asked)
    assert "--field" not in str(told.value)
    assert "-k " not in str(told.value)
    if extra_is_installed("evaluate"):
        assert UTILITY.make(space, parameters={**values, "delimiter": ";"}, **asked).rows
    with pytest.raises(UsageError, match="--delimiter must be one ASCII character"):
        UTILITY.make(space, parameters={**values, "delimiter": "xy"}, **asked)


def draft(name, **values):
    return Draft(MECHANISMS[name], values)


def test_weighted_f1_by_hand():
    """Of 4 texts up and 2 down an up reads as down: F1 is 6/7 (of 1, 3/4) and 4/5 (of 2/3, 1)."""
    need_extra("evaluate")
    good, bad = "good fine lovely", "bad poor awful"
    train = Labelled([], [good, bad] * 10, ["up", "down"] * 10)
    test = Labelled([], [good] * 3 + [bad] * 3, ["up"] * 4 + ["down"] * 2)
    by_hand = (4 * 6 / 7 + 2 * 4 / 5) / 6  # the plain mean is .009 less
    assert trlaplace.weighted_f1(train, test) == pytest.approx(by_hand)


def test_utility(made, folder):
    need_extra("evaluate")
    embeddings, space = made
    drafts = [draft(name) for name in ("krr", "trlaplace-paper", "laplace", "tldp-paper-l")]
    asked = {"embeddings": embeddings, "mechanisms": drafts, "epsilons": (0.05, 30.0)}
    result = UTILITY.make(space, parameters=fields(folder), **asked)
    found = {(row["mechanism"], row["epsilon"]): row for row in result.rows}
    assert [result.parameters[f"{part}_texts"] for part in ("training", "test")] == [80, 20]
    assert result.summary["original_accuracy"] == 1
    nothing, all_ = found["krr", 0.05], found["krr", 30.0]
    # Seven words of eight are known: as they are at epsilon 30, and the unknown one never stays.
    assert [all_["kept"], all_["rouge_recall"]] == pytest.approx([7 / 8] * 2)
    assert all_["accuracy"] == all_["weighted_f1"] == 1
    assert trlaplace.rouge(["a b"], ["a c"])["recall"] == 0.5
    assert nothing["kept"] < 0.15
    assert nothing["accuracy"] < 0.9
    # The bound of every mechanism, and of the claim: e^.05 of the most frequent word.
    most = result.summary["most_frequent_word"]
    assert most == pytest.approx(1 / 10, abs=0.04)
    paper = found["trlaplace-paper", 0.05]
    assert paper["bound_of_claim"] == pytest.approx(math.exp(0.05) * most + 4.0**-3)
    assert paper["delta"] > 0.1
    for row in result.rows:
        assert row["kept"] <= row["bound"] + 0.05
    # Epsilon and delta of one guarantee: that of the claim, not of I·epsilon.
    pair = draft("tldp-paper-l").at(0.05).guarantee(space).at_claim
    tensor = found["tldp-paper-l", 0.05]
    assert (tensor["epsilon_ldp"], tensor["delta"]) == (pair.epsilon, pair.delta)
    assert found["laplace", 30.0]["epsilon_ldp"] == pytest.approx(30 * space.diameter, rel=0.01)
    assert found["laplace", 30.0]["bound_of_claim"] is None
    assert not any(word in json.dumps([*result.notes, result.caption]) for word in WORDS)


def test_what_utility_refuses(made, folder):
    embeddings, space = made
    asked = {"embeddings": embeddings, "epsilons": (1.0,)}
    more = {"header": ("maybe", "header must be"), "records": ("0", "--records must be")}
    more["label"] = "none", "none"
    wrongs = [(fields(folder, **{name: value}), told) for name, (value, told) in more.items()]
    for wrong, message in [({"text": "content"}, "--train is missing"), *wrongs]:
        with pytest.raises(Exception, match=message) as caught:
            UTILITY.make(space, parameters=wrong, **asked)
        assert "good" not in str(caught.value)
    asked |= {"epsilons": (0.001,), "mechanisms": [draft("tgumbel-paper")]}
    with pytest.raises(UsageError, match=r"domain|defined|needs epsilon"):
        UTILITY.make(space, parameters=fields(folder), **asked)


def test_robustness(made, folder):
    need_extra("evaluate")
    embeddings, space = made
    values = {"attacked": "12", "near": "2", "changed": "0.3", "copies": "1", "records": "90"}
    values = fields(folder, test=str(folder / "test.tsv"), **values)
    asked = {"mechanisms": [draft("krr")], "epsilons": (30.0, 1.0)}
    result = ROBUSTNESS.make(space, embeddings=embeddings, parameters=values, **asked)
    plain, same, _ = result.rows
    assert 0 <= result.summary["certified"] <= 1
    assert plain["clean"] == 1
    # Two of seven known words may be replaced: exactly the two that give the label away.
    assert plain["greedy"] == 0
    assert plain["greedy"] <= plain["genetic"] <= plain["random"] <= plain["clean"]
    assert plain["random"] > 0.5
    # Rewrites that change nothing teach nothing.
    assert [same[each] for each in ("clean", "greedy")] == [plain["clean"], plain["greedy"]]
    assert "upper bound" in result.notes[0]


def test_attackers_who_draw_from_the_mechanism(made, folder):
    """Draws that keep every word cannot mislead; those that change all of them do."""
    need_extra("evaluate")
    embeddings, space = made
    values = {"attacked": "5", "near": "2", "copies": "1", "records": "90", "attack": "mechanism"}
    values = fields(folder, test=str(folder / "test.tsv"), **values)
    asked = {"mechanisms": [draft("krr")], "epsilons": (1e-3, 40.0)}
    result = ROBUSTNESS.make(space, embeddings=embeddings, parameters=values, **asked)
    assert len(result.rows) == 6
    for row in result.rows:
        assert row["epsilon"] in (1e-3, 40.0)
        if row["epsilon"] == 40:
            assert row["clean"] == row["random"] == row["genetic"]
    (lost,) = {row["genetic"] for row in result.rows[:1]}
    assert lost == 0
    for wrong in ("far", ""):
        with pytest.raises(UsageError, match="--attack must be"):
            ROBUSTNESS.make(space, embeddings=embeddings, parameters={**values, "attack": wrong})


def test_intervals_are_exact(made, folder):
    """What is certified, no choice of substitutes changes; what is not, some choice does."""
    embeddings, space = made
    asked = Asked(parameters=fields(folder, records="50"), embeddings=embeddings)
    train, test = labelled(asked)
    sets = near_words(space, embeddings, train, near=1)
    model = IntervalClassifier(train, sets, embeddings)
    guesses = [model.classes_[at] for at in model.predict_proba(test.originals).argmax(axis=1)]
    assert guesses == list(test.labels)
    for near in (0, 1, 2):
        own = near_words(space, embeddings, test, near=near)
        share = model.certified(test, own)
        safe = 0
        for pieces, label, others in zip(test.pieces, test.labels, own, strict=True):
            # Seven words with up to three choices each, an unknown one with none.
            choices = [[word, *some] for word, some in zip(pieces[1::2], others, strict=True)]
            texts = [" ".join(words) for words in itertools.product(*choices)]
            at = model.predict_proba(texts).argmax(axis=1)
            safe += all(model.classes_[each] == label for each in at.tolist())
        assert share == safe / len(test.labels)
    assert model.certified(test, near_words(space, embeddings, test, near=0)) == 1


@pytest.fixture(scope="module")
def hundred():
    """The same words far from each other, in 100 dimensions."""
    vectors = np.random.default_rng(5).normal(size=(len(WORDS), 100)).astype(np.float32)
    embeddings = Embeddings(WORDS, vectors, "hundred", "hundred")
    return embeddings, MetricSpace(embeddings)


def test_the_box_names_words_that_the_claim_hides(hundred, folder):
    """Noise that is as wide as claimed still lies in a box; the most likely word in it is named."""
    (embeddings, space), values = hundred, fields(folder)
    asked = {"embeddings": embeddings, "parameters": values, "epsilons": (0.05, 4.9)}
    rows = trlaplace.STUDIES["box-attack"].make(space, **asked).rows
    assert rows[0]["named"] > rows[0]["claim_allows"] + 0.2
    assert rows[0]["named"] > rows[1]["named"]  # a smaller epsilon is less private
    assert [row["true_delta"] for row in rows] == sorted(r["true_delta"] for r in rows)[::-1]
    # By hand: three words on a line, noise of at most 1 from 0.5: only 0 and 1 can be.
    found = Released(np.array([[0.0], [1.0], [9.0]]), np.array([[0.5], [8.6]]))
    prior = np.log(np.array([0.2, 0.7, 0.1]))
    names, counts = boxed(found, 0.1, 1.0, prior)
    assert (names.tolist(), counts.tolist()) == ([1, 2], [2, 1])


def test_a_decoder_of_noisy_vectors(hundred, folder):
    """It names words without noise; where there is nothing to read, the most frequent one."""
    need_extra("evaluate")
    embeddings, space = hundred
    asked = {"embeddings": embeddings, "parameters": fields(folder), "epsilons": (0.05,)}
    result = trlaplace.STUDIES["autoencoder"].make(space, **asked)
    plain, *noisy = result.rows
    assert plain["loss"] < min(row["loss"] for row in noisy)
    assert plain["kept"] > max(row["kept"] for row in noisy) + 0.1
    with pytest.raises(UsageError, match="krr does not clip"):
        trlaplace.STUDIES["autoencoder"].make(space, mechanisms=[draft("krr")], **asked)


def test_figure_4_reads_vectors_and_boxes(hundred, folder):
    need_extra("evaluate")
    embeddings, space = hundred
    figure = trlaplace.STUDIES["figure-4"]
    for reads, count in (("vectors", 8), ("box", 4)):
        values = fields(folder, reads=reads, others="random", clip="100")
        asked = {"embeddings": embeddings, "parameters": values, "epsilons": (0.05,)}
        rows = figure.make(space, **asked).rows
        assert len(rows) == count
        assert {row["embeddings"] for row in rows} == {"hundred", "random"}
        plain = [row["accuracy"] for row in rows if row["mechanism"] == "none"]
        assert min(plain) > 0.7
    with pytest.raises(UsageError, match="--reads must be"):
        figure.make(space, embeddings=embeddings, parameters=fields(folder, reads="letters"))


def test_windows_and_means_by_hand():
    texts = Corpus(Texts(np.array([3, 9, 4, 5]), np.array([0, 3, 4])), np.zeros(1), "", 2)
    known = np.array([0, 2, 3])  # 9 has no vector
    vectors = np.array([[1.0], [2.0], [3.0]])
    assert windows(texts, known, vectors, 1).tolist() == [[0, 1, 0], [0, 2, 0], [0, 3, 0]]
    assert windows(texts, known, vectors, 2).tolist()[1] == [1, 0, 2, 0, 0]
    assert means(texts, known, vectors).tolist() == [[1.5], [3.0]]


def test_bleu_by_hand():
    text = ["the", "cat", "sat", "on", "the", "mat"]
    assert bleu([text], [text]) == pytest.approx(1)
    other = ["the", "cat", "sat", "on", "a", "mat"]
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 fours.
    assert bleu([text], [other]) == pytest.approx((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert bleu([text], [text[:5]]) == pytest.approx(math.exp(1 - 6 / 5))
    assert bleu([text], [["dog"]]) == 0


def test_sizes_of_texts(made, folder):
    embeddings, space = made
    for script, name in ((trlaplace, "table-4"), (tgumbel, "table-1")):
        asked = {"embeddings": embeddings, "parameters": fields(folder)}
        one, other = script.STUDIES[name].make(space, **asked).rows
        assert [one[each] for each in ("texts", "words", "labels")] == [80, 640, 2]
        assert (other["mean_length"], other["sd_length"], one["distinct"]) == (8, 0, 24)


def test_searches_find_what_there_is():
    """A text is read wrong where its first three words are all changed to b."""

    def bits(seed):
        return np.random.default_rng(seed).random

    def score(versions):
        return np.array([sum(word != "b" for word in words[:3]) - 0.5 for words in versions])

    words, candidates = ["a"] * 10, [["b", "c"]] * 9 + [[]]
    assert score([greedy(words, candidates, 3, score)])[0] < 0
    assert score([genetic(words, candidates, 6, score, bits(1))])[0] < 0
    # Not allowed to change enough, nobody finds it, and nobody changes more than that.
    for most in (1, 2):
        asked = words, candidates, most
        rewrites = [genetic(*asked, score, bits(2)), random_rewrite(*asked, bits(3))]
        for found in (greedy(*asked, score), *rewrites):
            assert score([found])[0] > 0
            assert sum(a != b for a, b in zip(found, words, strict=True)) <= most
            assert found[9] == "a"
    assert greedy([], [], 3, lambda versions: np.ones(len(versions))) == []
    assert random_rewrite(["a"], [[]], 1, bits(4)) == ["a"]
