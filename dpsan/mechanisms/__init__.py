"""Mechanisms: one file each; what they share is in ``base``, ``parameters`` and ``sampling``."""

from dpsan.mechanisms.registry import (
    DEFAULT_MECHANISM,
    MECHANISMS,
    check_public,
    is_own,
    list_mechanisms,
    register,
    space_for,
)

__all__ = [
    "DEFAULT_MECHANISM",
    "MECHANISMS",
    "check_public",
    "is_own",
    "list_mechanisms",
    "register",
    "space_for",
]
