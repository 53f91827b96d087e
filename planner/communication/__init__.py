"""Collective communication of GPUs: how much is moved, how long it takes, what a measurement must show."""
