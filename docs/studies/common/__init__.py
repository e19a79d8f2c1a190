"""What the scripts of docs/studies share: a command line, mechanisms over epsilons, random words.

Open ``study.py`` first, then ``command.py``.  Nothing here knows a paper.  Everything looks at
public data only and draws under public keys, so every answer is repeatable and costs no privacy.
Scripts import only names of dpsan without a leading underscore.
"""
