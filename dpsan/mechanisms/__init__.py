"""Mechanisms, each in a file with its other forms, listed in ``mechanisms.tsv``.

Open ``mechanism`` first, then one of them.  What they share is in ``noise`` and ``tables``.  No
mechanism imports another.  This package must not know strings or files.
"""

from dpsan.mechanisms.registry import DEFAULT_MECHANISM, MECHANISMS

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS"]
