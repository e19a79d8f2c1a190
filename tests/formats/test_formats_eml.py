"""``eml``: texts change, headers that tell who wrote are left out, the build of the mail stays."""

import email
import re
from email import policy
from html import unescape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from identity import identity, lettered, through
from support import ROOT, cases, tables

from dpsan.errors import InputError

IDENTITY, LETTERED = identity(), lettered()
CASES, FILES = tables("formats/cases"), ROOT / "tests" / "formats" / "files"


def mail_of(name):
    """A mail with a part in UTF-8 and a part in Latin-1."""
    text = (FILES / name).read_text(encoding="utf8").replace("\n", "\r\n")
    return text.encode().replace("caf\u00e9".encode(), b"caf\xe9")


# The same mail, as it is and with dpsan's boundaries, headers and entities.
MAIL, NEW = mail_of("whole.eml"), mail_of("written.eml")
PLANTED = (FILES / "planted.eml").read_text(encoding="utf8")


def run(data, *fields, sanitizer=LETTERED, **more):
    data = data if isinstance(data, bytes) else data.encode()
    return through(sanitizer, data, "eml", size=7, fields=fields, **more)


def out(data, *fields, **more):
    return run(data, *fields, **more)[0].decode()


def test_a_mail():
    assert run(MAIL, sanitizer=IDENTITY)[0] == NEW
    found, outcome = run(MAIL)
    words = rb"\b(?:one|two|three|four|five|six|seven|eight|caf\xe9)(?![a-z])"
    assert found == re.sub(words, b"W", NEW).replace(b"--b2 W", b"--W W")
    assert outcome.passing.noted == {"passed unchanged, and may hold text:attribute": 1}
    assert outcome.totals.records == 5


PARTS = """
Subject: X-Who: From: Content-Type: text/plain text/html multipart/mixed message/rfc822 image/png ;
boundary= boundary="b" charset=utf-8 charset=Zorblatt charset="x" name=Zorblatt base64 --b --b-- --
Content-Transfer-Encoding: quoted-printable 7bit =?utf-8?q?=5aorblatt?= =5A = : <p> <!-- -->
Content-Disposition: attachment MIME-Version: 1.0 (Zorblatt) Zorblatt Zorblatt em9yYmxhdHQ=
"""
SOUP = st.lists(st.sampled_from([*PARTS.split(), " ", "\n", "\r\n", "\n\n", "\t"]), max_size=16)


@settings(max_examples=80)
@given(SOUP.map("".join).map(str.encode))
@example(b"Content-Type: multipart/mixed; boundary=b\n\nZorblatt\n--b\n\nx\n--b--\nZorblatt")
@example(b"Content-Type: text/plain (Zorblatt); charset=utf-8; name=Zorblatt\n\nx")
@example(b"Content-Type: text/zorblatt\n\nx")
@example(b"Content-Transfer-Encoding: quoted-printable\n\n.=\rZorblatt\n.")
@example(b"Subject: =?utf-8?b?Lg==Zorblatt?=\n\nx")
@example(b"Content-Type: text/plain\n boundary=Zorblatt\n\nx")
def test_no_broken_mail_lets_a_word_pass(data):
    try:
        found = out(data)
    except InputError as error:
        found = str(error)
        assert found.startswith("test:")
        assert "\n" not in found
    decoded = email.message_from_bytes(found.encode(), policy=policy.compat32)
    texts = [str(each.get_payload(decode=True)) for each in decoded.walk()]
    assert "zorblatt" not in unescape(" ".join([found, *texts])).lower()


ATTACHED = r"an attachment \(without --strict or -i it is left out\)"


def test_strict_refuses_what_would_be_left_out():
    with pytest.raises(InputError, match=rf":40: {ATTACHED}$"):
        run(PLANTED, strict=True)


def test_planted_everywhere():
    found, outcome = run(PLANTED)
    assert b"orblatt" not in found
    usual = ("To", "Cc", "Date", "Message-ID", "Received")
    noted = {"attachment": 2, "From header": 2, "other header": 7}
    noted |= {f"{name} header": 1 for name in usual}  # X-Zorblatt is data
    assert outcome.passing.noted == {f"left out:{kind}": many for kind, many in noted.items()}
    found, outcome = run("To: " + "a@b.c, " * 20_000 + "\n\nx")
    assert outcome.passing.noted == {"left out:To header": 1}
    drawn = out(PLANTED, "from", "x-zorblatt")
    assert drawn.startswith("From: W <W>\nSubject: W\nX-Zorblatt: W\n")


MULTIPART = "Content-Type: multipart/mixed; boundary={0}\n\n--{0}\n\nx\n--{0}--\n"


@cases("boundary", "zorblatt", '"5D1F2.12/zorblatt.example.org"', "=_00000001", "zorblatt" * 80)
def test_a_boundary_that_names_a_host_is_not_written(boundary):
    bare = boundary.strip('"')
    mail = MULTIPART.format(boundary).replace(f"--{boundary}", f"--{bare}")
    new = "=_00000002" if boundary.startswith("=") else "=_00000001"
    written = MULTIPART.format(new).replace(f"={new}\n", f'="{new}"\n')
    assert out(mail) == written.replace("\nx", "\nW")


@cases("header written", *CASES["headers"])
def test_text_that_stands_where_the_build_of_a_mail_is_said_does_not_pass(header, written):
    written = f"Content-Type: {written.replace('C...', 'Content-Disposition: attachment')}"
    body, masked = "x", "W"
    if header.startswith("multipart"):
        header += "; boundary=b"
        written += '; boundary="=_00000001"'
        body, masked = "--b\n\nx\n--b--\n", "--=_00000001\n\nW\n--=_00000001--\n"
    assert out(f"Content-Type: {header}\n\n{body}") == f"{written}\n\n{masked}"


def test_a_part_of_a_digest_is_a_mail():
    part = "\nFrom: zorblatt\nSubject: a b\n\nc"
    mail = f"Content-Type: multipart/digest; boundary=b\n\n--b\n{part}\n--b--\n"
    found, outcome = run(mail)
    assert b"--=_00000001\n\nSubject: W W\n\nW\n--=" in found
    assert outcome.passing.noted == {"left out:From header": 1}


IMAGE = "Content-Type: image/png\n\nx"


def test_what_is_written_is_a_mail_that_dpsan_reads():
    """A multipart of attachments alone goes with them: one without parts is refused."""
    hollow = [
        f"Content-Type: multipart/mixed; boundary=i\n\n--i\n{IMAGE}\n--i--\n",
        f"Content-Type: message/rfc822\n\nFrom: a\n{IMAGE}",
    ]
    for inner in hollow:
        mail = f"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhere\n--b\n{inner}\n--b--\n"
        with pytest.raises(InputError, match=ATTACHED):
            run(mail, strict=True)
        found, outcome = run(mail)
        assert outcome.passing.noted == {"left out:attachment": 1}
        assert run(found)[0].count(b"W") == 1
        with pytest.raises(InputError, match=r"a mail that is nothing but an attachment$"):
            run(inner)


MIXED, NEXT = "Content-Type: multipart/mixed; boundary=b\n", "\n--b\n"


@cases(
    "mail told",
    *CASES["mails"],
    (f"{MIXED}{NEXT * 10_001}", ":20005: more than 10000 parts$"),
    ("Content-Type: message/rfc822\n\n" * 40, ":63: more than 30 parts inside one another$"),
    # What would take minutes to read.
    ("Subject: " + "=?utf-8?q?a?=\n " * 6000, ":1: a header longer than 65536 bytes$"),
    ("Content-Type: text/plain" + "; a=b" * 9999, ":1: a header longer than 8192 bytes$"),
    ("X: y\n" * 1001, ":1001: more than 1000 headers$"),
)
def test_bad_mails_get_one_line(mail, told):
    with pytest.raises(InputError, match=f"^test{told}") as caught:
        run(mail)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("word", ["a", "caf\u00e9" * 20, "\u6f22\u5b57", "a=?_", "=?utf-8?q?b?="])
@pytest.mark.parametrize("cte", ["quoted-printable", "base64", "8bit"])
def test_words_are_written_so_that_they_can_be_read(word, cte):
    data = run(
        f"Subject: x x\r\nContent-Transfer-Encoding: {cte}\r\n\r\n"
        + {"base64": "eCB4\r\n"}.get(cte, "x x\r\n"),
        sanitizer=lettered(word),
    )[0]
    mail = email.message_from_bytes(data, policy=policy.default)
    assert mail["subject"] == f"{word} {word}"
    assert mail.get_payload(decode=True).decode().strip() == f"{word} {word}"
    assert data.count(b"\n") == data.count(b"\r\n")
    assert max(map(len, data.split(b"\r\n"))) < (79 if cte != "8bit" else 220)


@cases(
    "charset cte kind text",
    ("utf-8", "7bit", "plain", b"cafe?"),
    ("cp1252", "8bit", "plain", b"caf\xe9?"),
    ("cp1252", "8bit", "html", b"caf\xe9&#28450;"),
)
def test_a_character_that_a_charset_lacks(charset, cte, kind, text):
    header = f"Content-Type: text/{kind}; charset={charset}\nContent-Transfer-Encoding: {cte}\n\n"
    assert run(f"{header}x", sanitizer=lettered("caf\u00e9\u6f22"))[0].endswith(b"\n" + text)


@cases(
    "value text",
    ("a\n b =?utf-8?q?c?=\n d", "W W W W"),
    ("=?utf-8?q?a=0ABcc:_b?=", "W W: W"),  # an encoded line break makes no header
    ("--\n =?utf-8?q?--?=", "-- --"),
)
def test_a_subject_of_several_lines(value, text):
    assert out(f"Subject: {value}\n\n.") == f"Subject: {text}\n\n."


@pytest.mark.parametrize("header", ["Subject : x", "Subject\t: x", "A : b\nSubject : x"])
def test_white_space_before_the_colon(header):
    assert out(f"{header}\n\nx : x") == "Subject: W\n\nW : W"
