"""Pictures: one way to check, draw and write them."""
