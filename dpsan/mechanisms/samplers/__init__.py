"""Samplers: map row numbers to row numbers at random.  Open ``base`` first.

A sampler knows integer weights, tables and random streams.  It must not know epsilon, strings or
files; guarantees are computed by the mechanism that builds it.
"""
