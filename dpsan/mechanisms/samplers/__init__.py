"""Samplers: map row numbers to row numbers at random.  Open ``base`` first.

Here are the interface, noise on points, numbers by value, and wide integers; most mechanisms draw
from a table (``tables``).  A sampler must not know epsilon, strings or files; guarantees are
computed by the mechanism that builds it.
"""
