"""docs/studies/fluent.py: figures of drawn and written words."""

import json

import fluent
import pytest

TEXT = "The company said that profits rose on Monday. He asked her to send the new bill.\n" * 3


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.mark.slow
def test_figures(text, capsys):
    assert fluent.main([str(text), "-e", "8", "--draws", "1"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    for name in ("cosine", "content", "unchanged", "perplexity"):
        assert min(row[name], row[f"{name}_fluent"]) > 0
    assert row["words"] == 48


def test_errors(tmp_path, capsys):
    assert fluent.main([str(tmp_path / "absent.txt")]) == 1
    assert "absent.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        fluent.main([])
