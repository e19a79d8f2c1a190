"""docs/readability.md against the program."""

import page_parts
import pytest
import readability


def rows(name):
    """The cells of a part's table, without its head."""
    lines = [
        line
        for line in page_parts.part(readability.PAGE, name).splitlines()
        if line.startswith("|")
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_sentences_are_what_the_command_writes(cache, monkeypatch):
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    assert page_parts.part(readability.PAGE, "sentences") == readability.sentences(), (
        "run python tests/readability.py sentences"
    )


def test_there_are_ten():
    assert len(rows("sentences")) == len(set(readability.SENTENCES)) == 10


def test_nothing_crosses_the_bound():
    found = rows("study")
    assert [row[0] for row in found] == readability.EPSILONS.split(",")
    for _, *values, bound in found:
        assert max(map(float, values)) <= float(bound)
        assert float(values[-1]) > max(map(float, values[:-1]))  # optimal-response is the best


def test_perplexities_are_those_of_their_ratios():
    found = rows("perplexity")
    assert len(found) == 2
    for _, original, *others in found:
        assert len(others) == 1 + len(readability.MECHANISMS)
        for cell in others:
            value, times = cell.replace(",", "").strip(")").split(" (")
            assert float(value) / float(original.replace(",", "")) == pytest.approx(
                float(times), abs=0.02
            )
