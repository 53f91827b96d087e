"""Kyverno's images: the real admission controller; what prepares and clears is simulated."""
