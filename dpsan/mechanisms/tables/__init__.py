"""Tables of whole numbers that mechanisms draw from, and the public tables that make them.

Open ``sparse`` first, then ``dense``.  All others (near sets, orders, weights) are functions of the
public vocabulary alone: they know no epsilon, no input and no random number.
"""
