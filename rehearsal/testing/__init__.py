"""Pytest plugin for tests of rehearsals, for any program: `-p rehearsal.testing.plugin`."""
