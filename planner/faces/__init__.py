"""A plan as people and programs read it: text, JSON, the outputs of a stack, what a change would change."""
