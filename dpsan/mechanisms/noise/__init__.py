"""Noise: draw vectors and ranks.  Open ``vectors`` first.

Formulas of scales and deltas, and the distributions that draws are tested against, are in
``dpsan.privacy``.  This package must not know words, files or how a guarantee is stated.
"""
