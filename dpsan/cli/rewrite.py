"""``dpsan rewrite``."""

from __future__ import annotations

from inspect import signature
from typing import Any

from dpsan.cli.rewrite_options import RewriteOptions
from dpsan.cli.rewrite_request import Request
from dpsan.cli.rewrite_run import carry_out


def rewrite(**given: Any) -> int:
    """Sanitize text, line by line.

    For each word and number another is drawn, perhaps the same; the rest stays in place.

    dpsan rewrite -e 8 < letter.txt > safe.txt
    """
    return carry_out(Request(**given))


# The parser reads options from here.
rewrite.__signature__ = signature(RewriteOptions, eval_str=True)  # type: ignore[attr-defined]
