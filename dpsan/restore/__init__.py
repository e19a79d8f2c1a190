"""Put the originals of a map back into answers.

It reads the map that ``rewrite --map`` writes, and texts.  It draws nothing, and it knows no
mechanism, and of public lists only which words are ordinary.
"""
