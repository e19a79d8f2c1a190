"""Hostile files: no code runs, nothing is killed, the answer is one line or a clean load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_files import CANARY, cases

from dpsan.embeddings import load
from dpsan.errors import DpsanError

ROOT = Path(__file__).parents[2]
PICKLE = (
    ": refused: pickle files can run code "
    "(export with save_word2vec_format, or see dpsan index --unsafe-pickle)"
)


def test_hostile_files(tmp_path: Path) -> None:
    expected = dict(cases(tmp_path))
    assert len(expected) >= 300
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("hostile_files.py"))],
        input=json.dumps(list(expected)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        timeout=300,
    )
    told = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    missing = [name for name in expected if name not in told]
    assert not missing, f"the child died at {missing[0]!r}: {done.returncode} {done.stderr[-500:]}"
    assert done.returncode == 0
    assert done.stderr == ""
    assert not (tmp_path / CANARY).exists(), "code from a file was run"
    for name, line in told.items():
        if "error" in line:
            assert line["error"] in ("EmbeddingError", "ExtraMissingError"), line
            assert "\n" not in line["message"], line
        else:
            assert expected[name] == "any", line
            assert line["valid"], line
        if expected[name] == "refused":
            assert line["message"] == name + PICKLE
        assert line["seconds"] < 10, line


@pytest.mark.parametrize("name", ["model.kv", "x.model", "x.PKL", "x.pt", "x.kv.gz"])
def test_names_of_pickles_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"1 2\na 1 2\n")
    with pytest.raises(DpsanError) as caught:
        load(tmp_path / name)
    assert str(caught.value) == str(tmp_path / name) + PICKLE
