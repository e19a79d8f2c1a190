"""The vocabulary with its distance: exact search, exact distances, diameters.

Open ``metric_space`` first; ``cached_index`` makes one of an embedding file.  Distances that a
guarantee depends on are exact or bounded on the safe side.  This package must not know epsilon,
mechanisms or strings of a text.
"""
