import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from identity import identity, marker


@pytest.fixture(scope="session")
def same():
    return identity()


@pytest.fixture(scope="session")
def mask():
    return marker()
