"""Strings end here: split lines into words, look words up, write outputs back between the gaps.

Open ``tokens`` first: it says where a line is cut.  ``lookup`` turns words into row numbers;
``batch`` cuts large ones at spaces beforehand, which is only faster.  This package must not
know vectors, mechanisms or files.
"""
