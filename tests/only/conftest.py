"""What the tests of ``--only`` share."""

import pytest

from dpsan.only.lexicon import Lexicon


@pytest.fixture(scope="session")
def lexicon():
    return Lexicon()


@pytest.fixture(scope="session")
def outputs(lexicon):
    """The words that each group is drawn from."""
    return lexicon.outputs
