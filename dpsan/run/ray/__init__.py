"""``rewrite --engine ray``: one task per input file, on a Ray cluster.

A task does what a single process does with the same file: it has the same key, so it draws the same
words.  Open :mod:`driver` first: it hands out the tasks and takes their outputs in order.
:mod:`engine` is the only module that imports Ray.  No text passes through Ray: a worker reads and
writes files, which every machine must find under the same paths.
"""
