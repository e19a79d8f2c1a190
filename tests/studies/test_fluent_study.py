"""docs/studies/fluent.py: figures of drawn and written words, and sheets for blind judging."""

import json
import re

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
    assert fluent.main([str(text), "-e", "8", "--draws", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    for name in ("cosine", "content", "unchanged", "perplexity"):
        assert min(row[name], row[f"{name}_fluent"]) > 0
    assert row["words"] == 48
    assert fluent.main([str(text), "-e", "8", "--draws", "1"]) == 0
    assert "cosine" in capsys.readouterr().out


def test_a_sheet_is_judged_and_counted(text, tmp_path, capsys):
    sheet = tmp_path / "sheet.txt"
    assert fluent.main([str(text), "-e", "8", "--sheet", str(sheet)]) == 0
    written = sheet.read_text()
    assert len(re.findall(r"reads \[ \]", written)) == 6
    marked = written.replace("reads [ ]", "reads [x]", 1)
    sheet.write_text(marked)
    assert fluent.main(["--count", str(sheet)]) == 0
    shown = capsys.readouterr().out
    assert sum(int(each) for each in re.findall(r": (\d+) read", shown)) == 1
    assert "original" in shown
    sheet.write_text(marked.replace("reads [x]", ""))
    assert fluent.main(["--count", str(sheet)]) == 1
    assert "not a sheet" in capsys.readouterr().err


def test_errors(tmp_path, capsys):
    assert fluent.main([str(tmp_path / "absent.txt")]) == 1
    assert "absent.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        fluent.main([])
