"""Live checks: catalogue and stack beside a real account. They read, never change, and are no part of validation."""
