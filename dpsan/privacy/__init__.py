"""Privacy for reviewers: guarantees, composition, certificates, noise, randomness.

Open ``guarantee`` first, with docs/proofs.md.  Formulas stand here; mechanisms only call them.
This package must not know words, files or mechanisms.
"""
