"""The cache on disk: entries that are verified whenever they are read."""
