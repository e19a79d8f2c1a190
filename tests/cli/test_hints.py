"""Messages that say what can be typed."""

import pytest

TWO = ["-m", "laplace", "-E", "two.txt"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / "a b.txt").write_text("here\n")
    (tmp_path / "d").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["a b.txt"], 2, "no such command 'a b.txt' (did you mean: dpsan rewrite -e 8 'a b.txt'?)"),
        (
            ["-e", "4", "two.txt"],
            2,
            "no such option: -e (did you mean: dpsan rewrite -e 4 two.txt?)",
        ),
        (["-e", "4", "my secret"], 2, "no such option: -e (dpsan --help lists the commands)"),
        (
            ["--seed=1", "two.txt"],
            2,
            "no such option: --seed (did you mean: dpsan rewrite -e 8 --seed=1 two.txt?)",
        ),
        (["frobnicate"], 2, "no such command 'frobnicate' (dpsan --help lists the commands)"),
        (
            ["rewrite", "-e", "8", *TWO, "some private text"],
            1,
            "some private text: no such file (text comes from standard input: echo TEXT | dpsan "
            "rewrite -e 8)",
        ),
        (["rewrite", "-e", "8", *TWO, "none.txt"], 1, "none.txt: no such file"),
        (["rewrite", "-e", "8", *TWO, "d"], 1, "d: is a directory (-r reads all files below it)"),
        (
            ["rewrite", "-e", "8", "--public", "commn"],
            1,
            "commn: no such file (did you mean --public common?)",
        ),
        (
            ["index", "-E", "two.txt", "--list"],
            2,
            "--embeddings excludes other files, --list, --check and --clear",
        ),
    ],
)
def test_a_hint_that_can_be_typed(folder, dpsan, arguments, status, told):
    done = dpsan(*arguments, cwd=folder)
    assert done.returncode == status
    assert done.stderr.decode().splitlines()[-1] == f"dpsan: {told}"


def test_a_misspelt_command_is_pointed_to_the_near_one(folder, dpsan):
    told = dpsan("rewriet", cwd=folder).stderr.decode()
    assert "Did you mean 'rewrite'" in told
    assert told.count("\n") == 1


def test_index_takes_embeddings_as_every_other_command(folder, dpsan):
    named = dpsan("index", "--json", "two.txt", cwd=folder)
    for arguments, env in ((["-E", "two.txt"], {}), ([], {"DPSAN_EMBEDDINGS": "two.txt"})):
        done = dpsan("index", "--json", *arguments, cwd=folder, env=env)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split(b'"seconds"')[0] == named.stdout.split(b'"seconds"')[0]
    listed = dpsan("index", "--list", cwd=folder, env={"DPSAN_EMBEDDINGS": "two.txt"})
    assert listed.returncode == 0


def test_the_scale_of_an_epsilon_per_distance_is_told(folder, dpsan):
    line = (
        "dpsan: epsilon is per unit of euclidean distance: nearest neighbours here are 12.728 apart"
    )
    done = dpsan("rewrite", "-e", "8", *TWO, stdin=b"here\n", cwd=folder)
    assert line in done.stderr.decode()
    assert (
        b"nearest" not in dpsan("rewrite", "-q", "-e", "8", *TWO, stdin=b"x\n", cwd=folder).stderr
    )
    krr = ["-m", "krr", "-E", "two.txt"]
    assert b"nearest" not in dpsan("rewrite", "-e", "8", *krr, stdin=b"x\n", cwd=folder).stderr


def test_a_text_in_another_language_is_pointed_out(folder, dpsan):
    """With -q too: nobody would look for it in the output."""
    german = b"Gestern wurde der Patient entlassen here\n"
    krr = ["-m", "krr", "-E", "two.txt"]
    done = dpsan("rewrite", "-e", "1", *krr, stdin=german, cwd=folder)
    told = done.stderr.decode()
    # One word of six is in the vocabulary: of two words it stays with e / (e + 1).
    assert "expected unchanged: 12 %" in told
    warning = (
        "standard input: 83 % of the words are out of vocabulary (another language? 'dpsan train' "
        "makes a vocabulary, -E FILE uses it)\n"
    )
    assert warning in told
    for policy in ("mask", "keep"):
        arguments = ["rewrite", "-q", "-e", "1", *krr, "--unknown", policy]
        assert warning in dpsan(*arguments, stdin=german, cwd=folder).stderr.decode()
    (folder / "de.txt").write_bytes(german)
    (folder / "en.txt").write_bytes(b"here there here there here there here there x y z\n")
    done = dpsan("rewrite", "-q", "-e", "1", *krr, "-O", "o", "de.txt", "en.txt", cwd=folder)
    assert done.stderr.decode() == "dpsan: " + warning.replace("standard input", "de.txt")
