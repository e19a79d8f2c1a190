"""One mechanism in words and numbers: what it is, what is claimed, what is true."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpsan.mechanisms import DEFAULT_MECHANISM, MECHANISMS
from dpsan.mechanisms.base import Mechanism
from dpsan.privacy.guarantee import Guarantee
from dpsan.space.metric_space import MetricSpace


def sections(name: str) -> dict[str, str]:
    """Return the parts of a mechanism's docstring by heading, unindented; ``Summary`` is the
    first.
    """
    docstring = sys.modules[MECHANISMS[name].__module__].__doc__ or ""
    first, _, rest = docstring.partition("\n")
    out = {"Summary": first.partition(": ")[2]}
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


def parameter_rows(name: str, mechanism: Mechanism | None = None) -> list[dict[str, Any]]:
    """Return the parameters besides epsilon: name, value or default, unit, domain, help."""
    kind = MECHANISMS[name]
    defaults = {key: about.default for key, about in kind.__dataclass_fields__.items()}
    return [
        {
            "name": key,
            "value": getattr(mechanism, key) if mechanism else defaults[key],
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


def described(name: str, mechanism: Mechanism | None = None) -> dict[str, Any]:
    """Return what is known of a mechanism without a vocabulary; see :func:`numbers`."""
    kind = MECHANISMS[name]
    return {
        "name": name,
        "status": str(kind.status),
        "family": kind.family,
        "epsilon": mechanism and mechanism.epsilon,
        "epsilon_unit": kind.epsilon_unit,
        **dict.fromkeys(("delta", "claimed", "true", "noise_scale", "mean_cosine", "why")),
        "source": kind.source,
        "parameters": {row["name"]: row["value"] for row in parameter_rows(name, mechanism)},
    }


def numbers(mechanism: Mechanism, space: MetricSpace) -> dict[str, Any]:
    """Claimed and true guarantee for these parameters on this vocabulary, as JSON values.

    Keys: name, status, epsilon, epsilon_unit, delta, claimed, true, noise_scale, mean_cosine, why,
    source, parameters.  ``null`` in a guarantee means that no finite value holds.
    """
    guarantee: Guarantee = mechanism.guarantee(space)
    optimum = mechanism.optimum(space)
    loss = guarantee.at(mechanism.epsilon) if mechanism.epsilon_unit == "nats" else guarantee
    return described(mechanism.name, mechanism) | {
        "delta": loss.delta,
        "claimed": None if guarantee.claimed is None else asdict(guarantee.claimed),
        "true": {
            "epsilon_metric": finite(guarantee.epsilon_metric),
            "metric": guarantee.metric,
            "slack": guarantee.slack,
            "epsilon_ldp": finite(guarantee.epsilon_ldp),
            "delta": guarantee.delta,
            "infinite_loss_mass": guarantee.infinite_loss_mass,
        },
        "noise_scale": mechanism.noise_scale(space),
        "mean_cosine": None if optimum is None else optimum._asdict(),
        "why": guarantee.why,
    }


def prepare_default(space: MetricSpace, epsilon: float) -> dict[str, Any]:
    """Make and keep the tables of the default mechanism.

    Args:
        epsilon: in nats.

    Returns:
        ``mechanism``, ``epsilon``, and ``mean_cosine`` with ``achieved`` and ``bound``, or None
        where the bound is not known.
    """
    mechanism = MECHANISMS[DEFAULT_MECHANISM].build(epsilon, {})
    mechanism.prepare(space)
    optimum = mechanism.optimum(space)
    return {
        "mechanism": mechanism.name,
        "epsilon": epsilon,
        "mean_cosine": None if optimum is None else optimum._asdict(),
    }
