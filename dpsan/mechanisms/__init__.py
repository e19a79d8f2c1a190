"""Mechanisms: one file each, listed in ``registry``.

Open ``base`` first, then a mechanism.  What they share is in ``noise``, ``tensors``, ``samplers``,
``tables`` and ``optimal``.  No mechanism imports another.  This package must not know strings or
files.
"""

from dpsan.mechanisms.own import installed, mechanism_class, own_file, path_of, space_for
from dpsan.mechanisms.registry import (
    DEFAULT_MECHANISM,
    MECHANISMS,
    check_classes,
    check_public,
    is_own,
    list_mechanisms,
    register,
)

__all__ = [
    "DEFAULT_MECHANISM",
    "MECHANISMS",
    "check_classes",
    "check_public",
    "installed",
    "is_own",
    "list_mechanisms",
    "mechanism_class",
    "own_file",
    "path_of",
    "register",
    "space_for",
]
