"""The official Kubernetes plugin, with the stand-in beside it for Releases."""
