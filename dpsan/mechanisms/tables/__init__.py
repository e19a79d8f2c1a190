"""Public tables of a vocabulary: ranks, near sets, groups, orders and weights of words.

Open ``near_sets`` first.  A table is a function of the public vocabulary alone; it must not know
epsilon, inputs or random numbers.
"""
