"""Make a vocabulary of public text: words, vectors, counts and usual spellings.

Open ``recipe``: it has the steps in their order.  gensim trains; this package reads, counts,
chooses, shapes and packs.  It draws from NumPy's generator under a fixed public seed, so nothing
that rewrites private text may import it.
"""
