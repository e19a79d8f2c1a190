"""``robustness``: classifiers trained on rewrites, and how often an attacker makes them wrong.

[TGumbel] §6.3 and §6.4 train on randomized copies of the texts and report the accuracy under
attack.  Here every row is a classifier (TF-IDF and logistic regression): one trained on the texts
as they are, and for each mechanism one trained on them and on ``copies`` rewrites of each.
Attackers see the probabilities of the classifier and replace a share of a text's words by some of
their nearest words.

Knows texts, mechanisms and classifiers.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import count, pairwise, product
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import Classifier
from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.choice import label, parameters, repeated
from dpsan.analysis.study.request import positive, whole
from dpsan.analysis.study.sample import share_of_draws, spread
from dpsan.analysis.study.search import Numbers, Score, Words, genetic, greedy, random_rewrite
from dpsan.analysis.study.texts import Texts, labelled, rewrite, with_words
from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.tem import TEM
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.shares import in_steps, part_of
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

METHODS: Final = (Laplace, TEM, KnnResponse)
EPSILONS: Final = (8.0, 20.0)
ATTACKS: Final = ("random", "greedy", "genetic")
_COPIES, _ATTACKED, _NEAR, _CHANGED = 2, 100, 8, 0.2


def run(space: MetricSpace, asked: Asked) -> Result:
    """Accuracy on test texts as they are, and under three attackers, of each classifier.

    Args:
        asked: of it are used
            mechanisms: that rewrite the training texts; default laplace, tem and knn-response.
            epsilons: in each mechanism's own unit; default 8, 20.
            embeddings: the words of the vocabulary.
            seed: of the draws and of the attackers.
            parameters: those of study utility, and ``copies``, ``attacked``, ``near``,
                ``changed``.

    Raises:
        UsageError: a parameter is missing or wrong, or a mechanism is not defined at an epsilon.
        InputError: a file cannot be read.
        ExtraMissingError: scikit-learn is not installed.
    """
    train, test = labelled(asked)
    values, embeddings = asked.parameters, asked.embeddings
    assert embeddings is not None  # noqa: S101 - the texts were split by it
    copies = whole(values, "copies", _COPIES)
    near = whole(values, "near", _NEAR)
    changed = positive(values.get("changed", _CHANGED), "changed")
    attacked = min(whole(values, "attacked", _ATTACKED), len(test.texts))
    chosen = list(asked.mechanisms) or [Draft(kind) for kind in METHODS]
    key = randomness.seeded_key(f"dpsan study robustness {asked.seed}")
    epsilons = asked.epsilons or EPSILONS
    field = _Field(space, embeddings, test, attacked, near, changed, key)
    pairs = list(product(chosen, epsilons))
    alone = part_of(asked.progress, 0.0, 1 / (len(pairs) + 1))
    rewritten = part_of(asked.progress, 1 / (len(pairs) + 1), 1.0)
    rows = [
        {
            "trained_on": "the texts alone",
            "parameters": "",
            "epsilon": None,
            "epsilon_unit": None,
            **field.judge(Classifier(train.texts, train.labels), alone),
        }
    ]
    for (draft, epsilon), progress in in_steps(rewritten, pairs):
        mechanism = draft.at(epsilon)
        mechanism.guarantee(space)
        sampler = mechanism.prepare(space)
        texts = list(train.texts)
        for copy in range(copies):
            own = randomness.derive_key(key, f"copy {copy}")
            drawn = rewrite(sampler, train, own, lambda _: None)
            texts += train.joined([embeddings.index_to_key[row] for row in drawn.tolist()])
        model = Classifier(texts, train.labels * (copies + 1))
        rows.append(
            {
                "trained_on": f"{label(draft)}, {copies} copies",
                "parameters": parameters(mechanism, space),
                "epsilon": epsilon,
                "epsilon_unit": mechanism.epsilon_unit,
                **field.judge(model, progress),
            }
        )
    return Result(
        rows=rows,
        parameters=repeated(
            asked,
            chosen,
            epsilons=list(epsilons),
            training_texts=len(train.texts),
            attacked=attacked,
            copies=copies,
            near=near,
            changed=changed,
        ),
        panels=_panels(rows),
        caption=f"Accuracy of TF-IDF and logistic regression on {attacked:,} test texts as they "
        f"are and under attackers who replace up to {changed:.0%} of the words by one of the "
        f"{near} nearest; trained on {len(train.texts):,} texts and {copies} rewrites of each. "
        "95 % limits.",
        notes=(
            "random rewrites are only an upper bound of the accuracy under attack; greedy and "
            "genetic search for a text that is read wrong, and may miss one that exists",
        ),
    )


class _Field:
    """The texts that are attacked, and what may stand in for their words."""

    def __init__(
        self,
        space: MetricSpace,
        embeddings: Embeddings,
        test: Texts,
        attacked: int,
        near: int,
        changed: float,
        key: bytes,
    ) -> None:
        self._key, self._labels = key, test.labels[:attacked]
        self._pieces = test.pieces[:attacked]
        ids = test.ids[: sum(test.counts[:attacked])]
        known = np.unique(ids[ids < space.n])
        found = space.neighbors(known, min(near + 1, space.n))
        others = {
            int(row): [embeddings.index_to_key[each] for each in nearest.tolist() if each != row]
            for row, nearest in zip(known.tolist(), found, strict=True)
        }
        ends = np.cumsum([0, *test.counts[:attacked]])
        self._candidates = [
            [others.get(int(row), [])[:near] for row in ids[begin:end]]
            for begin, end in pairwise(ends.tolist())
        ]
        self._most = [max(1, math.floor(changed * size)) for size in test.counts[:attacked]]

    def judge(self, model: Classifier, progress: Progress) -> Mapping[str, Any]:
        """Shares of texts that are read right, as they are and under each attacker."""
        right = dict.fromkeys(("clean", *ATTACKS), 0)
        for at, label_ in enumerate(self._labels):
            words = self._pieces[at][1::2]
            score = _score(model, self._pieces[at], label_)
            keys = (f"text {at} {name}" for name in ("random", "genetic"))
            chance, numbers = (_numbers(randomness.derive_key(self._key, each)) for each in keys)
            most, candidates = self._most[at], self._candidates[at]
            versions = {
                "clean": words,
                "random": random_rewrite(words, candidates, most, chance),
                "greedy": greedy(words, candidates, most, score),
                "genetic": genetic(words, candidates, most, score, numbers),
            }
            for name, value in zip(versions, score(list(versions.values())), strict=True):
                right[name] += bool(value > 0)
            progress((at + 1) / len(self._labels))
        total = len(self._labels)
        return spread(**{name: share_of_draws(hits, total) for name, hits in right.items()})


def _score(model: Classifier, pieces: list[str], label_: str) -> Score:
    """Probability of the true label less the largest of another."""

    def score(versions: Sequence[Words]) -> Floats:
        if label_ not in model.labels:  # it was never learnt
            return np.full(len(versions), -1.0)
        shares = model.shares([with_words(pieces, words) for words in versions])
        own = model.labels.index(label_)
        others = np.delete(shares, own, axis=1).max(axis=1)
        return np.asarray(shares[:, own] - others)

    return score


def _numbers(key: bytes) -> Numbers:
    """Uniform numbers from a public stream, in order."""
    places = count(1)

    def take(size: int) -> Floats:
        stream = randomness.streams_for(key, [next(places)], [1])
        return np.asarray(stream.uniform("search", max(size, 1))[0][:size])

    return take


def _panels(rows: Sequence[Mapping[str, Any]]) -> tuple[Panel, ...]:
    series = []
    for row in rows:
        at = "" if row["epsilon"] is None else f", epsilon {row['epsilon']:g}"
        shares = tuple(row[each] for each in ("clean", *ATTACKS))
        series.append(Series(f"{row['trained_on']}{at}", (0.0, 1.0, 2.0, 3.0), shares))
    attacks = "0: as they are, 1: random, 2: greedy, 3: genetic"
    title = "Accuracy under attack"
    return (Panel(title, attacks, "accuracy", tuple(series), y_limits=(0.0, 1.0)),)
