"""Pictures: what they hold, that they repeat, what is refused."""

import re
import struct
import sys
from pathlib import Path

import pytest
from common.panels import Panel, Series, draw, kind_of, styles_of
from support import need_extra

from dpsan.errors import ExtraMissingError, UsageError

LINE = Series("one", (1.0, 2.0, 4.0), (0.1, 0.5, 0.7), (0.05, 0.4, 0.6), (0.2, 0.6, 0.8))
LINES = (
    LINE,
    Series("one, drawn", (1.0, 2.0), (0.1, 0.4), (0.0, 0.3), (0.2, 0.5), style="points"),
    Series("one, bound", (1.0, 4.0), (0.2, 0.9), style="dashed"),
    Series("claimed", (1.0, 4.0), (0.0, 0.0), style="dashed"),
    Series("two", (1.0, 2.0, 4.0), (0.3, float("nan"), float("inf"))),
)
PANEL = Panel("title of the panel", "length (m)", "share", LINES, log_x=True)
PARTS = tuple(Series(f"part {i}", (0.0, 1.0), (0.5, 0.5)) for i in "ab")
OTHER = Panel("parts", "x", "y", PARTS)


def picture(panels=(PANEL, OTHER), kind="svg"):
    return draw(panels, title="a title", caption="a caption of words " * 20, kind=kind)


@pytest.mark.slow
def test_pictures_repeat_and_are_plain():
    """Whatever the user's settings are."""
    need_extra("plot")
    import matplotlib as mpl

    svg, png = picture(), picture(kind="png")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 20, "svg.hashsalt": "other"}):
        assert picture() == svg
        assert picture(kind="png") == png
        assert mpl.rcParams["font.size"] == 20
    text = svg.decode()
    assert "a caption of words" in text  # in the description: what is drawn are paths
    assert not re.search("<dc:date>|<text|<script", text)
    assert re.search(r'<path d="M 0 [\d.]+ \nL [\d.]+ [\d.]+ .*?style="fill: #ffffff"', text, re.S)
    width, height = struct.unpack(">II", png[16:24])
    assert 1200 < width < 2400
    assert 600 < height < 2400


def test_a_series_of_a_line_has_its_colour():
    styles = styles_of((PANEL, OTHER))
    colours = {label: style["color"] for label, style in styles.items()}
    assert colours["one"] == colours["one, drawn"] == colours["one, bound"]
    assert len({colours[name] for name in ("one", "two", "part a", "part b", "claimed")}) == 5
    # Colour, marker and dashes together: also without colours, and for more than seven.
    panel = Panel("", "", "", tuple(Series(f"m{i}", (0.0, 1.0), (0.0, 1.0)) for i in range(20)))
    looks = [(s["color"], s["marker"], str(s["linestyle"])) for s in styles_of((panel,)).values()]
    assert (len(set(looks)), len({look[1:] for look in looks})) == (20, 20)


def test_what_is_refused(monkeypatch):
    need_extra("plot")
    assert kind_of(Path("a.SVG")) == "svg"
    with pytest.raises(UsageError, match="nothing to draw"):
        picture((Panel("", "", "", ()),))
    with pytest.raises(UsageError, match=r"a\.gif: pictures end in"):
        kind_of(Path("a.gif"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraMissingError, match=r"dpsan\[plot\]"):
        kind_of(Path("a.png"))
