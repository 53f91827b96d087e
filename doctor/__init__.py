"""Live checks of catalogue and stack against a real account. They only read, and are not part of validation."""
