"""Certificate files, and the checker that knows nothing of dpsan."""

import ast
import contextlib
import hashlib
import io
import json
import random
import runpy
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
from support import ROOT, cases, make_embeddings

from dpsan.analysis import verify as certificates
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.errors import OutputError, UsageError
from dpsan.mechanisms.mechanism import certify
from dpsan.sanitize.sanitizer import Sanitizer

CHECKER = ROOT / "docs" / "check_certificate.py"
ROUNDED = ("exponential", "tem", "geodesic")
"""Their claims count roundings that did not happen."""
MADE = ("krr", "knn-response", "optimal-response", "zipf-response", *ROUNDED, "uniform", "clusant")


def made(name, **options):
    parameters = {"k": 3} if name == "knn-response" else {}
    embeddings = make_embeddings(n=20, d=3)
    return Sanitizer(name, epsilon=2.0, embeddings=embeddings, parameters=parameters, **options)


def written(path, sanitizer, **more):
    """Write the certificate of a kept guarantee, as the command does after its checks."""
    certified = certify(sanitizer.mechanism, sanitizer.space).epsilon_ldp
    found = SimpleNamespace(verdict=Verdict.KEPT, certified=certified)
    assert certificates.write_certificate(path, sanitizer, found, **more)
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


def checked(path):
    """What the checker prints, and with what it exits."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), mock.patch.object(sys, "argv", ["", str(path)]):
        try:
            runpy.run_path(str(CHECKER), run_name="__main__")
        except SystemExit as ended:
            return out.getvalue(), ended.code
    return out.getvalue(), None


def digested(body):
    return body + b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()


def sealed(lines):
    """The lines of a certificate with the digest that belongs to them."""
    rows = [json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in lines]
    return digested(b"".join(rows))


def rejected(files, lines):
    """Return the reason why the checker rejects lines that are sealed anew."""
    (files / "forged").write_bytes(sealed(lines))
    told, reason = checked(files / "forged")
    assert told == ""
    assert reason.startswith("REJECTED: ")
    return reason


def test_the_checker_needs_nothing_but_python(files):
    source = CHECKER.read_text()
    assert len(source.splitlines()) <= 130  # that somebody reads it before they trust it
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [node.names[0].name]
            assert set(names) <= sys.stdlib_module_names
        # The proof is in integers and fractions; a float is only printed.
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
    for file, status in ((files / "krr", 0), (CHECKER, 1)):
        done = subprocess.run([sys.executable, "-I", CHECKER, file], capture_output=True)
        assert done.returncode == status
        assert (b"PROVED" in done.stdout, b"REJECTED" in done.stderr) == (not status, status)


@pytest.mark.parametrize("name", MADE)
def test_certificates_are_accepted(name, files):
    told, reason = checked(files / name)
    assert reason is None
    claim = lines_of(files / name)[0]
    assert told.startswith("PROVED: epsilon ")
    assert float(told.split()[2].rstrip(",")) == pytest.approx(float(claim["epsilon"]), abs=1e-9)
    if name not in (*ROUNDED, "uniform", "clusant"):
        assert 0 < float(claim["epsilon"]) <= 2.0


def test_a_hundred_of_a_hundred_altered_certificates_are_rejected(files, tmp_path):
    """One byte changed, dropped or doubled, or a line, anywhere: whatever it would mean."""
    generator, path = random.Random(16), tmp_path / "altered"
    for run in range(100):
        data = (files / MADE[run % 6]).read_bytes()
        parts = data.splitlines(keepends=True) if run % 5 > 2 else [bytes([each]) for each in data]
        at = generator.randrange(1, len(parts) - 1)
        flipped = bytes([parts[at][0] ^ 1 << generator.randrange(8)])
        parts[at] = (flipped, b"", parts[at] * 2, b"", parts[at] * 2)[run % 5]
        path.write_bytes(b"".join(parts))
        assert checked(path)[1], run


FORGERIES = {
    "claim": lambda lines: lines[0].update(epsilon=str(float(lines[0]["epsilon"]) * 0.999)),
    "row": lambda lines: lines.pop(5),
    "sign": lambda lines: lines[3].__setitem__(-1, -1),
    "fraction": lambda lines: lines[3].__setitem__(-1, lines[3][-1] + 0.5),
}


def nearly_impossible(lines):
    lines[4][3] = 1


FORGED = {
    "krr": lambda lines: lines[4].extend([9, 1]),  # another output is likely too: other total
    "knn-response": lambda lines: lines[4].__setitem__(1, 2),  # twice the mass
    "optimal-response": lambda lines: lines[0].__setitem__("increment", lines[0]["increment"] * 2),
    "exponential": nearly_impossible,
    "zipf-response": nearly_impossible,
    "tem": nearly_impossible,
}


@pytest.mark.parametrize("name", [each for each in MADE if each != "uniform"])
@pytest.mark.parametrize("change", [*FORGERIES, "weight"])
def test_a_forger_who_makes_the_digest_anew_is_rejected(name, change, files):
    """Arithmetic, and not the digest alone, is what is checked."""
    lines = lines_of(files / name)
    assert sealed(lines) == (files / name).read_bytes()
    if change == "claim" and name in ROUNDED:
        lines[0]["epsilon"] = "0.5"
    else:
        FORGERIES.get(change, FORGED.get(name, nearly_impossible))(lines)
    rejected(files, lines)


def test_public_words_are_left_out_as_first_inputs(tmp_path):
    path = written(tmp_path / "c", made("knn-response", public=["word0", "word7"]))
    told, _ = checked(path)
    assert "for 18 words and any other string; not protected: 2 public words" in told
    lines = lines_of(path)
    assert lines[0]["public"] == [0, 7]
    lines[0]["public"] = [0]  # the other one has infinite loss as a first input
    rejected(tmp_path, lines)


STARTS = "krr\r", "\x1b[1A\x1b[2K", "krr\u2028", f"krr{' ' * 70}"
NAMES = [*(f"{each}PROVED: epsilon 0.001" for each in STARTS), "krr\u202e100.0 nolispe :DEVORP"]
NAMES += [["krr"], "krr\nPROVED: epsilon 0.001, delta 0, for 9 words and any other string"]


@pytest.mark.parametrize("field", ["mechanism", "vocabulary"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_prints_no_line_of_its_own(field, name, files):
    """Names were once printed unchecked, so that a name could add lines below PROVED."""
    lines = lines_of(files / "krr")
    lines[0][field] = name
    reason = rejected(files, lines)
    assert len(reason.splitlines()) == 1
    assert "PROVED" not in reason


@pytest.mark.parametrize("before", [b'"epsilon":"0.001",', b'"public":[],', b'"mechanism":"tem",'])
def test_a_name_that_stands_there_twice_is_rejected(before, files, tmp_path):
    """The last one counted, whatever who reads the file sees first."""
    head, *rest = (files / "krr").read_bytes().splitlines(keepends=True)[:-1]
    path = tmp_path / "twice"
    path.write_bytes(digested(b"".join([b"{" + before + head[1:], *rest])))
    told, reason = checked(path)
    assert told == ""
    assert "a key stands there twice" in reason


@cases("public", [*range(20)], [0, 0], [20], [-1], ["0"], [True], {"0": 0}, "0", ids=str)
def test_public_words_are_rows_and_never_all_of_them(public, files):
    """With every word public any epsilon was PROVED for 20 words and any other string."""
    lines = lines_of(files / "knn-response")
    lines[0]["public"] = public
    rejected(files, lines)


def test_what_has_no_certificate_of_integers_says_so(files, tmp_path):
    sanitizer = made("krr", unknown="mask")
    found = verify(sanitizer, words=4, draws=2000)
    assert certificates.write_certificate(tmp_path / "c", sanitizer, found) is None
    assert not (tmp_path / "c").exists()
    with pytest.raises(UsageError, match="no certificate of integers"):
        certificates.certificate_weights(made("laplace"))
    large = Sanitizer("exponential", epsilon=2.0, embeddings=make_embeddings(n=2001, d=2))
    with pytest.raises(UsageError, match="at most 2,000 words"):
        certificates.certificate_weights(large)
    with pytest.raises(OutputError, match="exists"):
        certificates.check_certificate(files / "krr", made("krr"))
    certificates.check_certificate(files / "krr", made("krr"), force=True)
    assert checked(files / "krr")[1] is None  # still there


@pytest.mark.slow
def test_the_same_run_writes_the_same_certificate(dpsan, tmp_path):
    """Another vocabulary, or another epsilon, writes another claim."""
    rows = "".join(f"w{i} {i} {i % 3}\n" for i in range(30))  # one is 0 and left out
    (tmp_path / "v.txt").write_text(rows)
    (tmp_path / "w.txt").write_text(rows.replace("w7 7 1", "w7 7 2"))
    run = ("verify", "-m", "knn-response", "-p", "k=3", "--draws", "10000")
    for name, words, epsilon in ("cv2", "dv2", "ew2", "fv3"):
        more = ("-e", epsilon, "-E", f"{words}.txt", "--certificate", name)
        dpsan(*run, *more, cwd=tmp_path, status=0)
        assert checked(tmp_path / name)[1] is None
    first, again, *others = ((tmp_path / name).read_bytes() for name in "cdef")
    assert first == again
    claims = [each.partition(b"\n")[0] for each in (first, *others)]
    assert len({*claims}) == 3
    done = dpsan(*run, "-e", "2", "-E", "v.txt", "--against", "c", cwd=tmp_path)
    assert b"then cmp NEW FILE" in done.stderr
