"""The audit: one JSON row for each word, as secret as the input.

:mod:`~dpsan.run.audit.schema` is its grammar and reads it; :mod:`~dpsan.run.audit.writer` writes
it.
"""

from dpsan.run.audit.schema import SCHEMA, damaged, guarantee_row, read_header, read_rows
from dpsan.run.audit.writer import AuditWriter

__all__ = ["SCHEMA", "AuditWriter", "damaged", "guarantee_row", "read_header", "read_rows"]
