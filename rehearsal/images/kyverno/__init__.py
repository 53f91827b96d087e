"""Kyverno's images, simulated: admission controller, signature verification, clean-up."""
