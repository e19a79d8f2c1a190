"""The command line: parse, build, call, exit status.  No maths here."""
