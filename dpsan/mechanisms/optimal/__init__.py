"""The public base distribution of ``optimal-response``: solve it, draw from it, bound what is best.

Open ``public_base`` first.  The package knows integers, cosines and the vocabulary.  It must not
know texts or files.
"""
