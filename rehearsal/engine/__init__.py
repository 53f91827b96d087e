"""Runs the real Pulumi engine on a rehearsal's own state, and interprets its output."""
