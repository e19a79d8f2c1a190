"""The audit: one JSON row for each word, as secret as the input.

:mod:`~dpsan.run.audit.schema` is its grammar, which :mod:`~dpsan.run.audit.writer` writes and
:mod:`~dpsan.run.audit.reader` reads.
"""

from dpsan.run.audit.reader import damaged, read_header, read_rows
from dpsan.run.audit.schema import SCHEMA, guarantee_row
from dpsan.run.audit.writer import AuditWriter

__all__ = ["SCHEMA", "AuditWriter", "damaged", "guarantee_row", "read_header", "read_rows"]
