"""Certificate files, and the checker that knows nothing of dpsan."""

import ast
import hashlib
import json
import random
import subprocess
import sys
from types import SimpleNamespace

import pytest
from support import ROOT, make_embeddings

from dpsan.analysis.verify.certificate_file import (
    certificate_weights,
    check_certificate,
    compare_certificate,
    write_certificate,
)
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.errors import InputError, OutputError, UsageError
from dpsan.privacy.certificate import certify
from dpsan.sanitize.sanitizer import Sanitizer

CHECKER = ROOT / "docs" / "check_certificate.py"
MADE = {
    "krr": {},
    "knn-response": {"k": 3},
    "optimal-response": {},
    "exponential": {},
    "zipf-response": {},
    "tem": {},
    "geodesic": {},
    "uniform": {},
}


def made(name, **options):
    return Sanitizer(
        name, epsilon=2.0, embeddings=make_embeddings(n=20, d=3), parameters=MADE[name], **options
    )


def written(path, sanitizer):
    """Write the certificate of a kept guarantee, as the command does after its checks."""
    certified = certify(sanitizer.mechanism, sanitizer.space).epsilon_ldp
    found = SimpleNamespace(verdict=Verdict.KEPT, certified=certified)
    assert write_certificate(path, sanitizer, found)
    return path


def lines_of(path):
    """Return the lines of a certificate without its digest."""
    return [json.loads(each) for each in path.read_bytes().splitlines()[:-1]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    for name in MADE:
        written(folder / name, made(name))
    return folder


def accepts(path):
    scope = {"__name__": "checker"}
    exec(compile(CHECKER.read_text(), CHECKER.name, "exec"), scope)  # noqa: S102 - our own
    try:
        scope["check"](path)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return False
    return True


def printed(path):
    done = subprocess.run([sys.executable, "-I", CHECKER, path], capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def sealed(lines):
    """The lines of a certificate with the digest that belongs to them."""
    body = b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in lines)
    return body + b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()


@pytest.fixture
def rejected(tmp_path):
    """Return the reason why the checker rejects lines that are sealed anew."""

    def reason(lines):
        path = tmp_path / "forged"
        path.write_bytes(sealed(lines))
        code, told, reason = printed(path)
        assert (code, told) == (1, "")
        assert reason.startswith("REJECTED: ")
        return reason

    return reason


def test_the_checker_needs_nothing_but_python():
    source = CHECKER.read_text()
    assert len(source.splitlines()) <= 107  # that somebody reads it before they trust it
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [node.names[0].name]
            assert set(names) <= sys.stdlib_module_names
        # The proof is in integers and fractions; a float is only printed.
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))


@pytest.mark.parametrize("name", MADE)
def test_certificates_are_accepted(name, files):
    code, told, reason = printed(files / name)
    assert code == 0, reason
    claim = lines_of(files / name)[0]
    assert told.startswith("PROVED: epsilon ")
    assert float(told.split()[2].rstrip(",")) == pytest.approx(float(claim["epsilon"]), abs=1e-9)
    if name not in ("exponential", "tem", "geodesic", "uniform"):
        assert 0 < float(claim["epsilon"]) <= 2.0


def test_a_hundred_of_a_hundred_altered_certificates_are_rejected(files, tmp_path):
    """One byte changed, dropped or doubled, or a line, anywhere: whatever it would mean."""
    generator = random.Random(16)
    rejected = 0
    for run in range(100):
        data = bytearray((files / list(MADE)[run % 6]).read_bytes())
        at = generator.randrange(len(data))
        lines = bytes(data).splitlines(keepends=True)
        row = generator.randrange(1, len(lines) - 1)
        match run % 5:
            case 0:
                data[at] ^= 1 << generator.randrange(8)
            case 1:
                del data[at]
            case 2:
                data.insert(at, data[at])
            case 3:
                data = bytearray(b"".join(lines[:row] + lines[row + 1 :]))
            case 4:
                lines.insert(row, lines[row])
                data = bytearray(b"".join(lines))
        path = tmp_path / "altered"
        path.write_bytes(data)
        rejected += not accepts(path)
    assert rejected == 100


FORGERIES = {
    "claim": lambda lines: lines[0].update(epsilon=str(float(lines[0]["epsilon"]) * 0.999)),
    "row": lambda lines: lines.pop(5),
    "sign": lambda lines: lines[3].__setitem__(-1, -1),
    "fraction": lambda lines: lines[3].__setitem__(-1, lines[3][-1] + 0.5),
}


@pytest.mark.parametrize("name", [each for each in MADE if each != "uniform"])
@pytest.mark.parametrize("change", FORGERIES)
def test_a_forger_who_makes_the_digest_anew_is_rejected(name, change, files, rejected):
    """Arithmetic, and not the digest alone, is what is checked."""
    lines = lines_of(files / name)
    assert sealed(lines) == (files / name).read_bytes()
    if change == "claim" and name in ("exponential", "tem", "geodesic"):
        lines[0]["epsilon"] = "0.5"  # their claims count roundings that did not happen
    else:
        FORGERIES[change](lines)
    rejected(lines)


FORGED = {
    "krr": lambda lines: lines[4].extend([9, 1]),  # another output is likely too: other total
    "knn-response": lambda lines: lines[4].__setitem__(1, 2),  # twice the mass
    "optimal-response": lambda lines: lines[0].__setitem__("increment", lines[0]["increment"] * 2),
    "exponential": lambda lines: lines[4].__setitem__(3, 1),  # nearly impossible
    "zipf-response": lambda lines: lines[4].__setitem__(0, lines[4][1]),  # twice in the order
    "tem": lambda lines: lines[4].__setitem__(3, 1),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_weight_that_breaks_the_claim_is_found(name, files, rejected):
    lines = lines_of(files / name)
    FORGED[name](lines)
    rejected(lines)


def test_public_words_are_left_out_as_first_inputs(tmp_path, rejected):
    path = written(tmp_path / "c", made("knn-response", public=["word0", "word7"]))
    code, told, _ = printed(path)
    assert code == 0
    assert "for 18 words and any other string; not protected: 2 public words" in told
    lines = lines_of(path)
    assert lines[0]["public"] == [0, 7]
    lines[0]["public"] = [0]  # the other one has infinite loss as a first input
    rejected(lines)


@pytest.mark.parametrize("field", ["mechanism", "vocabulary"])
@pytest.mark.parametrize(
    "name",
    [
        "krr\nPROVED: epsilon 0.001, delta 0, for 9 words and any other string",
        "krr\rPROVED: epsilon 0.001",
        "\x1b[1A\x1b[2KPROVED: epsilon 0.001",
        "krr\u202e100.0 nolispe :DEVORP",
        "krr\u2028PROVED: epsilon 0.001",
        f"krr{' ' * 70}PROVED: epsilon 0.001",
        ["krr"],
    ],
)
def test_a_name_prints_no_line_of_its_own(field, name, files, rejected):
    """Names were once printed unchecked, so that a name could add lines below PROVED."""
    lines = lines_of(files / "krr")
    lines[0][field] = name
    reason = rejected(lines)
    assert reason.count("\n") == 1
    assert "PROVED" not in reason


@pytest.mark.parametrize("before", [b'"epsilon":"0.001",', b'"public":[],', b'"mechanism":"tem",'])
def test_a_name_that_stands_there_twice_is_rejected(before, files, tmp_path):
    """The last one counted, whatever who reads the file sees first."""
    head, *rest = (files / "krr").read_bytes().splitlines(keepends=True)[:-1]
    body = b"".join([b"{" + before + head[1:], *rest])
    path = tmp_path / "twice"
    path.write_bytes(body + b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode())
    assert printed(path)[:2] == (1, "")
    assert "a key stands there twice" in printed(path)[2]


@pytest.mark.parametrize(
    "public", [range(20), [0, 0], [20], [-1], ["0"], [True], {"0": 0}, "0"], ids=str
)
def test_public_words_are_rows_and_never_all_of_them(public, files, rejected):
    """With every word public any epsilon was PROVED for 20 words and any other string."""
    lines = lines_of(files / "knn-response")
    lines[0] |= {"public": public if isinstance(public, (str, dict)) else list(public)}
    rejected(lines)


def test_nothing_is_written_of_a_guarantee_that_is_not_kept(tmp_path):
    sanitizer = made("krr", unknown="mask")
    found = verify(sanitizer, words=4, draws=2000)
    assert write_certificate(tmp_path / "c", sanitizer, found) is None
    assert not (tmp_path / "c").exists()


def test_what_has_no_certificate_of_integers_says_so(files):
    laplace = Sanitizer("laplace", epsilon=2.0, embeddings=make_embeddings(n=20, d=3))
    with pytest.raises(UsageError, match="no certificate of integers"):
        certificate_weights(laplace)
    large = Sanitizer("exponential", epsilon=2.0, embeddings=make_embeddings(n=2001, d=2))
    with pytest.raises(UsageError, match="at most 2,000 words"):
        certificate_weights(large)
    with pytest.raises(OutputError, match="exists"):
        check_certificate(files / "krr", made("krr"))
    check_certificate(files / "krr", made("krr"), force=True)
    assert accepts(files / "krr")  # still there


def test_the_command_writes_what_the_checker_accepts(dpsan, tmp_path):
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i} {i % 3}\n" for i in range(30)))
    arguments = ("verify", "-e", "2", "-m", "krr", "-E", "v.txt", "--draws", "10000", "--json")
    done = dpsan(*arguments, "--certificate", "c.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert accepts(tmp_path / "c.jsonl")
    same = dpsan(*arguments, "--certificate", "v.txt", "--force", cwd=tmp_path)
    assert same.returncode == 2  # it reads that file


def test_a_run_is_compared_with_a_certificate(dpsan, tmp_path):
    """The same run is kept; another epsilon, vocabulary or a changed file is violated."""
    rows = "".join(f"w{i} {i} {i % 3}\n" for i in range(30))  # one is 0 and left out
    (tmp_path / "v.txt").write_text(rows)
    (tmp_path / "w.txt").write_text(rows.replace("w7 7 1", "w7 7 2"))
    run = ("verify", "-e", "2", "-m", "knn-response", "-p", "k=3", "-j", "1", "--draws", "10000")
    first = dpsan(*run, "-E", "v.txt", "--certificate", "c", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    lines = (tmp_path / "c").read_bytes().splitlines(keepends=True)
    claim = json.loads(lines[0])
    assert claim["dpsan"]
    claim["dpsan"] = "9.9"  # another version that draws the same
    newer = sealed([claim, *(json.loads(line) for line in lines[1:-1])])
    (tmp_path / "newer").write_bytes(newer)
    for file, words, status, told in (
        ("newer", "v.txt", 0, "this run draws from the 29 rows of integers of newer"),
        ("c", "w.txt", 1, "the claim of c is another than this run's"),
    ):
        done = dpsan(*run, "-E", words, "--against", file, cwd=tmp_path)
        assert done.returncode == status, (file, done.stderr)
        assert told in " ".join((done.stdout + done.stderr).decode().split()), file
        assert (b"refuted by against" in done.stdout) == bool(status)
        assert (b"certified on the sampled integers" in done.stdout) != bool(status)
    one = Sanitizer("knn-response", epsilon=2, embeddings=tmp_path / "v.txt", parameters={"k": 3})
    certified = float(claim["epsilon"])
    for data, where in {
        b"".join(lines): None,
        b"".join(lines[:-1]): "line 31",
        b"".join([*lines[:5], lines[6], *lines[6:]]): "line 6",
        b"".join(lines) + b"x": "line 31",
        b"\xff nothing\n": "the claim",
        b"": "the claim",
    }.items():
        (tmp_path / "tried").write_bytes(data)
        check = compare_certificate(tmp_path / "tried", one, certified)
        assert check.held is (where is None)
        assert where is None or check.sentence.startswith(where)
    assert not compare_certificate(tmp_path / "c", one, certified + 0.5).held
    with pytest.raises(InputError, match="no such file"):
        compare_certificate(tmp_path / "none", one, certified)


def test_a_certificate_names_the_language_model(tmp_path):
    """Which decodes what is drawn: the guarantee is the same, a run with another one is not."""
    one, model = made("knn-response"), "ab" * 32
    found = SimpleNamespace(
        verdict=Verdict.KEPT, certified=certify(one.mechanism, one.space).epsilon_ldp
    )
    path = tmp_path / "c"
    write_certificate(path, one, found, language_model=model)
    assert lines_of(path)[0]["language_model"] == model
    assert accepts(path)
    assert compare_certificate(path, one, found.certified, model).held
    for other in (None, "cd" * 32):
        check = compare_certificate(path, one, found.certified, other)
        assert not check.held
        assert check.sentence.startswith("the claim")
