"""A Python for which there is no gensim: all but training and pickles of vectors works."""

from support import cases


@cases(
    "command status told",
    ("rewrite -q -e 8 -E own.vec text.txt", 0, ""),
    ("rewrite -q --only names text.txt", 0, ""),
    ("train -q --words 100 text.txt -o own.npz", 2, "train needs gensim"),
    ("index --unsafe-pickle own.kv", 1, "a pickle of vectors needs gensim"),
)
def test_commands(dpsan, tmp_path, command, status, told):
    (tmp_path / "gensim").mkdir()
    (tmp_path / "gensim" / "__init__.py").write_text("raise ImportError('there is none')\n")
    (tmp_path / "text.txt").write_text("Maria is in Paris.\n" * 3)
    (tmp_path / "own.kv").write_bytes(b"\x80\x04N.")
    (tmp_path / "own.vec").write_text("".join(f"w{i} 1 {i}\n" for i in range(50)))
    done = dpsan(*command.split(), cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, status=status)
    assert told.encode() in done.stderr
    assert b"Traceback" not in done.stderr
