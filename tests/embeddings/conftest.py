"""The files of the tests in this folder, written once."""

from __future__ import annotations

from pathlib import Path

import pytest
from embedding_files import write_all


@pytest.fixture(scope="session")
def every_format(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("formats"))
