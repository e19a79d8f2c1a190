"""What draws a word is the mechanism that is stated: strings are for tests/checks/strings.py."""

from dataclasses import replace

import numpy as np
import pytest
from support import make_embeddings

from dpsan import Sanitizer
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy.guarantee import Status

EMBEDDINGS = make_embeddings(n=40, d=4)


@pytest.mark.parametrize(
    "name", [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
)
def test_what_draws_is_the_mechanism_that_is_stated(name):
    """To the last bit: an epsilon that is 2 % larger shows in no draw."""
    given = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    one = Sanitizer(name, epsilon=0.9, embeddings=EMBEDDINGS, parameters=given)
    ids = np.arange(EMBEDDINGS.n + 1)
    found = one.sampler.probabilities(ids)
    wanted = replace(one.mechanism, epsilon=0.9).prepare(one.space).probabilities(ids)
    if wanted is not None:
        assert (found == wanted).all()
