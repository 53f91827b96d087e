"""One module per training framework: how the plan is passed to it."""
