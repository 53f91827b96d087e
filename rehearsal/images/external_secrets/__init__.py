"""External Secrets, whose controller is played: no module proxy serves its release, so that it cannot be built."""
