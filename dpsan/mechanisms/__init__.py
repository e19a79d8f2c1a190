"""Mechanisms: one file each; what they share is in ``base``, ``parameters`` and ``sampling``."""

from dpsan.mechanisms.registry import DEFAULT_MECHANISM, MECHANISMS, list_mechanisms

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS", "list_mechanisms"]
