"""An exception that nobody foresaw fails one input; the others go on, and no text is told."""

import pytest
from identity import identity

from dpsan.formats.text import TextFormat
from dpsan.run.run import Run
from dpsan.run.stream import Plan
from dpsan.text.lookup import Lookup


@pytest.mark.parametrize("tree", [False, True])
def test_the_others_go_on(tmp_path, monkeypatch, capfdbinary, tree):
    """What a worker raises: tests/run/test_workers.py."""
    paths = [tmp_path / f"{name}.txt" for name in ("a", "draws", "reads", "z")]
    for path in paths:
        path.write_text("Maria\n" if path.stem == "draws" else "here\n")
    real_read, real_batch = TextFormat.read, Lookup.batch

    def read(self, source, options):
        if source.name.endswith("reads.txt"):
            raise KeyError("Maria Gonzalez")
        return real_read(self, source, options)

    def batch(self, texts):
        if "Maria" in texts:
            raise ValueError("Maria Gonzalez", {"not": "picklable"}, lambda: None)
        return real_batch(self, texts)

    monkeypatch.setattr(TextFormat, "read", read)
    monkeypatch.setattr(Lookup, "batch", batch)
    out = tmp_path / "out"
    result = Run(identity(), Plan(), b"k" * 32, paths, out if tree else None, tree).execute()
    assert [line.rsplit(":", 1)[0] for line in result.failed] == [
        f"{tmp_path}/draws.txt: internal error: ValueError at test_one_file_fails.py",
        f"{tmp_path}/reads.txt: internal error: KeyError at test_one_file_fails.py",
    ]
    assert "Maria" not in "".join(result.failed)
    if tree:
        assert sorted(path.name for path in out.iterdir()) == ["a.txt", "z.txt"]
    else:
        assert capfdbinary.readouterr().out == b"here\nhere\n"
