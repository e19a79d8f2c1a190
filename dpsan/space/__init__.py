"""The vocabulary with its distance: exact search, exact distances, diameters."""
