"""Words read back per class, beside the floor."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support import make_embeddings, streams

from dpsan.analysis.evaluate import setting as setting_module
from dpsan.analysis.evaluate.attack import attacks
from dpsan.analysis.evaluate.by_class import by_class, without_words
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.setting import Setting
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.class_lists import bundled_class
from dpsan.mechanisms.optimal.class_response import ClassResponse, part
from dpsan.outcomes.language.symbols import Gap
from dpsan.space.metric_space import MetricSpace

EMBEDDINGS = make_embeddings(n=120, d=4)
SPACE = MetricSpace(EMBEDDINGS)
VOCABULARY = Vocabulary(EMBEDDINGS, "unicode")


def mechanism(epsilon):
    rows = tuple(range(20, 100))
    return ClassResponse(epsilon, parts=(part("names", epsilon, rows, rows),))


def shares(epsilon):
    """Of a text in which half of the words have a class."""
    one = mechanism(epsilon)
    inputs = np.random.default_rng(4).integers(0, 120, 3000)
    outputs = one.prepare(SPACE).sample(inputs, streams(len(inputs)))
    texts = [""]
    kinds = np.full(len(inputs), Gap.SPACE)
    kinds[0] = Gap.LINE
    pairs = Pairs(
        texts, texts, [1], 1, 0, np.zeros(len(inputs), np.int64), np.zeros((len(inputs), 2), int),
        inputs, outputs, inputs == outputs, kinds, np.ones(len(inputs), np.int64),
    )  # fmt: skip
    found = attacks(pairs, VOCABULARY, SPACE, one, None).attacks
    (only,) = by_class(pairs, VOCABULARY, SPACE, one, None, found, lambda _: None)
    return only, float(((inputs >= 20) & (inputs < 100)).sum())


def test_a_large_epsilon_is_read_and_the_floor_is_the_most_frequent_word():
    found, words = shares(12.0)
    assert found.name == "names"
    assert found.read.total == words
    assert found.read.value > 0.95
    # Without the drawn word only the most frequent of the class can be guessed.
    assert found.floor.value == pytest.approx(1 / 80, abs=0.01)


def test_at_a_small_epsilon_the_attack_is_at_the_floor():
    found, _ = shares(0.01)
    assert found.read.value < found.floor.value + 0.02


def test_the_floor_knows_the_class_alone():
    one = without_words(mechanism(12.0))
    law = one.prepare(SPACE).probabilities(np.array([20, 57, 99, 3]))
    assert np.ptp(law[:3], axis=0).max() < 1e-12
    assert law[3, 3] == 1


def test_the_command(dpsan, tmp_path):
    """An audit of a run with classes says which; a list of one's own must be the same file."""
    (tmp_path / "text.txt").write_text("Maria met Peter in London on Monday, and Anna in Paris.\n")
    small = ("--vocab-size", "3000")
    (tmp_path / "list.txt").write_text("\n".join(["maria", "peter", "anna", "john", "mary"]))
    for name, options in {
        "only": ("--only", "names=2,places=3"),
        "own": ("--only", "list.txt=2,places=3", "-m", "knn-response"),
        "two": ("-e", "12", "--class", "list.txt=2,contacts=1", "-m", "knn-response"),
    }.items():
        files = ("text.txt", "-a", f"{name}.jsonl", "-o", f"{name}.txt")
        run = ("rewrite", "-q", *small, *options, *files)
        assert dpsan(*run, cwd=tmp_path).returncode == 0
    given = (*small, "--no-scores", "--json", "text.txt")
    done = dpsan("evaluate", "--audit", "only.jsonl", *given, "only.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    classes = {each["class"]: each for each in json.loads(done.stdout)["classes"]}
    assert classes["names"]["read_back"]["of"] == 3
    assert classes["places"]["floor"]["of"] == 2
    done = dpsan("evaluate", "--audit", "own.jsonl", *given, "own.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert b"give --class list.txt, the file of the run" in done.stderr
    for name, places in (("own", 2), ("two", None)):
        files = ("--class", "list.txt", *given, f"{name}.txt")
        done = dpsan("evaluate", "--audit", f"{name}.jsonl", *files, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
        classes = {each["class"]: each for each in json.loads(done.stdout)["classes"]}
        assert classes["list.txt"]["floor"]["of"] == 3
        assert classes.get("places", {}).get("floor", {}).get("of") == places
    (tmp_path / "list.txt").write_text("maria\n")
    done = dpsan("evaluate", "--audit", "own.jsonl", *files, cwd=tmp_path)
    assert b"another list of the class list.txt" in done.stderr
    assert b"--class needs --audit" in dpsan("evaluate", *files, cwd=tmp_path).stderr


def test_two_levels_are_built_from_the_header(monkeypatch):
    """Strings that are drawn uniformly have no epsilon of their own there."""
    rows = [
        {"class": name, "epsilon": epsilon, "words": 9, "sha256": bundled_class(name).sha256}
        for name, epsilon in (("contacts", 0.0), ("names", 2.0))
    ]
    given = ("two-level-response", 12.0, {}, "unicode", "", "", 1)
    setting = Setting(*given, classes=tuple(rows), base="knn-response")
    assert setting.by_class
    asked = []
    monkeypatch.setattr(setting_module, "build", lambda spec, _: asked.append(spec) or Built())
    setting.class_mechanism(EMBEDDINGS, SPACE)
    assert asked[0].mechanism == "knn-response"
    assert [(each.name, each.epsilon) for each in asked[0].classes] == [
        *(("contacts", 12.0), ("names", 2.0)),
    ]


class Built:
    mechanism = None


def test_shares_are_json():
    found, _ = shares(1.0)
    assert replace(found, name="x").as_json()["class"] == "x"
    assert {*found.as_json()} == {"class", "unchanged", "read_back", "floor"}
