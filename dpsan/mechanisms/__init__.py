"""Mechanisms: one file each, listed in ``registry``.

Open ``base`` first, then a mechanism.  What they share is in ``noise``, ``samplers``, ``tables``
and ``optimal``.  No mechanism imports another.  This package must not know strings or files.
"""

from dpsan.mechanisms.registry import DEFAULT_MECHANISM, MECHANISMS

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS"]
