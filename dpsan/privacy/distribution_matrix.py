"""Losses between the rows of a matrix of probabilities, as float64 gives them."""

from __future__ import annotations

import numpy as np

from dpsan.space.arrays import Floats


def pairwise_losses(pmf: Floats) -> Floats:
    """Loss of every input against every other, (inputs, inputs); inf where supports differ."""
    with np.errstate(divide="ignore"):
        logs = np.log(pmf)
    possible = pmf > 0
    everywhere = bool(possible.all())
    out = np.empty((len(pmf), len(pmf)))
    scratch = np.empty_like(logs)
    for row in range(len(pmf)):
        if everywhere:
            np.subtract(logs[row], logs, out=scratch)
            out[row] = scratch.max(axis=1)
        else:
            some = possible[row]
            out[row] = (logs[row, some] - logs[:, some]).max(axis=1)
    return np.maximum(out, 0)


def infinite_loss(pmf: Floats) -> tuple[float, tuple[int, int]]:
    """Largest probability of outputs of one input that another cannot give, and the two inputs."""
    mass = pmf @ (pmf == 0).T.astype(np.float64)
    i, j = np.unravel_index(int(np.argmax(mass)), mass.shape)
    return float(mass[i, j]), (int(i), int(j))


def hockey_stick(pmf: Floats, epsilon: float | Floats) -> tuple[float, tuple[int, int]]:
    """Smallest delta at an epsilon: max over pairs of sum (P(u|w) - e^epsilon P(u|w'))+.

    Args:
        pmf: shape (inputs, outputs).
        epsilon: one value, or one for each pair.
    """
    factors = np.broadcast_to(np.exp(np.minimum(epsilon, 700.0)), (len(pmf), len(pmf)))
    best, pair = 0.0, (0, 0)
    for row in range(len(pmf)):
        deltas = np.maximum(pmf[row] - factors[row][:, None] * pmf, 0).sum(axis=1)
        other = int(np.argmax(deltas))
        if deltas[other] > best:
            best, pair = float(deltas[other]), (row, other)
    return best, pair
