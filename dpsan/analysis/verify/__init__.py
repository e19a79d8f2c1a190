"""Verification of a guarantee: certificates, draws, the configuration, and what is drawn.

Open ``verdict`` first; ``program`` lists the tests.  All inputs are public strings.  This package
must not know private text or command lines.
"""
