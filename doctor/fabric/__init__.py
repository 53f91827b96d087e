"""The fabric as its tools discover it, compared with the planned cables."""
