"""Output distributions of words, what an attacker concludes from outputs, and calibration.

Open ``emissions`` first; ``calibrate`` finds the epsilon that reaches a target.  Everything here is
computed from the public vocabulary.  This package must not know private text or command lines.
"""
