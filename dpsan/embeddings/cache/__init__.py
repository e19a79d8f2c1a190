"""The cache on disk: entries that are verified whenever they are read.

Open ``store`` first.  An entry is a set of named arrays; nothing here knows what they stand for.
"""
