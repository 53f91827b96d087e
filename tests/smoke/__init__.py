"""The first deployment in stages: what is tried, what it may cost, and that it is torn down."""
