"""Runs `pulumi up` and `pulumi destroy` on a real stack, and says what to do where they fail."""
