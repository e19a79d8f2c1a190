"""What the shell offers: the protocol of the completion scripts, without a shell."""

import pytest


def complete(dpsan, line, cwd=None):
    """The values for the last word of a command line."""
    words = line.split(" ")
    done = dpsan(
        env={
            "_DPSAN_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        cwd=cwd,
    )
    assert done.stderr == b""
    return done.stdout.decode().split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dpsan rewr", ["rewrite"]),
        ("dpsan rewrite -m knn", ["knn-response"]),
        ("dpsan rewrite -m tldp-paper-g", ["tldp-paper-g", "tldp-paper-g-weighted"]),
        ("dpsan mechanisms uni", ["uniform"]),
        ("dpsan rewrite -f par", ["parquet"]),
        ("dpsan rewrite --unknown ", ["sample", "mask", "keep"]),
        ("dpsan rewrite --case i", ["input"]),
        ("dpsan rewrite --mechan", ["--mechanism"]),
        ("dpsan rewrite -m nothing", []),
        ("dpsan rewrite --mechanism=knn", ["knn-response"]),
        ("dpsan rewrite --mechanism = knn", ["knn-response"]),  # so bash cuts it
        ("dpsan rewrite --unknown =", ["sample", "mask", "keep"]),
        ("dpsan rewrite --epsilon = 8 --case = i", ["input"]),
        ("dpsan study fr", ["frontier"]),
        ("dpsan study frontier -m zi", ["zipf-response"]),
    ],
)
def test_values(dpsan, line, offered):
    assert complete(dpsan, line) == offered


def test_cached_embedding_files(dpsan, tmp_path):
    (tmp_path / "here").mkdir()
    path = tmp_path / "here" / "completed-vectors.txt"
    path.write_text("a 0 1\nb 1 0\n")
    (tmp_path / "here" / "completed-not-cached.txt").write_text("a 0 1\nb 1 0\n")
    assert dpsan("index", str(path)).returncode == 0
    assert complete(dpsan, "dpsan rewrite -E comp", cwd=tmp_path / "here") == [path.name]
    assert complete(dpsan, f"dpsan rewrite -E {tmp_path}/here/comp") == [str(path)]
    assert complete(dpsan, "dpsan rewrite -E here/comp", cwd=tmp_path) == [f"here/{path.name}"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(dpsan, shell):
    done = dpsan(env={"_DPSAN_COMPLETE": f"source_{shell}"})
    assert done.returncode == 0
    assert b"_DPSAN_COMPLETE=complete_" in done.stdout
