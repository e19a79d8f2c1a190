"""What is made once for a vocabulary shows how much of it is done."""

from contextlib import contextmanager

import pytest
from support import make_embeddings

from dpsan.mechanisms.registry import MECHANISMS
from dpsan.space.diameters import smallest_distance
from dpsan.space.metric_space import MetricSpace


class Shown:
    """What was shown, and the shares that were told of each."""

    def __init__(self):
        self.names, self.shares = [], []

    @contextmanager
    def __call__(self, what):
        self.names.append(what)
        self.shares.append([])
        yield self.shares[-1].append


def watched(n=1100, d=5):
    shown = Shown()
    return MetricSpace(make_embeddings(n=n, d=d), watch=shown), shown


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("knn-response", {}, {"comparing numbers of outputs", "finding near words"}),
        ("custext", {}, {"grouping similar words"}),
        ("clusant", {}, {"grouping similar words"}),
        ("geodesic", {"k": 1}, {"finding near words", "joining near words"}),
        ("geodesic", {"edges": "rank"}, {"finding near words", "ranking near words"}),
        ("diffractor", {}, {"finding near words", "putting words in order"}),
        ("exponential", {}, {"comparing words far out"}),
        ("clipped-laplace", {}, {"comparing words far out"}),
        ("mahalanobis", {}, {"comparing words far out", "moving words"}),
        ("tldp", {}, {"finding directions of variance", "moving words"}),
        ("pte", {"dimensions": 2}, {"comparing distances of all words"}),
    ],
)
def test_tables_show_how_much_is_done(name, parameters, expected):
    space, shown = watched()
    mechanism = MECHANISMS[name].build(8.0, parameters).resolved(space)
    mechanism.guarantee(space)
    mechanism.prepare(space)
    assert expected <= set(shown.names)
    for told in shown.shares:
        assert told == sorted(told)
        assert 0 <= told[0] <= told[-1] <= 1
        assert told[-1] > 0.8


def test_near_words_of_an_index_show_how_much_is_done():
    space, shown = watched()
    space.nearest_distances()
    smallest_distance(space)
    assert shown.names == ["finding the nearest word of each", "looking for the nearest two words"]
    assert [told[-1] for told in shown.shares] == [1.0, 1.0]
