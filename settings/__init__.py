"""The model of a stack file, and its loader."""
