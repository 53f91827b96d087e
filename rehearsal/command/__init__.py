"""The command `python -m rehearsal`."""
