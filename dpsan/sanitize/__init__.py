"""Text in, sanitized text out: what is asked, what was done, what it cost."""
