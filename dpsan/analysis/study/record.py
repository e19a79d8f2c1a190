"""A study as a record: everything to read it and to make it again.

Knows versions and digests.  Must not know how a study is made or shown.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from dpsan.analysis.study.base import Result
from dpsan.embeddings.base import Embeddings
from dpsan.version import __version__


def as_dict(
    result: Result, embeddings: Embeddings | None, seed: str, command: str
) -> dict[str, Any]:
    """JSON values: name, source, the single figures, rows, and what is needed to repeat it.

    Infinite numbers become null when written.

    Raises:
        ValueError: a single figure has the name of another key.
    """
    import faiss  # heavy import
    import numpy as np

    words = None
    if embeddings is not None:
        words = {
            "source": embeddings.source,
            "digest": embeddings.digest,
            "n": embeddings.n,
            "d": embeddings.d,
        }
    record = {
        "caption": result.caption,
        "notes": list(result.notes),
        "rows": [dict(row) for row in result.rows],
        "parameters": dict(result.parameters),
        "seed": seed,
        "embeddings": words,
        "versions": {
            "dpsan": __version__,
            "numpy": np.__version__,
            "faiss": faiss.__version__,
        },
        "command": command,
    }
    head = {"name": result.name, "source": result.source}
    if clash := set(result.summary) & (set(record) | set(head)):
        raise ValueError(f"single figures named {clash}")
    return {**head, **result.summary, **record}


def as_csv(result: Result) -> str:
    """The rows under a header of the columns; numbers in full, nothing where there is no value."""
    out = io.StringIO()
    writer = csv.DictWriter(out, result.columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(result.rows)
    return out.getvalue()
