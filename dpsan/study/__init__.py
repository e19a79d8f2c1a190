"""The tables and figures of the papers, on any embedding."""
