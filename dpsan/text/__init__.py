"""Lines, tokens and look-up: strings end here."""
