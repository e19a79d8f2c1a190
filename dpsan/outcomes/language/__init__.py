"""A public language model of words, and what a reader of outputs concludes with it.

A model is a function of public text and a vocabulary.  Nothing here sees an input of a mechanism.
"""
