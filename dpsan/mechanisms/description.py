"""One mechanism in words: what it is, what is claimed, what is true."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from dpsan.mechanisms import MECHANISMS


def sections(name: str) -> dict[str, str]:
    """Return the parts of a mechanism's docstring by heading, unindented; ``Summary`` is the
    first.
    """
    docstring = sys.modules[MECHANISMS[name].__module__].__doc__ or ""
    first, _, rest = docstring.partition("\n")
    out = {"Summary": first.partition(": ")[2] or MECHANISMS[name].summary}
    parts = re.split(r"^([A-Z][\w ]*)\n", rest, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        out[heading] = textwrap.dedent(body).strip("\n")
    return out


def bibtex(source: str) -> list[str]:
    """Return the BibTeX entries that the sources of mechanisms name, each once."""
    text = (Path(__file__).parent / "bibliography.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^(@\w+\{([^,]+),.*?^\})", text, re.MULTILINE | re.DOTALL)
    bodies = {key: body for body, key in entries}
    return [bodies[word] for word in dict.fromkeys(re.findall(r"[\w]+", source)) if word in bodies]


def parameter_rows(name: str) -> list[dict[str, Any]]:
    """Return the parameters besides epsilon: name, default, unit, domain, help."""
    kind = MECHANISMS[name]
    defaults = {key: about.default for key, about in kind.__dataclass_fields__.items()}
    return [
        {
            "name": key,
            "value": defaults[key],
            "required": about.required,
            "unit": about.unit,
            "domain": about.domain(),
            "help": about.help,
        }
        for key, about in kind.parameters().items()
    ]


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null means that no finite value holds."""
    return None if value is None or math.isinf(value) else float(value)


def described(name: str) -> dict[str, Any]:
    """Return what is known of a mechanism without a vocabulary."""
    kind = MECHANISMS[name]
    return {
        "name": name,
        "status": str(kind.status),
        "family": kind.family,
        "epsilon_unit": kind.epsilon_unit,
        "source": kind.source,
        "parameters": {row["name"]: row["value"] for row in parameter_rows(name)},
    }
