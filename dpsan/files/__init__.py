"""Bytes on disk: safe opening, compression, atomic output, private files, SQLite store.

Open ``atomic_files`` first for outputs and ``source`` for inputs.  This package stands below all
others: it must not know records, words, formats or mechanisms, and it never prints.
"""
