"""The released job that an extended one becomes, and the proof that it runs what was meant."""
