"""Containers: how records with texts are read from bytes and written back, one file each."""
