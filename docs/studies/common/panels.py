"""Pictures of panels: files that read well on light and dark pages.

A picture is a function of what it shows: no dates, no user settings.

Text is drawn as paths, so that it looks the same everywhere.

Colours are those of Okabe and Ito without yellow; every label also has a marker and a line style of
its own.  A series named ``LABEL, more`` whose LABEL is a line takes that line's colour.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsan.errors import ExtraMissingError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
_MARKERS: Final = "osD^vPX*<>"
_DASHES: Final[tuple[Any, ...]] = ("-", (0, (6, 1.5)), (0, (3, 1, 1, 1)))
_CLAIM: Final = (0, (4, 3))
_WIDTH, _HEIGHT = 5.2, 3.9
"""Size of one panel, in inches."""
_FEW: Final = 6
"""Labels up to which a legend has room inside a panel."""
_LETTERS: Final = 15.5
"""Letters of the caption per inch."""
_SETTINGS: Final[Any] = {
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.grid": True,
    "grid.color": "#d8d8d8",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "legend.fontsize": 8.5,
    "legend.framealpha": 0.85,
    "lines.linewidth": 1.7,
}


@dataclass(frozen=True)
class Series:
    """One line (or set of points) of a panel; all sequences have one length."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    """Lower confidence limits of y."""
    high: tuple[float, ...] | None = None
    style: str = "line"
    """``line``, ``points`` or ``dashed`` (a claim or a bound)."""


@dataclass(frozen=True)
class Panel:
    """One coordinate system."""

    title: str
    x_label: str
    """With its unit."""
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    y_limits: tuple[float, float] | None = None


def kind_of(path: Path) -> str:
    """``pdf``, ``png`` or ``svg``, by the suffix.

    Raises:
        UsageError: another suffix, or matplotlib is not installed.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("pdf", "png", "svg"):
        raise UsageError(f"{path}: pictures end in .pdf, .png or .svg")
    try:
        import matplotlib  # noqa: F401 - heavy import
    except ImportError:
        raise ExtraMissingError("drawing", "plot") from None
    return kind


@contextmanager
def settings(own: Any) -> Iterator[None]:
    """The defaults of matplotlib with these settings by name, whatever the user's are."""
    import matplotlib as mpl  # heavy import

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({"svg.hashsalt": "dpsan", **own})  # names in the file repeat too
        yield


def render(figure: Figure, kind: str, *, dpi: int, **about: str) -> bytes:
    """Return the bytes of the file, equal for equal figures and one version of matplotlib.

    Args:
        figure: drawn under :func:`settings`, which must still hold.
        kind: ``pdf``, ``png`` or ``svg``.
    """
    silent: dict[str, str | None] = {"Date": None, "Creator": "dpsan"}
    if kind == "png":
        silent = {"Software": None}
    elif kind == "pdf":
        about = {{"Description": "Subject"}.get(name, name): text for name, text in about.items()}
        silent = {"CreationDate": None, "Creator": "dpsan", "Producer": None}
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=dpi, metadata={**about, **silent})
    return out.getvalue()


@settings(_SETTINGS)
def draw(panels: Sequence[Panel], *, title: str, caption: str, kind: str) -> bytes:
    """One picture of all panels with the caption below.

    Args:
        panels: at least one.
        caption: what is shown, with all parameters.
        kind: ``pdf``, ``png`` or ``svg``.

    Returns:
        The bytes of the file, equal for equal arguments and one version of matplotlib.
    """
    from matplotlib.figure import Figure  # heavy import

    if not any(panel.series for panel in panels):
        raise UsageError("nothing to draw")
    columns = 1 if len(panels) == 1 else 2
    lines = -(-len(panels) // columns)
    width = 7.4 if columns == 1 else columns * _WIDTH
    below = textwrap.wrap(caption, int(width * _LETTERS))
    fullest = max(panels, key=lambda panel: len(panel.series))
    labels = set(_labels(fullest))
    alike = all(set(_labels(panel)) == labels for panel in panels)
    inside = all(set(_labels(panel)) <= labels for panel in panels)
    shared = len(panels) > 1 and (alike or (inside and len(labels) > _FEW))
    legend = math.ceil(len(labels) / 4) if shared else 0
    foot = (len(below) + 1) * 0.165 + legend * 0.22
    most = 0 if shared else len(fullest.series)
    height = lines * (_HEIGHT + (0.1 * most if most > _FEW else 0)) + 0.35 + foot
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    styles = styles_of(panels)
    for panel, plot in zip(panels, axes, strict=False):
        _draw_panel(plot, panel, styles, legend=not shared)
    for plot in axes[len(panels) :]:
        plot.set_axis_off()
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, foot / height, 1, 1 - foot / height), w_pad=0.08, h_pad=0.08)
    figure.suptitle(title, x=0.012, ha="left", fontsize=12, fontweight="bold")
    if shared:
        held = axes[panels.index(fullest)].get_legend_handles_labels()
        anchor = 0.5, (len(below) + 1) * 0.165 / height
        place: Any = {"loc": "lower center", "bbox_to_anchor": anchor}
        figure.legend(*held, ncols=min(4, len(labels)), frameon=False, **place)
    figure.text(0.012, 0.06 / height, "\n".join(below), fontsize=8.5, va="bottom", color="#333333")
    return render(figure, kind, dpi=160, Title=title, Description=caption)


def _labels(panel: Panel) -> tuple[str, ...]:
    return tuple(each.label for each in panel.series)


def styles_of(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of every label, the same in all panels."""
    series = [each for panel in panels for each in panel.series]
    lines = list(dict.fromkeys(each.label for each in series if each.style == "line"))
    owner = {}
    for each in series:
        longer = [line for line in lines if each.label.startswith(f"{line}, ")]
        inherits = longer and each.style != "line"
        owner[each.label] = max(longer, key=len) if inherits else each.label
    # A claim that belongs to no line is grey: it takes no colour from the lines.
    free = list(dict.fromkeys(owner.values()))
    dashed = {each.label for each in series if each.style == "dashed"} - set(lines)
    coloured = [name for name in free if name not in dashed]
    dashes = (dash for dash in cycle(_DASHES) for _ in _COLOURS)
    looks = zip(coloured, cycle(_COLOURS), cycle(_MARKERS), dashes, strict=False)
    grey = [name for name in free if name in dashed]
    greys = zip(grey, cycle(("#555555", "#999999")), repeat(""), repeat("-"), strict=False)
    styles = {
        name: {"color": colour, "marker": marker, "linestyle": dash}
        for name, colour, marker, dash in (*looks, *greys)
    }
    return {label: styles[name] for label, name in owner.items()}


def _draw_panel(
    axes: Any, panel: Panel, styles: dict[str, dict[str, Any]], *, legend: bool
) -> None:
    """Draw one coordinate system."""
    axes.set_title(panel.title, loc="left")
    scales = {
        name: "log" for name, log in (("xscale", panel.log_x), ("yscale", panel.log_y)) if log
    }
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label, **scales)
    points = [each.label for each in panel.series if each.style == "points"]
    for each in panel.series:
        style = dict(styles[each.label])
        if each.style == "line" and any(name.startswith(f"{each.label}, ") for name in points):
            style["marker"] = ""  # its points have it
        _draw_series(axes, each, style, positive=panel.log_y)
    if panel.y_limits:
        axes.set_ylim(*panel.y_limits)
    for axis, log in ((axes.xaxis, panel.log_x), (axes.yaxis, panel.log_y)):
        if log:
            _plain_ticks(axis)
    if legend and panel.series:
        if len(panel.series) <= _FEW:
            axes.legend(loc="best")
        else:  # it would hide lines
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)


def _plain_ticks(axis: Any) -> None:
    """Numbers such as 0.1, 1, 10 instead of powers, where the axis is short enough for that."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # heavy import

    low, high = axis.get_view_interval()
    if low > 1e-4 and high < 1e5:
        if high / low < 200:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_series(axes: Any, series: Series, style: dict[str, Any], *, positive: bool) -> None:
    """Draw one line, claim or set of points; values outside the axis are left out."""
    low, high = series.low or series.y, series.high or series.y
    bounded = series.low is not None or series.high is not None
    kept = [
        row
        for row in zip(series.x, series.y, low, high, strict=True)
        if all(map(math.isfinite, row)) and (row[1] > 0 or not positive)
    ]
    if not kept:
        return
    x, y, low, high = zip(*kept, strict=True)
    if series.style == "points":
        errors = None
        if bounded:
            ends = ((low, y), (y, high))
            errors = [[max(0.0, b - a) for a, b in zip(*end, strict=True)] for end in ends]
        look = {**style, "linestyle": "none", "markersize": 3.5, "elinewidth": 0.8}
        axes.errorbar(x, y, yerr=errors, label=series.label, alpha=0.75, **look)
        return
    look = dict(style)
    if series.style == "dashed":
        look |= {"linestyle": _CLAIM, "marker": "", "linewidth": 1.3}
    elif len(x) > 30:
        look["markevery"] = max(1, len(x) // 8)
    axes.plot(x, y, label=series.label, markersize=4.5, **look)
    if bounded:
        axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
