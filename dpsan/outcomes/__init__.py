"""What comes out for a word, and what a reader concludes from it."""
