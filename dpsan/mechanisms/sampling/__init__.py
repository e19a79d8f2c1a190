"""What mechanisms share to choose and to draw words; no mechanism is defined here."""
