"""External Secrets, with a simulated controller: no module proxy serves its release, so it cannot be built."""
