"""The official Kubernetes plugin, with the stand-in for Releases."""
