"""Possessive groups go back to where they began, on every Python."""

import re
import subprocess
import sys

import pytest

from dpsan.text import patterns


@pytest.mark.parametrize("broken", [True, False])
def test_a_group_that_fails_has_matched_nothing(monkeypatch, broken):
    """Before Python 3.11.5 the library re took ``1e`` for a number."""
    if not broken and patterns._BROKEN:
        pytest.skip("this Python has no other")
    monkeypatch.setattr(patterns, "_BROKEN", broken)
    number = patterns.compiled(rb"[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+")
    assert [number.match(each)[0] for each in (b"1e", b"1.", b"1.5e+", b"1.5e+7x")] == [
        *(b"1", b"1", b"1.5", b"1.5e+7")
    ]
    assert patterns.compiled("(?:a(?:b++c)?+)x", re.IGNORECASE).match("ABX") is None


ALL_PATTERNS = r"""
import pkgutil, re
from dpsan.text import patterns
patterns._BROKEN = True  # from here on re has no possessive group to compile
import dpsan
def values(found):
    for each in list(found):
        yield each
        if isinstance(each, dict):
            yield from values(each.values())
        elif isinstance(each, (list, tuple)):
            yield from values(each)
group, seen = re.compile(r"\)[*+?]\+"), 0
for info in pkgutil.walk_packages(dpsan.__path__, "dpsan."):
    try:
        module = __import__(info.name, fromlist=["*"])
    except ImportError:  # of an extra
        continue
    for each in values(vars(module).values()):
        source = getattr(each, "pattern", "")
        text = source.decode("latin-1") if isinstance(source, bytes) else str(source)
        if group.search(text):
            seen += 1
            if isinstance(each, re.Pattern):
                print(info.name, text[:60])
print(seen > 11)
"""


def test_all_such_patterns_are_compiled_there():
    done = subprocess.run(
        [sys.executable, "-c", ALL_PATTERNS], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
