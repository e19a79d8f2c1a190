"""The command line: parse, build a request, run it, print, and return the exit status.

Open ``app`` first, then the file of a command; ``guard`` has errors, Ctrl-C and exit statuses.
There are no maths here, and no message holds input text.  Imports of commands are lazy: ``dpsan
--help`` must not pay for numpy.
"""
