"""What tests of rehearsals need, in any program's suite: `-p rehearsal.testing.plugin`."""
