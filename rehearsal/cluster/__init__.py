"""A real control plane per EKS cluster, on loopback: upstream binaries, EKS's tokens, webhooks inside the cluster."""

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.control_plane import ControlPlane

__all__ = ["Backends", "ControlPlane"]
