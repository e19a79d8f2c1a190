"""The file of a picture: which kind, under which settings, with which bytes.

A picture is a function of what it shows: no dates, no user settings.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsan.errors import ExtraMissingError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
