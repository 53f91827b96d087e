"""Whole stacks, really applied: the engine tier."""
