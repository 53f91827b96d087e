"""Katib 0.19: its own controller, database manager, algorithms and early stopping; its collector is simulated.

The collector finds a trial's process by looking at all of its pod's, and a rehearsal has no process of a trial.
"""
