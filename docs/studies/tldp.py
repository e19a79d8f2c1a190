"""[TLDP] Local differential privacy for tensors: algorithms, theorems, Table V and experiments.

python docs/studies/tldp.py algorithm-1 -e 0.1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from common import claims
from common.command import main
from common.panels import Panel
from common.steps import in_steps
from common.study import Asked, Result, Studies
from common.texts import PARAMETERS as TEXTS
from common.texts import labelled
from common.values import dimensions, positive, whole
from common.words import grouped, line, lines

from dpsan.mechanisms.tldp import (
    GAUSSIAN,
    LAPLACE,
    TLDPPaperG,
    TLDPPaperGWeighted,
    TLDPPaperL,
    TLDPPaperLWeighted,
    keep_probability,
    true_delta,
)
from dpsan.privacy import randomness
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()
_PARAMETERS: Final = {
    **claims.PARAMETERS,
    "range": "range Delta of every coordinate; default 1, and 256 with the paper's I = 784",
}
_SIZE: Final = {
    "d": "numbers I of a tensor, separated by commas; default 784, an image of MNIST",
    "range": "range Delta of every number; default 256",
}
_NOISES: Final = {"L": LAPLACE, "G": GAUSSIAN}


@STUDIES.add("[TLDP] Algorithm 1", uses=frozenset({"epsilons"}), parameters=_PARAMETERS)
def algorithm_1(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed epsilon-LDP of I coordinates against the delta with which it is true.

    Two inputs differ by the range Delta in every coordinate, at Delta = 1 and at the paper's own
    scale, Delta = 256 and I = 784, where nothing is kept and I noises still add up.
    """
    return claims.deltas(space, asked, [TLDPPaperL, TLDPPaperG])


@STUDIES.add("[TLDP] Algorithm 2, Theorem 3", uses=frozenset({"epsilons"}), parameters=_PARAMETERS)
def theorem_3(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed epsilon-LDP of weighted coordinates against the delta with which it is true."""
    return claims.deltas(space, asked, [TLDPPaperLWeighted, TLDPPaperGWeighted])


def _shape(asked: Asked) -> tuple[tuple[int, ...], float]:
    values = asked.parameters
    return dimensions(values.get("d"), (784,)), positive(values.get("range", 256), "--range")


@STUDIES.add("[TLDP] Theorem 2", uses=frozenset({"epsilons"}), parameters=_SIZE)
def theorem_2(space: MetricSpace | None, asked: Asked) -> Result:
    """What less noise for the same budget is paid with: the epsilon that is true of each scale.

    The theorem compares noise on each of I numbers, of scale I·Delta/epsilon (for Gaussian noise of
    variance I·Delta²/(2·epsilon)), with TLDP's, which is I times smaller.  Where TLDP keeps nothing
    it is the same noise at I·epsilon: ``true_epsilon`` is what Laplace noise of that scale has
    (no finite one exists for Gaussian noise), ``delta`` what the claimed epsilon needs.
    """
    sizes, side = _shape(asked)
    rows: list[dict[str, Any]] = []
    for count, epsilon, (name, noise) in product(
        sizes, asked.epsilons or (0.1, 1.0), _NOISES.items()
    ):
        own = noise.scale(side, epsilon)
        kept = keep_probability(noise, epsilon, side, count)
        rows.append(
            {
                "noise": name,
                "d": count,
                "epsilon": epsilon,
                "scale": own,
                "scale_on_each": own * (count if noise.bounded else math.sqrt(count)),
                "kept": kept,
                "true_epsilon": count * epsilon if noise.bounded else math.inf,
                "delta": true_delta(noise, epsilon, kept, count),
            }
        )
    both = lines(rows, "epsilon", "delta", "noise")
    return Result(
        rows=rows,
        parameters={"d": list(sizes), "range": side, "epsilons": list(asked.epsilons)},
        panels=(Panel("Theorem 2", "claimed epsilon (nats)", "true delta", both, log_x=True),),
        caption=f"TLDP's noise beside noise on each of I numbers of range {side:g}, and what is "
        "true of it.",
        notes=("delta: exact, with which the claimed epsilon holds for inputs Delta apart",),
    )


@STUDIES.add(
    "[TLDP] Table V",
    uses=frozenset({"epsilons"}),
    parameters={
        **_SIZE,
        "first": "the first dimension of the tensor, of MVG; default the root of I",
        "delta": "delta of IDN; default 1e-5",
    },
)
def table_5(space: MetricSpace | None, asked: Asked) -> Result:
    """Expected length of the noise: the table's six columns, and what the algorithms draw.

    ``printed`` is the table's formula; ``drawn`` is the root of E|Z|² by the scale that the
    algorithm or the proof of Theorem 2 has; ``mean`` is E|Z| itself, which is less: the table
    writes the bound E|Z| <= root of E|Z|² as an equality.  MVG is the estimate without delta; its
    constants are not in the paper.  IDN is for numbers from -1 to 1.
    """
    sizes, side = _shape(asked)
    delta = positive(asked.parameters.get("delta", 1e-5), "--delta")
    rows: list[dict[str, Any]] = []
    for count, epsilon in product(sizes, asked.epsilons or (1.0, 4.0, 20.0)):
        first = whole(asked.parameters, "first", max(1, math.isqrt(count)))
        b, sigma = side / epsilon, side / (2 * epsilon)
        root, long = math.sqrt(count), count * math.sqrt(count)
        zeta = math.sqrt(-2 * math.log(delta) + 2 * math.sqrt(-count * math.log(delta)) + count)
        short = {
            name: 1 - keep_probability(noise, epsilon, side, count)
            for name, noise in _NOISES.items()
        }
        own = GAUSSIAN.scale(side, epsilon)
        # The mean length of a Gaussian vector, sqrt 2·Gamma((I+1)/2)/Gamma(I/2) deviations.
        length = math.sqrt(2) * math.exp(math.lgamma((count + 1) / 2) - math.lgamma(count / 2))
        found: dict[str, tuple[float, float | None, float | None]] = {
            "Laplace": (b * math.sqrt(2) * long, b * math.sqrt(2) * long, None),
            "Gaussian": (sigma * long, own * count, own * root * length),
            "MVG, estimate": (
                side * first * long * math.log(first + 1) ** 2 / (math.sqrt(2) * epsilon),
                None,
                None,
            ),
            "IDN": (2 * count / (math.sqrt(zeta**2 + 2 * epsilon) - zeta), None, None),
            "IDN, estimate": (side * long / (math.sqrt(2) * epsilon), None, None),
            "TLDP-L": (b * math.sqrt(2 * short["L"]) * root,) * 2 + (None,),
            "TLDP-G": (
                sigma * math.sqrt(short["G"]) * root,
                own * math.sqrt(short["G"]) * root,
                own * length if short["G"] == 1 else None,
            ),
        }
        rows += [
            {"d": count, "epsilon": epsilon, "method": name, **dict(zip(_LENGTHS, some))}
            for name, some in found.items()
        ]
    shown = [row for row in rows if row["d"] == sizes[0]]
    series = lines(shown, "epsilon", "printed", "method")
    axes = ("epsilon (nats)", "expected length of the noise")
    return Result(
        order=("d", "epsilon", "method", *_LENGTHS),
        rows=rows,
        parameters={"d": list(sizes), "range": side, "delta": delta},
        panels=(Panel("Table V", *axes, series, log_x=True, log_y=True),),
        caption=f"Length of the noise on a tensor of I numbers of range {side:g}, as printed and "
        "as the algorithms draw it.",
    )


_LENGTHS: Final = ("printed", "drawn", "mean")

# -- Figures 1, 2, 3: experiments on data that scikit-learn brings, and on labelled texts ---------

_STRENGTH: Final = 0.01
"""Of the classifier; weaker ones follow the noise."""
_FORMS: Final = {
    "TLDP-L": (LAPLACE, False),
    "TLDP-G": (GAUSSIAN, False),
    "TLDP-L-w": (LAPLACE, True),
    "TLDP-G-w": (GAUSSIAN, True),
}
"""TLDP with and without weights; the other two methods are noise on each number."""


def tensor_noise(
    name: str, values: Floats, epsilon: float, side: float, streams: Streams, weights: Floats
) -> Floats:
    """Return tensors with the noise of a method, to the letter.

    Args:
        name: one of the two algorithms with a noise, or noise on each number.
        values: a tensor in each row, (m, I).
        side: range Delta.
        streams: of m words.
        weights: Algorithm 2's weight of each position, in [0, 1], (m, I) or (I,).
    """
    noise, weighted = _FORMS.get(name, (LAPLACE if name == "Laplace" else GAUSSIAN, False))
    count = values.shape[1]
    scale = noise.scale(side, epsilon)
    if name not in _FORMS:  # the same budget spent on I numbers
        scale *= count if noise.bounded else math.sqrt(count)
        return np.asarray(values + noise.distribution(scale)(streams, count))
    kept = keep_probability(noise, epsilon, side, count) * (1 - weights if weighted else 1)
    keep = streams.uniform("keep", count) < kept
    return np.where(keep, values, values + noise.distribution(scale)(streams, count))


def _digits() -> tuple[Floats, Any, Floats, Any]:
    """Pixels 0 ... 16 of 1,797 images of 8x8 and their digits: every fifth is for testing."""
    from sklearn.datasets import load_digits

    data = load_digits()
    test = np.arange(len(data.target)) % 5 == 4
    return data.data[~test], data.target[~test], data.data[test], data.target[test]


def _score(train: Floats, labels: Any, test: Floats, truth: Any) -> float:
    """Weighted F1 of logistic regression on test data."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    model = LogisticRegression(C=_STRENGTH, max_iter=300, random_state=0).fit(train, labels)
    return float(f1_score(truth, model.predict(test), average="weighted", zero_division=0))


def _features(images: Floats) -> Floats:
    """Numbers from -1 to 1: tanh of a fixed random layer, as features before the last layer."""
    streams = randomness.streams_for(randomness.seeded_key("dpsan study tldp layer"), [0], [64])
    weights = streams.normal("layer", 64) / 8
    return np.asarray(np.tanh((images - 8) / 8 @ weights))


_KINDS: Final[Mapping[str, tuple[Callable[[Floats], Floats], float]]] = {
    "images": (lambda images: images, 17.0),
    "features": (_features, 2.0),
}
"""What is sent, and its range Delta: Type I and Type II of the paper."""


@STUDIES.add(
    "[TLDP] Figures 1, 2",
    uses=frozenset({"epsilons"}),
    parameters={"range": "range Delta; default 17 of images and 2 of features"},
    libraries=("sklearn",),
)
def figures_1_2(space: MetricSpace | None, asked: Asked) -> Result:
    """Weighted F1 of classifiers trained on noisy images or features (needs dpsan[evaluate]).

    Images of digits, 8x8 pixels from 0 to 16 (scikit-learn's), in place of MNIST, and logistic
    regression in place of MobileNet.  Training data are noisy, test data are not.  Weights are the
    pixel's own grey value, as in the paper: they depend on what they protect.
    """
    train, labels, test, truth = _digits()
    key = randomness.seeded_key(f"dpsan study tensors {asked.seed}")
    rows = []
    grid = asked.epsilons or (0.1, 0.5, 1.0, 5.0, 100.0)
    names = [*_FORMS, "Laplace", "Gaussian"]
    plain = {kind: (send(train), send(test)) for kind, (send, _) in _KINDS.items()}
    units = {"images": 16.0, "features": 1.0}
    for (kind, epsilon), step in in_steps(asked.progress, list(product(_KINDS, grid))):
        side = positive(asked.parameters.get("range", _KINDS[kind][1]), "--range")
        (sent, shown), unit = plain[kind], units[kind]
        row: dict[str, Any] = {"data": kind, "range": side, "epsilon": epsilon}
        for name in names:
            own = randomness.derive_key(key, kind, name, f"{epsilon:g}")
            streams = randomness.streams_for(own, [0], [len(sent)])
            noisy = tensor_noise(name, sent, epsilon, side, streams, train / 17)
            row[name] = _score(noisy / unit, labels, shown / unit, truth)
        rows.append(row)
        step(1.0)
    clean = {
        kind: _score(sent / units[kind], labels, shown / units[kind], truth)
        for kind, (sent, shown) in plain.items()
    }
    return Result(
        rows=rows,
        summary={"clean": clean},
        parameters={"epsilons": list(grid), "seed": asked.seed},
        panels=_scores(rows, "data", names),
        caption="Weighted F1 on 359 images of digits after training on 1,438 noisy ones.",
        notes=[f"without noise: {name} {value:.3f}" for name, value in clean.items()],
    )


def _scores(rows: Sequence[dict[str, Any]], by: str, names: Sequence[str]) -> list[Panel]:
    return [
        Panel(
            str(kind),
            "epsilon (nats, as published)",
            "weighted F1",
            tuple(line(name, some, "epsilon", name) for name in names),
            log_x=True,
            y_limits=(0.0, 1.0),
        )
        for kind, some in grouped(rows, by).items()
    ]


_USERS: Final = 3
_HASHES: Final = 512
_ROUNDS: Final = 10
_STEPS: Final = 20
"""Steps of gradient descent of a user in a round."""


@STUDIES.add(
    "[TLDP] Figure 3",
    least_words=3,
    uses=frozenset({"epsilons"}),
    parameters={**TEXTS, "range": "range Delta of a weight; default 2 (clipped to -1 ... 1)"},
    libraries=("sklearn",),
)
def figure_3(space: MetricSpace, asked: Asked) -> Result:
    """Weighted F1 of three users' averaged models with noise (needs dpsan[evaluate]).

    Texts of two labels, hashed words and logistic regression in place of IMDB and an LSTM.  In each
    of 10 rounds every user trains on a third of the texts, weights are clipped to 1, the server
    averages them and adds the noise, and sends them back.
    """
    from scipy.special import expit
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.metrics import f1_score

    train, test = labelled(asked)
    side = positive(asked.parameters.get("range", 2.0), "--range")
    hashed = HashingVectorizer(n_features=_HASHES, alternate_sign=False)
    names = sorted(set(train.labels))[:2]
    signs = np.array([2.0 * (each == names[1]) - 1 for each in train.labels])
    features = hashed.transform(train.originals).toarray()
    shown = hashed.transform(test.originals).toarray()

    def trained(name: str | None, epsilon: float, key: bytes) -> float:
        weights = np.zeros(_HASHES)
        for turn in range(_ROUNDS):
            users = []
            for user in range(_USERS):
                own, x, y = weights.copy(), features[user::_USERS], signs[user::_USERS]
                for _ in range(_STEPS):
                    own += 20 * (x.T @ (y * expit(-y * (x @ own)))) / len(y)
                users.append(own.clip(-1, 1))
            weights = np.mean(users, axis=0)
            if name is not None:
                streams = randomness.streams_for(randomness.derive_key(key, turn), [0], [1])
                one = weights[None, :]
                weights = tensor_noise(name, one, epsilon, side, streams, np.abs(one))[0]
        guesses = [names[int(value > 0)] for value in shown @ weights]
        return float(f1_score(test.labels, guesses, average="weighted", zero_division=0))

    key = randomness.seeded_key(f"dpsan study federated {asked.seed}")
    grid = asked.epsilons or (1.0, 10.0, 100.0, 1000.0, 10_000.0)
    methods = ["TLDP-L", "TLDP-G", "Laplace", "Gaussian"]
    rows: list[dict[str, Any]] = []
    for epsilon, step in in_steps(asked.progress, grid):
        found = {
            name: trained(name, epsilon, randomness.derive_key(key, name, f"{epsilon:g}"))
            for name in methods
        }
        rows.append({"data": "parameters", "range": side, "epsilon": epsilon, **found})
        step(1.0)
    clean = trained(None, 1.0, key)
    return Result(
        rows=rows,
        summary={"clean": clean},
        parameters={"epsilons": list(grid), "range": side, "seed": asked.seed},
        panels=_scores(rows, "data", methods),
        caption=f"Weighted F1 on {len(test.labels):,} texts of the average of three users' models, "
        f"{_HASHES} weights clipped to 1, noise after each of {_ROUNDS} rounds.",
        notes=[f"without noise: {clean:.3f}"],
    )


if __name__ == "__main__":
    main(STUDIES, __doc__)
