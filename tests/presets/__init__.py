"""`python -m tests.presets`: shipped stacks and presets as whole rehearsals; writes the table of docs/rehearsal.md."""
