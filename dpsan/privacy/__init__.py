"""What a reviewer of the privacy must read: guarantees, certificates, noise, randomness."""
