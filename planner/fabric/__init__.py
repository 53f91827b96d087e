"""The compute fabric: how many switches, what is plugged where, what it carries, and the addresses on it."""
