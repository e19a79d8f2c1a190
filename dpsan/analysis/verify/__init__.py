"""Whether a mechanism keeps its guarantee: certificates, draws, the configuration."""
