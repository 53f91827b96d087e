"""The fabric as its own tools discover it, beside the plan's cables."""
