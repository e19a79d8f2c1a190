"""Test that the probabilities which draws are compared with have the certified loss."""

import numpy as np

from checks import KEY
from dpsan.analysis.verify.base import words_at_random
from dpsan.mechanisms.base import certify
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.privacy.certificate import pairwise_losses
from dpsan.sanitize.sanitizer import Sanitizer

_WORDS = 23


def stated(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Compare the losses of some words and ⊥ with the certificate, if there is one."""
    certificate = certify(sanitizer.mechanism, sanitizer.space)
    sampler = sanitizer.mechanism.prepare(sanitizer.space)
    if certificate is None or not has_distribution(sampler):
        return ""
    rows = np.append(words_at_random(sanitizer, _WORDS, key), sanitizer.space.n)
    rows = np.unique([*rows, *certificate.pair])
    losses = pairwise_losses(distributions(sampler, rows))
    losses[np.isin(rows, sanitizer.public)] = 0  # the guarantee leaves them out
    worst = float(losses.max())
    if not worst <= certificate.epsilon_ldp + 1e-6:
        return f"the loss of two inputs is {worst:.6f}, certified are {certificate.epsilon_ldp:.6f}"
    return ""
