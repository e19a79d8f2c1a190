"""Containers: how records with texts are read from bytes and written back, one file each.

Open ``base`` first, then ``kinds``.  A format says what it can do as class attributes, which
the command line asks for.  This package must not know mechanisms, keys or how texts are rewritten.
"""
