"""The audit: one JSON row for each word, as secret as the input.

:mod:`~dpsan.audit.schema` is its grammar, which :mod:`~dpsan.audit.writer` writes and
:mod:`~dpsan.audit.reader` reads.
"""

from dpsan.audit.reader import damaged, read_header, read_rows
from dpsan.audit.schema import SCHEMA, guarantee_row
from dpsan.audit.writer import AuditWriter

__all__ = ["SCHEMA", "AuditWriter", "damaged", "guarantee_row", "read_header", "read_rows"]
