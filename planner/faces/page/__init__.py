"""A plan as one HTML page: the same numbers, drawn."""
