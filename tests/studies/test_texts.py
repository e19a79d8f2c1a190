"""Studies of labelled texts: [TrLap] Tables 1-3, [TGumbel] Tables 2, 3, and the attackers."""

import json
import math

import numpy as np
import pytest
import tgumbel
import trlaplace
from common.attackers import genetic, greedy, random_rewrite
from support import extra_is_installed, need_extra

from dpsan.embeddings.base import Embeddings
from dpsan.errors import InputError, UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
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
    hint = r"t.csv: no column 'content' \(--text COLUMN, --header "
    with pytest.raises(InputError, match=hint) as told:
        UTILITY.make(space, parameters=values, **asked)
    assert "--field" not in str(told.value)
    if extra_is_installed("evaluate"):
        assert UTILITY.make(space, parameters={**values, "delimiter": ";"}, **asked).rows
    with pytest.raises(UsageError, match="--delimiter must be one ASCII character"):
        UTILITY.make(space, parameters={**values, "delimiter": "xy"}, **asked)


def draft(name, **values):
    return Draft(MECHANISMS[name], values)


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
    for wrong, message in (
        ({"text": "content"}, "--train is missing"),
        (fields(folder, header="maybe"), "header must be"),
        (fields(folder, records="0"), "--records must be"),
        (fields(folder, label="none"), "none"),
    ):
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
    assert plain["clean"] == 1
    # Two of seven known words may be replaced: exactly the two that give the label away.
    assert plain["greedy"] == 0
    assert plain["greedy"] <= plain["genetic"] <= plain["random"] <= plain["clean"]
    assert plain["random"] > 0.5
    # Rewrites that change nothing teach nothing.
    assert [same[each] for each in ("clean", "greedy")] == [plain["clean"], plain["greedy"]]
    assert "upper bound" in result.notes[0]


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
