"""Failures of large jobs: how often, what checkpoints save of them, what is lost all the same."""
