"""What happens in a cluster besides its control plane: nodes, kubelets, add-ons, and what the images in pods do."""

from rehearsal.effects.effects import Effects

__all__ = ["Effects"]
