"""No text is written before its rows of the audit are."""

import os
import time
from types import SimpleNamespace

import pytest
from support import make_embeddings

from dpsan.errors import OutputError
from dpsan.files import atomic_files as files
from dpsan.files.atomic_files import Sink
from dpsan.files.source import FileSource
from dpsan.run.audit import AuditWriter
from dpsan.run.batches import FileBatchSize
from dpsan.run.plan import Plan
from dpsan.run.stream import Work, rewrite_stream
from dpsan.sanitize.sanitizer import Sanitizer

LINES = 2200
TEXT = b"word1 word2, word3.\n" * LINES


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(FileBatchSize, "growth", 1)  # batches of 200 lines


def rewritten(tmp_path, monkeypatch, *, broken=None):
    """What was written, in order: texts and rows of words, and the error that ended it."""
    (tmp_path / "in").write_bytes(TEXT)
    order: list[tuple[str, bytes]] = []

    def write(number, data):
        kind = "text" if number == sink.descriptor else "rows"
        if kind == "rows":
            time.sleep(0.01)
        if kind == broken and len(order) > 6:
            raise OSError(28, "No space left on device")
        order.append((kind, bytes(data)))
        return os.write(number, data)

    sanitizer = Sanitizer("krr", epsilon=8, embeddings=make_embeddings(n=12, d=3))
    error = None
    with (
        (tmp_path / "in").open("rb") as source,
        (tmp_path / "out").open("wb") as out,
        AuditWriter(tmp_path / "audit", sanitizer) as audit,
    ):
        sink = Sink("out", out.fileno())
        monkeypatch.setattr(files, "os", SimpleNamespace(**vars(files.os) | {"write": write}))
        work = Work(sanitizer, Plan(format="text"), b"k" * 32, audit=audit)
        try:
            rewrite_stream(FileSource("in", source.fileno()), sink, work)
        except Exception as caught:  # noqa: BLE001
            error = caught
    return order, error


def words_of(order, kind):
    """How many words have been written by all writes of a kind."""
    data = b"".join(data for each, data in order if each == kind)
    return data.count(b'"type":"word"') if kind == "rows" else data.lower().count(b"word")


def test_rows_come_first(small_batches, tmp_path, monkeypatch):
    order, error = rewritten(tmp_path, monkeypatch)
    assert error is None
    assert len(order) > 20
    for at in range(len(order)):
        assert words_of(order[: at + 1], "text") <= words_of(order[: at + 1], "rows")
    assert words_of(order, "text") == words_of(order, "rows") == 3 * LINES


@pytest.mark.parametrize("broken", ["text", "rows"])
def test_nothing_is_written_behind_what_failed(broken, small_batches, tmp_path, monkeypatch):
    order, error = rewritten(tmp_path, monkeypatch, broken=broken)
    assert isinstance(error, OutputError)
    assert words_of(order, "text") < 3 * LINES
    if broken == "rows":
        assert words_of(order, "text") <= words_of(order, "rows")
    text = b"".join(data for kind, data in order if kind == "text")
    assert (tmp_path / "out").read_bytes() == text
    assert text.endswith(b".\n")
