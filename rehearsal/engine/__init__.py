"""Runs the real Pulumi engine as a person does, on a rehearsal's own state, and understands what it says."""
