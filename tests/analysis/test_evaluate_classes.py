"""Words read back per class, beside the floor."""

import json

import numpy as np
import pytest
from read_back import pairs_of
from support import make_embeddings, streams

from dpsan.analysis.evaluate.attack import attacks
from dpsan.analysis.evaluate.by_class import by_class
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.mechanisms.optimal.class_response import ClassResponse, part
from dpsan.space.metric_space import MetricSpace

EMBEDDINGS = make_embeddings(n=120, d=4)
SPACE = MetricSpace(EMBEDDINGS)
VOCABULARY = Vocabulary(EMBEDDINGS, "unicode")


@pytest.mark.parametrize("epsilon", [12.0, 0.01])
def test_a_large_epsilon_is_read_and_a_small_one_is_at_the_floor(epsilon):
    """Of a text in which two thirds of the words have a class."""
    rows = tuple(range(20, 100))
    one = ClassResponse(epsilon, parts=(part("names", epsilon, rows, rows),))
    inputs = np.random.default_rng(4).integers(0, 120, 3000)
    pairs = pairs_of(inputs, one.prepare(SPACE).sample(inputs, streams(len(inputs))))
    found = attacks(pairs, VOCABULARY, SPACE, one, None).attacks
    (only,) = by_class(pairs, VOCABULARY, SPACE, one, None, found, lambda _: None)
    assert only.read.total == ((inputs >= 20) & (inputs < 100)).sum()
    # Without the drawn word only the most frequent of the class can be guessed.
    assert only.floor.value == pytest.approx(1 / 80, abs=0.01)
    assert (only.read.value > 0.95) is (epsilon == 12.0)
    assert (only.read.value < only.floor.value + 0.02) is (epsilon == 0.01)
    assert {*only.as_json()} == {"class", "unchanged", "read_back", "floor"}
    assert only.as_json()["class"] == only.name == "names"


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

    def told(name, *more):
        given = (*small, "--no-scores", "--json", "text.txt", f"{name}.txt")
        done = dpsan("evaluate", "--audit", f"{name}.jsonl", *more, *given, cwd=tmp_path)
        if done.returncode:
            return done.stderr.decode()
        return {each["class"]: each for each in json.loads(done.stdout)["classes"]}

    classes = told("only")
    assert classes["names"]["read_back"]["of"] == 3
    assert classes["places"]["floor"]["of"] == 2
    assert "give --class list.txt, the file of the run" in told("own")
    for name, places in (("own", 2), ("two", None)):
        classes = told(name, "--class", "list.txt")
        assert classes["list.txt"]["floor"]["of"] == 3
        assert classes.get("places", {}).get("floor", {}).get("of") == places
    (tmp_path / "list.txt").write_text("maria\n")
    assert "another list of the class list.txt" in told("own", "--class", "list.txt")
    alone = dpsan("evaluate", "--class", "list.txt", "text.txt", "own.txt", cwd=tmp_path)
    assert b"--class needs --audit" in alone.stderr
