"""What is made once for a vocabulary shows how much of it is done."""

from contextlib import contextmanager

from support import cases, make_embeddings

from dpsan.mechanisms.registry import MECHANISMS
from dpsan.space.diameters import smallest_distance
from dpsan.space.metric_space import MetricSpace


def watched():
    """A space, and what was shown with the shares that were told of each."""
    shown = []

    @contextmanager
    def watch(what):
        shown.append((what, []))
        yield shown[-1][1].append

    space = MetricSpace(make_embeddings(n=1100))
    space.watch = watch
    return space, shown


@cases(
    "name parameters expected",
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
)
def test_tables_show_how_much_is_done(name, parameters, expected):
    space, shown = watched()
    mechanism = MECHANISMS[name].build(8.0, parameters).resolved(space)
    mechanism.guarantee(space)
    mechanism.prepare(space)
    assert expected <= {name for name, _ in shown}
    for _, told in shown:
        assert told == sorted(told)
        assert told[0] >= 0
        assert 0.8 < told[-1] <= 1


def test_near_words_of_an_index_show_how_much_is_done():
    space, shown = watched()
    space.nearest_distances()
    smallest_distance(space)
    names = ["finding the nearest word of each", "looking for the nearest two words"]
    assert [(name, told[-1]) for name, told in shown] == [(name, 1.0) for name in names]
