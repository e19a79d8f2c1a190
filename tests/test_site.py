"""The documentation site: every page is in it, links lead somewhere, examples are drawn."""

import re
import runpy
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from support import ROOT

from dpsan import Sanitizer
from dpsan.mechanisms import MECHANISMS

FILE = ROOT / "docs" / "site" / "build.py"


@pytest.fixture(scope="module")
def site():
    return SimpleNamespace(**runpy.run_path(str(FILE)))


def test_every_page_is_in_the_site_with_links_that_lead_somewhere(site):
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {*site.NEW}
    assert len({*site.NEW.values()}) == len(site.NEW)
    for old in site.NEW:
        text = site.linked((ROOT / old).read_text(), old)
        for target in re.findall(r"\]\(([^)\s#]+)", text):
            if not re.match(r"https?:|mailto:", target):
                assert target in site.NEW.values() or target.endswith(".svg"), (old, target)
    with pytest.raises(ValueError, match=r"a link to docs/none\.md"):
        site.linked("[x](none.md)", "docs/classes.md")
    assert "(security.md#a)" in site.linked("[x](../SECURITY.md#a)", "docs/classes.md")
    assert "/blob/main/dpsan/errors.py)" in site.linked("[x](../dpsan/errors.py)", "docs/a.md")


def test_every_mechanism_has_a_page(site):
    for name, kind in MECHANISMS.items():
        text = site.mechanism_page(name)
        assert text.startswith(f"# {name}\n\n**{kind.status}**. ")
        assert "## Parameters" in text
        assert all(f"`{each}`" in text for each in kind.parameters())


@pytest.mark.slow
def test_examples_are_drawn_at_every_level(site, monkeypatch):
    """With a small vocabulary; no script, and only one level is seen."""

    class Small(Sanitizer):
        def __init__(self, **options):
            few = {} if "only" in options else {"vocab_size": 3000}
            super().__init__(**few, **{**options, "fluent": False})

    monkeypatch.setitem(site.example_page.__globals__, "Sanitizer", Small)
    page = site.example_page(["Maria is in Paris & Rome."])
    assert page.count('<ol class="level"') == len(site.LEVELS) == 10
    assert page.count("<li><p>Maria is in Paris &amp; Rome.</p>") == 10
    assert page.count("<b>--fluent</b>") == 7  # at 7 to 12, and with classes
    assert "<script" not in page


@pytest.mark.skipif(not shutil.which("zensical"), reason="zensical is not installed")
def test_the_site_is_built(tmp_path):
    done = subprocess.run([sys.executable, FILE, tmp_path / "site"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in ("index.html", "example.html", "security/index.html", "mechanisms/krr/index.html"):
        assert (tmp_path / "site" / page).stat().st_size > 1000
