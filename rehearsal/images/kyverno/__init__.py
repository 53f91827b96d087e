"""Kyverno's images, played: the controller of admission, what checks signatures, what clears up."""
